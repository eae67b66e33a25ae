/* SPDX-License-Identifier: Apache-2.0 */
/* cli/test_table.h - the tests of a task, counted by class. */
#pragma once

struct agent_outcome;
struct buf;

/* Appends the table: a line of heads, one a class, and their sum; no newline at the end. */
int test_table(const struct agent_outcome *outcome, struct buf *ret);
