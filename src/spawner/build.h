/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/build.h - the file system of a box: the steps of its plan, and the pivot into it.
 *
 * Everything is built in a staging directory, a tmpfs that covers one directory of the host in this
 * mount namespace only:
 *
 *    staging/root      the box's root; targets that begin with '/' lie below it
 *    staging/mask      a file and a directory that cover what must not be seen
 *    staging/nothing
 *    staging/...       what the plan puts there (the disk of the box)
 *
 * Paths are walked plainly: the root is this program's own tmpfs, and no step puts a link into it
 * that a later step goes through.
 *
 * pivot_root() makes staging/root the root, and the detached old root takes the staging directory
 * with it: only what was bound into the root stays.
 *
 * No malloc, no locks, no log: it is done by the first process of a box, before it is the glove.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "spawner/failure.h"
#include "spawner/plan.h"

struct builder {
    int tree; /* opened for the present step, or -1 */
    int stage_fd;
    int root_fd; /* -1 until the plan has mounted it */
    bool has_covers;
};

#define BUILDER_INIT                              \
    {                                             \
        .tree = -1, .stage_fd = -1, .root_fd = -1 \
    }

/* Opens the host's trees that not everybody may walk to (toolchains in somebody's home) and sets
 * their mount flags.  Done by the spawner when it has the host's root, else by the child while it
 * still is its user.  0, or -1 and *ret. */
int trees_open(struct plan *plan, struct failure *ret);

/* The staging directory.  0, or -1 and errno. */
int builder_begin(struct builder *b);

/* Step i of the plan, if it is one of the file system's.  0, or -1 and *ret. */
int builder_step(struct builder *b, const struct plan *plan, size_t i, struct failure *ret);

/* Makes staging/root the root.  0, or -1 and errno. */
int builder_pivot(const struct builder *b);
