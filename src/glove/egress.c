/* SPDX-License-Identifier: Apache-2.0 */
/* glove/egress.c - connections of programs, carried over the link. */
#include "glove/egress.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "glove/glove.h"

#define HTTP_PORT 80

/* What a program is told on the port of plain HTTP; on others the connection is reset. */
static const char forbidden[] = "HTTP/1.1 403 Forbidden\r\n"
                                "Content-Type: text/plain\r\n"
                                "Connection: close\r\n\r\n"
                                "glovebox: the network of this box does not allow that\n";

int egress_begin(struct egress *egress)
{
    int r = catch_set(&egress->catch);

    if (r < 0)
        return r;
    egress->is_on = true;
    egress->next_ask = 1;
    return 0;
}

uint32_t egress_next_ask(struct egress *egress)
{
    uint32_t ask = egress->next_ask++;

    if (egress->next_ask == 0)
        egress->next_ask = 1;
    return ask;
}

/* ---- tables --------------------------------------------------------------------------------- */

static struct conn *conn_free(struct egress *egress)
{
    for (size_t i = 0; i < CONNS_MAX; i++)
        if (egress->conns[i].state == CONN_FREE)
            return &egress->conns[i];
    return NULL;
}

static struct conn *conn_of(struct egress *egress, uint32_t ask)
{
    for (size_t i = 0; i < CONNS_MAX; i++)
        if (egress->conns[i].state != CONN_FREE && egress->conns[i].ask == ask)
            return &egress->conns[i];
    return NULL;
}

static struct lookup *lookup_of(struct egress *egress, uint32_t ask)
{
    for (size_t i = 0; i < LOOKUPS_MAX; i++)
        if (egress->lookups[i].ask == ask)
            return &egress->lookups[i];
    return NULL;
}

bool egress_wants_conn(struct egress *egress)
{
    return egress->is_on && conn_free(egress);
}

bool egress_wants_proxied(struct egress *egress)
{
    return egress_wants_conn(egress) && proxy_place(&egress->proxy);
}

