/* SPDX-License-Identifier: Apache-2.0 */
/* glove/dial.c - connections from the host to whoever listens on the box's own loopback. */
#include "glove/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "glove/glove.h"

static int tell(struct glove *glove, const struct conn *conn, int error)
{
    struct msg_dialled msg = { .ask = conn->ask, .error = (uint32_t)error };

    return link_send(&glove->link, MSG_DIALLED, 0, 0, &msg);
}

/* What comes on its channel is thrown away until the host ends it. */
static int fail(struct glove *glove, struct conn *conn, int error)
{
    int r = tell(glove, conn, error);

    drop_fd(&conn->fd);
    channel_abandon(conn->in);
    if (conn->in->has_fin)
        channel_break(conn->in);
    conn->has_told = true;
    conn->state = CONN_OPEN;
    return r < 0 ? r : channel_finish(conn->out, &glove->link);
}

/* 0, -EINPROGRESS, or why not. */
static int begin(struct conn *conn, int family)
{
    struct sockaddr_in in = {
        .sin_family = AF_INET,
        .sin_port = htons(conn->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(conn->port),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    const void *to = family == AF_INET ? (const void *)&in : &in6;
    socklen_t len = family == AF_INET ? sizeof(in) : sizeof(in6);
    int on = 1;

    conn->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (conn->fd < 0)
        return -errno;
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return connect(conn->fd, to, len) < 0 ? -errno : 0;
}

/* How a connection that was begun stands: 0, -EINPROGRESS, or why it failed. */
static int look(const struct conn *conn)
{
    struct pollfd out = { .fd = conn->fd, .events = POLLOUT };
    int error = 0;
    socklen_t len = sizeof(error);

    if (poll(&out, 1, 0) == 0)
        return -EINPROGRESS;
    return getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}

/* On a loopback the answer is mostly there already when connect() returns. */
static int try_family(struct conn *conn, int family)
{
    int r = begin(conn, family);

    if (r == -EINPROGRESS)
        r = look(conn);
    if (r < 0 && r != -EINPROGRESS)
        drop_fd(&conn->fd);
    return r;
}

static int conclude(struct glove *glove, struct conn *conn, int r)
{
    if (r == -EINPROGRESS)
        return 0;
    if (r < 0)
        return fail(glove, conn, -r);
    r = tell(glove, conn, 0);
    return r < 0 ? r : conn_attach(glove, conn);
}

int dial_ready(struct glove *glove, struct conn *conn)
{
    int r = look(conn);

    if (r < 0 && r != -EINPROGRESS)
        drop_fd(&conn->fd);
    return conclude(glove, conn, r);
}

int dial_begin(struct glove *glove, const void *msg)
{
    const struct msg_dial *dial = msg;
    struct conn *conn;
    int r;

    if (!(dial->ask & DIAL_ASK) || dial->port == 0 || dial->port > UINT16_MAX ||
        conn_of(&glove->conns, dial->ask))
        return -EPROTO;
    conn = conn_new(&glove->conns, CONN_THEIRS, dial->ask);
    if (!conn) {
        /* Those that the same frames ended are forgotten at the end of a turn. */
        r = conn_settle(glove);
        if (r < 0)
            return r;
        conn = conn_new(&glove->conns, CONN_THEIRS, dial->ask);
    }
    if (!conn)
        conn = conn_in_place_of_one(&glove->conns, dial->ask);
    if (!conn)
        return -EPROTO;
    conn->port = (uint16_t)dial->port;
    r = conn_open_channels(glove, conn, dial->in, dial->out);
    if (r < 0)
        return r;
    r = channel_early(&glove->channels, conn->in);
    if (r < 0)
        return fail(glove, conn, -r);
    r = try_family(conn, AF_INET);
    if (r == -ECONNREFUSED)
        r = try_family(conn, AF_INET6);
    /* Of a box without IPv6 the first answer is the one to tell. */
    if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
        r = -ECONNREFUSED;
    return conclude(glove, conn, r);
}
