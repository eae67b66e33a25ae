/* SPDX-License-Identifier: Apache-2.0 */
/* box/carry.c - the network of a box: connections of its programs, carried to where they were
 * meant. */
#include "box/carry.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host_name.h"
#include "box/link.h"
#include "box/tie.h"
#include "egress/asked.h"
#include "egress/own.h"
#include "egress/resolve.h"
#include "wire/msg.h"

/* Attempts of the kernel to reach a server that does not answer: about fifteen seconds. */
#define SYN_ATTEMPTS 3

/* Each is a thread. */
#define RESOLVES_MAX 8

enum conn_state {
    CONN_FREE,
    CONN_RESOLVING, /* without a resolve: it waits for its turn */
    CONN_DIALLING,
    CONN_OPEN,
};

struct conn {
    struct carry *carry;
    enum conn_state state;
    bool is_lookup;  /* only the name is asked for */
    bool is_counted; /* among the connections of the box */
    uint32_t ask;
    uint16_t port;
    char name[NET_NAME_MAX + 1]; /* "": an address was named */
    struct resolve *resolve;
    struct net_address addresses[RESOLVE_ADDRESSES_MAX];
    size_t n_addresses;
    size_t at; /* of the one being tried */
    int fd;    /* while it is dialled */
    struct tie tie;
};

struct carry {
    struct link *link;
    struct carry_spec spec;
    uint64_t connections; /* begun so far, whatever became of them */
    uint64_t bytes;       /* moved so far, both ways */
    size_t held;          /* of the box's bytes, for servers that have not taken them */
    struct asked asked;   /* names that no rule lists by themselves */
    struct denied denied;
    size_t n_resolves; /* under way */
    size_t n_places;   /* of conns, those that may be used */
    size_t used;       /* all conns in use lie below this index */
    struct conn conns[CARRY_CONNS_MAX];
    struct conn *polled[CARRY_CONNS_MAX]; /* whose each entry of the last poll is */
};

/* ---- telling -------------------------------------------------------------------------------- */

static void note(const struct conn *conn, enum net_answer answer, int error, bool is_end)
{
    const struct carry_spec *spec = &conn->carry->spec;
    struct carry_note told = {
        .name = conn->name,
        .address = conn->at < conn->n_addresses ? &conn->addresses[conn->at] : NULL,
        .port = conn->is_lookup ? 0 : conn->port,
        .answer = answer,
        .error = error,
        .bytes_sent = conn->tie.bytes_sent,
        .bytes_received = conn->tie.bytes_received,
        .is_end = is_end,
    };

    if (spec->note)
        spec->note(spec->user, &told);
}

static void conn_clear(struct conn *conn)
{
    if (conn->resolve) {
        resolve_free(conn->resolve);
        conn->carry->n_resolves--;
    }
    drop_fd(&conn->fd);
    tie_close(&conn->tie);
    *conn = (struct conn){ .carry = conn->carry, .fd = -1, .tie.fd = -1 };
}

static void tell(struct conn *conn, int error, const char *why)
{
    struct msg_told msg = {
        .ask = conn->ask,
        .error = (uint32_t)error,
        .in = error ? 0 : conn->tie.in,
        .out = error ? 0 : conn->tie.out,
        .why = { (uint32_t)strlen(why), (const uint8_t *)why },
    };

    (void)link_tell(conn->carry->link, MSG_TOLD, &msg); /* a lost link is told by whoever waits */
}

static void refuse(struct conn *conn, enum net_answer answer)
{
    note(conn, answer, 0, false);
    tell(conn, EACCES, net_answer_text(answer));
    conn_clear(conn);
}

