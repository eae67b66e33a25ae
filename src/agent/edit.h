/* SPDX-License-Identifier: Apache-2.0 */
/* agent/edit.h - search/replace blocks inside a fence that names an existing file:
 *
 *    <<<<<<< SEARCH
 *    old lines
 *    =======
 *    new lines
 *    >>>>>>> REPLACE
 *
 * Each block must match exactly once in the old text, whole lines, nothing fuzzy; the order of the
 * blocks does not matter and no two may touch the same line.  A file with CR LF at every line is
 * compared and written as such, so that blocks with plain newlines fit it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gb_err;

#define EDIT_BLOCKS_MAX 256

/* Does the text begin with a block? */
bool edit_is_blocks(const char *text, size_t len);

/* The new text, with a NUL behind it that *ret_len does not count; the caller frees it.  -EINVAL:
 * the error says which block, and whether it was not found or found more than once.  -EFBIG: over
 * FENCE_FILE_MAX. */
int edit_apply(const char *old, size_t old_len, const char *blocks, size_t len, char **ret,
               size_t *ret_len, struct gb_err *err);
