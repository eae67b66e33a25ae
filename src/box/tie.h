/* SPDX-License-Identifier: Apache-2.0 */
/* box/tie.h - a socket of the host, tied to two channels of a link: what is received on the one is
 * sent on the other, both ways, each to its own end.
 *
 *    peer ── socket ──► in (to the box)           credit of the glove
 *    peer ◄── socket ── out (from the box)        what the peer does not take is held, and paid for
 *                                                 as it does
 *
 * Bytes held for a slow peer are bounded by the window of one channel, which is wide for a few that
 * carry much, and those of all ties of one owner by TIES_HELD_MAX: whose would be more is cut off.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct link;

/* Of 256 peers that take nothing, or of more that take a part. */
#define TIES_HELD_MAX (256 * (size_t)WIRE_CREDIT_START)

struct tie {
    struct link *link;
    int fd;
    uint32_t in;  /* 0: ended */
    uint32_t out; /* 0: ended */
    bool has_fin; /* the box has sent all */
    int error;    /* why the peer is not sent to any more; 0 */
    bool is_deaf; /* nobody hears the peer, who may still speak */
    size_t unheard;
    size_t window; /* of what comes from the box */
    uint8_t *held; /* of the box's bytes, what the peer has not taken; room for the window */
    size_t held_at;
    size_t held_len;
    uint64_t bytes_sent; /* to the peer */
    uint64_t bytes_received;
    size_t *held_in_all;      /* of all ties of the owner's, this one included */
    uint64_t *count;          /* both are added here, too; may be NULL */
    void (*over)(void *user); /* both directions have ended; tie_close() is the owner's */
    void *user;
};

/* Opens the channels.  The socket is taken over on success.  -ENOBUFS: no channel is left. */
int tie_open(struct tie *tie, struct link *link, int fd);

/* Closes what is open, from any state but zeroed memory that never was one.  Sends nothing. */
void tie_close(struct tie *tie);

/* The peer is to see its end as no regular one; before tie_close(). */
void tie_break(const struct tie *tie);

/* Is there more to come for the peer, or something that it has not taken? */
bool tie_is_sending(const struct tie *tie);

/* What to wait for; fd is -1 for nothing. */
struct pollfd tie_wish(const struct tie *tie);

/* Does what the events ask for.  -errno: the peer is gone, and what it had said before is under way
 * to the box, with its end where it was a regular one.  over() may have been called. */
int tie_serve(struct tie *tie, short revents);

/* Nobody in the box reads any more: its input ends, what comes from it still goes to the peer. What
 * the peer says is thrown away, so that it comes to reading; one that says very much is taken for
 * gone.  over() may have been called. */
void tie_deaf(struct tie *tie);
