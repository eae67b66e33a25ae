/* SPDX-License-Identifier: Apache-2.0 */
/* box/detached.c - a process that outlives the command which made it. */
#include "box/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int leave_maker(const char *name, int told_fd)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    if (nothing < 0 || setsid() < 0 || chdir("/") < 0)
        return -errno;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(nothing, fd) < 0)
            return -errno;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, name);
    return fd_close_from(3, &told_fd, 1);
}

/* Nobody's child: its end is waited for by nobody here. */
static int fork_twice(const char *name, detached_body *body, void *user, int told_fd)
{
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        if (fork() == 0)
            body(user, told_fd, leave_maker(name, told_fd));
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

int detached_start(const char *name, detached_body *body, void *user, void *ret_told, size_t size)
{
    cleanup_close int hears = -1;
    cleanup_close int tells = -1;
    int fds[2];
    int r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    hears = fds[0];
    tells = fds[1];
    r = fork_twice(name, body, user, tells);
    drop_fd(&tells);
    if (r == 0 && fd_read_full(hears, ret_told, size) != (ssize_t)size)
        r = -EPIPE;
    return r;
}
