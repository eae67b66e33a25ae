/* SPDX-License-Identifier: Apache-2.0 */
/* box/link.c - the host's end of the connection to a glove. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/link_parts.h"

#define EXTRA_MAX 6

/* Of what a glove that has ended had said: answers are few and short. */
#define LAST_READS_MAX 16

/* How long the glove may leave what was sent to it unread, when descriptors have to follow. */
#define SEND_MS 10000

int link_new(int fd, struct link **ret, struct gb_err *err)
{
    cleanup_close int owned = fd;
    struct link *link = calloc(1, sizeof(*link));
    int r;

    if (!link)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a link");
    r = fd_set_nonblock(fd);
    if (r < 0) {
        free(link);
        return gb_fail(err, r, GB_BLAME_HOST, "setting up a link");
    }
    fd_widen(fd, WIRE_CREDIT_WIDE);
    link->fd = take_fd(&owned);
    link->next_seq = 1;
    link->next_channel = 2;
    link->out = (struct buf)BUF_INIT(2 * LINK_QUEUE_MAX + WIRE_FRAME_MAX);
    wire_reader_init(&link->reader);
    *ret = link;
    return 0;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    if (link->fd >= 0)
        close(link->fd);
    buf_clear(&link->out);
    free(link);
}

bool link_is_lost(const struct link *link)
{
    return link->lost != 0;
}

int link_lose(struct link *link, int code, const char *why)
{
    if (!link->lost) {
        link->lost = code;
        link->why = why;
    }
    return link->lost;
}

static int lost_error(const struct link *link, struct gb_err *err)
{
    return gb_fail(err, link->lost, GB_BLAME_PEER, "the box was lost: %s", link->why);
}

/* ---- sending -------------------------------------------------------------------------------- */

