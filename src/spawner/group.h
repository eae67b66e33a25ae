/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/group.h - the control groups of a box: made, joined, emptied, removed.
 *
 * A group is joined by the process that belongs in it, never by writing its pid from outside: that
 * would wait for an RCU grace period.  In v1 the child writes "0" to the `tasks` file that it was
 * given; in v2 it is born in the group.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/msg.h"

#define GROUPS_MAX 8

struct group {
    bool is_v2;
    int dir_fd;  /* the group's directory */
    int join_fd; /* v1: `tasks`, open for writing; v2: directory of the group to be born in */
    int leaf_fd; /* `cgroup.procs` of the leaf, for whoever is born above it; else -1 */
    char path[PATH_MAX];
};

/* A v2 group that the box sees is the root of its cgroup namespace, so that paths of runs in there
 * begin at the box: its first process is born in it, makes the namespace, and only then goes into
 * the leaf.  Until then the group can pass no controller on. */
bool group_is_seen(const struct group *group);

/* Goes into the leaf: the process that calls. */
int group_enter_leaf(const struct group *group);

/* The path "dir/name<slot>". */
int group_path(const struct msg_group *step, uint32_t slot, char path[static PATH_MAX]);

/* Makes the group, which must not exist (-EEXIST): its owner's alone unless the step says SHOWN. */
int group_make(const struct msg_group *step, uint32_t slot, struct group *ret);

/* Writes every knob of it. */
int group_limit(const struct msg_group *step, const struct group *group);

/* Does /proc/<pid>/cgroup show the process in this group of that controller? */
int group_check(const struct msg_group *step, const struct group *group, const char *cgroups);

/* Kills all that lives in the group and below, waits until it is empty, removes it depth first.
 * Works from any state, also when it does not exist; -ENOTSUP for a directory that is no group,
 * which is not touched.  -EBUSY when something is left after
 * timeout_ms; *ret_left counts it. */
int group_sweep(const char *path, int timeout_ms, uint32_t *ret_left);

void group_close(struct group *group);
