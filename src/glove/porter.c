/* SPDX-License-Identifier: Apache-2.0 */
/* glove/porter.c - files into the box and out of it: starting the children that carry them. */
#include "glove/porter.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "glove/child.h"
#include "glove/glove.h"
#include "glove/landlock.h"
#include "glove/pack.h"
#include "glove/reap.h"
#include "glove/unpack.h"

/* A PUT or GET that is being started. */
struct errand {
    struct glove *glove;
    enum child_kind kind;
    uint32_t seq;
    uint32_t number; /* of the channel */
    const void *msg;
    struct channel *channel;
};

/* ---- in the child --------------------------------------------------------------------------- */

static int become_porter(const struct glove *glove, int pipe_fd, int report_fd,
                         enum glove_step *ret_step)
{
    int keep[2] = { pipe_fd < report_fd ? pipe_fd : report_fd,
                    pipe_fd < report_fd ? report_fd : pipe_fd };
    int r;

    (void)setsid();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file over the limit is an error, not a death */
    r = child_become_user(glove, ret_step);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_LANDLOCK;
    r = glove->setup.landlock_fd < 0 ? 0 : landlock_restrict(glove->setup.landlock_fd);
    if (r < 0)
        return r;
    *ret_step = GLOVE_STEP_PIPE;
    return fd_close_from(3, keep, 2);
}

static void carry(const struct errand *errand, int pipe_fd, int report_fd)
    __attribute__((noreturn));

static void carry(const struct errand *errand, int pipe_fd, int report_fd)
{
    enum glove_step step;
    uint64_t value = 0;
    int r = become_porter(errand->glove, pipe_fd, report_fd, &step);

    if (r == 0 && errand->kind == CHILD_PUT)
        r = unpack(errand->msg, pipe_fd, &value, &step);
    else if (r == 0)
        r = pack(errand->msg, pipe_fd, &value, &step);
    child_report(report_fd, step, -r, value);
}

/* ---- in the glove --------------------------------------------------------------------------- */

static int start(struct errand *errand, enum glove_step *ret_step)
{
    struct glove *glove = errand->glove;
    cleanup_close int pipe_fd = -1;
    cleanup_close int report_fd = -1;
    struct child *child;
    pid_t pid;
    int r;

    *ret_step = GLOVE_STEP_RLIMIT;
    if (!glove->limits.is_set)
        return -EINVAL;
    *ret_step = GLOVE_STEP_PIPE;
    r = channel_pipe(&glove->channels, errand->channel, glove->setup.uid, glove->setup.gid,
                     &pipe_fd);
    if (r < 0)
        return r;
    child = child_add(glove, errand->kind, errand->seq, &report_fd);
    if (!child)
        return -EAGAIN;
    *ret_step = GLOVE_STEP_FORK;
    pid = child_fork(-1, 0);
    if (pid == 0)
        carry(errand, pipe_fd, report_fd);
    if (pid < 0) {
        child_remove(child);
        return pid;
    }
    child->pid = pid;
    child->channel = errand->number;
    return 0;
}

static int porter_start(struct errand *errand)
{
    struct glove *glove = errand->glove;
    enum glove_step step = GLOVE_STEP_REQUEST;
    bool is_put = errand->kind == CHILD_PUT;
    int r = channel_open(&glove->channels, errand->number, is_put ? CHANNEL_IN : CHANNEL_OUT,
                         &errand->channel);

    if (r < 0)
        return r;
    r = start(errand, &step);
    if (r == 0)
        return 0;
    if (is_put)
        channel_abandon(errand->channel);
    else if (channel_finish(errand->channel, &glove->link) < 0)
        return -ENOBUFS;
    return link_error(&glove->link, errand->seq, -r, step);
}

int porter_put(struct glove *glove, const void *msg)
{
    const struct msg_put *put = msg;
    struct errand errand = {
        .glove = glove,
        .kind = CHILD_PUT,
        .seq = put->seq,
        .number = put->channel,
        .msg = msg,
    };

    return porter_start(&errand);
}

int porter_get(struct glove *glove, const void *msg)
{
    const struct msg_get *get = msg;
    struct errand errand = {
        .glove = glove,
        .kind = CHILD_GET,
        .seq = get->seq,
        .number = get->channel,
        .msg = msg,
    };

    return porter_start(&errand);
}
