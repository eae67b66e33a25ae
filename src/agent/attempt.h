/* SPDX-License-Identifier: Apache-2.0 */
/* agent/attempt.h - attempts at code: what those of an answer and of a build have in common. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/state.h"

struct writing;

/* Code that is run: an attempt that writes it once more is not. */
int attempt_remember(struct task *task, const struct agent_files *code, struct gb_err *err);

/* Asks for code; is_anew: what came before had been there already. */
typedef int (*attempt_write)(void *user, bool is_anew, struct agent_files *ret,
                             unsigned *ret_iteration, struct gb_err *err);

/* 1: code that was not run before.  0: there is none, though it was asked for anew. */
int attempt_new(struct task *task, attempt_write write, void *user, struct agent_files *ret,
                unsigned *ret_iteration, struct gb_err *err);

/* What is asked for anew is sampled, or asked for as another approach where a model does not
 * sample. */
void attempt_ask_anew(const struct task *task, struct writing *writing);

struct attempting {
    bool (*is_done)(const void *user);
    /* One attempt.  1: code was tried; 0: none was new; -EBADMSG: no answer could be used. */
    int (*make)(void *user, struct gb_err *err);
    /* The attempt that was begun brought no code, and why. */
    void (*lose)(void *user, const char *why);
    void *user;
};

/* As many as the budget has, until it is done or nothing new comes.  Negative when the task cannot
 * go on. */
int attempts_make(struct task *task, const struct attempting *how, struct gb_err *err);
