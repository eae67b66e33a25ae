/* SPDX-License-Identifier: Apache-2.0 */
/* agent/prompt.h - what models are asked: files with variables, filled in from the state.
 *
 *    <!-- SPDX-License-Identifier: Apache-2.0 -->
 *    <!-- prompt: repair, version 1 -->
 *    You write code. …              the stable part: the same each time, so that servers cache it
 *    <!-- variable -->
 *    {{task}}                       a variable
 *    {{#history}}                   lines that are there only if a variable is not empty
 *    {{history}}
 *    {{/history}}
 *
 * Which variables there are, which of them may be cut and which hold what strangers wrote is one
 * table (prompt.c), not the prompt's or the caller's to decide.  A stranger's text (a program's
 * output, search results, whatever was made of them) is cleaned of control and invisible characters
 * and put between two marks with a tag that the text does not hold, under a sentence that says it
 * is no instruction.  The tag depends on the text alone: the same state makes the same prompt.
 */
#pragma once

#include <stddef.h>

struct buf;
struct gb_err;

struct prompt_var {
    const char *name;
    const char *text; /* NULL: empty */
    size_t len;       /* 0: up to its NUL */
};

#define PROMPT_MAX (8 << 20) /* bytes, whatever the budget */

/* The number of a prompt, for transcripts; 0 when there is none of that name. */
unsigned prompt_version(const char *name);

/* Appends the prompt, at most `budget` bytes of it.  Variables that a prompt does not have are
 * passed over; one that it has outside of its own section must be given.  What does not fit is cut
 * out of the middle of the variables that may be cut, the longest first, and marked.  *ret_stable,
 * which may be NULL, is the length of the stable part: a system message; the rest is the user's.
 * -EMSGSIZE when it does not fit even so, with an error for people. */
int prompt_render(const char *name, const struct prompt_var *vars, size_t n_vars, size_t budget,
                  struct buf *ret, size_t *ret_stable, struct gb_err *err);

/* The same with a prompt's text from elsewhere. */
int prompt_fill(const char *name, const char *text, size_t len, const struct prompt_var *vars,
                size_t n_vars, size_t budget, struct buf *ret, size_t *ret_stable,
                struct gb_err *err);
