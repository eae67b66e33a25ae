/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/guard.h - a twin of the spawner that outlives it, should it be killed.
 *
 * A spawner that is killed cannot remove its box, and its command may be gone already.  So it has a
 * twin: a process of its own, hence not killed with it, that shares its memory and descriptors and
 * sleeps until the spawner has ended.  One that ends in good order dismisses the twin first.  Else
 * the twin wakes, finds everything as the spawner left it, in the middle of anything, and removes
 * what there is.  Only when both are killed it is left to the next taker of the slot: by somebody
 * who means both, or by the kernel when the whole machine is out of memory, which takes all that
 * share a victim's.
 */
#pragma once

#include <sys/types.h>

/* The pid of the twin, which will call stand_in(arg) and end; 0 when none could be made. */
pid_t guard_start(void (*stand_in)(void *arg), void *arg);

/* Nothing is left to guard. */
void guard_dismiss(pid_t guard);
