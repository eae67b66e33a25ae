/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_open.c - a new box that lives on. */
#include "box/kept_open.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "box/hold.h"
#include "box/kept.h"

/* What the holder tells its maker, once. */
struct birth {
    char id[ID_SIZE];
    struct gb_err err; /* code 0: it lives */
};

static int open_and_keep(const struct box_spec *spec, const struct kept_spec *kept,
                         struct box **ret, char id[static ID_SIZE], struct gb_err *err)
{
    int r = box_open(spec, ret, err);

    return r < 0 ? r : kept_make(kept, *ret, id, err);
}

/* ---- in a process of its own ----------------------------------------------------------------- */

/* Nothing of the caller's: whoever reads its output must see its end. */
static int leave_caller(int told_fd)
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
    (void)prctl(PR_SET_NAME, "glovebox-keeper");
    return fd_close_from(3, &told_fd, 1);
}

static void hold(const struct box_spec *spec, const struct kept_spec *kept, int told_fd)
    __attribute__((noreturn));

static void hold(const struct box_spec *spec, const struct kept_spec *kept, int told_fd)
{
    struct birth birth = { 0 };
    struct hold *held = NULL;
    struct box *box = NULL;
    uint32_t survivors;
    int r = leave_caller(told_fd);

    if (r < 0)
        (void)gb_fail(&birth.err, r, GB_BLAME_HOST, "leaving the caller: %s", strerror(-r));
    else
        r = open_and_keep(spec, kept, &box, birth.id, &birth.err);
    (void)fd_write_full(told_fd, &birth, sizeof(birth));
    close(told_fd);
    if (r == 0)
        r = box_hold(box, kept->ttl_ms, &held, &birth.err);
    survivors = box_close(box);
    if (birth.id[0])
        kept_forget(kept->state_dir, birth.id);
    if (held)
        box_hold_end(held, survivors);
    _exit(r < 0);
}

/* Nobody's child: its end is waited for by nobody here. */
static int fork_holder(const struct box_spec *spec, const struct kept_spec *kept, int told_fd)
{
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        if (fork() == 0)
            hold(spec, kept, told_fd);
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

static int open_held(const struct box_spec *spec, const struct kept_spec *kept,
                     char ret_id[static ID_SIZE], struct gb_err *err)
{
    cleanup_close int hears = -1;
    cleanup_close int tells = -1;
    struct birth birth;
    int fds[2];
    int r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return gb_fail_sys(err, "making a pipe");
    hears = fds[0];
    tells = fds[1];
    r = fork_holder(spec, kept, tells);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "starting a keeper: %s", strerror(-r));
    drop_fd(&tells);
    if (fd_read_full(hears, &birth, sizeof(birth)) != (ssize_t)sizeof(birth))
        return gb_fail(err, -EPIPE, GB_BLAME_HOST, "the keeper ended before it had a box");
    if (birth.err.code < 0) {
        if (err)
            *err = birth.err;
        return birth.err.code;
    }
    memcpy(ret_id, birth.id, ID_SIZE);
    return 0;
}

int kept_open(const struct box_spec *spec, const struct kept_spec *kept,
              char ret_id[static ID_SIZE], struct gb_err *err)
{
    const struct box_ops *ops = box_backend(spec->backend, err);
    struct box *box = NULL;
    int r;

    if (!ops)
        return -EINVAL;
    if (ops->is_held)
        return open_held(spec, kept, ret_id, err);
    r = open_and_keep(spec, kept, &box, ret_id, err);
    (void)box_close(box);
    return r;
}
