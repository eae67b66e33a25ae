/* SPDX-License-Identifier: Apache-2.0 */
/* agent/recipe.h - how a delivered program is tested without glovebox.
 *
 * A program's tests are cases (agent/cases.h).  With them go a file that runs them under plain
 * pytest, the same for every program, and a recipe that tells it which program that is.
 */
#pragma once

#include <stddef.h>

struct agent_outcome;
struct buf;
struct gb_err;

#define RECIPE_TESTS_FILE "test_cases.py"

/* Text that is static; its length without the NUL behind it. */
const char *recipe_tests(size_t *ret_len);

/* JSON: files, inputs (of --file: not delivered), env, build (argv, or null), name (under which the
 * command finds what was built, or null), run (argv, null of what could not be started).  In words
 * {work} is the directory that all of it lies in; what is built goes to .build/program below it. */
int recipe_text(const struct agent_outcome *outcome, struct buf *ret, struct gb_err *err);
