/* SPDX-License-Identifier: Apache-2.0 */
/* box/box_kept.c - boxes that live on: left to a keeper, met again, and ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box_parts.h"
#include "box/carry.h"
#include "box/link.h"
#include "wire/msg.h"

/* A keeper that is asked for its box. */
#define WELCOME_MS 10000
#define SERVE_MS   10000
#define REMOVE_MS  15000

/* A server that takes nothing for so long is not waited for. */
#define DRAIN_MS 1000

const struct box_held *box_held(const struct box *box)
{
    return box->held.next_seq ? &box->held : NULL;
}

/* Both descriptors are the box's from now on. */
static int take_hold(struct box *box, const struct box_keep_spec *spec, struct gb_err *err)
{
    struct box_held *held = &box->held;
    int listener = fcntl(spec->listener_fd, F_DUPFD_CLOEXEC, 3);
    int link =
        listener < 0 ? -errno : link_release(box->link, &held->next_seq, &held->next_channel);

    if (link < 0) {
        if (listener >= 0)
            close(listener);
        return gb_fail(err, link, GB_BLAME_HOST, "keeping the box: %s", strerror(-link));
    }
    held->link_fd = link;
    held->listener_fd = listener;
    return 0;
}

int box_keep(struct box *box, const struct box_keep_spec *spec, struct gb_err *err)
{
    int r = box_settle(box, err);

    if (r < 0)
        return r;
    if (box->ops->is_held)
        return take_hold(box, spec, err);
    if (!box->ops->keep)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER, "boxes of backend '%s' cannot live on",
                       box->ops->name);
    return box->ops->keep(box, spec, err);
}

/* The carry first: a question may come right behind the answer. */
int box_serve(struct box *box, const struct carry_spec *net, struct gb_err *err)
{
    struct msg_serve msg = { 0 };
    uint32_t seq = 0;
    uint64_t value;
    uint32_t step;
    int r = box->carry ? -EBUSY : carry_new(box->link, net, &box->carry, err);

    if (r == 0)
        r = link_request(box->link, MSG_SERVE, &msg, NULL, 0, &seq, err);
    if (r == 0)
        r = link_await(box->link, seq, clock_after_ms(SERVE_MS), &value, &step, err);
    return r == -EBUSY ? gb_fail(err, r, GB_BLAME_CALLER, "the box has a network already") : r;
}

void box_drain(struct box *box, uint64_t deadline_ns, int cancel_fd)
{
    struct pollfd cancel = { .fd = cancel_fd, .events = POLLIN };
    uint64_t last = UINT64_MAX;
    uint64_t until_ns = 0;
    uint64_t sent;

    while (box->carry && carry_is_sending(box->carry, &sent)) {
        if (sent != last)
            until_ns = clock_after_ms(DRAIN_MS);
        last = sent;
        if (until_ns > deadline_ns)
            until_ns = deadline_ns;
        if (clock_poll_ms(until_ns) == 0 || link_pump(box->link, until_ns, &cancel, 1, NULL) < 0 ||
            cancel.revents)
            return;
    }
}

/* The first frame, with its descriptors, alone: what follows is the link's. */
static int read_welcome(int fd, struct msg_welcome *ret, int *fds, size_t *n_fds,
                        struct gb_err *err)
{
    uint8_t frame[WIRE_HEAD_SIZE + 64];
    size_t at = 0;
    size_t want = WIRE_HEAD_SIZE;
    struct wire_head head;

    *n_fds = 0;
    while (at < want) {
        struct pollfd in = { .fd = fd, .events = POLLIN };
        size_t room = FD_PASS_MAX - *n_fds;
        ssize_t n = poll(&in, 1, WELCOME_MS) == 1
                        ? fd_recv(fd, frame + at, want - at, fds + *n_fds, &room, 0)
                        : -ETIMEDOUT;

        if (n <= 0)
            return gb_fail(err, n < 0 ? (int)n : -EPIPE, GB_BLAME_HOST,
                           "the keeper of the box does not answer");
        *n_fds += room;
        at += (size_t)n;
        if (at == WIRE_HEAD_SIZE && wire_head_get(frame, &head) == 0 &&
            head.size <= sizeof(frame) - WIRE_HEAD_SIZE)
            want = WIRE_HEAD_SIZE + head.size;
    }
    if (wire_head_get(frame, &head) < 0 || head.type != MSG_WELCOME ||
        msg_decode(head.type, frame + WIRE_HEAD_SIZE, head.size, ret) < 0)
        return gb_fail(err, -EPROTO, GB_BLAME_HOST,
                       "the keeper of the box speaks another version" GB_REMEDY
                       "remove the box and make it again");
    return 0;
}

