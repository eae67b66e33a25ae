/* SPDX-License-Identifier: Apache-2.0 */
/* box/link.h - the host's end of the connection to a glove.
 *
 * A link owns its socket.  There is no I/O thread: whoever waits for something on a link reads it
 * meanwhile (link_pump), and frames go to the channel, run or request they belong to.  A link is
 * used by one thread at a time.
 *
 * Invariants
 *  1. Every request is answered exactly once: OK, ERROR, or the link is lost for all that wait.
 *  2. Bytes from the glove are hostile: nothing outside wire/ looks at them undecoded.  Whatever
 *     breaks the protocol (unknown type, wrong direction, unknown channel, more data than credit)
 *     loses the link, and with it that box, and nothing else.
 *  3. Memory is bounded: one reader buffer in, LINK_QUEUE_MAX bytes out.
 *  4. Descriptors go from host to glove only; what a box tries to send is dropped by the kernel,
 *     because the link is read with plain reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gb_err;
struct link;
struct msg_exit;

#define LINK_QUEUE_MAX (1 << 20)

/* Takes the socket over, also on failure. */
int link_new(int fd, struct link **ret, struct gb_err *err);
void link_free(struct link *link);

/* What a channel's owner is told.  data() has the bytes only during the call; the glove may send
 * as many again once it returns. */
struct channel_ops {
    void (*data)(void *user, const uint8_t *bytes, size_t len);
    void (*fin)(void *user); /* no more will come; the channel is closed for input */

    /* Only for a channel with a sink: how many of the next len bytes may go there; and nobody reads
     * the sink any more, what follows is dropped. */
    size_t (*take)(void *user, size_t len);
    void (*refused)(void *user);
};

/* A channel number for the next request; 0 when all are in use.  ops may be NULL for a channel
 * that only sends. */
uint32_t link_channel_open(struct link *link, const struct channel_ops *ops, void *user);
void link_channel_close(struct link *link, uint32_t number);

/* Data of this channel goes straight into a pipe of the host, page by page and uncopied, instead of
 * to data().  The pipe stays the caller's; when it is full the link waits for it, and nothing else
 * on the link is read meanwhile. */
void link_channel_sink(struct link *link, uint32_t number, int pipe_fd);

/* Data of this channel is not paid for when data() returns, but by link_channel_pay(): for an owner
 * who passes it on and cannot do so at once. */
void link_channel_hold(struct link *link, uint32_t number);
int link_channel_pay(struct link *link, uint32_t number, size_t len);

/* More may be under way on such a channel, if few are so wide: by how much its owner can be behind
 * from now on. */
size_t link_channel_widen(struct link *link, uint32_t number);

/* How many bytes the glove takes now on a sending channel, bounded also by the room in the queue.
 */
size_t link_channel_room(const struct link *link, uint32_t number);

/* Queues at most link_channel_room() bytes; fin ends the channel. */
int link_channel_send(struct link *link, uint32_t number, const void *bytes, size_t len, bool fin);

/* Sends what a socket has received, once, and at most link_channel_room() bytes: the number, 0 at
 * its end, -EAGAIN when there is nothing or no room, -errno. */
ssize_t link_channel_feed(struct link *link, uint32_t number, int socket_fd);

/* Queues a request (msg is the struct of its type with .seq unset: the first field) and gives its
 * number.  Descriptors may go with it; they stay the caller's. */
int link_request(struct link *link, uint8_t type, void *msg, const int *fds, size_t n_fds,
                 uint32_t *ret_seq, struct gb_err *err);

/* 1: answered with OK, *ret_value set.  -errno from an ERROR, *ret_step set.  0: not yet. */
int link_answer(struct link *link, uint32_t seq, uint64_t *ret_value, uint32_t *ret_step);

/* Waits for the answer of a request; fills err from an ERROR. */
int link_await(struct link *link, uint32_t seq, uint64_t deadline_ns, uint64_t *ret_value,
               uint32_t *ret_step, struct gb_err *err);

/* Asks what the box has used and waits for it. */
struct msg_counts;
int link_counts(struct link *link, uint64_t deadline_ns, struct msg_counts *ret,
                struct gb_err *err);

/* Hands EXIT messages to whoever started runs. */
void link_on_exit(struct link *link, void (*exited)(void *user, const struct msg_exit *exit),
                  void *user);

/* Queues a message that has no answer of the link's own: TOLD, HANG_UP, DIAL. */
int link_tell(struct link *link, uint8_t type, const void *msg);

/* What is served whenever the link is.  ask() is told what the glove says by itself (LOOKUP,
 * CONNECT, HUNG_UP, DIALLED); false: it is another's.  What nobody takes breaks the protocol.
 * polls() fills at most max entries and tells how many, served() gets them back. */
struct pollfd;
struct link_side {
    bool (*ask)(void *user, uint8_t type, const void *msg);
    size_t (*polls)(void *user, struct pollfd *fds, size_t max);
    void (*served)(void *user, const struct pollfd *fds, size_t n);
    void *user;
};
#define LINK_SIDE_MAX 1600

/* At most two; -EBUSY.  Not while the link is being served. */
int link_add_side(struct link *link, const struct link_side *side);
void link_drop_side(struct link *link, const void *user);

/* Sends HELLO: the first frame.  The glove's own must come before anything else does. */
int link_greet(struct link *link, struct gb_err *err);

/* Sends what is queued and handles what has come; sleeps until something happens, the deadline, or
 * an event on one of the extra descriptors (revents are filled).  1: something was handled;
 * 0: deadline or an extra descriptor; negative: the link is lost (err says why, also later). */
int link_pump(struct link *link, uint64_t deadline_ns, struct pollfd *extra, size_t n_extra,
              struct gb_err *err);

bool link_is_lost(const struct link *link);

/* Of a link whose other end is gone: reads what it had said before, so that link_answer() finds it.
 * It stays lost. */
void link_last_words(struct link *link);

/* Gives the socket away, for a keeper, with the numbers that were not used yet.  -EBUSY unless all
 * that was asked has been answered and nothing lies unread.  The link is lost afterwards. */
int link_release(struct link *link, uint32_t *ret_next_seq, uint32_t *ret_next_channel);
