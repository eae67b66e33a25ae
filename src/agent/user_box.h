/* SPDX-License-Identifier: Apache-2.0 */
/* agent/user_box.h - the box that a task's user keeps: `run --user NAME`.
 *
 *    at the beginning   what lies in its workspace is told to the models    effect "user"
 *    the last run       of a program, or of an answer, is in it             effects of tryout.h
 *    what is not run    is put there when it has passed                     effect "kept"
 *
 * The judge never has it: checks, compilers, tests and mutants have new boxes, as in any task.  It
 * has the packages of the task besides those of earlier ones, and the task's network while the run
 * lasts.  A run that was under way when the task was killed is made again when it is resumed.
 */
#pragma once

#include "agent/judge.h"

struct agent_files;
struct agent_user;
struct gb_err;
struct task;

/* What earlier tasks left, into task->workspace.  Nothing without a user. */
int user_box_look(struct task *task, struct gb_err *err);

/* Puts what was built there, unless its run did. */
int user_box_keep(struct task *task, bool has_run, struct gb_err *err);

/* For judge_try(), which opens it for the run and closes it behind it; user is the task.  Nothing
 * without a user. */
struct judge_home user_box_home(const struct task *task);