static void fail(struct conn *conn, int error)
{
    note(conn, NET_YES, error, false);
    tell(conn, error, resolve_error_text(error));
    conn_clear(conn);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void on_over(void *user)
{
    struct conn *conn = user;

    note(conn, NET_YES, 0, true);
    conn_clear(conn);
}

static bool is_sending(const struct conn *conn)
{
    if (conn->state == CONN_OPEN)
        return tie_is_sending(&conn->tie);
    return conn->state != CONN_FREE && !conn->is_lookup;
}

/* The server is gone, or is to be: the program is told in both directions.  A server that has not
 * got all of what it was sent sees no regular end. */
static void cut_off(struct conn *conn, enum net_answer answer, int error)
{
    struct msg_hang_up msg = { .ask = conn->ask };

    if (is_sending(conn))
        tie_break(&conn->tie);
    (void)link_tell(conn->carry->link, MSG_HANG_UP, &msg);
    note(conn, answer, error, true);
    conn_clear(conn);
}

/* A box that has had its bytes has no network any more. */
static void end_all(struct carry *carry)
{
    for (size_t i = 0; i < carry->used; i++)
        if (carry->conns[i].state == CONN_OPEN)
            cut_off(&carry->conns[i], NET_OVER_BYTES, 0);
}

static bool has_had_all_bytes(const struct carry *carry)
{
    return carry->spec.caps.bytes && carry->bytes >= carry->spec.caps.bytes;
}

/* One of the box's connections is taken before the first address is dialled: those that are still
 * being dialled, and those that nobody answered, have been made as far as the world can tell. */
static enum net_answer take_one(struct conn *conn)
{
    struct carry *carry = conn->carry;
    uint64_t cap = carry->spec.caps.connections;

    if (has_had_all_bytes(carry))
        return NET_OVER_BYTES;
    if (conn->is_counted)
        return NET_YES;
    if (cap && carry->connections >= cap)
        return NET_OVER_CONNECTIONS;
    conn->is_counted = true;
    carry->connections++;
    return NET_YES;
}

/* ---- dialling ------------------------------------------------------------------------------- */

/* -EINPROGRESS, or why not. */
static int dial(struct conn *conn)
{
    struct sockaddr_storage to;
    socklen_t len = net_address_socket(&conn->addresses[conn->at], conn->port, &to);
    int attempts = SYN_ATTEMPTS;
    int on = 1;

    conn->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (conn->fd < 0)
        return -errno;
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_SYNCNT, &attempts, sizeof(attempts));
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return connect(conn->fd, (const struct sockaddr *)&to, len) < 0 ? -errno : -EINPROGRESS;
}

/* A public address of this machine leads to its own servers, unless a rule lists it. */
static bool is_own(const struct conn *conn)
{
    const struct net_address *address = &conn->addresses[conn->at];
    struct sockaddr_storage to;
    socklen_t len = net_address_socket(address, conn->port, &to);

    return !net_lists(conn->carry->spec.policy, address, conn->port) && net_is_own(&to, len);
}

static enum net_answer may_dial(const struct conn *conn)
{
    const struct carry *carry = conn->carry;
    const struct net_address *address = &conn->addresses[conn->at];
    const char *name = conn->name[0] ? conn->name : NULL;
    enum net_answer answer;

    if (denied_has_address(&carry->denied, address, conn->port))
        return NET_DENIED;
    answer = net_may_dial(carry->spec.policy, name, address, conn->port);
    return answer == NET_YES && is_own(conn) ? NET_OWN : answer;
}

/* From the address at `at` on, until one can be waited for.  Every address is asked about by
 * itself: one that is refused ends it, whatever the others are. */
static void dial_from(struct conn *conn)
{
    int error = 0;

    conn->state = CONN_DIALLING;
    for (; conn->at < conn->n_addresses; conn->at++) {
        enum net_answer answer = may_dial(conn);

        if (answer == NET_YES)
            answer = take_one(conn);
        if (answer != NET_YES) {
            refuse(conn, answer);
            return;
        }
        error = -dial(conn);
        if (error == EINPROGRESS)
            return;
        drop_fd(&conn->fd);
    }
    conn->at--; /* of the last one is told */
    fail(conn, error);
}

/* The one being tried cannot be reached. */
static void dial_failed(struct conn *conn, int error)
{
    drop_fd(&conn->fd);
    if (conn->at + 1 >= conn->n_addresses) {
        fail(conn, error);
        return;
    }
    conn->at++;
    dial_from(conn);
}

static void dialled(struct conn *conn)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error != 0) {
        dial_failed(conn, error ? error : errno);
        return;
    }
    conn->tie = (struct tie){ .held_in_all = &conn->carry->held,
                              .count = &conn->carry->bytes,
                              .over = on_over,
                              .user = conn };
    if (tie_open(&conn->tie, conn->carry->link, conn->fd) < 0) {
        fail(conn, ENOBUFS);
        return;
    }
    conn->fd = -1;
    conn->state = CONN_OPEN;
    note(conn, NET_YES, 0, false);
    tell(conn, 0, "");
}

/* ---- names ---------------------------------------------------------------------------------- */

static void resolved(struct conn *conn)
{
    int r = resolve_take(conn->resolve, conn->addresses, &conn->n_addresses);

    resolve_free(conn->resolve);
    conn->resolve = NULL;
    conn->carry->n_resolves--;
    if (r < 0) {
        fail(conn, -r);
    } else if (conn->is_lookup) {
        note(conn, NET_YES, 0, false);
        tell(conn, 0, "");
        conn_clear(conn);
    } else {
        dial_from(conn);
    }
}

