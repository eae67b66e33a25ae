/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tree.h - directories that tools make for their callers: workspaces, build contexts.
 *
 * They lie below the directory for temporary files, under a name that begins with a prefix of
 * theirs, and are of this user alone (0700), so that nobody else changes them meanwhile.
 */
#pragma once

#include <limits.h>

struct gb_err;

/* DIR/PREFIXxxxxxx. */
int tree_make(const char *temp_dir, const char *prefix, char ret_path[static PATH_MAX],
              struct gb_err *err);

/* Opens one that was made so; -EINVAL when it is none: elsewhere, another name, another owner. */
int tree_open(const char *temp_dir, const char *prefix, const char *path, struct gb_err *err);

/* Removes it with everything in it; no link is followed.  What cannot be removed stays. */
void tree_remove(const char *path);
