/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_deliver.h - what a task hands over: code and tests as files.
 *
 *    duration.py          the code, under the names that the contract has
 *    pytest.ini           the delivered tests pass under plain pytest, which finds a library's
 *                         module in whatever directory the contract puts it
 *    tests/test_*.py      of a program test_cases.py, which runs
 *    tests/cases.json     as
 *    tests/program.json   says (agent/recipe.h)
 *
 * Tests that were withdrawn stand in their files and are deselected in pytest.ini; of cases they
 * are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct agent_outcome;
struct gb_err;

struct deliverable_file {
    char *path; /* below the directory that it goes to */
    char *text;
    size_t len;
    bool is_test;
};

struct deliverable {
    struct deliverable_file *items;
    size_t n;
};

/* Files that a task without any code does not have: n is 0 then. */
int deliverable_make(const struct agent_outcome *outcome, struct deliverable *ret,
                     struct gb_err *err);
void deliverable_clear(struct deliverable *deliverable);

#define cleanup_deliverable cleanup_with(deliverable_clear)

/* Can --out be this directory?  It can be made, or is empty, or is_forced; nothing is left behind.
 * *ret is its absolute path, the caller's to free. */
int deliver_check(const char *dir, bool is_forced, char **ret, struct gb_err *err);

/* 1 when a file of known (path, digest, path, digest, …, NULL; may be NULL) lies in dir with other
 * contents: *ret is its path, known's.  A directory or file that is gone has not changed. */
int deliver_changed(const char *dir, char *const *known, const char **ret);

/* Writes the files below dir, which is made where it is missing; no link is followed there.  Each
 * file is replaced whole or not at all.  Unless is_forced, a file that is there with contents that
 * are neither the same nor in known (path, digest, path, digest, …, NULL; may be NULL) is not
 * replaced: nothing is written and the error names it. */
int deliver_write(const struct deliverable *deliverable, const char *dir, bool is_forced,
                  char *const *known, struct gb_err *err);
