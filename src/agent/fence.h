/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fence.h - files in a model's answer: a path line and a fence for each.
 *
 *    src/duration.py            or  **src/duration.py**, `src/duration.py`, ### src/duration.py,
 *    ```python                      File: src/duration.py, or the path behind the language:
 *    …                              ```python src/duration.py
 *    ```
 *
 * A fence is three or more backticks or tildes; it ends with a line of at least as many of the same
 * and nothing else, so that a longer fence may hold shorter ones.  The last non-empty line before a
 * fence names the file if it looks like a path.  A single fence without a path is the one file that
 * the caller expects (fallback).  The text is hostile: paths are clean and relative or refused
 * (-EINVAL, the error names it), numbers and sizes are bounded, a fence that does not end makes the
 * answer incomplete (-EBADMSG), a path given twice is refused.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct gb_err;

struct agent_file {
    char *path;
    char *text;
    size_t len;
};

struct agent_files {
    struct agent_file *items;
    size_t n;
    char *prose; /* what stood outside of the fences, trimmed; the explanation */
};

#define FENCE_FILES_MAX 64
#define FENCE_FILE_MAX  (1 << 20)
#define FENCE_TOTAL_MAX (4 << 20)

/* fallback: path of a lone fence without one; NULL: such a fence is prose. */
int fence_scan(const char *text, size_t len, const char *fallback, struct agent_files *ret,
               struct gb_err *err);
void agent_files_clear(struct agent_files *files);

#define cleanup_files cleanup_with(agent_files_clear)

const struct agent_file *agent_files_find(const struct agent_files *files, const char *path);
int agent_files_put(struct agent_files *files, const char *path, const char *text, size_t len);

/* Search/replace blocks inside a fence that names an existing file:
 *
 *    <<<<<<< SEARCH
 *    old lines
 *    =======
 *    new lines
 *    >>>>>>> REPLACE
 *
 * Each must match exactly once, whole lines, nothing fuzzy: else -EINVAL and the error says which
 * block and whether it was not found or found more than once. */
int edit_is_blocks(const char *text, size_t len);
int edit_apply(const char *old, size_t old_len, const char *blocks, size_t len, char **ret,
               size_t *ret_len, struct gb_err *err);
