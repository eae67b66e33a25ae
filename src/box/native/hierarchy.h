/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/hierarchy.h - where on this host groups can be made.
 *
 * Three layouts: v1 (one tree a controller), hybrid (v1 controllers and a v2 tree that has none but
 * kills, freezes and counts CPU time), v2 (one tree).  Root makes groups at the top of each tree.
 * Anybody else needs a parent that is theirs: in v1 trees the one that `glovebox doctor --delegate`
 * made for them, else the present group where it is writable; in a v2 tree see v2_parent.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "box/walls.h"

struct gb_err;

enum group_layout {
    LAYOUT_NONE,
    LAYOUT_V1,
    LAYOUT_HYBRID,
    LAYOUT_V2,
};

/* Longer paths are no place for a group: the record of a slot must hold several. */
#define GROUP_DIR_SIZE 512

struct hierarchy {
    const char *controller; /* "memory"; "" for the v2 tree */
    enum wall wall;
    bool is_v2;
    bool has_cpuacct;         /* v1: the tree is (also) cpuacct's */
    bool counts_cpu;          /* CPU time is read here */
    char dir[GROUP_DIR_SIZE]; /* the parent of a box's group */
};

#define HIERARCHIES_MAX 6

struct hierarchies {
    enum group_layout layout;
    bool can_group_runs;  /* runs get groups of their own below the box's */
    bool has_idle_cpuset; /* v1 trees that are mounted, and in which boxes have no group */
    bool has_idle_cpuacct;
    size_t n;
    struct hierarchy items[HIERARCHIES_MAX];
    wall_set missing;           /* of memory, cpu, pids: no tree, or no right */
    char reasons[N_WALLS][160]; /* of those */
};

/* On a v2 host this process may step aside, into a leaf of its present group (v2_parent.h). */
void hierarchies_find(uid_t uid, struct hierarchies *ret);

/* Does that at once: before a child is started that would stay in the group. */
void hierarchies_prepare(uid_t uid);

/* Where `doctor --delegate` puts a user's groups in a tree. */
void group_delegated_dir(const char *tree, uid_t uid, char dir[static GROUP_DIR_SIZE]);

/* "v1", "hybrid", "v2", "none". */
const char *layout_name(enum group_layout layout);

/* As root: parents for that user in every tree.  Says in `where` what was made. */
int hierarchies_delegate(uid_t uid, gid_t gid, char *where, size_t size, struct gb_err *err);

/* As root: removes them, with the empty groups that lie in them; their number in *ret_n.  -EBUSY
 * when a box of that user is running. */
int hierarchies_undelegate(uid_t uid, unsigned *ret_n, struct gb_err *err);
