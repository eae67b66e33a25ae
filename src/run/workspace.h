/* SPDX-License-Identifier: Apache-2.0 */
/* run/workspace.h - a directory of the host as the workspace of a box.
 *
 * Copied in before and copied back after, never a live mount: regular files only, under caps, no
 * link followed on either side.  A file that the run removed stays on the host.  Nothing that git
 * obeys comes back, and files that other tools run get a note (run/touch.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct box;
struct gb_err;
struct limits;
struct run_result;

#define WORKSPACE_FILES_MAX 10000
#define WORKSPACE_DEPTH_MAX 32

struct workspace_in {
    const char *what; /* "the workspace", as failures call it */
    const char *host_dir;
    const char *box_dir;
    const char *prefix; /* below box_dir: where the files go; "" for box_dir itself */
    const struct limits *limits;
    uint64_t used;        /* of the box's room (run/room.h), by files that come besides */
    uint64_t used_shared; /* … in shared memory */
};

int workspace_put(struct box *box, const struct workspace_in *in, uint64_t *ret_mark,
                  struct gb_err *err);

struct workspace_back {
    const char *what; /* "--workspace", as failures call it */
    const char *host_dir;
    const char *box_dir;
    const char *path;   /* a directory below box_dir; "" for box_dir itself */
    const char *source; /* below box_dir: the run's own, which does not come back; NULL */
    uint64_t mark;      /* only what changed since */
    uint64_t max_files;
    uint64_t max_bytes;
};

/* What changed.  A file that cannot be written does not keep the others from it: the result gets a
 * note for each of the first ones, and the error is the first one's. */
int workspace_get(struct box *box, const struct workspace_back *back, struct run_result *result,
                  struct gb_err *err);
