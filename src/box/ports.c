/* SPDX-License-Identifier: Apache-2.0 */
/* box/ports.c - connections that come to ports of the host, carried into a box. */
#include "box/ports.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/link.h"
#include "box/tie.h"
#include "wire/msg.h"

/* Taken at once from one port, before the others get their turn. */
#define ACCEPTS_IN_A_ROW 16

/* Without a descriptor left for a new connection, which stays at the door. */
#define FULL_PAUSE_MS 20

struct conn {
    struct ports *ports;
    uint32_t ask; /* 0: free */
    struct tie tie;
};

struct ports {
    struct link *link;
    size_t n;
    struct port list[BOX_PORTS_MAX];
    uint32_t next_ask;
    size_t n_conns;
    size_t held; /* of the box's bytes, for clients that have not taken them */
    struct conn conns[PORTS_CONNS_MAX];
    size_t n_polled_ports;
    struct conn *polled[PORTS_CONNS_MAX]; /* whose each entry behind these is */
};

/* ---- ends ----------------------------------------------------------------------------------- */

static void conn_clear(struct conn *conn)
{
    struct ports *ports = conn->ports;

    tie_close(&conn->tie);
    *conn = (struct conn){ .ports = ports, .tie.fd = -1 };
    ports->n_conns--;
}

static void on_over(void *user)
{
    conn_clear(user);
}

/* One side is gone: the other is told at once. */
static void hang_up(struct conn *conn)
{
    struct msg_hang_up msg = { .ask = conn->ask };

    tie_break(&conn->tie);
    (void)link_tell(conn->ports->link, MSG_HANG_UP, &msg);
    conn_clear(conn);
}

/* ---- beginnings ----------------------------------------------------------------------------- */

static struct conn *conn_free(struct ports *ports)
{
    for (size_t i = 0; i < PORTS_CONNS_MAX; i++)
        if (!ports->conns[i].ask)
            return &ports->conns[i];
    return NULL;
}

static struct conn *conn_of(struct ports *ports, uint32_t ask)
{
    for (size_t i = 0; i < PORTS_CONNS_MAX; i++)
        if (ports->conns[i].ask == ask)
            return &ports->conns[i];
    return NULL;
}

static uint32_t next_ask(struct ports *ports)
{
    uint32_t ask;

    do {
        ask = DIAL_ASK | ports->next_ask++;
    } while (conn_of(ports, ask));
    return ask;
}

static void begin(struct ports *ports, uint16_t box_port, int fd)
{
    struct conn *conn = conn_free(ports);
    struct msg_dial msg = { .ask = next_ask(ports), .port = box_port };
    int on = 1;

    conn->ask = msg.ask;
    conn->tie = (struct tie){ .held_in_all = &ports->held, .over = on_over, .user = conn };
    ports->n_conns++;
    if (tie_open(&conn->tie, ports->link, fd) < 0) {
        close(fd);
        conn_clear(conn);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    msg.in = conn->tie.in;
    msg.out = conn->tie.out;
    (void)link_tell(ports->link, MSG_DIAL, &msg); /* a lost link is told by whoever waits */
}

static void accept_some(struct ports *ports, const struct port *port)
{
    for (int i = 0; i < ACCEPTS_IN_A_ROW && ports->n_conns < PORTS_CONNS_MAX; i++) {
        int fd = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            (void)poll(NULL, 0, FULL_PAUSE_MS);
        if (fd < 0)
            return;
        begin(ports, port->box, fd);
    }
}

/* ---- the link's side ------------------------------------------------------------------------ */

static bool on_ask(void *user, uint8_t type, const void *msg)
{
    const struct msg_dialled *dialled = msg;
    struct conn *conn;

    /* Both are a number and an error. */
    if ((type != MSG_DIALLED && type != MSG_HUNG_UP) || !(dialled->ask & DIAL_ASK))
        return false;
    conn = conn_of(user, dialled->ask);
    if (!conn)
        return true; /* it crossed with our own end */
    if (dialled->error)
        hang_up(conn);
    else if (type == MSG_HUNG_UP)
        tie_deaf(&conn->tie);
    return true;
}

static size_t polls(void *user, struct pollfd *fds, size_t max)
{
    struct ports *ports = user;
    size_t n = 0;
    size_t n_conns = 0;

    for (size_t i = 0; i < ports->n && n < max; i++)
        fds[n++] = (struct pollfd){
            .fd = ports->n_conns < PORTS_CONNS_MAX ? ports->list[i].fd : -1,
            .events = POLLIN,
        };
    ports->n_polled_ports = n;
    for (size_t i = 0; i < PORTS_CONNS_MAX && n_conns < ports->n_conns && n < max; i++) {
        struct pollfd wish = { .fd = -1 };

        if (ports->conns[i].ask)
            wish = tie_wish(&ports->conns[i].tie);
        if (wish.fd < 0)
            continue;
        ports->polled[n_conns++] = &ports->conns[i];
        fds[n++] = wish;
    }
    return n;
}

static void served(void *user, const struct pollfd *fds, size_t n)
{
    struct ports *ports = user;

    for (size_t i = ports->n_polled_ports; i < n; i++) {
        struct conn *conn = ports->polled[i - ports->n_polled_ports];

        if (fds[i].revents && conn->ask && tie_serve(&conn->tie, fds[i].revents) < 0)
            hang_up(conn);
    }
    for (size_t i = 0; i < ports->n_polled_ports; i++)
        if (fds[i].revents)
            accept_some(ports, &ports->list[i]);
}

int ports_new(struct link *link, const struct port *list, size_t n, struct ports **ret,
              struct gb_err *err)
{
    struct ports *ports = calloc(1, sizeof(*ports));
    struct link_side side = { .ask = on_ask, .polls = polls, .served = served, .user = ports };

    if (!ports || n > BOX_PORTS_MAX || link_add_side(link, &side) < 0) {
        free(ports);
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for ports");
    }
    ports->link = link;
    ports->n = n;
    if (n > 0)
        memcpy(ports->list, list, n * sizeof(*list));
    for (size_t i = 0; i < PORTS_CONNS_MAX; i++)
        ports->conns[i] = (struct conn){ .ports = ports, .tie.fd = -1 };
    *ret = ports;
    return 0;
}

void ports_free(struct ports *ports)
{
    if (!ports)
        return;
    for (size_t i = 0; i < PORTS_CONNS_MAX; i++) {
        if (tie_is_sending(&ports->conns[i].tie))
            tie_break(&ports->conns[i].tie);
        if (ports->conns[i].ask)
            conn_clear(&ports->conns[i]);
    }
    for (size_t i = 0; i < ports->n; i++)
        close(ports->list[i].fd);
    link_drop_side(ports->link, ports);
    free(ports);
}
