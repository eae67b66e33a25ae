/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_end.h - what a task leaves in the store when it ends: for `runs show` and --continue.
 *
 *    result/contract, result/file-1 …    what the next run may start from
 *    result/document                     what --json printed
 *    result                              {"files": […], "has_contract": …, "delivered": […]}, last
 *
 * They are effects of the task, but no step of it: a journal never asks for them.  The task's own
 * outcome is a short summary, for lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/task.h"
#include "base/cleanup.h"

struct buf;
struct deliverable;
struct gb_err;
struct store;

/* Puts all of it; what a life before has put stays. */
int run_end_put(struct store *store, const char *task, const struct agent_outcome *outcome,
                const struct deliverable *delivered, const struct buf *document,
                struct gb_err *err);

struct run_end {
    char **files;     /* of the code; NULL-terminated, NULL: none */
    char **delivered; /* path, digest, path, digest, … */
    bool has_contract;
};

/* 1, or 0 when the task has not ended. */
int run_end_get(struct store *store, const char *task, struct run_end *ret, struct gb_err *err);
void run_end_clear(struct run_end *end);

#define cleanup_end cleanup_with(run_end_clear)

/* The i-th of files; the contract's JSON; the document, 0 when there is none. */
int run_end_file(struct store *store, const char *task, size_t i, struct buf *ret,
                 struct gb_err *err);
int run_end_contract(struct store *store, const char *task, struct buf *ret, struct gb_err *err);
int run_end_document(struct store *store, const char *task, struct buf *ret, struct gb_err *err);

/* The summary that a list shows: outcome, reason, question, where it lies; and from where the task
 * could go on with a larger budget. */
struct run_summary {
    char *outcome;
    char *reason;
    char *question;
    char *delivered; /* directory */
    struct agent_stop stop;
    struct agent_stop tried;
};

/* Of a task that has not ended. */
int run_summary_failed(const char *reason, struct buf *ret);
int run_summary_text(const struct agent_outcome *outcome, const char *delivered, struct buf *ret);

/* What cannot be read is left out: it is shown to people only. */
void run_summary_parse(const char *json, struct run_summary *ret);
void run_summary_clear(struct run_summary *summary);

#define cleanup_summary cleanup_with(run_summary_clear)