int link_push(struct link *link)
{
    while (link->out_at < link->out.len) {
        ssize_t n = send(link->fd, link->out.data + link->out_at, link->out.len - link->out_at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return link_lose(link, -errno, "the glove has ended");
        link->out_at += (size_t)n;
    }
    buf_reset(&link->out);
    link->out_at = 0;
    return 0;
}

size_t link_queued(const struct link *link)
{
    return link->out.len - link->out_at;
}

/* What was sent is cut off once it is the larger part: the buffer is bounded by what is queued, not
 * by what has ever gone through. */
static void queue_compact(struct link *link)
{
    size_t left = link_queued(link);

    if (link->out_at == 0 || link->out_at < left)
        return;
    memmove(link->out.data, link->out.data + link->out_at, left);
    link->out.len = left;
    link->out_at = 0;
}

static int queue_bytes(struct link *link, const uint8_t *bytes, size_t len)
{
    if (link_queued(link) + len > LINK_QUEUE_MAX)
        return -EAGAIN;
    queue_compact(link);
    return buf_add(&link->out, bytes, len);
}

int link_queue(struct link *link, uint8_t type, uint32_t channel, uint8_t flags, const void *msg)
{
    int len = msg_encode(type, channel, flags, msg, link->frame, sizeof(link->frame));

    return len < 0 ? len : queue_bytes(link, link->frame, (size_t)len);
}

/* Half a frame can be neither taken back nor left out. */
static int queue_rest(struct link *link, const uint8_t *bytes, size_t sent, size_t len)
{
    int r = sent < len ? buf_add(&link->out, bytes + sent, len - sent) : 0;

    return r < 0 ? link_lose(link, r, "no memory for what goes to the glove") : 0;
}

int link_send_batch(struct link *link, size_t len)
{
    ssize_t n = 0;

    if (link_queued(link) == 0)
        n = send(link->fd, link->batch, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return link_lose(link, -errno, "the glove has ended");
    if (n <= 0)
        return queue_bytes(link, link->batch, len);
    return queue_rest(link, link->batch, (size_t)n, len);
}

static bool await_room(const struct link *link, uint64_t deadline_ns)
{
    struct pollfd out = { .fd = link->fd, .events = POLLOUT };

    return poll(&out, 1, clock_poll_ms(deadline_ns)) != 0;
}

/* A frame with descriptors goes by itself, so that they arrive with its first byte. */
static int send_with_fds(struct link *link, size_t len, const int *fds, size_t n_fds)
{
    uint64_t deadline_ns = clock_after_ms(SEND_MS);
    ssize_t n = -EAGAIN;

    while (n == -EAGAIN) {
        if (link_push(link) < 0)
            return link->lost;
        if (link_queued(link) == 0)
            n = fd_send(link->fd, link->frame, len, fds, n_fds, MSG_DONTWAIT);
        if (n == -EAGAIN && !await_room(link, deadline_ns))
            return link_lose(link, -ETIMEDOUT, "the glove reads no more");
    }
    if (n < 0)
        return link_lose(link, (int)n, "the glove has ended");
    return queue_rest(link, link->frame, (size_t)n, len);
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct request *request_of(struct link *link, uint32_t seq)
{
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (link->requests[i].seq == seq)
            return &link->requests[i];
    return NULL;
}

int link_request(struct link *link, uint8_t type, void *msg, const int *fds, size_t n_fds,
                 uint32_t *ret_seq, struct gb_err *err)
{
    struct request *request = request_of(link, 0);
    uint32_t seq = link->next_seq;
    int len;
    int r;

    if (link->lost)
        return lost_error(link, err);
    if (!request)
        return gb_fail(err, -EBUSY, GB_BLAME_BUG, "too many requests under way");
    memcpy(msg, &seq, sizeof(seq));
    len = msg_encode(type, 0, 0, msg, link->frame, sizeof(link->frame));
    if (len < 0)
        return gb_fail(err, len, GB_BLAME_CALLER,
                       "arguments and environment together are over %d KiB: put them into a file",
                       WIRE_PAYLOAD_MAX / 1024);
    r = n_fds ? send_with_fds(link, (size_t)len, fds, n_fds)
              : queue_bytes(link, link->frame, (size_t)len);
    if (r < 0)
        return link->lost ? lost_error(link, err)
                          : gb_fail(err, r, GB_BLAME_BUG, "the link's queue is full");
    *request = (struct request){ .seq = seq };
    link->next_seq++;
    *ret_seq = seq;
    (void)link_push(link);
    return 0;
}

int link_answer(struct link *link, uint32_t seq, uint64_t *ret_value, uint32_t *ret_step)
{
    struct request *request = request_of(link, seq);

    if (!request || !request->is_answered)
        return request ? 0 : -EINVAL;
    request->seq = 0;
    *ret_value = request->value;
    *ret_step = request->step;
    return request->code ? request->code : 1;
}

static bool is_answered(struct link *link, uint32_t seq)
{
    const struct request *request = request_of(link, seq);

    return request && request->is_answered;
}

int link_await(struct link *link, uint32_t seq, uint64_t deadline_ns, uint64_t *ret_value,
               uint32_t *ret_step, struct gb_err *err)
{
    int r;

    while ((r = link_answer(link, seq, ret_value, ret_step)) == 0) {
        int n = link_pump(link, deadline_ns, NULL, 0, err);

        if (n < 0)
            return n;
        /* Also when something came: a glove that sends other things for ever does not answer. */
        if (clock_poll_ms(deadline_ns) == 0 && !is_answered(link, seq))
            return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER, "the glove does not answer");
    }
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "the glove refused: %s", strerror(-r));
    return 0;
}

static int answer(struct link *link, uint32_t seq, int code, uint64_t value, uint32_t step)
{
    struct request *request = seq ? request_of(link, seq) : NULL;

    if (!request || request->is_answered)
        return link_lose(link, -EPROTO, "an answer that nobody waits for");
    request->is_answered = true;
    request->code = code;
    request->value = value;
    request->step = step;
    return 0;
}

static int handle_error(struct link *link, const struct msg_error *error)
{
    if (error->error == 0 || error->error > 4095)
        return link_lose(link, -EPROTO, "an error without a number");
    return answer(link, error->seq, -(int)error->error, 0, error->step);
}

void link_on_exit(struct link *link, void (*exited)(void *user, const struct msg_exit *exit),
                  void *user)
{
    link->exited = exited;
    link->exit_user = user;
}

/* What no wait status can say is not believed.  Whose run it was is the handler's affair: an EXIT
 * may come after its run was given up. */
static int handle_exit(struct link *link, const struct msg_exit *msg)
{
    if (msg->code > 255 || msg->signo >= NSIG || (msg->code && msg->signo))
        return link_lose(link, -EPROTO, "an end that no process can have");
    if (link->exited)
        link->exited(link->exit_user, msg);
    return 0;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static int handle_hello(struct link *link, const struct msg_hello *hello)
{
    if (link->has_hello || hello->magic != WIRE_MAGIC || hello->version != WIRE_VERSION ||
        hello->nonce != link->nonce)
        return link_lose(link, -EPROTO, "a greeting that is not the glove's");
    link->has_hello = true;
    return 0;
}

static int handle_frame(struct link *link, const struct wire_head *head, const uint8_t *payload)
{
    union {
        struct msg_hello hello;
        struct msg_credit credit;
        struct msg_ok ok;
        struct msg_error error;
        struct msg_exit exit;
        struct msg_counts counts;
        char room[MSG_STRUCT_MAX];
    } msg;

    if (!(msg_direction(head->type) & GLOVE_OUT) || (head->type != MSG_HELLO && !link->has_hello))
        return link_lose(link, -EPROTO, "a message that the glove does not send");
    if (head->type == MSG_DATA)
        return channel_take_data(link, head, payload);
    if (msg_decode(head->type, payload, head->size, &msg) < 0 || head->flags)
        return link_lose(link, -EPROTO, "a damaged message");
    switch (head->type) {
    case MSG_HELLO:
        return handle_hello(link, &msg.hello);
    case MSG_CREDIT:
        return channel_take_credit(link, head, &msg.credit);
    case MSG_OK:
        return answer(link, msg.ok.seq, 0, msg.ok.value, 0);
    case MSG_ERROR:
        return handle_error(link, &msg.error);
    case MSG_LOOKUP:
    case MSG_CONNECT:
    case MSG_HUNG_UP:
    case MSG_DIALLED:
        return side_take_ask(link, head->type, &msg);
    case MSG_COUNTS:
        link->counts = msg.counts;
        return answer(link, msg.counts.seq, 0, 0, 0);
    default:
        return handle_exit(link, &msg.exit);
    }
}

static int handle_frames(struct link *link)
{
    struct wire_head head;
    const uint8_t *payload;
    int r;

    while ((r = wire_reader_next(&link->reader, &head, &payload)) > 0) {
        r = handle_frame(link, &head, payload);
        if (r < 0)
            return r;
    }
    return r < 0 ? link_lose(link, r, "bytes that are no message") : 0;
}

/* How much to read at once.  With a sink no byte of a payload may be read that could go there by
 * itself: first the head alone, then exactly what belongs to it. */
static size_t appetite(const struct link *link, size_t room)
{
    const struct wire_reader *reader = &link->reader;
    size_t have = reader->end - reader->start;
    struct wire_head head;

    if (link->n_sinks == 0)
        return room;
    if (have < WIRE_HEAD_SIZE)
        return WIRE_HEAD_SIZE - have;
    return wire_head_get(reader->bytes + reader->start, &head) < 0
               ? room
               : WIRE_HEAD_SIZE + head.size - have;
}

/* One read and what it brought.  1, 0 when there was nothing, or lost. */
static int receive(struct link *link)
{
    size_t room;
    uint8_t *at = wire_reader_room(&link->reader, &room);
    ssize_t n;
    int r;

    if (passage_is_open(link))
        return passage_go_on(link);
    n = read(link->fd, at, appetite(link, room));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return link_lose(link, -errno, "reading from the glove failed");
    if (n == 0)
        return link_lose(link, -EPIPE, "the glove has ended");
    wire_reader_fed(&link->reader, (size_t)n);
    r = passage_try(link);
    if (r == 0)
        r = passage_is_open(link) ? passage_go_on(link) : handle_frames(link);
    return r < 0 ? r : 1;
}

void link_last_words(struct link *link)
{
    int lost = link->lost;

    if (lost && lost != -EPIPE && lost != -ECONNRESET)
        return; /* what came last was no message: nothing behind it is believed */
    link->lost = 0;
    for (int i = 0; i < LAST_READS_MAX; i++) {
        struct pollfd in = { .fd = link->fd, .events = POLLIN };

        if (poll(&in, 1, 0) != 1 || receive(link) <= 0)
            break;
    }
    link->lost = lost ? lost : link->lost;
}

/* What to wait for on the link itself, and on the pipe that its data goes into. */
static void pump_events(const struct link *link, struct pollfd fds[2])
{
    bool is_blocked = passage_is_open(link) && link->passage.is_blocked;

    fds[0] = (struct pollfd){ .fd = link->fd, .events = is_blocked ? 0 : POLLIN };
    fds[1] = (struct pollfd){ .fd = is_blocked ? link->passage.channel->sink_fd : -1,
                              .events = POLLOUT };
    if (link_queued(link) > 0)
        fds[0].events |= POLLOUT;
}

/* Places: the link's own two, the caller's, the side's. */
#define PLACE_EXTRA 2

int link_pump(struct link *link, uint64_t deadline_ns, struct pollfd *extra, size_t n_extra,
              struct gb_err *err)
{
    struct pollfd fds[PLACE_EXTRA + EXTRA_MAX + LINK_SIDE_MAX];
    struct pollfd *side = fds + PLACE_EXTRA + n_extra;
    size_t n_side;
    int n;

    if (n_extra > EXTRA_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_BUG, "too many descriptors to wait for");
    if (!link->lost)
        (void)link_push(link);
    if (link->lost)
        return lost_error(link, err);
    pump_events(link, fds);
    if (n_extra)
        memcpy(fds + PLACE_EXTRA, extra, n_extra * sizeof(*extra));
    n_side = side_polls(link, side, LINK_SIDE_MAX);
    n = poll(fds, PLACE_EXTRA + n_extra + n_side, clock_poll_ms(deadline_ns));
    if (n < 0 && errno != EINTR)
        return gb_fail_sys(err, "waiting for the box");
    for (size_t i = 0; n <= 0 && i < PLACE_EXTRA + n_extra + n_side; i++)
        fds[i].revents = 0;
    for (size_t i = 0; i < n_extra; i++)
        extra[i].revents = fds[PLACE_EXTRA + i].revents;
    if (n > 0 && n_side)
        side_served(link, side);
    if (!fds[0].revents && !fds[1].revents)
        return link->lost ? lost_error(link, err) : 0;
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR) || fds[1].revents) && receive(link) < 0)
        return lost_error(link, err);
    return 1;
}

