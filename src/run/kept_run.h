/* SPDX-License-Identifier: Apache-2.0 */
/* run/kept_run.h - the runs of a box that lives on, as files beside its record.
 *
 *    runs/r_….json    a line that tells what it is, and, once it is over, one that tells all again
 *                     and how it ended
 *    runs/r_….log…    what it wrote (run/kept_log.h)
 *
 * The command that does the run writes both.  A record is made under a name that nobody looks at;
 * of one whose maker was killed before it had its own, the next run removes what is left.  A run is
 * under way while somebody holds its record; one that is not and has no verdict lost its command.
 * The newest KEPT_RUNS_MAX are kept, and now and then some more: to find the oldest all have to be
 * read, which not every run shall pay for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct gb_err;
struct run_result;

#define KEPT_RUNS_MAX        64
#define KEPT_RUNS_MORE       16
#define KEPT_RUN_COMMAND_MAX 200

struct kept_run {
    char id[ID_SIZE];
    char *command; /* a few words of what was asked */
    char *verdict; /* NULL: it is under way, or its command was killed */
    uint64_t started_ms;
    uint64_t pid;       /* of the process that does it */
    uint64_t ended_ms;  /* 0: not yet */
    uint64_t exit_code; /* of the command */
    uint64_t output_bytes;
    bool is_running;
};

void kept_run_clear(struct kept_run *run);
#define cleanup_kept_run cleanup_with(kept_run_clear)

/* Writes that it begins, and forgets the oldest that are over once there are too many.  The
 * descriptor of its record, for kept_run_end(): the caller's.  It holds the record. */
int kept_run_begin(int runs_fd, const char *id, const char *command, uint64_t started_ms,
                   struct gb_err *err);

/* The wall clock, for people. */
uint64_t kept_run_now_ms(void);

/* Writes how it ended and lets go of the record; the log is whole by then.  A box that was removed
 * meanwhile has taken it along. */
int kept_run_end(int record_fd, const char *command, uint64_t started_ms,
                 const struct run_result *result, uint64_t output_bytes, struct gb_err *err);

/* Does nobody hold it any more?  Asked before its log is read to the end, it tells whether that is
 * the end of all. */
bool kept_run_has_ended(int runs_fd, const char *id);

/* All of them, oldest first.  The caller frees the list and clears its items. */
int kept_run_list(int runs_fd, struct kept_run **ret, size_t *ret_n, struct gb_err *err);

/* By its id, or the beginning of one that no other has; NULL: the newest.  -ENOENT. */
int kept_run_find(int runs_fd, const char *id, struct kept_run *ret, struct gb_err *err);
