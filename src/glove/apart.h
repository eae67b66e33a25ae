/* SPDX-License-Identifier: Apache-2.0 */
/* glove/apart.h - a run in a pid and a mount namespace of its own.
 *
 * The child that was cloned into them is their init: it mounts a fresh /proc with the masks of the
 * present one, covers the paths that the host named, gives its privileges up, starts the program
 * and waits.  The program's end is its own end, and with it that of everything in the namespace.
 * A namespace's init cannot die by a signal of its own, so it tells how the program ended through
 * a pipe.
 */
#pragma once

#include "glove/child.h"

/* Does not return. */
void apart_exec(const struct child_plan *plan) __attribute__((noreturn));
