/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/keeper.c - who comes, who goes, and whose turn it is. */
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

void keeper_init(struct keeper *k, int link_fd, uint32_t next_seq, uint32_t next_channel,
                 const struct keeper_ops *ops, void *user)
{
    k->link_fd = link_fd;
    k->next_seq = next_seq;
    k->next_channel = next_channel;
    k->next_serial = 1;
    k->stall_ms = KEEPER_STALL_MS;
    k->destroyer_fd = -1;
    k->ops = ops;
    k->user = user;
    wire_reader_init(&k->reader);
}

struct keeper_client *client_of(const struct keeper *k, uint32_t serial)
{
    for (size_t i = 0; serial && i < KEEPER_CLIENTS_MAX; i++)
        if (k->clients[i] && k->clients[i]->serial == serial)
            return k->clients[i];
    return NULL;
}

size_t keeper_n_clients(const struct keeper *k)
{
    size_t n = 0;

    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++)
        n += k->clients[i] != NULL;
    return n;
}

/* A server with runs is a task with a network of its own; one without is there for others. */
static bool has_guest(const struct keeper *k)
{
    bool is_served = k->server && k->server->n_runs == 0;

    return keeper_n_clients(k) > (is_served ? 1 : 0);
}

bool keeper_is_cut_off(const struct keeper *k, int parent_fd, const char *name)
{
    char path[NAME_MAX + sizeof("/" KEEPER_SOCKET)];

    if (has_guest(k))
        return false;
    (void)snprintf(path, sizeof(path), "%s/" KEEPER_SOCKET, name);
    return faccessat(parent_fd, path, F_OK, 0) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

size_t keeper_n_runs(const struct keeper *k)
{
    size_t n = 0;

    for (size_t i = 0; i < KEEPER_REQUESTS_MAX; i++)
        n += k->requests[i].seq && k->requests[i].is_run && !k->requests[i].has_ended;
    return n;
}

/* ---- coming and going ----------------------------------------------------------------------- */

/* The socket's place is closed to others already; root may do anything anyway. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int send_welcome(struct keeper *k, const struct keeper_client *c)
{
    struct msg_welcome welcome = {
        .first_run = c->serial * KEEPER_RUNS_MAX + 1,
        .n_runs = KEEPER_RUNS_MAX - 1,
        .clients = (uint32_t)keeper_n_clients(k),
        .runs = (uint32_t)keeper_n_runs(k),
    };
    int fds[FD_PASS_MAX];
    size_t n_fds = 0;
    int len;
    ssize_t n;

    k->ops->welcome(k->user, &welcome, fds, &n_fds);
    len = msg_encode(MSG_WELCOME, 0, 0, &welcome, k->frame, sizeof(k->frame));
    if (len < 0)
        return len;
    n = fd_send(c->fd, k->frame, (size_t)len, fds, n_fds, MSG_DONTWAIT);
    return n == len ? 0 : -EPIPE;
}

/* They begin again one day, and some clients stay: none has the number of another. */
static uint32_t next_serial(struct keeper *k)
{
    uint32_t serial;

    do {
        serial = k->next_serial;
        k->next_serial = serial % KEEPER_SERIALS_MAX + 1;
    } while (client_of(k, serial));
    return serial;
}

void keeper_welcome(struct keeper *k, int fd)
{
    struct keeper_client *c;
    size_t i = 0;

    while (i < KEEPER_CLIENTS_MAX && k->clients[i])
        i++;
    c = i < KEEPER_CLIENTS_MAX && is_ours(fd) ? client_new(fd, next_serial(k)) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    if (send_welcome(k, c) < 0)
        client_free(c);
    else
        k->clients[i] = c;
}

/* His runs first: nothing of theirs should go on while the rest is tidied up. */
static int put_out(struct keeper *k, size_t i)
{
    struct keeper_client *c = k->clients[i];
    int r;

    if (c->n_runs > 0)
        k->ops->lost(k->user, c->serial * KEEPER_RUNS_MAX + 1, c->n_runs);
    r = route_orphan(k, c);
    k->clients[i] = NULL;
    client_free(c);
    return r;
}

/* ---- turns ---------------------------------------------------------------------------------- */

size_t keeper_polls(const struct keeper *k, struct pollfd polls[static KEEPER_POLLS_MAX],
                    uint64_t *ret_deadline_ns)
{
    size_t n = 0;

    polls[n++] = (struct pollfd){ .fd = k->link_fd, .events = k->is_held ? 0 : POLLIN };
    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++) {
        const struct keeper_client *c = k->clients[i];
        uint64_t end_ns;

        polls[n++] = (struct pollfd){ .fd = c ? c->fd : -1, .events = POLLIN };
        if (!c)
            continue;
        if (c->out_start < c->out_end)
            polls[n - 1].events |= POLLOUT;
        end_ns = c->stalled_ns ? c->stalled_ns + k->stall_ms * NS_PER_MS : CLOCK_NEVER_NS;
        if (end_ns < *ret_deadline_ns)
            *ret_deadline_ns = end_ns;
    }
    return n;
}

