/* SPDX-License-Identifier: Apache-2.0 */
/* agent/query.h - what a search server is told: library, version, exception and message; no paths,
 * no values, no code. */
#pragma once

#include <stddef.h>

struct agent_outcome;
struct buf;

#define QUERY_MAX 240

/* From what the coder wants to know, or (NULL) from the last failure.  -ENOENT when nothing is left
 * that could be asked. */
int query_make(const struct agent_outcome *outcome, const char *wanted, struct buf *ret);

/* Appends the words of a text that may leave: without what stands in quotes, paths, long numbers
 * and everything that is no word. */
void query_clean(const char *text, size_t len, struct buf *ret);
