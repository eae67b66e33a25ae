/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_link.c - the host's end of a link, fed with whatever a glove may send.
 *
 * The first byte chooses the state: greeted or not, with a pipe as a channel's sink or not, and the
 * length of the pieces.  The rest are the glove's bytes.  Whatever they are: no more is delivered
 * than was sent, nothing comes on a channel after its end, a request is answered once, and a lost
 * link stays lost for the same reason. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/link.h"
#include "must.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/msg.h"

#define CHOICE_RAW   1 /* no greeting: the bytes have to hold one, and cannot */
#define CHOICE_SINK  2
#define CHOICE_PIECE 2 /* bits above: 0 for all at once */

struct owner {
    uint64_t bytes;
    unsigned fins;
};

struct feed {
    struct link *link;
    int fd;
    int sink[2];
    struct owner owners[3];
    uint32_t closed;
    uint32_t seqs[2];
    unsigned exits;
    struct gb_err err;
};

static void take_data(void *user, const uint8_t *bytes, size_t len)
{
    struct owner *owner = user;

    must(owner->fins == 0 && len > 0 && len <= WIRE_PAYLOAD_MAX);
    must(bytes[0] == bytes[0] && bytes[len - 1] == bytes[len - 1]);
    owner->bytes += len;
}

static void take_fin(void *user)
{
    struct owner *owner = user;

    must(owner->fins++ == 0);
}

static size_t take_some(void *user, size_t len)
{
    struct owner *owner = user;

    /* A promise of the frame's head: what really comes is counted behind the pipe. */
    must(owner->fins == 0 && len > 0);
    return len - len / 3;
}

static void take_refusal(void *user)
{
    (void)user;
}

static const struct channel_ops ops = { take_data, take_fin, take_some, take_refusal };

static void take_exit(void *user, const struct msg_exit *msg)
{
    struct feed *feed = user;

    must(msg->code <= 255 && msg->signo <= 64 && !(msg->code && msg->signo));
    feed->exits++;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static void greet(struct feed *feed)
{
    uint8_t frame[WIRE_HEAD_SIZE + 16];

    must(link_greet(feed->link, &feed->err) == 0);
    must(link_pump(feed->link, 0, NULL, 0, &feed->err) == 0);
    must(fd_read_full(feed->fd, frame, sizeof(frame)) == (ssize_t)sizeof(frame));
    /* A greeting is its own answer. */
    must(fd_write_full(feed->fd, frame, sizeof(frame)) == 0);
    must(link_pump(feed->link, 0, NULL, 0, &feed->err) == 1);
}

static void open_all(struct feed *feed, uint8_t choice)
{
    struct msg_ping ping;
    int pair[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    must(link_new(pair[0], &feed->link, &feed->err) == 0);
    feed->fd = pair[1];
    must(pipe2(feed->sink, O_CLOEXEC | O_NONBLOCK) == 0);
    if (!(choice & CHOICE_RAW))
        greet(feed);
    must(link_channel_open(feed->link, &ops, &feed->owners[0]) == 2);
    must(link_channel_open(feed->link, &ops, &feed->owners[1]) == 4);
    must(link_channel_open(feed->link, NULL, NULL) == 6);
    must(link_channel_open(feed->link, &ops, &feed->owners[2]) == 8);
    link_channel_close(feed->link, 8);
    if (choice & CHOICE_SINK)
        link_channel_sink(feed->link, 4, feed->sink[1]);
    for (size_t i = 0; i < N_ELEMENTS(feed->seqs); i++)
        must(link_request(feed->link, MSG_PING, &ping, NULL, 0, &feed->seqs[i], &feed->err) == 0);
    link_on_exit(feed->link, take_exit, feed);
}

static void close_all(struct feed *feed)
{
    link_free(feed->link);
    close(feed->fd);
    close(feed->sink[0]);
    close(feed->sink[1]);
}

/* ---- feeding -------------------------------------------------------------------------------- */

/* What the host has to say is read and forgotten, or its queue would fill. */
static void forget(int fd)
{
    char bytes[4096];

    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        continue;
}

static uint64_t empty(int fd)
{
    char bytes[4096];
    uint64_t total = 0;
    ssize_t n;

    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        total += (uint64_t)n;
    return total;
}

static int pump_all(struct feed *feed)
{
    int r;

    while ((r = link_pump(feed->link, 0, NULL, 0, &feed->err)) > 0) {
        forget(feed->fd);
        feed->owners[1].bytes += empty(feed->sink[0]);
    }
    return r;
}

static void check(struct feed *feed, int last, size_t size)
{
    uint64_t value;
    uint32_t step;

    must(feed->owners[0].bytes + feed->owners[1].bytes <= size);
    must(feed->owners[2].bytes == 0 && feed->owners[2].fins == 0);
    must((last < 0) == link_is_lost(feed->link));
    if (last < 0) {
        must(link_pump(feed->link, 0, NULL, 0, &feed->err) == last);
        must(feed->err.code == last && feed->err.msg[0]);
    }
    for (size_t i = 0; i < N_ELEMENTS(feed->seqs); i++)
        if (link_answer(feed->link, feed->seqs[i], &value, &step) != 0)
            must(link_answer(feed->link, feed->seqs[i], &value, &step) == -EINVAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = { 0 };
    uint8_t choice = size ? data[0] : 0;
    size_t piece = choice >> CHOICE_PIECE ? choice >> CHOICE_PIECE : 4096;
    size_t at = 1;
    int r = 0;

    open_all(&feed, choice);
    while (r == 0 && at < size) {
        ssize_t n = send(feed.fd, data + at, size - at < piece ? size - at : piece,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        at += n > 0 ? (size_t)n : 0;
        r = pump_all(&feed);
    }
    check(&feed, r, size);
    close_all(&feed);
    return 0;
}
