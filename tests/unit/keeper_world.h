/* SPDX-License-Identifier: Apache-2.0 */
/* unit/keeper_world.h - a keeper between clients and a glove, all in a test's hands.
 *
 * Clients and the glove are ends of socket pairs.  A turn of the keeper is taken until nothing more
 * happens, so that no test waits for time. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "keeper/keeper.h"

#include <cmocka.h>

#define FIRST_SEQ     500
#define FIRST_CHANNEL 700

/* The other end of a socket, and the last frame that came through it. */
struct peer {
    int fd;
    struct wire_reader reader;
    struct wire_head head;
    const uint8_t *payload;
};

struct world {
    struct keeper *keeper;
    struct peer glove;
    int link_fd;
    uint32_t lost_first;
    uint32_t lost_n;
    unsigned n_lost;
};

/* ---- both ends ------------------------------------------------------------------------------ */

static inline void peer_send_fds(const struct peer *peer, uint8_t type, uint32_t channel,
                                 uint8_t flags, const void *msg, const int *fds, size_t n_fds)
{
    static uint8_t frame[WIRE_FRAME_MAX];
    int n = msg_encode(type, channel, flags, msg, frame, sizeof(frame));

    assert_true(n > 0);
    assert_int_equal(fd_send(peer->fd, frame, (size_t)n, fds, n_fds, 0), n);
}

static inline void peer_send(const struct peer *peer, uint8_t type, uint32_t channel, uint8_t flags,
                             const void *msg)
{
    peer_send_fds(peer, type, channel, flags, msg, NULL, 0);
}

static inline void peer_data(const struct peer *peer, uint32_t channel, size_t len, uint8_t flags)
{
    static const uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct msg_data data = { .bytes = { .size = (uint32_t)len, .bytes = bytes } };

    peer_send(peer, MSG_DATA, channel, flags, &data);
}

static inline void peer_credit(const struct peer *peer, uint32_t channel, uint32_t bytes)
{
    struct msg_credit credit = { .bytes = bytes };

    peer_send(peer, MSG_CREDIT, channel, 0, &credit);
}

/* The next frame's type, 0 when there is none, -1 at the end. */
static inline int peer_next(struct peer *peer)
{
    for (;;) {
        int r = wire_reader_next(&peer->reader, &peer->head, &peer->payload);
        size_t room;
        uint8_t *at;
        ssize_t n;

        assert_true(r >= 0);
        if (r > 0)
            return peer->head.type;
        at = wire_reader_room(&peer->reader, &room);
        n = recv(peer->fd, at, room, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return -1;
        wire_reader_fed(&peer->reader, (size_t)n);
    }
}

/* The next frame is of this type; decoded. */
static inline void peer_expect(struct peer *peer, int type, void *ret)
{
    assert_int_equal(peer_next(peer), type);
    assert_int_equal(msg_decode(peer->head.type, peer->payload, peer->head.size, ret), 0);
}

static inline void peer_close(struct peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
}

/* ---- the keeper ----------------------------------------------------------------------------- */

static inline void on_lost(void *user, uint32_t first, uint32_t n)
{
    struct world *w = user;

    w->lost_first = first;
    w->lost_n = n;
    w->n_lost++;
}

static inline void on_welcome(void *user, struct msg_welcome *ret, int *fds, size_t *n_fds)
{
    (void)user;
    fds[0] = STDIN_FILENO;
    *n_fds = 1;
    ret->ttl_ms = 1234;
}

static const struct keeper_ops ops = { .lost = on_lost, .welcome = on_welcome };

static inline void world_up(struct world *w)
{
    int pair[2];

    *w = (struct world){ .keeper = calloc(1, sizeof(*w->keeper)) };
    assert_non_null(w->keeper);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    w->link_fd = pair[0];
    w->glove.fd = pair[1];
    wire_reader_init(&w->glove.reader);
    keeper_init(w->keeper, pair[0], FIRST_SEQ, FIRST_CHANNEL, &ops, w);
}

/* Turns until nothing happens; what the last one said. */
static inline int world_turn(struct world *w)
{
    for (;;) {
        struct pollfd polls[KEEPER_POLLS_MAX];
        uint64_t deadline_ns = CLOCK_NEVER_NS;
        size_t n = keeper_polls(w->keeper, polls, &deadline_ns);
        bool is_due = deadline_ns <= clock_now_ns();
        int events = poll(polls, (nfds_t)n, 0);
        int r;

        assert_true(events >= 0);
        if (events == 0 && !is_due)
            return 0;
        r = keeper_serve(w->keeper, polls, n);
        if (r != 0)
            return r;
    }
}

static inline void world_down(struct world *w)
{
    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++)
        if (w->keeper->clients[i])
            client_free(w->keeper->clients[i]);
    close(w->link_fd);
    close(w->glove.fd);
    free(w->keeper);
}

