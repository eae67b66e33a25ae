/* SPDX-License-Identifier: Apache-2.0 */
/* conform/ledger.h - what the boxes of one run directory hold of this machine, counted.
 *
 * Counted before and after: groups in every tree, processes in those groups, children and
 * descriptors of this process, mounts of its namespace.  Only what carries the tag of the run
 * directory counts, so tests of other directories may run beside this one.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct box_spec;

#define LEDGER_TREES_MAX 24

/* Where to look: the group trees and the beginning of the names in them. */
struct ledger_scope {
    char tag[64];         /* "": any name */
    char process_tag[64]; /* in a process's list of groups */
    unsigned patience_ms; /* for ends that the engine says are over a moment before they are */
    size_t n_trees;
    char trees[LEDGER_TREES_MAX][PATH_MAX];
};

struct ledger {
    unsigned groups;
    unsigned processes; /* in those groups */
    unsigned children;  /* of this process, dead ones not yet waited for included */
    unsigned fds;
    unsigned mounts;
};

/* Asks the backend's own plan where it makes groups. */
void ledger_scope(const struct box_spec *spec, struct ledger_scope *ret);

void ledger_take(const struct ledger_scope *scope, struct ledger *ret);

/* Are all counts as before, within the scope's patience?  What they are in *ret. */
bool ledger_settles(const struct ledger_scope *scope, const struct ledger *before,
                    struct ledger *ret);

/* Fails the test, naming what differs, unless all counts are as before. */
void ledger_expect(const struct ledger_scope *scope, const struct ledger *before);

/* The same within so many ms: for ends that nobody waits for. */
void ledger_await(const struct ledger_scope *scope, const struct ledger *before, unsigned ms);
