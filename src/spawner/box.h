/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/box.h - the life of one native box, from its plan to the last trace of it.
 *
 *    box_prepare() slot → record → group of v2
 *    box_build()   toolchains → clone → groups of v1 → ids → limits of v1; the child goes on by
 *                  itself: network → join → ids → steps → limits → glove
 *    box_destroy() kill → wait for PID 1 → remove groups → give the slot back
 *
 * PID 1 of a pid namespace is waited for only after every other process in it is gone, so its end
 * is the end of the box.  box_destroy() works from any state, half-built included, and twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawner/child.h"
#include "spawner/failure.h"
#include "spawner/group.h"
#include "spawner/plan.h"
#include "spawner/slot.h"

struct box {
    struct plan *plan;
    struct slot slot;
    struct group groups[GROUPS_MAX];
    size_t group_steps[GROUPS_MAX]; /* which step made it */
    size_t n_groups;
    pid_t pid; /* 0: none */
    int pidfd;
};

/* Of zeroed memory. */
void box_init(struct box *box);

/* 0, or -1 and *ret; box_destroy() is owed in both cases.  What fails in the child itself it tells
 * over the control socket, and then its end is the box's. */
int box_prepare(struct box *box, struct plan *plan, struct failure *ret);

/* Behind it the groups are ready for groups of runs. */
int box_build(struct box *box, int control_fd, struct failure *ret);

/* Kills and removes all.  -EBUSY when after about two seconds something still lives, counted in
 * *ret_survivors; it may be called again then.  After any other failure (groups that have become
 * read-only) it is left to the next taker of the slot. */
int box_destroy(struct box *box, uint32_t *ret_survivors);

/* Removes what the record of a slot names, and lets go of the slot; fails as box_destroy(). */
int box_sweep(struct slot *slot, uint32_t *ret_survivors);
