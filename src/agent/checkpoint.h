/* SPDX-License-Identifier: Apache-2.0 */
/* agent/checkpoint.h - where a task stands, in one readable file of its folder.
 *
 *    { "objective": "…", "history": [ … ],
 *      "latest_code": { "files": [ { "relative_path": "…", "content": "…" } ], "reasoning": "…" },
 *      "execution_feedback": "…", "orchestrator_step": 3 }
 *
 * latest_code and execution_feedback are null when there is none.  For people, and for a folder
 * that comes from another machine: a task of this one is resumed from its journal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/fence.h"
#include "base/cleanup.h"

struct buf;
struct gb_err;

#define CHECKPOINT_MAX         (64 << 20)
#define CHECKPOINT_HISTORY_MAX 1000
#define CHECKPOINT_STEP_MAX    1000 /* a folder that tells of more is not believed */
#define CHECKPOINT_PAST_MAX    (16 << 10)

struct checkpoint {
    char *objective;
    char **history; /* NULL-terminated: JSON values, each as text; NULL: none */
    struct agent_files latest_code;
    char *execution_feedback; /* NULL: none */
    uint64_t orchestrator_step;
};

/* Pretty JSON.  Bytes that are no UTF-8 become U+FFFD: the file itself lies in code/. */
int checkpoint_text(const struct checkpoint *checkpoint, struct buf *ret);

/* The text is hostile.  -EINVAL and an error that names the place; ret starts as { 0 } and is empty
 * after a failure. */
int checkpoint_parse(const char *text, size_t len, struct checkpoint *ret, struct gb_err *err);

/* What was done before, for who goes on from a stranger's folder: the last lines of its history,
 * and how its last run ended, each a line that is cut where it is long; at most
 * CHECKPOINT_PAST_MAX bytes. */
int checkpoint_past(const struct checkpoint *checkpoint, struct buf *ret);
void checkpoint_clear(struct checkpoint *checkpoint);

#define cleanup_checkpoint cleanup_with(checkpoint_clear)
