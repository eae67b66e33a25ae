/* SPDX-License-Identifier: Apache-2.0 */
/* egress/policy.h - what a box may reach: names, ports, addresses.
 *
 *    none                                    nothing
 *    full                                    every name and public address; also what is listed
 *    example.org  *.example.org:443          a name; all names below one; only on that port
 *    db:5432                                 without a dot it needs a port: it may be a slip
 *    192.0.2.7:5432  10.1.0.0/16  [fd00::1]:80  addresses and ranges
 *
 * Two questions are asked of a connection, and both must be answered with yes: may the *name* that
 * the program meant be reached on that port, and may the *address* be dialled to which the host
 * resolved it?  An address that is no public one (private, loopback, link-local, the metadata of
 * clouds, ranges for documentation and tunnels that carry another address) is refused whatever its
 * name is, unless a rule lists the address itself.  Pure: no look-up, no socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_name.h"
#include "egress/address.h"

struct gb_err;

#define NET_NAME_MAX  HOST_NAME_LEN_MAX
#define NET_RULES_MAX 256

enum net_rule_kind {
    NET_RULE_NAME,
    NET_RULE_BELOW, /* names below this one, at any depth */
    NET_RULE_RANGE,
};

struct net_rule {
    enum net_rule_kind kind;
    uint16_t port; /* 0: any */
    char name[NET_NAME_MAX + 1];
    struct net_address address;
    unsigned bits; /* of the address that count, of 128 */
};

enum net_mode {
    NET_NONE,
    NET_RULES,
    NET_FULL,
};

struct net_policy {
    enum net_mode mode;
    size_t n_rules;
    struct net_rule *rules;
};

/* Reads "none", "full" or rules with commas between them. */
int net_policy_parse(const char *text, struct net_policy *ret, struct gb_err *err);
void net_policy_clear(struct net_policy *policy);

/* Would net_policy_parse() take it?  NULL, where nothing was said, is well. */
int net_policy_check(const char *text, struct gb_err *err);

/* One rule alone: a name, names below one, an address or a range. */
int net_rule_parse(const char *text, struct net_rule *ret, struct gb_err *err);

/* Names, and one public address: what may be allowed without a closer look.  Ranges, and addresses
 * that are no public ones, must be listed by whoever knows them. */
bool net_rule_is_public(const struct net_rule *rule);

/* Does the policy allow all that this rule allows? */
bool net_policy_covers(const struct net_policy *policy, const struct net_rule *rule);

/* Why not; NET_YES is 0. */
enum net_answer {
    NET_YES,
    NET_NO_NETWORK,       /* the box has none */
    NET_NO_NAME,          /* what was asked for is no name */
    NET_NOT_LISTED,       /* no rule allows that name or address on that port */
    NET_NOT_PUBLIC,       /* the address is no public one, and no rule lists it */
    NET_NOT_LOOKED_UP,    /* a made-up address that no look-up of this box produced */
    NET_OWN,              /* an address of this machine (egress/own.h), and no rule lists it */
    NET_OVER_CONNECTIONS, /* the box has made as many connections as it may */
    NET_OVER_BYTES,       /* the box has moved as much as it may */
    NET_OVER_NAMES,       /* the box has had as many different names looked up as it may */
    NET_LONG_NAME,        /* a longer name than may be looked up that no rule lists by itself */
    NET_DENIED,           /* the operator has it reached by nobody, whatever was granted */
    N_NET_ANSWERS,
};

/* "not listed", for the audit log and for people. */
const char *net_answer_text(enum net_answer answer);

/* May this name (clean) be looked up at all?  On some port, then. */
enum net_answer net_may_ask(const struct net_policy *policy, const char *name);

/* Does a rule list this name by itself, and not only one that it is below? */
bool net_lists_name(const struct net_policy *policy, const char *name);

/* May it be reached on this port? */
enum net_answer net_may_reach(const struct net_policy *policy, const char *name, uint16_t port);

/* May this address be dialled?  name is what it stands for, already allowed on that port; NULL when
 * the program named the address itself. */
enum net_answer net_may_dial(const struct net_policy *policy, const char *name,
                             const struct net_address *address, uint16_t port);

/* Rules the other way round: is this name (clean) what they list?  port 0: on every port, as for a
 * look-up.  `full` lists all there is. */
bool net_denies(const struct net_policy *denied, const char *name, uint16_t port);

/* Do they list all that this rule allows? */
bool net_denies_rule(const struct net_policy *denied, const struct net_rule *rule);

/* Does a rule list this address itself, or a range that it is in? */
bool net_lists(const struct net_policy *policy, const struct net_address *address, uint16_t port);
