/* SPDX-License-Identifier: Apache-2.0 */
/* box/carry.h - the network of a box: connections of its programs, carried to where they were
 * meant.
 *
 * A glove asks (LOOKUP, CONNECT); this decides by the policy (egress/policy.h), resolves on the
 * host, decides again on the address really dialled, and moves bytes.  It is the link's side:
 * whoever waits on the link serves it meanwhile.
 *
 *    CONNECT ─► asked ─► resolving ─► dialling ─► open ─► both directions ended
 *                 └─ refused ◄──┴─────────┘
 *
 * Invariants
 *  1. Nothing is dialled that the policy has not allowed by its name *and* by its address, or that
 *     the operator has denied by one of them.
 *  2. Bytes that wait here for a slow server are bounded by the glove's credit, those for a slow
 *     program by the room of its channel.
 *  3. Every decision is told to note(), once.
 *  4. Look-ups under way are bounded; more wait for their turn.  So is what they can tell the
 * world: the number of different names that a box made up, and their length.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "box/denied.h"
#include "egress/policy.h"

struct carry;
struct gb_err;
struct link;

/* Connections and look-ups together, as many as a glove has under way of both: with fewer places
 * its questions would be turned away while connections are open. */
#define CARRY_CONNS_MAX (1024 + 64)

/* For a box with as many, and the rest of a process besides: glovebox allows itself so many.  A
 * program that embeds the library has its own limit: a box takes at most half of it. */
#define CARRY_FILES_MAX 4096

/* Bytes of a name that no rule lists by itself; the world's are shorter. */
#define CARRY_NAME_MAX 128

/* What was decided, and how it ended. */
struct carry_note {
    const char *name;                  /* "" when the program named an address */
    const struct net_address *address; /* that was dialled, or refused; NULL: none was */
    uint16_t port;                     /* 0: a look-up */
    enum net_answer answer;
    int error;           /* of an allowed one: 0, or why it could not be reached */
    uint64_t bytes_sent; /* at the end of a connection */
    uint64_t bytes_received;
    bool is_end;
};

/* What a box may take of it in all; 0: as much as it wants. */
struct carry_caps {
    uint64_t connections; /* begun, also those that cannot be reached */
    uint64_t bytes;       /* both ways together */
    uint64_t names;       /* different ones that no rule lists by themselves (`full`, "*.x") */
    const char *denied;   /* rules of what it may not reach, whatever the policy says; NULL: none */
};

struct carry_spec {
    const struct net_policy *policy;                         /* must live as long as the carry */
    void (*note)(void *user, const struct carry_note *note); /* may be NULL */
    void *user;
    struct carry_caps caps;
    struct denied_source denied_later; /* what is denied besides, while it lives */
};

/* Takes the link's questions over. */
int carry_new(struct link *link, const struct carry_spec *spec, struct carry **ret,
              struct gb_err *err);

/* A server that did not get all that a program had sent it is told so: its connection is reset. */
void carry_free(struct carry *carry);

/* Is there a connection on which the box may still send, or has sent what its server has not got?
 * Of a program that has ended only the latter.  *ret_sent: another number when servers have taken
 * some; what they send themselves does not count. */
bool carry_is_sending(const struct carry *carry, uint64_t *ret_sent);