/* Frames that are here already.  Stops at one whose client has no room. */
static int hand_out(struct keeper *k)
{
    for (;;) {
        int r = k->is_held ? 1 : wire_reader_next(&k->reader, &k->held_head, &k->held_payload);

        if (r <= 0)
            return r;
        r = route_to_client(k, &k->held_head, k->held_payload);
        k->is_held = r > 0;
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

static int read_link(struct keeper *k)
{
    size_t room;
    uint8_t *at = wire_reader_room(&k->reader, &room);
    ssize_t n = recv(k->link_fd, at, room, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    wire_reader_fed(&k->reader, (size_t)n);
    return hand_out(k);
}

/* 1: he wants the box destroyed.  Negative: he is to be put out. */
static int hear(struct keeper *k, struct keeper_client *c)
{
    struct wire_head head;
    const uint8_t *payload;
    int r = client_read(c);

    while (r == 0 && (r = wire_reader_next(&c->reader, &head, &payload)) > 0) {
        if (head.type == MSG_DESTROY) {
            k->destroyer_fd = c->fd;
            return 1;
        }
        r = route_from_client(k, c, &head, payload);
    }
    return r;
}

/* A queue that stays full says that its client reads no more. */
static void note_stall(struct keeper *k)
{
    const struct keeper_client *blocked = k->is_held ? client_of(k, k->held_serial) : NULL;

    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++) {
        struct keeper_client *c = k->clients[i];

        if (!c)
            continue;
        if (c != blocked)
            c->stalled_ns = 0;
        else if (c->stalled_ns == 0)
            c->stalled_ns = clock_now_ns();
    }
}

static bool is_stalled(const struct keeper *k, const struct keeper_client *c)
{
    return c->stalled_ns && clock_now_ns() >= c->stalled_ns + k->stall_ms * NS_PER_MS;
}

static int serve_client(struct keeper *k, size_t i, short revents)
{
    struct keeper_client *c = k->clients[i];
    int r = client_flush(c);

    if (r == 0 && revents & (POLLIN | POLLHUP | POLLERR))
        r = hear(k, c);
    if (r > 0)
        return r;
    return r < 0 || is_stalled(k, c) ? put_out(k, i) : 0;
}

int keeper_serve(struct keeper *k, const struct pollfd *polls, size_t n)
{
    int r = k->is_held ? hand_out(k) : 0;

    /* A glove that is gone waits for nobody: its last frames would wake us again and again. */
    if (k->is_held && polls[0].revents & (POLLHUP | POLLERR))
        k->stall_ms = 0;
    if (r == 0 && !k->is_held && polls[0].revents)
        r = read_link(k);
    for (size_t i = 0; r == 0 && i + 1 < n; i++)
        if (k->clients[i])
            r = serve_client(k, i, polls[i + 1].revents);
    /* Who was read from, or put out, has made room: no event would tell of it again. */
    if (r == 0 && k->is_held)
        r = hand_out(k);
    note_stall(k);
    return k->lost ? k->lost : r;
}