static void begin_resolve(struct conn *conn)
{
    struct carry *carry = conn->carry;
    int r;

    conn->state = CONN_RESOLVING;
    if (carry->n_resolves == RESOLVES_MAX)
        return;
    r = resolve_begin(conn->name, &conn->resolve);
    if (r < 0)
        fail(conn, -r);
    else
        carry->n_resolves++;
}

/* What a rule lists by itself says nothing when it is looked up, and the name of an address is
 * asked of nobody.  Any other is a message to whoever serves the names below a star: there may be
 * so many of them, and so long ones. */
static enum net_answer may_tell_world(struct conn *conn)
{
    struct carry *carry = conn->carry;
    uint64_t cap = carry->spec.caps.names;
    struct net_address address;

    if (net_lists_name(carry->spec.policy, conn->name) || resolve_address_of(conn->name, &address))
        return NET_YES;
    if (strlen(conn->name) > CARRY_NAME_MAX)
        return NET_LONG_NAME;
    return !cap || asked_take(&carry->asked, conn->name, cap) ? NET_YES : NET_OVER_NAMES;
}

/* Looks the name up, unless the answer of the rules or of the caps is no. */
static void resolve_if(struct conn *conn, enum net_answer answer)
{
    if (answer == NET_YES && denied_has_name(&conn->carry->denied, conn->name, conn->port))
        answer = NET_DENIED;
    if (answer == NET_YES)
        answer = may_tell_world(conn);
    if (answer != NET_YES)
        refuse(conn, answer);
    else
        begin_resolve(conn);
}

/* Somebody's turn has come. */
static void resolve_more(struct carry *carry)
{
    for (size_t i = 0; i < carry->used && carry->n_resolves < RESOLVES_MAX; i++)
        if (carry->conns[i].state == CONN_RESOLVING && !carry->conns[i].resolve)
            begin_resolve(&carry->conns[i]);
}

/* ---- questions ------------------------------------------------------------------------------ */

static struct conn *conn_new(struct carry *carry, uint32_t ask)
{
    for (size_t i = 0; i < carry->n_places; i++) {
        struct conn *conn = &carry->conns[i];

        if (conn->state != CONN_FREE)
            continue;
        conn->ask = ask;
        conn->state = CONN_RESOLVING;
        if (i >= carry->used)
            carry->used = i + 1;
        return conn;
    }
    return NULL;
}

static bool take_name(struct conn *conn, const char *name)
{
    return host_name_clean(name, strlen(name), conn->name);
}

static void on_lookup(struct carry *carry, const struct msg_lookup *msg, struct conn *conn)
{
    enum net_answer answer =
        take_name(conn, msg->name) ? net_may_ask(carry->spec.policy, conn->name) : NET_NO_NAME;

    conn->is_lookup = true;
    resolve_if(conn, answer);
}

/* 198.18.0.0/15 stands for names in a box, and only for those that were looked up there. */
static bool stands_for_name(uint32_t address)
{
    return (address & 0xfffe0000) == 0xc6120000;
}

static void on_connect(struct carry *carry, const struct msg_connect *msg, struct conn *conn)
{
    enum net_answer answer;

    conn->port = (uint16_t)msg->port;
    if (msg->port == 0 || msg->port > UINT16_MAX) {
        refuse(conn, NET_NOT_LISTED);
        return;
    }
    if (!*msg->name) {
        net_address_of_v4(msg->address, &conn->addresses[0]);
        conn->n_addresses = 1;
        if (stands_for_name(msg->address))
            refuse(conn, NET_NOT_LOOKED_UP);
        else
            dial_from(conn);
        return;
    }
    answer = take_name(conn, msg->name) ? net_may_reach(carry->spec.policy, conn->name, conn->port)
                                        : NET_NO_NAME;
    resolve_if(conn, answer);
}

static void on_hung_up(struct carry *carry, const struct msg_hung_up *msg)
{
    for (size_t i = 0; i < carry->used; i++) {
        struct conn *conn = &carry->conns[i];

        if (conn->state != CONN_OPEN || conn->ask != msg->ask)
            continue;
        if (msg->error)
            cut_off(conn, NET_YES, 0);
        else
            tie_deaf(&conn->tie);
        return;
    }
}

static void ask(struct carry *carry, uint8_t type, const void *msg)
{
    uint32_t number;
    struct conn *conn;
    struct msg_told busy = { .error = EAGAIN };

    memcpy(&number, msg, sizeof(number)); /* the first field of both */
    denied_look(&carry->denied);
    conn = conn_new(carry, number);
    if (!conn) {
        busy.ask = number;
        (void)link_tell(carry->link, MSG_TOLD, &busy);
    } else if (type == MSG_LOOKUP) {
        on_lookup(carry, msg, conn);
    } else {
        on_connect(carry, msg, conn);
    }
}

