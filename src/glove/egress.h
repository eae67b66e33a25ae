/* SPDX-License-Identifier: Apache-2.0 */
/* glove/egress.h - connections of programs, carried over the link.
 *
 *    program ── connect ──► caught (catch.h) ── CONNECT ──► host decides, dials ── TOLD ──►
 *               two channels, one each way, until both have ended or one side hangs up
 *
 *    program ── to the proxy (proxy.h) ── CONNECT ──► as above
 *
 *    program ── question for a name ──► LOOKUP ──► host decides ── TOLD ──► an address that stands
 *               for the name (names.h)
 *
 * The glove decides nothing and dials nothing: it tells the host which name or address a program
 * meant.  The TOLD that allows a connection names its two channels, as a RUN does.
 *
 * Invariants
 *  1. Questions under way are bounded: when there are too many, new connections wait in the
 *     kernel's queue and new look-ups in the socket's.
 *  2. Nothing is asked while the link is full.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/catch.h"
#include "glove/conn.h"
#include "glove/names.h"
#include "glove/proxy.h"

struct glove;

#define LOOKUPS_MAX 64

struct lookup {
    uint32_t ask; /* 0: free; the same for all who ask for one name at a time */
    struct sockaddr_in from;
    struct dns_question question;
    uint8_t bytes[DNS_ANSWER_MAX]; /* of the question */
};

struct egress {
    bool is_on;
    struct catch catch;
    uint32_t next_ask;
    struct names names;
    struct proxy proxy;
    struct lookup lookups[LOOKUPS_MAX];
};

/* Part of SETUP, while the glove has its privileges. */
int egress_begin(struct egress *egress);

/* May a new connection, a new question be taken now? */
bool egress_wants_conn(const struct glove *glove);
bool egress_wants_proxied(struct glove *glove);
bool egress_wants_lookup(struct egress *egress);

/* One that waits. */
int egress_accept(struct glove *glove);
int egress_accept_proxied(struct glove *glove);
int egress_question(struct glove *glove);

/* The number of the next question to the host. */
uint32_t egress_next_ask(struct egress *egress);

/* Handler of TOLD. */
int egress_told(struct glove *glove, const void *msg);
