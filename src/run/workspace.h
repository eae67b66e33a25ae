/* SPDX-License-Identifier: Apache-2.0 */
/* run/workspace.h - a directory of the host as the workspace of a box.
 *
 * Copied in before and copied back after, never a live mount: regular files only, under caps, no
 * link followed on either side.  A file that the run removed stays on the host.
 */
#pragma once

#include <stdint.h>

struct box;
struct gb_err;

#define WORKSPACE_FILES_MAX 10000
#define WORKSPACE_DEPTH_MAX 32

int workspace_put(struct box *box, const char *host_dir, const char *box_dir, uint64_t *ret_mark,
                  struct gb_err *err);

/* What changed since the mark. */
int workspace_get(struct box *box, const char *host_dir, const char *box_dir, uint64_t mark,
                  uint64_t max_files, uint64_t max_bytes, struct gb_err *err);