static bool on_ask(void *user, uint8_t type, const void *msg)
{
    const struct msg_hung_up *end = msg;

    if (type == MSG_DIALLED || (type == MSG_HUNG_UP && end->ask & DIAL_ASK))
        return false;
    if (type == MSG_HUNG_UP)
        on_hung_up(user, msg);
    else
        ask(user, type, msg);
    return true;
}

/* ---- waiting -------------------------------------------------------------------------------- */

static struct pollfd wish_of(const struct conn *conn)
{
    struct pollfd wish = { .fd = -1 };

    if (conn->state == CONN_RESOLVING && conn->resolve)
        wish = (struct pollfd){ .fd = resolve_fd(conn->resolve), .events = POLLIN };
    if (conn->state == CONN_DIALLING)
        wish = (struct pollfd){ .fd = conn->fd, .events = POLLOUT };
    if (conn->state == CONN_OPEN)
        wish = tie_wish(&conn->tie);
    return wish;
}

static size_t polls(void *user, struct pollfd *fds, size_t max)
{
    struct carry *carry = user;
    size_t n = 0;

    if (has_had_all_bytes(carry))
        end_all(carry);
    while (carry->used > 0 && carry->conns[carry->used - 1].state == CONN_FREE)
        carry->used--;
    for (size_t i = 0; i < carry->used && n < max; i++) {
        struct pollfd wish = { .fd = -1 };

        if (carry->conns[i].state != CONN_FREE)
            wish = wish_of(&carry->conns[i]);
        if (wish.fd < 0)
            continue;
        carry->polled[n] = &carry->conns[i];
        fds[n++] = wish;
    }
    return n;
}

static void serve_open(struct conn *conn, short revents)
{
    int r = tie_serve(&conn->tie, revents);

    if (r < 0)
        cut_off(conn, NET_YES, -r);
}

static void served(void *user, const struct pollfd *fds, size_t n)
{
    struct carry *carry = user;

    for (size_t i = 0; i < n; i++) {
        struct conn *conn = carry->polled[i];

        if (!fds[i].revents)
            continue;
        if (conn->state == CONN_RESOLVING)
            resolved(conn);
        else if (conn->state == CONN_DIALLING)
            dialled(conn);
        else if (conn->state == CONN_OPEN)
            serve_open(conn, fds[i].revents);
    }
    resolve_more(carry);
}

/* A program that embeds this has descriptors of its own to open: half of them are left to it,
 * whatever a box asks for. */
static size_t places(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 >= CARRY_CONNS_MAX)
        return CARRY_CONNS_MAX;
    return (size_t)limit.rlim_cur / 2;
}

int carry_new(struct link *link, const struct carry_spec *spec, struct carry **ret,
              struct gb_err *err)
{
    struct carry *carry = calloc(1, sizeof(*carry));
    struct link_side side = { .ask = on_ask, .polls = polls, .served = served, .user = carry };
    int r;

    if (!carry)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a network");
    r = denied_init(&carry->denied, spec->caps.denied, &spec->denied_later, err);
    if (r == 0 && link_add_side(link, &side) < 0)
        r = gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a network");
    if (r < 0) {
        denied_clear(&carry->denied);
        free(carry);
        return r;
    }
    carry->link = link;
    carry->spec = *spec;
    carry->n_places = places();
    for (size_t i = 0; i < CARRY_CONNS_MAX; i++)
        carry->conns[i] = (struct conn){ .carry = carry, .fd = -1, .tie.fd = -1 };
    *ret = carry;
    return 0;
}

bool carry_is_sending(const struct carry *carry, uint64_t *ret_sent)
{
    bool is_any = false;

    *ret_sent = 0;
    for (size_t i = 0; i < carry->used; i++) {
        *ret_sent += carry->conns[i].tie.bytes_sent;
        is_any = is_any || is_sending(&carry->conns[i]);
    }
    return is_any;
}

void carry_free(struct carry *carry)
{
    if (!carry)
        return;
    for (size_t i = 0; i < CARRY_CONNS_MAX; i++) {
        if (carry->conns[i].state == CONN_OPEN)
            note(&carry->conns[i], NET_YES, 0, true);
        if (is_sending(&carry->conns[i]))
            tie_break(&carry->conns[i].tie);
        if (carry->conns[i].state != CONN_FREE)
            conn_clear(&carry->conns[i]);
    }
    link_drop_side(carry->link, carry);
    asked_clear(&carry->asked);
    denied_clear(&carry->denied);
    free(carry);
}
