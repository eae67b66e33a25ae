/* SPDX-License-Identifier: Apache-2.0 */
/* glove/run.c - starting programs, sending them signals, their terminals.
 *
 * The glove prepares (pipes, vectors, report pipe), forks, and goes on with its work: whether exec
 * went well comes later, through the report pipe.  A run is known by the seq of its RUN.
 */
#include "glove/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "glove/apart.h"
#include "glove/child.h"
#include "glove/glove.h"
#include "glove/minder.h"
#include "glove/reap.h"

#define EXEC_PATIENCE_MS 20

/* A run that is being started. */
struct launch {
    struct glove *glove;
    const struct msg_run *msg;
    int group_fds[FD_PASS_MAX];
    struct channel *channels[3]; /* NULL for /dev/null */
    int stdio[3];                /* the program's ends */
    enum glove_step step;        /* the one being tried */
};

static int channels_open(struct launch *launch)
{
    const struct msg_run *msg = launch->msg;
    const uint32_t numbers[3] = { msg->in, msg->out, msg->err };

    for (size_t i = 0; i < 3; i++) {
        int r = numbers[i] == 0
                    ? 0
                    : channel_open(&launch->glove->channels, numbers[i],
                                   i == 0 ? CHANNEL_IN : CHANNEL_OUT, &launch->channels[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Characters of more than one byte are erased whole.  The size comes last: it cannot fail for a
 * terminal that is there. */
static int tty_prepare(int fd, uint32_t rows, uint32_t cols)
{
    struct winsize size = { .ws_row = (uint16_t)rows, .ws_col = (uint16_t)cols };
    struct termios modes;

    if (tcgetattr(fd, &modes) < 0)
        return -errno;
    modes.c_iflag |= IUTF8;
    if (tcsetattr(fd, TCSANOW, &modes) < 0 || ioctl(fd, TIOCSWINSZ, &size) < 0)
        return -errno;
    return 0;
}

static int tty_open(struct launch *launch)
{
    const struct setup *setup = &launch->glove->setup;
    int r;

    launch->step = GLOVE_STEP_PIPE;
    r = channel_tty(&launch->glove->channels, launch->channels[0], launch->channels[1], setup->uid,
                    setup->gid, &launch->stdio[0]);
    if (r == 0)
        r = tty_prepare(launch->stdio[0], launch->msg->rows, launch->msg->cols);
    for (int i = 1; r == 0 && i < 3; i++) {
        launch->stdio[i] = fcntl(launch->stdio[0], F_DUPFD_CLOEXEC, 3);
        r = launch->stdio[i] < 0 ? -errno : 0;
    }
    return r;
}

static int stdio_open(struct launch *launch)
{
    const struct setup *setup = &launch->glove->setup;

    if (launch->msg->flags & RUN_FLAG_TTY)
        return tty_open(launch);
    launch->step = GLOVE_STEP_PIPE;
    for (int i = 0; i < 3; i++) {
        int r = 0;

        if (launch->channels[i])
            r = channel_pipe(&launch->glove->channels, launch->channels[i], setup->uid, setup->gid,
                             &launch->stdio[i]);
        else
            launch->stdio[i] =
                open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC | O_NOCTTY);
        if (r < 0 || launch->stdio[i] < 0)
            return r < 0 ? r : -errno;
    }
    return 0;
}

/* The strings stay where they are, in the frame: the child gets a copy of all memory. */
static void vector_fill(const struct wire_strs *strs, const char **vector)
{
    const char *at = NULL;
    const char *str;

    while ((str = wire_strs_next(strs, &at)) != NULL)
        *vector++ = str;
    *vector = NULL;
}

#define RUN_FLAGS ((uint32_t)(RUN_FLAG_GROUP | RUN_FLAG_APART | RUN_FLAG_TTY | RUN_FLAG_FRESH))

static bool is_size(uint32_t rows, uint32_t cols)
{
    return rows <= UINT16_MAX && cols <= UINT16_MAX;
}

/* A program in a namespace of its own is not the leader of its session. */
static bool is_good_tty(const struct msg_run *msg)
{
    return msg->in && msg->out && !msg->err && !(msg->flags & RUN_FLAG_APART) &&
           is_size(msg->rows, msg->cols);
}

static int check(struct launch *launch)
{
    const struct msg_run *msg = launch->msg;

    launch->step = GLOVE_STEP_REQUEST;
    if (msg->argv.count == 0 || msg->flags & ~RUN_FLAGS)
        return -EINVAL;
    if (msg->flags & RUN_FLAG_TTY && !is_good_tty(msg))
        return -EINVAL;
    if (msg->flags & RUN_FLAG_APART && !(launch->glove->setup.flags & SETUP_FLAG_APART))
        return -EPERM;
    launch->step = GLOVE_STEP_RLIMIT;
    if (!launch->glove->limits.is_set)
        return -EINVAL;
    launch->step = GLOVE_STEP_FRESH;
    return msg->flags & RUN_FLAG_FRESH ? remains_check(&launch->glove->remains) : 0;
}

/* A group that refuses is the group's fault; a fork without room is not. */
static enum glove_step fork_step(int error, bool has_group)
{
    return has_group && error != -EAGAIN && error != -ENOMEM ? GLOVE_STEP_GROUP : GLOVE_STEP_FORK;
}

/* A group of its own, or a namespace, holds what it starts; else somebody must. */
static bool is_minded(const struct msg_run *msg)
{
    return msg->n_fds == 0 && !(msg->flags & RUN_FLAG_APART);
}

static void become(const struct child_plan *plan, const struct msg_run *msg)
    __attribute__((noreturn));

static void become(const struct child_plan *plan, const struct msg_run *msg)
{
    if (is_minded(msg))
        minder_exec(plan);
    child_begin(plan);
    if (msg->flags & RUN_FLAG_APART)
        apart_exec(plan);
    child_exec(plan);
}

static int fork_program(struct launch *launch, struct child *child, int report_fd, int status_fd)
{
    struct glove *glove = launch->glove;
    bool has_group = launch->msg->flags & RUN_FLAG_GROUP;
    bool is_apart = launch->msg->flags & RUN_FLAG_APART;
    struct child_plan plan = {
        .glove = glove,
        .cwd = launch->msg->cwd,
        .argv = glove->argv,
        .env = glove->env,
        .group_fds = launch->group_fds + has_group,
        .n_group_fds = launch->msg->n_fds - has_group,
        .hidden = &launch->msg->hidden,
        .stdio = { launch->stdio[0], launch->stdio[1], launch->stdio[2] },
        .has_tty = launch->msg->flags & RUN_FLAG_TTY,
        .report_fd = report_fd,
        .status_fd = status_fd,
    };
    pid_t pid;

    vector_fill(&launch->msg->argv, glove->argv);
    vector_fill(&launch->msg->env, glove->env);
    if (glove->egress.is_on && !glove->egress.catch.is_transparent)
        proxy_env_add(glove->env);
    pid = child_fork(has_group ? launch->group_fds[0] : -1,
                     is_apart ? SYS_CLONE_NEWPID | SYS_CLONE_NEWNS : 0);
    if (pid == 0)
        become(&plan, launch->msg);
    if (pid < 0) {
        launch->step = fork_step(pid, has_group);
        return pid;
    }
    child->pid = pid;
    child->is_minded = is_minded(launch->msg);
    child->is_fresh = launch->msg->flags & RUN_FLAG_FRESH;
    if (!child->is_minded)
        reap_note_main(glove, child, pid);
    return 0;
}

/* Where another process waits for the program's end. */
static int status_pipe(const struct launch *launch, struct child *child, int *ret_fd)
{
    int fds[2];

    if (!(launch->msg->flags & RUN_FLAG_APART) && !is_minded(launch->msg))
        return 0;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    child->status_fd = fds[0];
    *ret_fd = fds[1];
    return 0;
}

/* A terminal that nobody has open has ended for its reader, and a program may close it and open
 * /dev/tty later. */
static int tty_hold(const struct launch *launch, struct child *child)
{
    if (!(launch->msg->flags & RUN_FLAG_TTY))
        return 0;
    child->tty_fd = fcntl(launch->stdio[0], F_DUPFD_CLOEXEC, 3);
    return child->tty_fd < 0 ? -errno : 0;
}

static int start(struct launch *launch)
{
    cleanup_close int report_fd = -1;
    cleanup_close int status_fd = -1;
    struct child *child;
    int r = check(launch);

    if (r == 0)
        r = stdio_open(launch);
    if (r < 0)
        return r;
    child = child_add(launch->glove, CHILD_RUN, launch->msg->seq, &report_fd);
    if (!child)
        return -EAGAIN;
    r = status_pipe(launch, child, &status_fd);
    if (r == 0)
        r = tty_hold(launch, child);
    if (r == 0)
        r = fork_program(launch, child, report_fd, status_fd);
    if (r < 0)
        child_remove(child);
    return r;
}

/* The channels of a run that did not start: nothing will be written, nobody will read. */
static int channels_close(struct launch *launch)
{
    int r = 0;

    if (launch->channels[0])
        channel_abandon(launch->channels[0]);
    for (size_t i = 1; r == 0 && i < 3; i++)
        if (launch->channels[i])
            r = channel_finish(launch->channels[i], &launch->glove->link);
    return r;
}

/* Exec is a matter of a millisecond: waiting for it here lets its answer go with the ones before it
 * and wakes the host once.  What takes longer is told when it comes. */
static int await_exec(struct glove *glove, uint32_t seq)
{
    struct child *child = child_find(glove, CHILD_RUN, seq);
    struct pollfd report = { .fd = child->report_fd, .events = POLLIN };

    return poll(&report, 1, EXEC_PATIENCE_MS) > 0 ? reap_report(glove, child) : 0;
}

int run_start(struct glove *glove, const void *msg)
{
    struct launch launch = { .glove = glove, .msg = msg, .stdio = { -1, -1, -1 } };
    const struct msg_run *run = msg;
    int r;

    if (run->flags & RUN_FLAG_GROUP && run->n_fds == 0)
        return -EPROTO;
    r = link_take_fds(&glove->link, launch.group_fds, run->n_fds);
    if (r == 0)
        r = channels_open(&launch);
    if (r < 0)
        return r;
    r = start(&launch);
    fd_close_all(launch.stdio, 3);
    fd_close_all(launch.group_fds, run->n_fds);
    if (r == 0)
        return await_exec(glove, run->seq);
    if (channels_close(&launch) < 0)
        return -ENOBUFS;
    return link_error(&glove->link, run->seq, -r, launch.step);
}

int run_signal(struct glove *glove, const void *msg)
{
    const struct msg_signal *request = msg;
    struct child *child = child_find(glove, CHILD_RUN, request->run);

    if (!child || child->pid == 0 || !reap_main_pid(glove, child))
        return link_error(&glove->link, request->seq, ESRCH, GLOVE_STEP_REQUEST);
    if (request->signo == 0 || request->signo >= NSIG)
        return link_error(&glove->link, request->seq, EINVAL, GLOVE_STEP_REQUEST);
    /* It has no group of its own before its setsid. */
    if (kill(-child->main_pid, (int)request->signo) < 0 &&
        kill(child->main_pid, (int)request->signo) < 0)
        return link_error(&glove->link, request->seq, errno, GLOVE_STEP_REQUEST);
    return link_ok(&glove->link, request->seq, 0);
}

int run_resize(struct glove *glove, const void *msg)
{
    const struct msg_resize *request = msg;
    const struct child *child = child_find(glove, CHILD_RUN, request->run);
    struct winsize size = { .ws_row = (uint16_t)request->rows, .ws_col = (uint16_t)request->cols };

    if (!child || child->tty_fd < 0)
        return link_error(&glove->link, request->seq, child ? ENOTTY : ESRCH, GLOVE_STEP_REQUEST);
    if (!is_size(request->rows, request->cols))
        return link_error(&glove->link, request->seq, EINVAL, GLOVE_STEP_REQUEST);
    if (ioctl(child->tty_fd, TIOCSWINSZ, &size) < 0)
        return link_error(&glove->link, request->seq, errno, GLOVE_STEP_REQUEST);
    return link_ok(&glove->link, request->seq, 0);
}
