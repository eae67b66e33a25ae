/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/run_group.h - the groups of one run, below its box's, and their counters.
 *
 * Where runs cannot have groups of their own (an ordinary user's v1 groups), the box's groups
 * stand in: counters are read before and after, and one run at a time counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"
#include "box/native/hierarchy.h"

struct gb_err;

#define RUN_GROUPS_MAX HIERARCHIES_MAX

struct counters {
    uint64_t cpu_ns;
    uint64_t oom_kills;
    uint64_t pids_hits;
};

struct run_group {
    bool is_own; /* of the run, not of the box */
    bool is_v2;  /* layout v2: all counters in one directory */
    unsigned number;
    size_t n;
    int parents[RUN_GROUPS_MAX]; /* the box's directories; not ours to close */
    int dirs[RUN_GROUPS_MAX];    /* ours if is_own */
    int joins[RUN_GROUPS_MAX];   /* what the glove joins with: v1 `tasks`, v2 directory */
    int memory;                  /* index of the directory with that controller, -1: none */
    int pids;
    int cpu;  /* with the CPU time */
    int kill; /* the v2 one */
    struct counters before;
};

/* groups: the box's directories, in the order of the hierarchies that walls kept. */
int run_group_open(const struct hierarchies *h, wall_set walls, const int *groups, size_t n_groups,
                   unsigned number, const struct limits *limits, struct run_group *ret,
                   struct gb_err *err);

/* CPU time since the beginning of the run; 0 where nobody counts it.  Negative: the counter cannot
 * be read, so it is not known. */
int run_group_cpu_ns(const struct run_group *group, uint64_t *ret);

/* 0, or -ENOTSUP where only the glove can. */
int run_group_kill(const struct run_group *group);

/* Waits until nothing lives in it; the number that still does after timeout_ms. */
uint32_t run_group_wait(const struct run_group *group, int timeout_ms);

/* Reads the counters into *ret; count_error tells of one that could not be. */
void run_group_read(const struct run_group *group, struct box_run_end *ret);

/* Lets go of the directories, which stand until run_group_close(), or until somebody else removes
 * them. */
void run_group_leave(struct run_group *group);

/* Removes the directories, if they are the run's own.  Twice is fine. */
void run_group_close(struct run_group *group);
