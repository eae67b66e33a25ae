/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h - tasks and what was done for them, in SQLite; its only user, opened on first use.
 *
 * A task is a row with its effects: each a named thing that was done once (a model's answer, a
 * verdict, a search, a human's word), written and committed before anything follows from it.  So a
 * task that was killed at any moment finds all that was done, and nothing half done.
 *
 * One file, tasks.db (WAL), in the state directory, 0600.  One thread at a time may be in a store;
 * several processes may have it open, and a process several of it.  It does not survive fork(2).  A
 * task in work is locked by its process (store_task_lock()).
 *
 * What is committed survives the death of the process, at any moment.  A power failure may cost
 * the last effects, never their order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct gb_err;
struct store;

/* Bounds of what is put, in bytes: more is -EMSGSIZE. */
#define STORE_TEXT_MAX   (1 << 20) /* each text of a task */
#define STORE_OUTPUT_MAX (64 << 20)
#define STORE_NAME_MAX   200 /* of an effect */
#define STORE_LIST_MAX   10000

enum task_state {
    TASK_RUNNING, /* or was, when its process died */
    TASK_WAITING, /* for a human's answer */
    TASK_DONE,    /* the outcome says how */
};

struct store_task {
    char *id; /* t_… */
    char *objective;
    char *options; /* JSON: what the command was told; whatever resuming needs */
    char *folder;  /* host directory with its readable files; NULL: none */
    char *parent;  /* the task that it continues; NULL: none */
    enum task_state state;
    char *outcome;       /* JSON when done; NULL */
    uint64_t created_ms; /* since the epoch; both are the store's to set */
    uint64_t changed_ms;
};

struct store_effect {
    char *name;   /* unique in its task: "contract", "attempt-2/code"; printable, no blank */
    char *digest; /* of the input: hex SHA-256 */
    char *output; /* JSON or text, as it was put */
    size_t output_len;
    uint64_t at_ms; /* the store's to set */
    uint64_t seq;   /* the same; grows from one effect of a task to the next */
};

/* Makes directory (0700) and file as needed.  A database that is damaged (-EUCLEAN) or newer
 * (-EPROTONOSUPPORT) is an error that says what to do and changes nothing.  Damage deep inside
 * shows where it is met: any call may be the one that says -EUCLEAN. */
int store_open(const char *dir, struct store **ret, struct gb_err *err);
void store_close(struct store **store);

#define cleanup_store cleanup_with(store_close)

/* The id is the caller's, of id_make('t', …).  -ENOENT: there is no such parent. */
int store_task_new(struct store *store, const struct store_task *task, struct gb_err *err);

/* By id or unique beginning of it.  -ENOENT, or -ENOTUNIQ, with an error for people. */
int store_task_get(struct store *store, const char *prefix, struct store_task *ret,
                   struct gb_err *err);
void store_task_clear(struct store_task *task);

/* Newest first, at most STORE_LIST_MAX; *ret is an array of *ret_n that store_tasks_free() frees.
 */
int store_task_list(struct store *store, size_t most, struct store_task **ret, size_t *ret_n,
                    struct gb_err *err);
void store_tasks_free(struct store_task *tasks, size_t n);

/* outcome: what it is from now on, NULL for none. */
int store_task_state(struct store *store, const char *id, enum task_state state,
                     const char *outcome, struct gb_err *err);

/* The task, whose caller holds its lock, runs again: with these options, without an outcome, and
 * without the effects that were put after `seq` (UINT64_MAX: none goes).  All of it or nothing. */
int store_task_reopen(struct store *store, const char *id, const char *options, uint64_t seq,
                      struct gb_err *err);

/* Removes it with its effects, whoever holds the lock; its folder stays.  A process that works on
 * it finds no task any more. */
int store_task_forget(struct store *store, const char *id, struct gb_err *err);

/* This process works on the task until it ends or closes the descriptor; -EBUSY when another does.
 * A lock file beside the database, locks/ID, whose lock goes with its process. */
int store_task_lock(struct store *store, const char *id, int *ret_fd, struct gb_err *err);

/* Does a process, be it this one, work on it?  Only looks: nobody is kept from the lock meanwhile.
 */
bool store_task_is_locked(struct store *store, const char *id);

/* Lets go of it and removes the file.  *fd is -1 afterwards, and may be -1 before. */
void store_task_unlock(struct store *store, const char *id, int *fd);

/* 1 and the effect, 0 when there is none of that name.  store_effect_clear() is owed. */
int store_effect_get(struct store *store, const char *task, const char *name,
                     struct store_effect *ret, struct gb_err *err);

/* Commits it.  A second one of the same name is -EEXIST: nothing is ever done twice.  -ENOENT:
 * there is no such task. */
int store_effect_put(struct store *store, const char *task, const struct store_effect *effect,
                     struct gb_err *err);
void store_effect_clear(struct store_effect *effect);

/* The seq of the effect that was put last; 0: there is none. */
int store_effect_last(struct store *store, const char *task, uint64_t *ret, struct gb_err *err);

/* Is it a name for an effect? */
bool store_effect_name_is_valid(const char *name);

/* All effects of a task in the order in which they were put, until one call answers other than 0,
 * which is returned.  No transaction is open meanwhile: each may use the store. */
int store_effect_each(struct store *store, const char *task,
                      int (*each)(void *user, const struct store_effect *effect), void *user,
                      struct gb_err *err);
