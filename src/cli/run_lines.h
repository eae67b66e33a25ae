/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_lines.h - how to run and to test what a task has delivered: lines for a shell.
 *
 * All of it is a model's text and may be pasted: every word is quoted, and what cannot stand in one
 * line is left out.
 */
#pragma once

struct agent_outcome;
struct buf;

/* What lies in dir, run as it was tested: with files (HOST or HOST:BOX, …, NULL; may be NULL), and
 * with arguments and stdin of its first usual case.  Nothing for a library. */
int line_to_run(const struct agent_outcome *outcome, const char *dir, char *const *files,
                struct buf *ret);

/* Nothing where there are no tests. */
int line_to_test(const struct agent_outcome *outcome, const char *dir, struct buf *ret);

/* The text as one word of a shell. */
int shell_word(const char *text, struct buf *ret);