bool egress_wants_lookup(struct egress *egress)
{
    return egress->is_on && lookup_of(egress, 0);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void answer(const struct egress *egress, const struct lookup *lookup, enum dns_code code,
                   const uint32_t *address)
{
    uint8_t bytes[DNS_ANSWER_MAX];
    size_t len = dns_write(lookup->bytes, &lookup->question, code, address, bytes);

    /* Whoever asked may have gone, or will ask again. */
    (void)sendto(egress->catch.dns_fd, bytes, len, MSG_DONTWAIT,
                 (const struct sockaddr *)&lookup->from, sizeof(lookup->from));
}

int egress_question(struct glove *glove)
{
    struct egress *egress = &glove->egress;
    struct lookup *lookup = lookup_of(egress, 0);
    socklen_t from_len = sizeof(lookup->from);
    struct msg_lookup msg;
    ssize_t n;
    int r;

    if (!lookup)
        return 0;
    n = recvfrom(egress->catch.dns_fd, lookup->bytes, sizeof(lookup->bytes), MSG_DONTWAIT,
                 (struct sockaddr *)&lookup->from, &from_len);
    if (n < 0)
        return 0;
    r = dns_read(lookup->bytes, (size_t)n, &lookup->question);
    if (r > 0)
        answer(egress, lookup, (enum dns_code)r, NULL);
    if (r != 0)
        return 0;
    lookup->ask = egress_next_ask(egress);
    msg = (struct msg_lookup){ .ask = lookup->ask, .name = lookup->question.name };
    return link_send(&glove->link, MSG_LOOKUP, 0, 0, &msg);
}

/* Names have an address of IPv4 and nothing else. */
static void lookup_told(struct egress *egress, struct lookup *lookup, uint32_t error)
{
    uint32_t address = 0;

    if (error == 0 && lookup->question.wants_address)
        address = names_give(&egress->names, lookup->question.name);
    if (error == 0)
        answer(egress, lookup, address || !lookup->question.wants_address ? DNS_OK : DNS_FAILURE,
               address ? &address : NULL);
    else
        answer(egress, lookup, error == ENOENT || error == EACCES ? DNS_NO_NAME : DNS_FAILURE,
               NULL);
    lookup->ask = 0;
}

/* ---- connections ---------------------------------------------------------------------------- */

/* Closed so that the program is told at once, and not after what it still has to read. */
static void reset(int fd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

static int ask_for(struct glove *glove, struct conn *conn, const struct sockaddr_in *target)
{
    const char *name = names_find(&glove->egress.names, target->sin_addr.s_addr);
    struct msg_connect msg = {
        .ask = conn->ask,
        .address = ntohl(target->sin_addr.s_addr),
        .port = conn->port,
        .name = name ? name : "",
    };

    return link_send(&glove->link, MSG_CONNECT, 0, 0, &msg);
}

int egress_accept(struct glove *glove)
{
    struct egress *egress = &glove->egress;
    struct conn *conn = conn_free(egress);
    struct sockaddr_in target;
    int fd;

    if (!conn)
        return 0;
    fd = accept4(egress->catch.tcp_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return 0;
    if (catch_target(fd, &target) < 0) {
        reset(fd);
        return 0;
    }
    *conn = (struct conn){
        .state = CONN_ASKED,
        .ask = egress_next_ask(egress),
        .fd = fd,
        .port = ntohs(target.sin_port),
    };
    return ask_for(glove, conn, &target);
}

int egress_accept_proxied(struct glove *glove)
{
    struct egress *egress = &glove->egress;
    struct conn *conn = conn_free(egress);
    struct talk *talk = proxy_place(&egress->proxy);
    int fd;

    /* One that was caught meanwhile may have taken the last place. */
    if (!conn || !talk)
        return 0;
    fd = accept4(egress->catch.proxy_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        proxy_begin(talk, conn, fd);
    return 0;
}

static void refuse(struct conn *conn)
{
    conn->state = CONN_FREE;
    if (conn->port != HTTP_PORT) {
        reset(conn->fd);
        return;
    }
    (void)send(conn->fd, forbidden, sizeof(forbidden) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(conn->fd, SHUT_WR);
    close(conn->fd);
}

static int conn_open(struct glove *glove, struct conn *conn, const struct msg_told *told)
{
    struct channels *channels = &glove->channels;
    int r = channel_open(channels, told->in, CHANNEL_IN, &conn->in);

    if (r == 0)
        r = channel_open(channels, told->out, CHANNEL_OUT, &conn->out);
    if (r < 0)
        return r;
    conn->in_number = told->in;
    conn->out_number = told->out;
    conn->state = CONN_OPEN;
    conn->out->is_held = conn->talk != NULL;
    return channel_socket(channels, conn->in, conn->out, conn->fd);
}

static int conn_told(struct glove *glove, struct conn *conn, const struct msg_told *told)
{
    bool is_over = told->error != 0;

    if (conn->talk)
        proxy_told(conn, told->error, &is_over);
    else if (is_over)
        refuse(conn);
    return is_over ? 0 : conn_open(glove, conn, told);
}

int egress_told(struct glove *glove, const void *msg)
{
    const struct msg_told *told = msg;
    struct egress *egress = &glove->egress;
    struct lookup *lookup = told->ask ? lookup_of(egress, told->ask) : NULL;
    struct conn *conn = conn_of(egress, told->ask);

    if (lookup) {
        lookup_told(egress, lookup, told->error);
        return 0;
    }
    if (!conn || conn->state != CONN_ASKED)
        return -EPROTO;
    return conn_told(glove, conn, told);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void forget(struct conn *conn)
{
    proxy_forget(conn);
    conn->state = CONN_FREE;
}

/* A channel's place may be another's by now. */
static bool has_channel(const struct channel *channel, uint32_t number)
{
    return channel->way != CHANNEL_FREE && channel->number == number;
}

/* The program reads no more, or the host's FIN has gone to it. */
static bool is_over(const struct conn *conn)
{
    return !has_channel(conn->in, conn->in_number) && !has_channel(conn->out, conn->out_number);
}

static int settle(struct glove *glove, struct conn *conn)
{
    struct msg_hung_up msg = { .ask = conn->ask };
    bool is_deaf = has_channel(conn->in, conn->in_number) && conn->in->fd < 0;

    if (is_over(conn)) {
        forget(conn);
        return 0;
    }
    if (conn->talk && has_channel(conn->out, conn->out_number)) {
        int r = proxy_settle(glove, conn);

        if (r < 0)
            return r;
    }
    if (!is_deaf || conn->has_told)
        return 0;
    conn->has_told = true;
    return link_send(&glove->link, MSG_HUNG_UP, 0, 0, &msg);
}

int egress_settle(struct glove *glove)
{
    int r = 0;

    for (size_t i = 0; r == 0 && glove->egress.is_on && i < CONNS_MAX; i++)
        if (glove->egress.conns[i].state == CONN_OPEN)
            r = settle(glove, &glove->egress.conns[i]);
    return r;
}

/* The other end is gone in both directions; the host sends nothing behind that. */
int egress_hang_up(struct glove *glove, const void *msg)
{
    const struct msg_hang_up *request = msg;
    struct conn *conn = conn_of(&glove->egress, request->ask);
    int r = 0;

    if (!conn || conn->state != CONN_OPEN)
        return 0; /* it crossed with our own end */
    if (has_channel(conn->in, conn->in_number))
        channel_reset(conn->in);
    if (has_channel(conn->out, conn->out_number))
        r = channel_finish(conn->out, &glove->link);
    forget(conn);
    return r;
}
