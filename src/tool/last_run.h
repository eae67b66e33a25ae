/* SPDX-License-Identifier: Apache-2.0 */
/* tool/last_run.h - what the last run of an environment wrote.
 *
 * Kept on the host, in the directory of the box, which nothing in the box reaches: the program
 * cannot forge it.  Replaced whole by every run.
 */
#pragma once

#include <stdint.h>

struct buf;
struct environment;
struct gb_err;
struct run_result;
struct tool_host;

/* Appends the log of a run as a JSON object; wall_ns: with what was needed around it. */
int last_run_text(const struct run_result *result, uint64_t wall_ns, struct buf *ret,
                  struct gb_err *err);

int last_run_save(const struct tool_host *host, const struct environment *environment,
                  const struct buf *text, struct gb_err *err);
