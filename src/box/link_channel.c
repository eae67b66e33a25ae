/* SPDX-License-Identifier: Apache-2.0 */
/* box/link_channel.c - the channels of a link: their credit, and data that goes straight into a
 * pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "box/link_parts.h"

/* ---- channels ------------------------------------------------------------------------------- */

/* Numbers are given in their order, and each has one place: no look-up searches. */
static size_t place_of(uint32_t number)
{
    return number / 2 % CHANNEL_PLACES;
}

static struct channel *channel_of(struct link *link, uint32_t number)
{
    struct channel *channel = &link->channels[place_of(number)];

    return number && channel->number == number ? channel : NULL;
}

/* The next number whose place nobody has: one who stays long is stepped over. */
static struct channel *next_place(struct link *link)
{
    while (link->channels[place_of(link->next_channel)].number)
        link->next_channel += 2;
    return &link->channels[place_of(link->next_channel)];
}

uint32_t link_channel_open(struct link *link, const struct channel_ops *ops, void *user)
{
    struct channel *channel = link->n_channels < CHANNELS_MAX ? next_place(link) : NULL;

    if (!channel)
        return 0;
    *channel = (struct channel){
        .number = link->next_channel,
        .sink_fd = -1,
        .ops = ops,
        .user = user,
        .credit_in = WIRE_CREDIT_START,
        .credit_out = WIRE_CREDIT_START,
        .window = WIRE_CREDIT_START,
    };
    link->next_channel += 2;
    link->n_channels++;
    return channel->number;
}

void link_channel_close(struct link *link, uint32_t number)
{
    struct channel *channel = channel_of(link, number);

    if (!channel)
        return;
    if (channel->sink_fd >= 0)
        link->n_sinks--;
    /* The rest of a frame on its way is nobody's: neither the pipe's nor the next channel's. */
    if (link->passage.channel == channel)
        link->passage = (struct passage){ .drop = link->passage.left + link->passage.drop };
    if (channel->window == WIRE_CREDIT_WIDE)
        link->n_wides--;
    channel->number = 0;
    link->n_channels--;
}

void link_channel_sink(struct link *link, uint32_t number, int pipe_fd)
{
    struct channel *channel = channel_of(link, number);

    if (channel && channel->sink_fd < 0) {
        channel->sink_fd = pipe_fd;
        link->n_sinks++;
    }
}

void link_channel_hold(struct link *link, uint32_t number)
{
    struct channel *channel = channel_of(link, number);

    if (channel)
        channel->is_held = true;
}

size_t link_channel_room(const struct link *link, uint32_t number)
{
    const struct channel *channel = &link->channels[place_of(number)];
    size_t room = LINK_QUEUE_MAX / 2;

    if (number == 0 || channel->number != number)
        return 0;
    room = link_queued(link) < room ? room - link_queued(link) : 0;
    return channel->credit_out < room ? (size_t)channel->credit_out : room;
}

int link_channel_send(struct link *link, uint32_t number, const void *bytes, size_t len, bool fin)
{
    struct channel *channel = channel_of(link, number);
    const uint8_t *at = bytes;

    if (!channel || len > channel->credit_out)
        return -EINVAL;
    do {
        size_t n = len < WIRE_PAYLOAD_MAX ? len : WIRE_PAYLOAD_MAX;
        struct msg_data data = { .bytes = { .size = (uint32_t)n, .bytes = at } };
        int r = link_queue(link, MSG_DATA, number, fin && n == len ? WIRE_FLAG_FIN : 0, &data);

        if (r < 0)
            return r;
        channel->credit_out -= n;
        at = n ? at + n : at;
        len -= n;
    } while (len > 0);
    return link_push(link);
}

