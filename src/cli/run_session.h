/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_session.h - one life of a task: from the command to its end, or to the next life.
 *
 *    run_begin()    a new task             ┐
 *    run_resume()   one that was begun     ├─► run_task(): journal, contents, agent_run(), the end
 *    run_replay()   a recording            ┘
 *
 * For the files of `glovebox run`.  A session belongs to one thread.
 */
#pragma once

#include <stdbool.h>

#include "agent/task.h"
#include "box/box.h"
#include "cli/run_contents.h"
#include "cli/run_end.h"
#include "cli/run_order.h"
#include "cli/run_people.h"
#include "cli/run_user.h"
#include "cli/view.h"
#include "conf/certificates.h"
#include "conf/models.h"
#include "conf/settings.h"
#include "package/provide.h"
#include "store/store.h"

struct call;
struct run_args;
struct secrets;

struct run_session {
    const struct call *call;
    const struct run_args *args;
    int signals; /* readable when the task is to stop */

    struct settings settings;
    struct secrets *secrets;
    struct models choices;
    struct model *models[N_ROLES]; /* the same one may stand for several */
    struct box_spec box;

    /* NULL, and not locked, in a replay. */
    struct store *store;
    struct store_task task;
    int lock_fd;
    struct folder *folder;
    struct run_options options;
    struct run_end parent; /* of a task that continues another */
    bool is_raised;        /* the task gets larger limits than it had */
    uint64_t raise_place;  /* of the store: what was put after it is forgotten then */

    struct journal *journal;
    struct run_order order;
    struct run_contents contents;
    struct run_people people;
    struct view view;
    bool has_view;
    struct package_host package_host;
    struct package_wishes packages;
    struct run_user user;
    struct certificates certificates; /* of a box with a network */
    struct agent_spec spec;
    struct agent_outcome outcome;
};

/* All that it needs, up to the journal and what the task was given; run_session_clear() is owed in
 * any case. */
int run_session_open(struct run_session *session, struct gb_err *err);
void run_session_clear(struct run_session *session);

/* How it ends; both give the exit status, or negative.  It could not go on for r and *err: told,
 * and how to resume it.  agent_run() has come back: what was built is delivered, remembered and
 * told. */
int run_session_failed(struct run_session *session, int r, struct gb_err *err);
int run_session_done(struct run_session *session, struct gb_err *err);

/* Settings and everything that can be told to be wrong before a task is touched: backend, models,
 * keys, search.  flags: of the life before, NULL for none. */
int run_session_prepare(struct run_session *session, char *const *flags, struct gb_err *err);

/* The store of these settings. */
int run_session_store(struct run_session *session, struct gb_err *err);

/* Into the spec, for the one box that may have a network. */
int run_network(struct run_session *session, struct gb_err *err);

/* Packages of the command line into the order, and those of the order into the spec. */
int run_packages_take(const struct run_args *args, struct run_order *order, struct gb_err *err);
int run_packages_give(struct run_session *session, struct gb_err *err);

/* Whose task it is into the spec, and what serves his box; before there are threads. */
int run_user_give(struct run_session *session, struct gb_err *err);

/* The limits that settings give. */
struct budget run_limits(const struct settings *settings);

/* Has the budget ended it? */
bool run_can_be_raised(const struct store_task *task);

/* Larger limits, as far as the command names some, into the options of a task that is locked; a
 * task that has ended must have room to go on with them.  The store has them with
 * run_raise_commit(), which makes a task that has ended run again. */
int run_raise(struct run_session *session, struct gb_err *err);
int run_raise_commit(struct run_session *session, struct gb_err *err);

/* Each leaves the session with a task that is locked, and its folder open. */
int run_begin(struct run_session *session, struct gb_err *err);
int run_resume(struct run_session *session, struct gb_err *err);
