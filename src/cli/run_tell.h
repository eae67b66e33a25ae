/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_tell.h - what people are told of a task before it begins and when it has ended. */
#pragma once

#include <stdbool.h>

#include "agent/task.h"

struct box_spec;
struct buf;
struct deliverable;
struct term;
struct view;

/* Model, endpoint, box, id.  models: of a replay all NULL. */
void run_tell_begin(struct view *view, const struct agent_spec *spec, const char *folder);

/* Files with sizes, the table of tests, coverage, mutants, how to run it, where it lies.  files: as
 * line_to_run() takes them. */
void run_tell_end(struct view *view, const struct agent_outcome *outcome,
                  const struct deliverable *delivered, const char *dir, char *const *files);

/* How a task goes on that its budget has ended.  stop: NULL: it has not. */
void run_tell_stop(struct view *view, const char *id, const struct agent_stop *stop);

/* The answer, and nothing else, on stdout; filtered on a terminal. */
int run_tell_answer(const char *answer, struct gb_err *err);