/* Straight to where the payloads of the frames lie that are sent. */
static ssize_t receive_payloads(struct link *link, int socket_fd, size_t most)
{
    struct iovec iov[WIRE_BATCH];
    struct msghdr msg = { .msg_iov = iov };
    ssize_t n;

    for (size_t i = 0; i < WIRE_BATCH && most > 0; i++) {
        size_t len = most < WIRE_PAYLOAD_MAX ? most : WIRE_PAYLOAD_MAX;

        iov[i] = (struct iovec){ link->batch + i * WIRE_FRAME_MAX + WIRE_HEAD_SIZE, len };
        msg.msg_iovlen = i + 1;
        most -= len;
    }
    n = recvmsg(socket_fd, &msg, MSG_DONTWAIT);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return n;
}

/* All payloads but the last are full: the frames lie one behind the other.  Their size. */
static size_t put_heads(struct link *link, uint32_t number, size_t left)
{
    size_t at = 0;

    while (left > 0) {
        uint32_t len = left < WIRE_PAYLOAD_MAX ? (uint32_t)left : WIRE_PAYLOAD_MAX;
        struct wire_head head = { .type = MSG_DATA, .channel = number, .size = len };

        wire_head_put(link->batch + at, &head);
        at += WIRE_HEAD_SIZE + len;
        left -= len;
    }
    return at;
}

ssize_t link_channel_feed(struct link *link, uint32_t number, int socket_fd)
{
    size_t room = link_channel_room(link, number);
    ssize_t n;
    int r;

    /* Nothing asked for is nothing read, and no end. */
    if (room == 0)
        return -EAGAIN;
    n = receive_payloads(link, socket_fd, room);
    if (n <= 0)
        return n;
    channel_of(link, number)->credit_out -= (uint64_t)n;
    /* What was received goes on or nothing does; a lost link is told by whoever waits on it. */
    r = link_send_batch(link, put_heads(link, number, (size_t)n));
    if (r < 0)
        (void)link_lose(link, r, "no memory for what goes to the glove");
    return n;
}

/* The glove may be behind by a quarter of the window before it is told; saves a frame for each
 * frame. */
static int give_credit(struct link *link, struct channel *channel)
{
    struct msg_credit credit = { .bytes = (uint32_t)channel->owed };

    if (channel->owed < channel->window / 4 || channel->is_finished)
        return 0;
    channel->credit_in += channel->owed;
    channel->owed = 0;
    if (link_queue(link, MSG_CREDIT, channel->number, 0, &credit) < 0)
        return link_lose(link, -ENOBUFS, "the glove reads no more");
    return 0;
}

int link_channel_pay(struct link *link, uint32_t number, size_t len)
{
    struct channel *channel = channel_of(link, number);

    if (!channel)
        return 0;
    channel->owed += len;
    return give_credit(link, channel);
}

size_t link_channel_widen(struct link *link, uint32_t number)
{
    struct channel *channel = channel_of(link, number);

    if (!channel)
        return 0;
    if (channel->window == WIRE_CREDIT_START && link->n_wides < WIDES_MAX &&
        !channel->is_finished) {
        channel->owed += WIRE_CREDIT_WIDE - WIRE_CREDIT_START;
        channel->window = WIRE_CREDIT_WIDE;
        link->n_wides++;
    }
    return channel->window;
}

/* A channel that its owner has closed may still have frames under way: they are dropped. */
static int no_channel(struct link *link, uint32_t number)
{
    if (number > 0 && number < link->next_channel && number % 2 == 0)
        return 0;
    return link_lose(link, -EPROTO, "a channel that was never opened");
}

/* The channel of a DATA frame, if it may come.  *ret NULL: it is dropped. */
static int data_channel(struct link *link, const struct wire_head *head, struct channel **ret)
{
    struct channel *channel = channel_of(link, head->channel);

    *ret = channel;
    if (!channel)
        return no_channel(link, head->channel);
    if (!channel->ops || channel->is_finished || head->size > channel->credit_in)
        return link_lose(link, -EPROTO, "data that nobody asked for");
    channel->credit_in -= head->size;
    channel->owed += channel->is_held ? 0 : head->size;
    return 0;
}

static int data_done(struct link *link, struct channel *channel, bool is_last)
{
    if (!is_last)
        return give_credit(link, channel);
    channel->is_finished = true;
    channel->ops->fin(channel->user);
    return 0;
}

