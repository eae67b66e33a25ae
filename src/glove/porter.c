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
#include "glove/list.h"
#include "glove/pack.h"
#include "glove/reap.h"
#include "glove/remove.h"
#include "glove/unpack.h"

/* A request that is being started. */
struct errand {
    struct glove *glove;
    int (*carry)(const void *msg, int pipe_fd, uint64_t *ret_value, enum glove_step *ret_step);
    uint32_t seq;
    uint32_t number; /* of the channel, 0: it has none */
    bool is_in;      /* the channel leads into the box */
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

static int carry_put(const void *msg, int pipe_fd, uint64_t *ret_value, enum glove_step *ret_step)
{
    return unpack(msg, pipe_fd, ret_value, ret_step);
}

static int carry_get(const void *msg, int pipe_fd, uint64_t *ret_value, enum glove_step *ret_step)
{
    return pack(msg, pipe_fd, ret_value, ret_step);
}

static int carry_list(const void *msg, int pipe_fd, uint64_t *ret_value, enum glove_step *ret_step)
{
    return list(msg, pipe_fd, ret_value, ret_step);
}

static int carry_remove(const void *msg, int pipe_fd, uint64_t *ret_value,
                        enum glove_step *ret_step)
{
    (void)pipe_fd;
    return remove_path(msg, ret_value, ret_step);
}

static void carry(const struct errand *errand, int pipe_fd, int report_fd)
    __attribute__((noreturn));

static void carry(const struct errand *errand, int pipe_fd, int report_fd)
{
    enum glove_step step;
    uint64_t value = 0;
    int r = become_porter(errand->glove, pipe_fd, report_fd, &step);

    if (r == 0)
        r = errand->carry(errand->msg, pipe_fd, &value, &step);
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
    r = errand->channel ? channel_pipe(&glove->channels, errand->channel, glove->setup.uid,
                                       glove->setup.gid, &pipe_fd)
                        : 0;
    if (r < 0)
        return r;
    child = child_add(glove, CHILD_PORTER, errand->seq, &report_fd);
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
    child->channel = errand->is_in ? 0 : errand->number;
    return 0;
}

static int porter_start(struct errand *errand)
{
    struct glove *glove = errand->glove;
    enum glove_step step = GLOVE_STEP_REQUEST;
    int r = 0;

    if (errand->number)
        r = channel_open(&glove->channels, errand->number, errand->is_in ? CHANNEL_IN : CHANNEL_OUT,
                         &errand->channel);
    if (r < 0)
        return r;
    r = start(errand, &step);
    if (r == 0)
        return 0;
    if (errand->channel && errand->is_in)
        channel_abandon(errand->channel);
    else if (errand->channel && channel_finish(errand->channel, &glove->link) < 0)
        return -ENOBUFS;
    return link_error(&glove->link, errand->seq, -r, step);
}

int porter_put(struct glove *glove, const void *msg)
{
    const struct msg_put *put = msg;
    struct errand errand = {
        .glove = glove,
        .carry = carry_put,
        .seq = put->seq,
        .number = put->channel,
        .is_in = true,
        .msg = msg,
    };

    return put->channel ? porter_start(&errand) : -EPROTO;
}

int porter_get(struct glove *glove, const void *msg)
{
    const struct msg_get *get = msg;
    struct errand errand = {
        .glove = glove,
        .carry = carry_get,
        .seq = get->seq,
        .number = get->channel,
        .msg = msg,
    };

    return get->channel ? porter_start(&errand) : -EPROTO;
}

int porter_list(struct glove *glove, const void *msg)
{
    const struct msg_list *list = msg;
    struct errand errand = {
        .glove = glove,
        .carry = carry_list,
        .seq = list->seq,
        .number = list->channel,
        .msg = msg,
    };

    return list->channel ? porter_start(&errand) : -EPROTO;
}

int porter_remove(struct glove *glove, const void *msg)
{
    const struct msg_remove *request = msg;
    struct errand errand = {
        .glove = glove,
        .carry = carry_remove,
        .seq = request->seq,
        .msg = msg,
    };

    return porter_start(&errand);
}
