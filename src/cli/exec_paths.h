/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_paths.h - the paths on `glovebox exec`'s command line: code, files in, files out. */
#pragma once

#include "cli/exec_args.h"

struct buf;

/* Reads FILE, or stdin for "-", whole, into a buf made for EXEC_CODE_MAX + EXEC_READ_STEP.
 * Anything but a directory will do: a pipe is a way to hand over code too.  *ret_is_regular: a file
 * with a name of its own. */
#define EXEC_READ_STEP 65536
int exec_read_code(const char *file, struct buf *ret, bool *ret_is_regular, struct gb_err *err);

/* "HOST[:BOX]" and "BOX[:HOST]", split at the last colon.  ret points into a text that the caller
 * frees: *ret_text.  exec_parse_file() opens the file; the caller closes it. */
int exec_parse_file(const char *arg, struct exec_file *ret, char **ret_text, struct gb_err *err);
int exec_parse_out(const char *arg, bool is_json, struct exec_out *ret, char **ret_text,
                   struct gb_err *err);

/* Refuses a path in the box where nothing can be put; workdir may be NULL.  what: "--file". */
int exec_check_place(const char *what, const char *box, const char *workdir, struct gb_err *err);

/* Does the file lie in the directory?  Then its path below it. */
bool exec_place_in(const char *file, const char *dir, char ret[static PATH_MAX]);

/* Refuses what would replace something else in the box: two files of one name, or code beside a
 * workspace that has a file of its name. */
int exec_check_names(const struct exec_args *args, struct gb_err *err);

/* A directory that can be read and written. */
int exec_check_workspace(const char *dir, struct gb_err *err);

/* Names travel as UTF-8 (JSON): other bytes are refused.  what: "--file". */
int exec_check_text(const char *what, const char *text, struct gb_err *err);