int channel_take_data(struct link *link, const struct wire_head *head, const uint8_t *payload)
{
    struct channel *channel;
    int r = data_channel(link, head, &channel);

    if (r < 0 || !channel)
        return r;
    if (head->size > 0)
        channel->ops->data(channel->user, payload, head->size);
    return data_done(link, channel, head->flags & WIRE_FLAG_FIN);
}

/* ---- straight into a pipe ------------------------------------------------------------------- */

static int passage_begin(struct link *link, const struct wire_head *head)
{
    struct channel *channel;
    int r = data_channel(link, head, &channel);

    if (r < 0)
        return r;
    link->passage = (struct passage){ .channel = channel,
                                      .drop = head->size,
                                      .is_last = head->flags & WIRE_FLAG_FIN };
    if (channel && head->size > 0) {
        link->passage.left = channel->ops->take(channel->user, head->size);
        link->passage.drop -= link->passage.left;
    }
    return 0;
}

static bool is_writable(int fd)
{
    struct pollfd out = { .fd = fd, .events = POLLOUT };

    return poll(&out, 1, 0) > 0;
}

/* Moves what can be moved now.  1, 0 when it must be waited, or lost. */
static int passage_splice(struct link *link)
{
    struct passage *p = &link->passage;
    ssize_t n = splice(link->fd, NULL, p->channel->sink_fd, NULL, p->left, SPLICE_F_NONBLOCK);

    if (n > 0) {
        p->left -= (size_t)n;
        return 1;
    }
    if (n == 0)
        return link_lose(link, -EPIPE, "the glove has ended");
    if (errno == EINTR)
        return 1;
    if (errno == EAGAIN) {
        p->is_blocked = !is_writable(p->channel->sink_fd);
        return 0;
    }
    /* The reader of the pipe has gone: the rest is read and forgotten. */
    p->channel->ops->refused(p->channel->user);
    p->drop += p->left;
    p->left = 0;
    return 1;
}

static int passage_drop(struct link *link)
{
    struct passage *p = &link->passage;
    ssize_t n =
        read(link->fd, link->frame, p->drop < sizeof(link->frame) ? p->drop : sizeof(link->frame));

    if (n > 0) {
        p->drop -= (size_t)n;
        return 1;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return link_lose(link, n < 0 ? -errno : -EPIPE, "the glove has ended");
}

int passage_go_on(struct link *link)
{
    struct passage *p = &link->passage;
    struct channel *channel = p->channel;
    int r = 1;

    p->is_blocked = false;
    while (r > 0 && p->left > 0)
        r = passage_splice(link);
    while (r > 0 && p->drop > 0)
        r = passage_drop(link);
    if (r <= 0)
        return r;
    link->passage.channel = NULL;
    if (channel && channel->number)
        r = data_done(link, channel, p->is_last);
    return r < 0 ? r : 1;
}

int channel_take_credit(struct link *link, const struct wire_head *head,
                        const struct msg_credit *credit)
{
    struct channel *channel = channel_of(link, head->channel);

    if (!channel)
        return no_channel(link, head->channel);
    if (credit->bytes > UINT32_MAX - channel->credit_out)
        return link_lose(link, -EPROTO, "too much credit");
    channel->credit_out += credit->bytes;
    return 0;
}

bool passage_is_open(const struct link *link)
{
    return link->passage.channel || link->passage.drop > 0;
}

/* A head that was read alone may open a passage. */
int passage_try(struct link *link)
{
    struct wire_reader *reader = &link->reader;
    const struct channel *channel;
    struct wire_head head;

    if (link->n_sinks == 0 || !link->has_hello || reader->end - reader->start != WIRE_HEAD_SIZE ||
        wire_head_get(reader->bytes + reader->start, &head) < 0 || head.type != MSG_DATA)
        return 0;
    channel = channel_of(link, head.channel);
    if (!channel || channel->sink_fd < 0 || head.size == 0)
        return 0;
    wire_reader_init(reader);
    return passage_begin(link, &head);
}
