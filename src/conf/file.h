/* SPDX-License-Identifier: Apache-2.0 */
/* conf/file.h - reading a configuration file whole, with suspicion. */
#pragma once

#include <stdbool.h>

struct buf;
struct gb_err;

#define CONF_FILE_MAX (1 << 20)

/* Appends the contents of the regular file to ret (made for at least CONF_FILE_MAX).  1 when it was
 * read, 0 when there is none.  A file that is there but cannot be read is an error: it may have
 * made things tighter.
 *
 * is_operators: the file can loosen walls, so it must belong to the user or to root, and nobody
 * else may write to it. */
int conf_file_read(const char *path, bool is_operators, struct buf *ret, struct gb_err *err);
