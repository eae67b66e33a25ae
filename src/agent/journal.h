/* SPDX-License-Identifier: Apache-2.0 */
/* agent/journal.h - effects: what the loop does to the world, each done once.
 *
 * The loop is plain, deterministic code; everything that is not (a model's answer, what a box did,
 * a search, a human's word, the time it took) goes through journal_do().  An effect has a name,
 * unique in its task, and an input.  When the journal has its output already, that is the answer
 * and nothing is done: so a task that was killed is resumed by running the same code again, and a
 * recording is replayed in the same way.
 *
 * Three kinds: the store's (durable), a recording (read only: an effect that is not in it, or has
 * another input, is the first divergence and an error), and both at once while recording.
 * Thread-safe: candidates work side by side.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct gb_err;
struct journal;
struct store;

/* Does it, and appends what came of it to ret: the output.  Only success is remembered. */
typedef int (*journal_effect)(void *user, struct buf *ret, struct gb_err *err);

/* The effects of a task in the store, which the caller keeps open as long as the journal. */
int journal_open(struct store *store, const char *task, struct journal **ret, struct gb_err *err);

/* Those of a recording. */
int journal_replay(const char *path, struct journal **ret, struct gb_err *err);

/* The same of a task in the store, as it stands there; the store is not needed afterwards. */
int journal_replay_stored(struct store *store, const char *task, struct journal **ret,
                          struct gb_err *err);

/* From now on every effect, those already done included, also goes into this file (JSON lines, one
 * effect each, written whole or not at all). */
int journal_record(struct journal *journal, const char *path, struct gb_err *err);

void journal_close(struct journal **journal);

/* The output into ret.  input is what the effect depends on: same name and other input means that
 * the task is not the one that was begun (-ESTALE, the error names both). 1 when it was remembered,
 * 0 when it was done now. */
int journal_do(struct journal *journal, const char *name, const void *input, size_t input_len,
               journal_effect effect, void *user, struct buf *ret, struct gb_err *err);

/* Is this a replay that has come to the end of its recording?  What the task asks a human then is
 * what it waited with when it was recorded. */
bool journal_is_at_end(struct journal *journal);

/* Was everything so far remembered?  True until the first effect is begun in this life. */
bool journal_only_recalled(struct journal *journal);

/* How far it has come: what was asked for up to now lies at or before this place of the store, what
 * follows from it behind.  Before the effect that was asked for last; 0 in a replay. */
uint64_t journal_place(struct journal *journal);
uint64_t journal_place_before(struct journal *journal);

/* Is nothing remembered behind that place?  From here on everything is done for the first time.
 * Never in a replay. */
bool journal_is_in_front(struct journal *journal);

/* Is it there already?  For things shown to people only. */
bool journal_has(struct journal *journal, const char *name);