/* A client that was welcomed, and no more. */
static inline void client_up(struct world *w, struct peer *c, struct msg_welcome *ret)
{
    uint8_t frame[128];
    int fds[FD_PASS_MAX];
    size_t n_fds = FD_PASS_MAX;
    int pair[2];
    ssize_t n;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    keeper_welcome(w->keeper, pair[0]);
    *c = (struct peer){ .fd = pair[1] };
    wire_reader_init(&c->reader);
    n = fd_recv(c->fd, frame, sizeof(frame), fds, &n_fds, MSG_DONTWAIT);
    assert_true(n > WIRE_HEAD_SIZE);
    assert_int_equal(n_fds, 1);
    close(fds[0]);
    assert_int_equal(frame[4], MSG_WELCOME);
    assert_int_equal(
        msg_decode(MSG_WELCOME, frame + WIRE_HEAD_SIZE, (size_t)n - WIRE_HEAD_SIZE, ret), 0);
}

static inline void client_greeted(struct world *w, struct peer *c)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .nonce = 99 };
    struct msg_welcome welcome;

    client_up(w, c, &welcome);
    peer_send(c, MSG_HELLO, 0, 0, &hello);
    assert_int_equal(world_turn(w), 0);
    hello.nonce = 0;
    peer_expect(c, MSG_HELLO, &hello);
    assert_int_equal(hello.nonce, 99);
}

static inline bool is_put_out(struct peer *c)
{
    int type;

    while ((type = peer_next(c)) > 0)
        continue;
    return type < 0;
}

/* The keeper serves him: his word comes to the glove, the answer to him. */
static inline void answers(struct world *w, struct peer *c)
{
    struct msg_ping ping = { .seq = 77 };
    struct msg_ok ok = { 0 };

    peer_send(c, MSG_PING, 0, 0, &ping);
    assert_int_equal(world_turn(w), 0);
    peer_expect(&w->glove, MSG_PING, &ping);
    ok.seq = ping.seq;
    ok.value = 5;
    peer_send(&w->glove, MSG_OK, 0, 0, &ok);
    assert_int_equal(world_turn(w), 0);
    peer_expect(c, MSG_OK, &ok);
    assert_int_equal(ok.seq, 77);
    assert_int_equal(ok.value, 5);
}

static inline void send_run(const struct peer *c, const struct msg_run *wish)
{
    static char bytes[16];
    struct msg_run run = *wish;

    run.cwd = "/";
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, bytes, 16, &run.argv), 0);
    peer_send(c, MSG_RUN, 0, 0, &run);
}

/* A run of his that the glove has begun, as the glove knows it. */
static inline struct msg_run started(struct world *w, struct peer *c, const struct msg_run *wish)
{
    struct msg_run run;
    struct msg_ok ok = { .value = 2 };

    send_run(c, wish);
    assert_int_equal(world_turn(w), 0);
    peer_expect(&w->glove, MSG_RUN, &run);
    ok.seq = run.seq;
    peer_send(&w->glove, MSG_OK, 0, 0, &ok);
    assert_int_equal(world_turn(w), 0);
    peer_expect(c, MSG_OK, &ok);
    assert_int_equal(ok.seq, wish->seq);
    return run;
}

static inline void end_run(struct world *w, uint32_t seq)
{
    struct msg_exit end = { .run = seq };

    peer_send(&w->glove, MSG_EXIT, 0, 0, &end);
    assert_int_equal(world_turn(w), 0);
}
