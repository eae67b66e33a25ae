/* SPDX-License-Identifier: Apache-2.0 */
/* keeper/keeper.h - one box's link, shared by many.
 *
 *    client ──┐
 *    client ──┼── keeper ── link ── glove
 *    client ──┘
 *
 * A client speaks the link's own frames, as if the glove were his alone.  On the way in the keeper
 * gives each request and each channel a number that no other client's has, on the way out the
 * client's own again.  Credit goes through: what is under way for a client is bounded by what he
 * granted.
 *
 * Invariants
 *  1. A client never sees another's frames, and can neither name nor end another's runs.
 *  2. A client who breaks the protocol, or stops reading, loses his connection and nothing else.
 *     While his queue is full nothing is read from the glove; after stall_ms he is put out, and
 *     at once when the glove is gone.
 *  3. What a client leaves behind ends: channels into the box get their FIN, what still comes for
 *     him is thrown away and paid for, his runs are killed.
 *  4. Memory is bounded and only mapped while a client is there; nothing is allocated.  A guard
 *     that shares this memory may wake in the middle of anything, and uses none of it.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fd.h"
#include "wire/msg.h"

#define KEEPER_CLIENTS_MAX  48
#define KEEPER_ROUTES_MAX   192
#define KEEPER_REQUESTS_MAX 128
#define KEEPER_POLLS_MAX    (1 + KEEPER_CLIENTS_MAX)

#define KEEPER_STALL_MS 10000

/* Credit for four channels, and what their frames and control messages need besides. */
#define KEEPER_QUEUE_SIZE (6 * (size_t)WIRE_CREDIT_START)

/* Numbers of runs: those of a client begin at his own multiple of it, plus one. */
#define KEEPER_RUNS_MAX    4096u
#define KEEPER_SERIALS_MAX (UINT32_MAX / KEEPER_RUNS_MAX - 1)

struct keeper_client {
    int fd;
    uint32_t serial; /* from 1 on */
    bool is_greeted;
    uint32_t n_runs;
    uint64_t stalled_ns; /* since when his queue is full, 0: it is not */
    int fds[FD_PASS_MAX];
    size_t n_fds;
    struct wire_reader reader;
    size_t out_start;
    size_t out_end;
    _Alignas(4096) uint8_t out[KEEPER_QUEUE_SIZE]; /* whole pages: they are given back */
};

/* A channel: its number on the link and the client's own for it. */
struct keeper_route {
    uint32_t number; /* 0: free */
    uint32_t theirs;
    uint32_t serial; /* whose it is; 0: he has left */
    bool is_in;      /* into the box */
    uint64_t credit; /* is_in: bytes that he may still send */
};

/* A request without an answer, or a run.  One that has ended can still be killed: what it left. */
struct keeper_request {
    uint32_t seq; /* 0: free */
    uint32_t theirs;
    uint32_t serial; /* 0: nobody waits */
    bool is_run;
    bool has_ended;
    bool is_killed; /* its client has seen to that, or its group does */
    uint32_t in;    /* of a run: the channel into it, 0: none */
};

struct keeper_ops {
    /* Runs from first on, n of them at most, have lost their client. */
    void (*lost)(void *user, uint32_t first, uint32_t n);
    /* What a new client is told, with descriptors: WELCOME. */
    void (*welcome)(void *user, struct msg_welcome *ret, int *fds, size_t *n_fds);
};

struct keeper {
    int link_fd;
    int lost;          /* why the link cannot be used any more, 0: it can */
    uint32_t stall_ms; /* how long a full queue is put up with; KEEPER_STALL_MS */
    const struct keeper_ops *ops;
    void *user;
    uint32_t next_seq;
    uint32_t next_channel;
    uint32_t next_serial;
    int destroyer_fd; /* a client who said DESTROY; -1: nobody */
    struct keeper_client *clients[KEEPER_CLIENTS_MAX];
    struct keeper_route routes[KEEPER_ROUTES_MAX];
    struct keeper_request requests[KEEPER_REQUESTS_MAX];
    bool is_held;         /* a frame of the glove's waits for room in its client's queue */
    uint32_t held_serial; /* whose queue that is */
    struct wire_head held_head;
    const uint8_t *held_payload;
    struct wire_reader reader;
    uint8_t frame[WIRE_FRAME_MAX];
};

/* Of zeroed memory.  The link's own greeting is over, no request is open, and numbers below these
 * were used already. */
void keeper_init(struct keeper *k, int link_fd, uint32_t next_seq, uint32_t next_channel,
                 const struct keeper_ops *ops, void *user);

/* Takes over a connection of the same user, or closes it. */
void keeper_welcome(struct keeper *k, int fd);

/* What to wait for: the link first, then the clients; how many.  *ret_deadline_ns is lowered to
 * when to look again at the latest. */
size_t keeper_polls(const struct keeper *k, struct pollfd polls[static KEEPER_POLLS_MAX],
                    uint64_t *ret_deadline_ns);

/* Does what the events ask for.  Negative: the link is lost.  1: a client wants the box destroyed,
 * and destroyer_fd is where its end is told. */
int keeper_serve(struct keeper *k, const struct pollfd *polls, size_t n);

/* Tells the glove that its host lives.  Negative: the link is lost. */
int keeper_beat(struct keeper *k);

size_t keeper_n_clients(const struct keeper *k);
size_t keeper_n_runs(const struct keeper *k);

/* ---- between its files ---------------------------------------------------------------------- */

struct keeper_client *client_of(const struct keeper *k, uint32_t serial);

/* Queues a frame for him; -EAGAIN when it does not fit now. */
int client_send(struct keeper_client *c, const uint8_t *frame, size_t len);
int client_send_msg(struct keeper_client *c, uint8_t type, uint32_t channel, const void *msg);

/* Gives his socket what it takes; negative: he is gone. */
int client_flush(struct keeper_client *c);

/* Reads once; negative: he is gone. */
int client_read(struct keeper_client *c);

struct keeper_client *client_new(int fd, uint32_t serial);
void client_free(struct keeper_client *c);

/* One frame of his.  Negative: he has broken the protocol. */
int route_from_client(struct keeper *k, struct keeper_client *c, const struct wire_head *head,
                      const uint8_t *payload);

/* One frame of the glove's.  1: its client's queue is full, it waits.  Negative: lost. */
int route_to_client(struct keeper *k, const struct wire_head *head, const uint8_t *payload);

/* He has left: his routes and requests are nobody's. */
int route_orphan(struct keeper *k, struct keeper_client *c);
