/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - typing into the caller's terminal (C17). */
#include <fcntl.h>
#include <linux/tiocl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "probe.h"

static const struct request {
    const char *name;
    unsigned long number;
} requests[] = {
    { "TIOCSTI", TIOCSTI },
    { "TIOCLINUX", TIOCLINUX },
    { "TIOCSETD", TIOCSETD },
    { "TIOCCONS", TIOCCONS },
};

/* The kernel compares an unsigned int: garbage above it must not help. */
static const unsigned long garbage[] = { 0, 1UL << 32, 0xffffffffUL << 32, 1UL << 63 };

static void try_requests(const char *name, int fd)
{
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        for (size_t j = 0; j < ARRAY_SIZE(garbage); j++)
            REFUSED(named("%s-%s-%zu", name, requests[i].name, j),
                    syscall(SYS_ioctl, (long)fd, requests[i].number | garbage[j], -1L), EPERM);
}

static void try_own_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    const char *name =
        master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 ? ptsname(master) : NULL;
    int slave = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;

    control("own-pty", slave >= 0, name ? name : error_name(errno));
    verdict("own-pty-is-first", name && strcmp(name, "/dev/pts/0") != 0, name ? name : "");
    try_requests("pty-master", master);
    try_requests("pty-slave", slave);
    close(slave);
    close(master);
}

static void try_other_terminals(void)
{
    for (int i = 0; i < 64; i++)
        REFUSED(named("pts-%d", i), open(named("/dev/pts/%d", i), O_RDWR | O_NOCTTY | O_CLOEXEC),
                NO_FILE, EIO);
    static const char *const names[] = { "/dev/tty",   "/dev/console",   "/dev/tty0",
                                         "/dev/tty1",  "/dev/ttyS0",     "/dev/vcs",
                                         "/dev/vcsa1", "/dev/pts/../tty" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        REFUSED(named("open:%s", names[i]), open(names[i], O_RDWR | O_NOCTTY | O_CLOEXEC), NO_FILE);
}

void row_c17(char **args)
{
    (void)args;
    try_other_terminals();
    for (int fd = 0; fd <= 2; fd++) {
        verdict(named("fd-%d-is-no-terminal", fd), isatty(fd), "");
        try_requests(named("fd-%d", fd), fd);
        REFUSED(named("fd-%d-sctty", fd), ioctl(fd, TIOCSCTTY, 1), ENOTTY, EPERM, EINVAL);
        REFUSED(named("fd-%d-peer", fd), ioctl(fd, TIOCGPTPEER, O_RDWR), ENOTTY, EIO, EINVAL);
    }
    try_requests("no-fd", -1);
    try_own_terminal();
    REFUSED("foreground-group", tcgetpgrp(0), ENOTTY);
}
