/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/child.h - the first process of a box, from its clone until it is the glove.
 *
 * No malloc, no locks, no log between the two.  A failure goes straight to the host, as one
 * frame on the control socket: nobody has to wait for this process.  That the glove runs, the host
 * sees by its greeting.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "spawner/group.h"
#include "spawner/plan.h"

struct child {
    struct plan *plan;
    const struct group *groups;
    size_t n_groups;
    const size_t *group_steps; /* which step of the plan made each */
    int go_fd;        /* a byte with the `tasks` files of the groups of v1, which are made after the
                       * clone; one when the ids are mapped, one when the limits stand; the end of
                       * it means that the spawner is gone, or has told why */
    int parent_go_fd; /* the spawner's end of it, to be closed first */
    int seen_fd;      /* takes a byte when this process has gone from a group that the box sees into
                       * its leaf; -1: there is none */
    int control_fd;   /* for a failure */
};

/* Does not return. */
void child_main(struct child *child) __attribute__((noreturn));
