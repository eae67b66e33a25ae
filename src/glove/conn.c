/* SPDX-License-Identifier: Apache-2.0 */
/* glove/conn.c - connections whose other end is the host's. */
#include "glove/conn.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "glove/glove.h"

/* ---- the table ------------------------------------------------------------------------------ */

static size_t most_of(enum conn_kind kind)
{
    return kind == CONN_OURS ? CONNS_MAX : DIALS_MAX;
}

bool conn_has_room(const struct conns *conns, enum conn_kind kind)
{
    if (conns->used[kind] < most_of(kind))
        return true;
    for (size_t i = 0; i < most_of(kind); i++)
        if (conns->all[kind][i].state == CONN_FREE)
            return true;
    return false;
}

struct conn *conn_new(struct conns *conns, enum conn_kind kind, uint32_t ask)
{
    for (size_t i = 0; i < most_of(kind); i++) {
        struct conn *conn = &conns->all[kind][i];

        if (conn->state != CONN_FREE)
            continue;
        *conn = (struct conn){ .state = CONN_ASKED, .ask = ask, .fd = -1 };
        if (i >= conns->used[kind])
            conns->used[kind] = i + 1;
        return conn;
    }
    return NULL;
}

/* The host counts on the place as soon as both directions have ended for it. */
static bool is_done_with(const struct conn *conn)
{
    return conn->state == CONN_OPEN && !conn_has_channel(conn->out, conn->out_number) &&
           conn_has_channel(conn->in, conn->in_number) && conn->in->has_fin;
}

struct conn *conn_in_place_of_one(struct conns *conns, uint32_t ask)
{
    for (size_t i = 0; i < conns->used[CONN_THEIRS]; i++) {
        struct conn *conn = &conns->all[CONN_THEIRS][i];

        if (!is_done_with(conn))
            continue;
        channel_break(conn->in);
        conn->state = CONN_FREE;
        return conn_new(conns, CONN_THEIRS, ask);
    }
    return NULL;
}

struct conn *conn_of(struct conns *conns, uint32_t ask)
{
    enum conn_kind kind = ask & DIAL_ASK ? CONN_THEIRS : CONN_OURS;

    for (size_t i = 0; i < conns->used[kind]; i++)
        if (conns->all[kind][i].state != CONN_FREE && conns->all[kind][i].ask == ask)
            return &conns->all[kind][i];
    return NULL;
}

/* ---- channels ------------------------------------------------------------------------------- */

int conn_open_channels(struct glove *glove, struct conn *conn, uint32_t in, uint32_t out)
{
    struct channels *channels = &glove->channels;
    int r = channel_open(channels, in, CHANNEL_IN, &conn->in);

    if (r == 0)
        r = channel_open(channels, out, CHANNEL_OUT, &conn->out);
    if (r < 0)
        return r;
    conn->in_number = in;
    conn->out_number = out;
    conn->has_channels = true;
    return 0;
}

int conn_attach(struct glove *glove, struct conn *conn)
{
    int r =
        channel_socket(&glove->channels, conn->in, conn->out, take_fd(&conn->fd), &conn->was_reset);

    conn->state = CONN_OPEN;
    conn->out->is_held = conn->talk != NULL;
    if (r == 0)
        return channel_begin(conn->in, &glove->link);
    /* No descriptor is left: it breaks before it has begun. */
    fd_reset_at_close(conn->out->fd);
    channel_abandon(conn->in);
    channel_abandon(conn->out);
    return 0;
}

/* ---- ends ----------------------------------------------------------------------------------- */

void conn_reset_fd(int fd)
{
    fd_reset_at_close(fd);
    close(fd);
}

bool conn_has_channel(const struct channel *channel, uint32_t number)
{
    return channel->way != CHANNEL_FREE && channel->number == number;
}

static void forget(struct conn *conn)
{
    proxy_forget(conn);
    conn->state = CONN_FREE;
}

static int tell(struct glove *glove, const struct conn *conn, int error)
{
    struct msg_hung_up msg = { .ask = conn->ask, .error = (uint32_t)error };

    return link_send(&glove->link, MSG_HUNG_UP, 0, 0, &msg);
}

/* The host takes no more now, and a reset waits for nobody. */
static bool is_stuck(const struct conn *conn)
{
    return conn->was_reset && conn->out->credit == 0;
}

static int settle(struct glove *glove, struct conn *conn)
{
    bool has_in = conn_has_channel(conn->in, conn->in_number);
    bool has_out = conn_has_channel(conn->out, conn->out_number);
    int r = conn->talk && has_out ? proxy_settle(glove, conn) : 0;

    if (r < 0)
        return r;
    if (!has_in && !has_out) {
        forget(conn);
        return 0;
    }
    if (has_out && is_stuck(conn))
        channel_abandon(conn->out);
    if (has_out && conn->out->fd < 0 && !conn->has_told_reset) {
        conn->has_told = conn->has_told_reset = true;
        return tell(glove, conn, ECONNRESET);
    }
    if (!has_in || conn->in->fd >= 0 || conn->has_told)
        return 0;
    conn->has_told = true;
    return tell(glove, conn, 0);
}

int conn_settle(struct glove *glove)
{
    struct conns *conns = &glove->conns;
    int r = 0;

    for (size_t kind = 0; kind < N_CONN_KINDS; kind++) {
        size_t used = 0;

        for (size_t i = 0; r == 0 && i < conns->used[kind]; i++) {
            struct conn *conn = &conns->all[kind][i];

            if (conn->state == CONN_OPEN)
                r = settle(glove, conn);
            if (conn->state != CONN_FREE)
                used = i + 1;
        }
        if (r == 0)
            conns->used[kind] = used;
    }
    return r;
}

/* What the host has sent to its end still goes to a program that reads slowly.  But the place of a
 * connection that the host asked for is free, as it believes. */
static bool may_finish(const struct conn *conn)
{
    return conn->in->has_fin && !(conn->ask & DIAL_ASK);
}

/* The other end is gone in both directions; the host sends nothing behind that. */
int conn_hang_up(struct glove *glove, const void *msg)
{
    const struct msg_hang_up *request = msg;
    struct conn *conn = conn_of(&glove->conns, request->ask);
    int r = 0;

    if (!conn || !conn->has_channels)
        return 0; /* it crossed with our own end */
    if (conn->fd >= 0)
        conn_reset_fd(take_fd(&conn->fd));
    if (conn_has_channel(conn->out, conn->out_number))
        r = channel_finish(conn->out, &glove->link);
    if (conn_has_channel(conn->in, conn->in_number)) {
        conn->has_told = true;
        if (may_finish(conn))
            return r;
        channel_break(conn->in);
    }
    forget(conn);
    return r;
}
