/* SPDX-License-Identifier: Apache-2.0 */
/* agent/given.h - tests from the examples that the task itself gives.  They are never withdrawn. */
#pragma once

struct buf;
struct contract;

#define GIVEN_FILE   "test_given.py"
#define GIVEN_PREFIX "test_given_"

/* A library's examples as a test file in pytest's dialect: a call and its value, or "raises
 * ValueError".  Examples that are no single line are left out.  The number of tests, or the buf's
 * error. */
int given_library(const struct contract *contract, struct buf *ret);

/* A program's examples as cases (agent/cases.h), {"cases": […]}: what stands behind "$ " are its
 * arguments, in words as a shell would split them; anything else is its standard input. */
int given_program(const struct contract *contract, struct buf *ret);