int link_greet(struct link *link, struct gb_err *err)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };
    int r;

    if (getrandom(&link->nonce, sizeof(link->nonce), 0) != (ssize_t)sizeof(link->nonce))
        return gb_fail_sys(err, "drawing a nonce");
    hello.nonce = link->nonce;
    r = link_queue(link, MSG_HELLO, 0, 0, &hello);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_BUG, "queueing the greeting");
    /* At once: a keeper answers while the first request is prepared. */
    (void)link_push(link);
    return 0;
}

static bool is_at_rest(const struct link *link)
{
    for (size_t i = 0; i < REQUESTS_MAX; i++)
        if (link->requests[i].seq)
            return false;
    return !link->lost && link->has_hello && link_queued(link) == 0 &&
           link->reader.start == link->reader.end;
}

int link_release(struct link *link, uint32_t *ret_next_seq, uint32_t *ret_next_channel)
{
    if (!is_at_rest(link))
        return -EBUSY;
    *ret_next_seq = link->next_seq;
    *ret_next_channel = link->next_channel;
    (void)link_lose(link, -EPIPE, "it was given to a keeper");
    return take_fd(&link->fd);
}

int link_counts(struct link *link, uint64_t deadline_ns, struct msg_counts *ret, struct gb_err *err)
{
    struct msg_usage usage = { 0 };
    uint32_t seq = 0;
    uint64_t value;
    uint32_t step;
    int r = link_request(link, MSG_USAGE, &usage, NULL, 0, &seq, err);

    if (r == 0)
        r = link_await(link, seq, deadline_ns, &value, &step, err);
    if (r == 0)
        *ret = link->counts;
    return r;
}
