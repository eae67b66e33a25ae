/* SPDX-License-Identifier: Apache-2.0 */
/* glove/link.h - the glove's end of the link: frames in, frames out.
 *
 * The link is one byte stream each way.  Frames out come from two places: control frames wait in a
 * fixed queue, and the payload of at most one DATA frame waits in the *stage*, a pipe that only the
 * glove can reach.
 *
 * Invariants
 *  1. A frame once begun is finished before another begins: head, then stage, then queue.
 *  2. A DATA frame begins only when nothing else waits, so control frames go first.
 *  3. The size in a DATA head is the number of bytes in the stage.  They were moved there before
 *     the head was made, because a program may open its own output pipe for reading and take
 *     bytes out of it at any time.
 *  4. No call blocks.  A queue that overflows is a host that does not read: the glove ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fd.h"
#include "wire/frame.h"
#include "wire/msg.h"

#define LINK_QUEUE_SIZE 65536

struct link {
    int in;
    int out;
    bool is_socket;  /* `in` may carry descriptors */
    bool may_splice; /* `out` takes pages from a pipe */
    struct wire_reader reader;

    int fds[FD_PASS_MAX]; /* received, not yet taken by a frame; oldest first */
    size_t n_fds;

    uint8_t head[WIRE_HEAD_SIZE]; /* of the DATA frame that is being sent */
    size_t head_left;
    int stage[2];
    size_t stage_left; /* payload bytes still in the stage */
    size_t copy_start; /* payload bytes taken out of the stage, where splice does not work */
    size_t copy_end;
    bool has_fin; /* the end of a stream has been queued since somebody looked */
    size_t queue_start;
    size_t queue_end;
    uint8_t queue[LINK_QUEUE_SIZE];
    uint8_t copy[WIRE_PAYLOAD_MAX];
};

/* Takes over both descriptors (they may be the same) and makes the stage. */
int link_init(struct link *link, int in, int out);

/* Reads what there is, once.  -EPIPE at the end of the stream. */
int link_read(struct link *link);

/* 1 and a frame, 0 when there is none, -EPROTO; the latter also when descriptors are left over
 * that no frame has taken.  The payload lives until the next link_read(). */
int link_next(struct link *link, struct wire_head *ret_head, const uint8_t **ret_payload);

/* The head of the frame that link_next() would give, if it is here as a whole. */
bool link_peek(const struct link *link, struct wire_head *ret_head);

/* Hands over the n oldest descriptors; -EPROTO when there are fewer. */
int link_take_fds(struct link *link, int *fds, size_t n);

/* Queues a frame; -ENOBUFS when it does not fit. */
int link_send(struct link *link, uint8_t type, uint32_t channel, uint8_t flags, const void *msg);

/* Bytes that frames may still have. */
size_t link_room(const struct link *link);

/* The two answers to a request.  error is a positive errno. */
int link_ok(struct link *link, uint32_t seq, uint64_t value);
int link_error(struct link *link, uint32_t seq, int error, enum glove_step step);

/* Does nothing wait to be sent? */
bool link_is_idle(const struct link *link);

/* Begins a DATA frame of at most `most` bytes out of a pipe; only when idle.  The number of bytes,
 * 0 at the end of the pipe (nothing is begun then), -EAGAIN when the pipe is empty. */
ssize_t link_send_pipe(struct link *link, uint32_t channel, int pipe_fd, size_t most);

/* The same out of a terminal, which no other reader can empty and not every kernel can splice. */
ssize_t link_send_tty(struct link *link, uint32_t channel, int tty_fd, size_t most);

/* Sends until the link is full or idle; look with link_is_idle(). */
int link_flush(struct link *link);
