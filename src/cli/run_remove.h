/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_remove.h - taking a task's folder away. */
#pragma once

struct gb_err;
struct store_task;

/* Removes the folder of a task with all that lies in it; no link is followed, and no other file
 * system entered.  It must be the task's: a directory named run_…, whose objective.txt is the
 * task's objective, and nothing that --out named may lie in it.  1: it is gone.  0: there was none.
 * Negative: it stays, or a part of it; the error says why.  objective.txt goes last, so that what
 * was interrupted can be removed later. */
int run_remove_folder(const struct store_task *task, struct gb_err *err);
