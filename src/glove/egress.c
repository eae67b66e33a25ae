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

    if (egress->next_ask == DIAL_ASK)
        egress->next_ask = 1;
    return ask;
}

/* ---- tables --------------------------------------------------------------------------------- */

static struct lookup *lookup_of(struct egress *egress, uint32_t ask)
{
    for (size_t i = 0; i < LOOKUPS_MAX; i++)
        if (egress->lookups[i].ask == ask)
            return &egress->lookups[i];
    return NULL;
}

bool egress_wants_conn(const struct glove *glove)
{
    return glove->egress.is_on && conn_has_room(&glove->conns, CONN_OURS);
}

bool egress_wants_proxied(struct glove *glove)
{
    return egress_wants_conn(glove) && proxy_place(&glove->egress.proxy);
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

/* The number of a question for the same name that the host has not answered yet; 0: there is none.
 * Programs that begin many connections at once ask for one name as often: they share the answer. */
static uint32_t same_ask(const struct egress *egress, const char *name)
{
    for (size_t i = 0; i < LOOKUPS_MAX; i++) {
        const struct lookup *other = &egress->lookups[i];

        if (other->ask && strcmp(other->question.name, name) == 0)
            return other->ask;
    }
    return 0;
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
    lookup->ask = same_ask(egress, lookup->question.name);
    if (lookup->ask)
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
    struct conn *conn;
    struct sockaddr_in target;
    int fd;

    if (!conn_has_room(&glove->conns, CONN_OURS))
        return 0;
    fd = accept4(egress->catch.tcp_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return 0;
    if (catch_target(fd, &target) < 0) {
        conn_reset_fd(fd);
        return 0;
    }
    conn = conn_new(&glove->conns, CONN_OURS, egress_next_ask(egress));
    conn->fd = fd;
    conn->port = ntohs(target.sin_port);
    return ask_for(glove, conn, &target);
}

int egress_accept_proxied(struct glove *glove)
{
    struct egress *egress = &glove->egress;
    struct talk *talk = proxy_place(&egress->proxy);
    int fd;

    /* One that was caught meanwhile may have taken the last place. */
    if (!talk || !conn_has_room(&glove->conns, CONN_OURS))
        return 0;
    fd = accept4(egress->catch.proxy_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        proxy_begin(talk, conn_new(&glove->conns, CONN_OURS, 0), fd);
    return 0;
}

/* Where a caught connection was to go, as the proxy would have read it. */
static struct proxy_target target_of(const struct egress *egress, const struct conn *conn)
{
    struct proxy_target target = { .port = conn->port };
    struct sockaddr_in at;
    const char *name;

    if (catch_target(conn->fd, &at) < 0)
        return target;
    target.address = ntohl(at.sin_addr.s_addr);
    name = names_find(&egress->names, at.sin_addr.s_addr);
    if (name)
        memcpy(target.name, name, strlen(name) + 1);
    return target;
}

/* One that no rule allows is told so where it is plain HTTP; one that could not be reached is
 * reset. */
static void refuse(const struct egress *egress, struct conn *conn, const struct msg_told *told)
{
    struct proxy_target target = target_of(egress, conn);
    char answer[HTTP_ANSWER_MAX];
    int fd = take_fd(&conn->fd);
    size_t len;

    conn->state = CONN_FREE;
    if (conn->port != HTTP_PORT || told->error != EACCES) {
        conn_reset_fd(fd);
        return;
    }
    len = http_answer(http_status_of(told->error), &target, &told->why, answer);
    (void)send(fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
    close(fd);
}

static int conn_told(struct glove *glove, struct conn *conn, const struct msg_told *told)
{
    bool is_over = told->error != 0;
    int r;

    if (conn->talk)
        proxy_told(conn, told, &is_over);
    else if (is_over)
        refuse(&glove->egress, conn, told);
    if (is_over)
        return 0;
    r = conn_open_channels(glove, conn, told->in, told->out);
    return r < 0 ? r : conn_attach(glove, conn);
}

int egress_told(struct glove *glove, const void *msg)
{
    const struct msg_told *told = msg;
    struct egress *egress = &glove->egress;
    struct lookup *lookup = told->ask ? lookup_of(egress, told->ask) : NULL;
    struct conn *conn = conn_of(&glove->conns, told->ask);

    if (lookup) {
        for (; lookup; lookup = lookup_of(egress, told->ask))
            lookup_told(egress, lookup, told->error);
        return 0;
    }
    if (!conn || conn->state != CONN_ASKED || told->ask & DIAL_ASK)
        return -EPROTO;
    return conn_told(glove, conn, told);
}
