/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tryout.h - a program once, as a person would start it, as an effect. */
#pragma once

#include "agent/state.h"

struct program_case;

/* With the arguments and the input of a case; NULL: with none. */
int tryout(struct task *task, const char *name, const struct agent_files *code,
           const struct program_case *item, struct judge_try *ret, struct gb_err *err);

/* The program that was built, once: one that was granted hosts with the network, and as its
 * contract says, another one with what its first usual case gives it; what it printed is
 * told and goes into ret; that it failed too, in task->out.  1: it ran.  0: a library, or a program
 * whose cases all have files, has nothing to show; or it could not be started. */
int tryout_show(struct task *task, const char *name, struct buf *ret, struct gb_err *err);
