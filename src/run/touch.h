/* SPDX-License-Identifier: Apache-2.0 */
/* run/touch.h - files that a tool runs when somebody only enters, opens, builds or commits where
 * they lie.
 *
 * What comes out of a box is data until then.  What git obeys does not come out at all: a prompt of
 * the shell that shows a branch is enough to run it.  Of the others whoever takes them is told.
 * Names count as on file systems that know no case.
 */
#pragma once

#include <stdbool.h>

/* Is the path, or does it lie in, something that git obeys: ".git", or the HEAD that makes a
 * repository of any other directory? */
bool touch_is_git(const char *path);

/* Who runs what lies at that relative path, "direnv"; NULL: nobody by itself. */
const char *touch_runner(const char *path);
