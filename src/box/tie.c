/* SPDX-License-Identifier: Apache-2.0 */
/* box/tie.c - a socket of the host, tied to two channels of a link. */
#include "box/tie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/link.h"
#include "wire/msg.h"

/* Pieces of one connection in a row (each as many frames as are sent at once), before the others
 * and the glove get their turn; behind what is no more than a request or its answer comes nothing.
 */
#define PIECES_IN_A_ROW 2
#define PIECE_LARGE     16384

/* From a peer that nobody hears. */
#define UNHEARD_MAX ((size_t)1 << 20)

/* Bytes to the peer after which a connection is one that carries much. */
#define MUCH ((uint64_t)1 << 20)

static void count(const struct tie *tie, size_t len)
{
    if (tie->count)
        *tie->count += len;
}

static void end_if_over(struct tie *tie)
{
    if (!tie->in && !tie->out && !tie->held_len)
        tie->over(tie->user);
}

/* ---- from the box --------------------------------------------------------------------------- */

/* How much the peer took; 0 when it takes none now. */
static ssize_t give(struct tie *tie, const uint8_t *bytes, size_t len)
{
    ssize_t n;

    do {
        n = send(tie->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    tie->bytes_sent += (uint64_t)n;
    count(tie, (size_t)n);
    (void)link_channel_pay(tie->link, tie->out, (size_t)n);
    return n;
}

static void end_out(struct tie *tie)
{
    if (!tie->has_fin || !tie->out || tie->held_len || tie->error)
        return;
    (void)shutdown(tie->fd, SHUT_WR);
    link_channel_close(tie->link, tie->out);
    tie->out = 0;
}

static int give_held(struct tie *tie)
{
    while (tie->held_len > 0) {
        ssize_t n = give(tie, tie->held + tie->held_at, tie->held_len);

        if (n <= 0)
            return (int)n;
        tie->held_at += (size_t)n;
        tie->held_len -= (size_t)n;
        *tie->held_in_all -= (size_t)n;
    }
    free(tie->held); /* a slow moment of many peers is not memory for as long as they stay */
    tie->held = NULL;
    tie->held_at = 0;
    end_out(tie);
    return 0;
}

/* Never more than the credit that was given, which is paid back only as the peer takes it. */
static bool hold(struct tie *tie, const uint8_t *bytes, size_t len)
{
    if (len > TIES_HELD_MAX - *tie->held_in_all)
        return false;
    if (!tie->held)
        tie->held = malloc(tie->window);
    if (!tie->held)
        return false;
    if (len > tie->window - tie->held_at - tie->held_len) {
        memmove(tie->held, tie->held + tie->held_at, tie->held_len);
        tie->held_at = 0;
    }
    memcpy(tie->held + tie->held_at + tie->held_len, bytes, len);
    tie->held_len += len;
    *tie->held_in_all += len;
    return true;
}

/* A peer that takes nothing would wake nobody: the end of what it says does. */
static void give_up(struct tie *tie)
{
    tie->error = ENOBUFS;
    (void)shutdown(tie->fd, SHUT_RD);
}

/* What fails here is told where it is waited for: the channel is in use. */
static void on_data(void *user, const uint8_t *bytes, size_t len)
{
    struct tie *tie = user;
    ssize_t n = 0;

    if (tie->error)
        return;
    if (tie->held_len == 0) {
        /* Nothing is held: there is no room yet that would be too small. */
        if (tie->bytes_sent >= MUCH && tie->window < WIRE_CREDIT_WIDE)
            tie->window = link_channel_widen(tie->link, tie->out);
        n = give(tie, bytes, len);
    }
    if (n < 0)
        tie->error = (int)-n;
    else if ((size_t)n < len && !hold(tie, bytes + (size_t)n, len - (size_t)n))
        give_up(tie);
}

static void on_fin(void *user)
{
    struct tie *tie = user;

    tie->has_fin = true;
    end_out(tie);
    end_if_over(tie);
}

static const struct channel_ops ops = { .data = on_data, .fin = on_fin };

/* ---- to the box ----------------------------------------------------------------------------- */

static void end_in(struct tie *tie)
{
    (void)link_channel_send(tie->link, tie->in, NULL, 0, true);
    link_channel_close(tie->link, tie->in);
    tie->in = 0;
}

/* That a connection broke is an error for the first who asks, and an end for those behind.  Where
 * the peer had ended by itself before that, sending fails with EPIPE. */
static bool was_broken(const struct tie *tie)
{
    return tie->error && tie->error != EPIPE;
}

static int receive(struct tie *tie)
{
    for (int i = 0; i < PIECES_IN_A_ROW; i++) {
        ssize_t n = link_channel_feed(tie->link, tie->in, tie->fd);

        if (n == 0 && was_broken(tie))
            return -tie->error;
        if (n == 0)
            end_in(tie);
        if (n <= 0)
            return n == -EAGAIN ? 0 : (int)n;
        tie->bytes_received += (uint64_t)n;
        count(tie, (size_t)n);
        if (n < PIECE_LARGE)
            break;
    }
    return 0;
}

/* The peer is gone: what it said before is passed on, as much as the box has room for. */
static int receive_rest(struct tie *tie)
{
    int r = 0;

    while (r == 0 && tie->in) {
        uint64_t before = tie->bytes_received;

        r = receive(tie);
        if (tie->bytes_received == before)
            break;
    }
    return r < 0 ? r : -tie->error;
}

/* Its kernel would reset a peer that speaks to nobody; this one may still have much to hear. */
static int throw_away(struct tie *tie)
{
    char bytes[16384];
    ssize_t n = recv(tie->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    tie->is_deaf = n > 0;
    tie->unheard += (size_t)n;
    count(tie, (size_t)n);
    return tie->unheard > UNHEARD_MAX ? -EPIPE : 0;
}

/* ---- both ----------------------------------------------------------------------------------- */

int tie_open(struct tie *tie, struct link *link, int fd)
{
    tie->link = link;
    tie->fd = -1;
    tie->in = link_channel_open(link, NULL, tie);
    tie->out = link_channel_open(link, &ops, tie);
    if (!tie->in || !tie->out)
        return -ENOBUFS;
    link_channel_hold(link, tie->out);
    tie->window = WIRE_CREDIT_START;
    tie->fd = fd;
    return 0;
}

void tie_close(struct tie *tie)
{
    if (tie->fd >= 0)
        close(tie->fd);
    if (tie->in)
        link_channel_close(tie->link, tie->in);
    if (tie->out)
        link_channel_close(tie->link, tie->out);
    if (tie->held_len)
        *tie->held_in_all -= tie->held_len;
    free(tie->held);
    *tie = (struct tie){ .fd = -1 };
}

void tie_break(const struct tie *tie)
{
    if (tie->fd >= 0)
        fd_reset_at_close(tie->fd);
}

bool tie_is_sending(const struct tie *tie)
{
    return tie->out || tie->held_len > 0;
}

struct pollfd tie_wish(const struct tie *tie)
{
    bool has_room = tie->is_deaf || (tie->in && link_channel_room(tie->link, tie->in) > 0);
    bool wants_out = tie->held_len > 0 || tie->error;

    return (struct pollfd){
        .fd = has_room || wants_out ? tie->fd : -1,
        .events = (short)((has_room || tie->error ? POLLIN : 0) | (wants_out ? POLLOUT : 0)),
    };
}

int tie_serve(struct tie *tie, short revents)
{
    int r = 0;

    if (!tie->error && revents & (POLLOUT | POLLERR | POLLHUP))
        tie->error = -give_held(tie);
    if (tie->error)
        return receive_rest(tie);
    if (tie->is_deaf && revents & (POLLIN | POLLERR | POLLHUP))
        r = throw_away(tie);
    if (tie->in && revents & (POLLIN | POLLERR | POLLHUP))
        r = receive(tie);
    if (r == 0)
        end_if_over(tie);
    return r;
}

void tie_deaf(struct tie *tie)
{
    if (tie->in) {
        end_in(tie);
        tie->is_deaf = true;
    }
    end_if_over(tie);
}
