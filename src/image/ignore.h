/* SPDX-License-Identifier: Apache-2.0 */
/* image/ignore.h - the patterns of a .dockerignore, as docker reads them.
 *
 * A line is a comment (first byte '#'), blank, or a pattern; '!' before it takes back what earlier
 * lines left out, and the last line that says something about a path, or about a directory above
 * it, decides.  '*' and '?' stay within a name, '**' crosses directories, [a-z] and [^a-z] are
 * sets, '\' takes the next character as it is.  A slash at either end means nothing.
 *
 * The patterns may be anybody's.  A path is compared in one pass over a set of states, without
 * going back, and the work of all comparisons together is bounded.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct gb_err;
struct ignore;

#define IGNORE_TEXT_MAX    (64 << 10)
#define IGNORE_PATTERN_MAX 1024 /* bytes of one */
#define IGNORE_WORK_MAX    4000000000ULL

/* -EINVAL names the line that docker would refuse too, -EFBIG a text over the maximum. */
int ignore_new(const char *text, size_t len, struct ignore **ret, struct gb_err *err);
void ignore_free(struct ignore *ignore);

DEFINE_CLEANUP(struct ignore *, ignore_free)
#define cleanup_ignore cleanup_with(ignore_freep)

/* 1 when the path, relative and clean, is left out; 0 when it stays.  -E2BIG: the patterns have
 * taken all the work that they may. */
int ignore_matches(struct ignore *ignore, const char *path, struct gb_err *err);

/* 1 when something below a directory that is left out may stay, because some line takes back. */
int ignore_may_return(const struct ignore *ignore);
