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
 * What the glove asks by itself (LOOKUP, CONNECT, HUNG_UP) goes to the one client who said SERVE:
 * the *server*, who also may DIAL.  Without one the keeper answers that there is no network.
 *
 * Invariants
 *  1. A client never sees another's frames, and can neither name nor end another's runs.
 *  2. A client who breaks the protocol, or stops reading, loses his connection and nothing else.
 *     While his queue is full nothing is read from the glove; after stall_ms he is put out, and
 *     at once when the glove is gone.
 *  3. What a client leaves behind ends: channels into the box get their FIN, what still comes for
 *     him is thrown away and paid for, his runs are killed; with the server every connection of the
 *     box to the outside ends, and every question is answered.
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
#define KEEPER_ROUTES_MAX   192 /* of requests */
#define KEEPER_REQUESTS_MAX 128
#define KEEPER_ASKS_MAX     1088 /* of programs: look-ups and connections (glove/egress.h) */
#define KEEPER_DIALS_MAX    256  /* of the server (glove/conn.h) */
#define KEEPER_POLLS_MAX    (1 + KEEPER_CLIENTS_MAX)

/* A channel's number says its place: more than there can be, so that one is always free. */
#define KEEPER_PLACES 4096

#define KEEPER_STALL_MS 10000
#define KEEPER_LOOK_MS  5000

/* In the directory of its box. */
#define KEEPER_SOCKET "socket"

/* Credit for four channels, and what their frames and control messages need besides. */
#define KEEPER_QUEUE_SIZE (6 * (size_t)WIRE_CREDIT_START)

/* Numbers of runs: those of a client begin at his own multiple of it, plus one. */
#define KEEPER_RUNS_MAX    4096u
#define KEEPER_SERIALS_MAX (UINT32_MAX / KEEPER_RUNS_MAX - 1)

struct keeper_client {
    int fd;
    uint32_t serial; /* from 1 on */
    bool is_greeted;
    uint32_t n_runs;     /* numbers that he has used so far; he uses them in turn */
    uint64_t stalled_ns; /* since when his queue is full, 0: it is not */
    int fds[FD_PASS_MAX];
    size_t n_fds;
    uint16_t places[KEEPER_PLACES]; /* by his own numbers: the place of a route, plus one */
    struct wire_reader reader;
    size_t out_start;
    size_t out_end;
    _Alignas(4096) uint8_t out[KEEPER_QUEUE_SIZE]; /* whole pages: they are given back */
};

/* A channel: its number on the link and the client's own for it. */
struct keeper_route {
    uint32_t number; /* 0: free */
    uint32_t theirs;
    struct keeper_client *owner;   /* NULL: he has left */
    bool is_in;                    /* into the box */
    uint16_t ask;                  /* of a connection: its place in asks plus one, or … */
#define KEEPER_ASK_OVER UINT16_MAX /* … this once it is over, but for the glove's last word */
    uint64_t credit;               /* is_in: bytes that he may still send */
};

enum keeper_ask_kind {
    KEEPER_LOOKUP,
    KEEPER_CONNECT,
    KEEPER_DIAL,
};

/* A question of the glove's to the server, a connection, or one that he dials. */
struct keeper_ask {
    uint32_t number; /* 0: free */
    uint32_t theirs; /* the server's number for it: of a question the same */
    enum keeper_ask_kind kind;
    bool is_answered;
    uint32_t in; /* the channel into the box, 0: ended, or there is none yet */
    uint32_t out;
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
    struct keeper_client *server; /* NULL: nobody is */
    uint32_t next_dial;
    size_t n_routes;
    size_t n_request_routes; /* of these */
    struct keeper_route routes[KEEPER_PLACES];
    struct keeper_ask asks[KEEPER_ASKS_MAX + KEEPER_DIALS_MAX];
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

/* Is nobody there, and can nobody come any more?  Its socket lies below the directory `name` of
 * parent_fd, which somebody may have removed.  Whoever serves its network and has run nothing does
 * not count: he is there for others.  To be asked every KEEPER_LOOK_MS. */
bool keeper_is_cut_off(const struct keeper *k, int parent_fd, const char *name);

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

/* Sends to the glove, all of it.  -ETOOMANYREFS: nothing was sent, because this user has too many
 * descriptors under way.  Else negative: lost. */
int route_send(struct keeper *k, uint8_t type, uint32_t channel, uint8_t flags, const void *msg,
               const int *fds, size_t n_fds);

/* Into the queue of a client; 1 when it does not fit now. */
int route_pass_on(struct keeper *k, struct keeper_client *c, const struct wire_head *head,
                  uint32_t channel, const void *msg);

/* A channel of his, whose number becomes the link's.  ask is 0, or its connection's place plus one.
 * -EPROTO for a number that he may not choose, -EAGAIN when there are too many. */
int route_open(struct keeper *k, struct keeper_client *c, bool is_in, uint16_t ask,
               uint32_t *number);
struct keeper_route *route_by_number(struct keeper *k, uint32_t number);
void route_close(struct keeper *k, struct keeper_route *route);

/* The channel that he calls by this number; NULL: he has none. */
struct keeper_route *route_of(struct keeper *k, const struct keeper_client *c, uint32_t theirs);

/* A request of his, whose number becomes the link's; without him one of the keeper's own, whose
 * answer nobody waits for.  -EAGAIN when there are too many. */
int request_open(struct keeper *k, const struct keeper_client *c, bool is_run, uint32_t *seq);
struct keeper_request *request_by_seq(struct keeper *k, uint32_t seq);

/* A run of his, ended or not; NULL: he has none of this number. */
struct keeper_request *run_of(struct keeper *k, const struct keeper_client *c, uint32_t theirs);

/* What keeper/ask.c takes of a client's frames and of the glove's. */
int ask_serve(struct keeper *k, struct keeper_client *c, const struct msg_serve *serve);
int ask_told(struct keeper *k, struct keeper_client *c, struct msg_told *told);
int ask_hang_up(struct keeper *k, struct keeper_client *c, struct msg_hang_up *end);
int ask_dial(struct keeper *k, struct keeper_client *c, struct msg_dial *dial);
int ask_from_glove(struct keeper *k, const struct wire_head *head, void *msg);

/* A channel of a connection has ended. */
void ask_route_closed(struct keeper *k, const struct keeper_route *route);

/* The server has left. */
int ask_orphan(struct keeper *k);
