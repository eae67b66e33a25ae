/* SPDX-License-Identifier: Apache-2.0 */
/* agent/testing.h - the tests of a build: those that the task gives, and those of the tester, who
 * never sees the code. */
#pragma once

#include "agent/state.h"

/* Asks the tester and lists what came of it in task->out->tests.  unnoticed: functions that no test
 * notices, a line each, when tests are to be added to those that there are; NULL for the first. */
int testing_write(struct task *task, const char *unnoticed, struct gb_err *err);

/* The text of one test, for somebody who has to tell whether it is right. */
int testing_source(const struct judge_tests *tests, const char *id, struct buf *ret);
