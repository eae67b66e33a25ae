/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_dir.h - where boxes that live on are remembered: STATE/boxes/ID.
 *
 * A box's directory has its record, the socket of its keeper, and a directory of its runs.  Whose
 * keeper does not listen any more is dead, and its directory is removed by whoever sees it.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>

struct gb_err;

#define KEPT_RUNS_DIR "runs"

/* STATE/boxes.  -ENOENT without err set when it is not there and is not to be made. */
int kept_dir_open(const char *state_dir, bool is_made, struct gb_err *err);

/* A directory's entries; the descriptor stays the caller's.  NULL: errno. */
DIR *kept_dir_entries(int fd);

/* The directory of a box: its files and those of its runs.  What else is there stays. */
void kept_dir_remove(int boxes, const char *name);

/* The socket in the directory of a box: made, and its keeper reached.  -ECONNREFUSED: that one is
 * dead. */
int kept_dir_listen(int dir, struct gb_err *err);
int kept_dir_connect(int dir);
