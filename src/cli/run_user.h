/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_user.h - the box of a task's user: found, made, or made anew as a run needs it.
 *
 *    run_user_check() → run_user_give() → agent_run() → run_user_end()
 *
 * Layers and the way to a network are given to a box when it is made.  One that lacks them is
 * replaced by one that has them, and those that it had; what lies in its workspace moves over, and
 * the old one goes when all is there: a kill between leaves the old one whole.
 *
 * Boxes that live on are made by processes of their own, and a task has threads: so they are made
 * by a process that was split off before there was one, the maker, which waits for orders and ends
 * with the task.
 */
#pragma once

#include "agent/task.h"
#include "box/kept.h"

struct gb_err;
struct package_host;
struct settings;

struct run_user {
    const char *name; /* NULL: there is no user, and nothing to end */
    const struct settings *settings;
    const struct package_host *host;
    struct agent_listener listener; /* is told what is installed, and what could not be */
    int cancel_fd;
    int maker_fd; /* -1: none */
    int lock_fd;  /* while the box is open */
    struct kept kept;
};

/* Can the box that the user has serve a task with these settings?  One that has none can. */
int run_user_check(const struct settings *settings, const char *name, struct gb_err *err);

/* What run_user_give() (cli/run_session.h) began. */
void run_user_end(struct run_user *user);
