/* SPDX-License-Identifier: Apache-2.0 */
/* conf/trust.h - which project files the user has read and trusts.
 *
 * A file `trusted` in the state directory, the user's own and 0600, holds a copy of each.  Trust is
 * in the contents: a file that has changed since is an ordinary project file again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;

/* The files of a project directory that hold settings: "glovebox.yaml", "config/config.yaml",
 * ".env"; NULL behind the last. */
const char *trust_file_at(size_t n);

/* Is file `name` of directory dir, with these contents, trusted?  1, 0, or an error when the copies
 * cannot be believed. */
int trust_has(const char *state_dir, const char *dir, const char *name, const void *text,
              size_t len, struct gb_err *err);

/* Trusts the present contents of dir's files, and forgets earlier trust in it; their number in
 * *ret_n.  A directory without such files is an error.  With is_revoked it only forgets, also a
 * directory that is gone if it is named by its whole path; one that was not trusted is an error. */
int trust_set(const char *state_dir, const char *dir, bool is_revoked, size_t *ret_n,
              struct gb_err *err);