static int attach(struct box *box, const struct box_kept *kept, const struct msg_welcome *welcome,
                  int fd, int *fds, size_t n_fds, struct gb_err *err)
{
    cleanup_close int owned = fd;
    char *path = strdup(kept->path);
    char *python_path = kept->python_path ? strdup(kept->python_path) : NULL;
    char *variables = strdup(kept->variables ? kept->variables : "");
    int r = box->ops->attach(box, kept, welcome, fds, n_fds, err);

    box_set_path(box, path);
    box_set_python_path(box, python_path);
    box->variables = variables;
    if (r == 0 && (!path || !variables || (kept->python_path && !python_path)))
        r = gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
    if (r == 0)
        r = link_new(take_fd(&owned), &box->link, err);
    return r < 0 ? r : link_greet(box->link, err);
}

int box_attach(const struct box_kept *kept, int fd, struct box **ret, struct box_news *ret_news,
               struct gb_err *err)
{
    cleanup_close int owned = fd;
    const struct box_ops *ops = box_backend(kept->receipt.backend, err);
    struct msg_welcome welcome;
    int fds[FD_PASS_MAX];
    size_t n_fds;
    struct box *box;
    int r = ops && ops->attach ? read_welcome(fd, &welcome, fds, &n_fds, err) : -ENOTSUP;

    if (r < 0)
        return r;
    *ret_news = (struct box_news){ .clients = welcome.clients,
                                   .runs = welcome.runs,
                                   .ttl_ms = welcome.ttl_ms };
    box = calloc(1, sizeof(*box) + ops->state_size);
    if (!box)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
    box->ops = ops;
    box->settled = 1;
    box->is_attached = true;
    box->receipt = kept->receipt;
    r = attach(box, kept, &welcome, take_fd(&owned), fds, n_fds, err);
    if (r < 0) {
        (void)box_close(box);
        return r;
    }
    *ret = box;
    return 0;
}

static int ask_destroy(int fd, struct msg_gone *ret)
{
    char nothing[1] = { 0 };
    uint8_t frame[64];
    int n = msg_encode(MSG_DESTROY, 0, 0, nothing, frame, sizeof(frame));
    struct wire_head head;
    struct pollfd in = { .fd = fd, .events = POLLIN };
    int r = n < 0 ? n : (int)fd_send(fd, frame, (size_t)n, NULL, 0, 0);

    if (r < 0)
        return r;
    if (poll(&in, 1, REMOVE_MS) != 1)
        return -ETIMEDOUT;
    if (fd_read_full(fd, frame, WIRE_HEAD_SIZE) != WIRE_HEAD_SIZE ||
        wire_head_get(frame, &head) < 0 || head.type != MSG_GONE ||
        head.size > sizeof(frame) - WIRE_HEAD_SIZE ||
        fd_read_full(fd, frame + WIRE_HEAD_SIZE, head.size) != (ssize_t)head.size)
        return -EPIPE;
    return msg_decode(head.type, frame + WIRE_HEAD_SIZE, head.size, ret);
}

int box_unkeep(int fd, uint32_t *ret, struct gb_err *err)
{
    cleanup_close int owned = fd;
    struct msg_welcome welcome;
    struct msg_gone gone = { 0 };
    int fds[FD_PASS_MAX];
    size_t n_fds;
    int r = read_welcome(fd, &welcome, fds, &n_fds, err);

    for (size_t i = 0; i < n_fds; i++)
        close(fds[i]);
    if (r < 0)
        return r;
    r = ask_destroy(fd, &gone);
    if (r == 0 && gone.error)
        r = -(int)gone.error;
    *ret = gone.survivors;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "removing the box: %s", strerror(-r)) : 0;
}
