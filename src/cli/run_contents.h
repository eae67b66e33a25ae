/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_contents.h - the order of a task and the contents of the files it speaks of, as effects.
 *
 *    command                                the order
 *    command/objective                      the task
 *    command/file-1 …                       --file
 *    command/past                           what was done, of a folder from elsewhere
 *    command/before-1 …, command/contract   the run that is continued
 *
 * So a task that is resumed has the files that it began with, whatever became of them since, and a
 * recording is complete.
 */
#pragma once

#include <stddef.h>

#include "agent/contract.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "base/cleanup.h"

struct buf;
struct gb_err;
struct journal;
struct run_options;
struct run_order;
struct store;

struct run_contents {
    char *objective;
    struct judge_input *inputs;
    size_t n_inputs;
    struct agent_files before;
    struct contract contract; /* iff order.has_contract */
    char *past;               /* iff order.has_past */
};

/* Where contents are taken from that the journal has not. */
struct run_source {
    const struct run_options *options;
    const char *objective;
    const char *parent; /* a task of the store; NULL */
    struct store *store;
};

/* source: NULL in a replay, which has all of it.  Both start as { 0 }; the caller clears them also
 * after a failure. */
int run_contents_recall(struct journal *journal, const struct run_source *source,
                        struct run_order *order, struct run_contents *ret, struct gb_err *err);
void run_contents_clear(struct run_contents *contents);

#define cleanup_contents cleanup_with(run_contents_clear)

/* A file of the host's, whole, into a buf with room for RUN_FILE_MAX. */
int run_read_file(const char *path, struct buf *ret, struct gb_err *err);
