/* SPDX-License-Identifier: Apache-2.0 */
/* glove/conn.h - connections whose other end is the host's: what a program made (egress.h), and
 * what the host asked for (dial.h).
 *
 *    free ──► (talks to the proxy ──►) asked ──► open ──► both channels have ended, or the host
 * hangs up
 *
 * An open one is two channels on one socket.  Of a program that does not read any more, and of a
 * reset, the glove tells with HUNG_UP; the host ends both directions with HANG_UP.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/channel.h"

struct glove;
struct talk;

enum conn_kind {
    CONN_OURS,   /* of programs of the box */
    CONN_THEIRS, /* that the host asked for: its number has DIAL_ASK set */
    N_CONN_KINDS,
};

enum conn_state {
    CONN_FREE,
    CONN_TALKS, /* to the proxy: where to is not known yet */
    CONN_ASKED, /* one side waits for the other's word */
    CONN_OPEN,
};

struct conn {
    enum conn_state state;
    uint32_t ask;
    int fd; /* until it is open; the channels have it later */
    uint16_t port;
    struct talk *talk;  /* to the proxy (proxy.h); NULL: none, or it is open and all is said */
    struct channel *in; /* where has_channels */
    struct channel *out;
    uint32_t in_number;
    uint32_t out_number;
    bool has_channels;
    bool was_reset;
    bool has_told; /* that nobody here reads it */
    bool has_told_reset;
};

struct conns {
    size_t used[N_CONN_KINDS]; /* all in use lie below this index */
    struct conn all[N_CONN_KINDS][CONNS_MAX];
};

/* Is there room for one more? */
bool conn_has_room(const struct conns *conns, enum conn_kind kind);

/* A new one that is asked for, or NULL. */
struct conn *conn_new(struct conns *conns, enum conn_kind kind, uint32_t ask);

/* In the place of one that the host asked for and has done with, whose program reads slowly: that
 * one breaks.  NULL where there is none. */
struct conn *conn_in_place_of_one(struct conns *conns, uint32_t ask);

/* By its number, which says the kind; NULL. */
struct conn *conn_of(struct conns *conns, uint32_t ask);

/* Opens its channels, the second number out of the box.  -EPROTO for numbers that the host may not
 * choose. */
int conn_open_channels(struct glove *glove, struct conn *conn, uint32_t in, uint32_t out);

/* Its socket is the channels' from now on; what had come for it already goes there. */
int conn_attach(struct glove *glove, struct conn *conn);

/* Has this place of the table still the channel of that number? */
bool conn_has_channel(const struct channel *channel, uint32_t number);

/* Handler of HANG_UP. */
int conn_hang_up(struct glove *glove, const void *msg);

/* After channels were served: tells of programs that hung up, forgets what is over. */
int conn_settle(struct glove *glove);

/* Closed so that the other end is told at once, and not after what it still has to read. */
void conn_reset_fd(int fd);
