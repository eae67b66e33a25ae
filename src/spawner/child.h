/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/child.h - the first process of a box, from its clone to the glove's exec.
 *
 * No malloc, no locks, no log between clone and exec.  A failure travels up a pipe as one fixed
 * record; the end of that pipe without one means that the glove runs.
 */
#pragma once

#include "spawner/group.h"
#include "spawner/plan.h"

#include <stddef.h>
#include <stdint.h>

struct failure {
    uint32_t step;
    uint32_t where; /* enum spawn_where */
    uint32_t wall;
    uint32_t error;
    char detail[112];
};

struct child {
    struct plan *plan;
    const struct group *groups;
    size_t n_groups;
    int sync_fd;   /* socket to the spawner: the child says "joined", the spawner says "go" */
    int status_fd; /* pipe for a failure */
};

/* Opens the host's trees that the plan binds and sets their mount flags.  Done by the spawner when
 * it has the host's root, else by the child while it still is its user.  0, or -1 and *ret. */
int trees_open(struct plan *plan, struct failure *ret);

/* Does not return. */
void child_main(struct child *child) __attribute__((noreturn));
