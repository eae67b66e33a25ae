/* SPDX-License-Identifier: Apache-2.0 */
/* box/detached.c - a process that outlives the command which made it. */
#include "box/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "egress/resolve.h"

/* Longer than the C library's resolver asks all servers that a machine may have, twice. */
#define QUIET_MS 60000

/* What is to be made, and what stays open in it. */
struct maker {
    const char *name;
    detached_body *body;
    void *user;
    int keep[DETACHED_FDS_MAX + 1]; /* sorted */
    size_t n_keep;
};

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int leave_maker(const struct maker *maker)
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
    (void)prctl(PR_SET_NAME, maker->name);
    return fd_close_from(3, maker->keep, maker->n_keep);
}

/* Nobody's child: its end is waited for by nobody here. */
static int fork_twice(const struct maker *maker, int told_fd)
{
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        if (fork() == 0)
            maker->body(maker->user, told_fd, leave_maker(maker));
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

int detached_start_with(const char *name, detached_body *body, void *user, const int *fds, size_t n,
                        void *ret_told, size_t size)
{
    struct maker maker = { .name = name, .body = body, .user = user };
    cleanup_close int hears = -1;
    cleanup_close int tells = -1;
    int pair[2];
    int r;

    if (n > DETACHED_FDS_MAX)
        return -E2BIG;
    r = resolve_quiet(clock_after_ms(QUIET_MS));
    if (r < 0)
        return r;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    hears = pair[0];
    tells = pair[1];
    for (size_t i = 0; i < n; i++)
        maker.keep[maker.n_keep++] = fds[i];
    maker.keep[maker.n_keep++] = tells;
    qsort(maker.keep, maker.n_keep, sizeof(maker.keep[0]), by_number);
    r = fork_twice(&maker, tells);
    drop_fd(&tells);
    if (r == 0 && fd_read_full(hears, ret_told, size) != (ssize_t)size)
        r = -EPIPE;
    return r;
}

int detached_start(const char *name, detached_body *body, void *user, void *ret_told, size_t size)
{
    return detached_start_with(name, body, user, NULL, 0, ret_told, size);
}
