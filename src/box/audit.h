/* SPDX-License-Identifier: Apache-2.0 */
/* box/audit.h - what the network of a box decided, for people and for JSON.
 *
 * Equal decisions are counted, not repeated; so a program that tries again and again fills nothing.
 * What does not fit is counted too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/policy.h"

struct carry_note;

#define AUDIT_MAX 256

struct audit_entry {
    char name[NET_NAME_MAX + 1]; /* "": an address was named */
    bool has_address;
    struct net_address address; /* that was dialled or refused */
    uint16_t port;              /* 0: a look-up */
    enum net_answer answer;
    int error; /* of an allowed one: 0, or the errno with which it could not be reached */
    uint64_t count;
};

struct audit {
    size_t n;
    uint64_t n_more;      /* decisions beyond these */
    uint64_t connections; /* made */
    uint64_t refused;     /* look-ups and connections */
    uint64_t bytes_sent;
    uint64_t bytes_received;
    struct audit_entry entries[AUDIT_MAX];
};

/* For struct carry_spec; user is the struct audit. */
void audit_note(void *user, const struct carry_note *note);

/* "example.org:443 (192.0.2.7)", "192.0.2.7:80", "example.org". */
#define AUDIT_TARGET_MAX (NET_NAME_MAX + NET_ADDRESS_TEXT_MAX + 16)
const char *audit_target(const struct audit_entry *entry, char text[static AUDIT_TARGET_MAX]);
