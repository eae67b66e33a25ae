/* SPDX-License-Identifier: Apache-2.0 */
/* glove/minder.h - the parent of a run that has no group of its own.
 *
 *    glove ── minder ── program ── …
 *
 * Without a group nothing tells whose child a process was once its parent is gone: one that makes
 * a session of its own would live on beside the next runs.  The kernel gives orphans to the
 * nearest ancestor that asked for them, and that is the minder: all that a run starts stays below
 * it.  It is box root with CAP_KILL alone, so that no program can signal or trace it.
 *
 * The program's end, or SIGTERM, makes the minder kill all its descendants, and then it ends
 * itself.  Up the status pipe go the program's pid, told by the program itself before its exec, and
 * last how it ended.  The program stays a zombie until then: its number is nobody else's.
 */
#pragma once

#include "glove/child.h"

/* Becomes the minder of the program, in a child of the glove. */
void minder_exec(const struct child_plan *plan) __attribute__((noreturn));
