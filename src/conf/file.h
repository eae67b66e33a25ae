/* SPDX-License-Identifier: Apache-2.0 */
/* conf/file.h - reading a configuration file whole, with suspicion. */
#pragma once

#include <stdbool.h>

struct buf;
struct gb_err;

#define CONF_FILE_MAX (1 << 20)

/* Appends the contents of the regular file to ret, whose maximum is the most that it may have.  1
 * when it was read, 0 when there is none.  A file that is there but cannot be read is an error: it
 * may have made things tighter.
 *
 * is_operators: the file can loosen walls, so it must belong to the user or to root, and nobody
 * else may write to it. */
int conf_file_read(const char *path, bool is_operators, struct buf *ret, struct gb_err *err);

/* The same for file `name` of a project's directory (NULL: the working directory).  Such a file
 * comes with a cloned repository, where a link can lead to what the user alone may read: no link is
 * followed, neither the file's own nor one on the way to it. */
int conf_file_read_project(const char *dir, const char *name, struct buf *ret, struct gb_err *err);
