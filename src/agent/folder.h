/* SPDX-License-Identifier: Apache-2.0 */
/* agent/folder.h - a task's folder: what it did, in files that people read.
 *
 *    runs/run_2026-03-01_14-07-09/          _2, _3 … when that second has one already
 *        objective.txt
 *        checkpoint.json                    where the task stands (agent/checkpoint.h)
 *        transcript.jsonl                   what it told, one line of JSON an event
 *        iteration_01_code/
 *            agent_input.json
 *            agent_output.json
 *            code/…                         the files that a model wrote
 *            execution_report.txt
 *
 * Nothing is read back by the task itself: it remembers by its journal.  Every file is replaced
 * whole or not at all, and a task that is resumed writes the same again.  Models name paths and
 * programs fill reports: below the folder no link is followed, and what a terminal would obey is
 * escaped.
 *
 * Thread-safe, except that a file has one writer at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct agent_files;
struct buf;
struct checkpoint;
struct folder;
struct gb_err;

#define FOLDER_FILE_MAX       (64 << 20)
#define FOLDER_TRANSCRIPT_MAX (256 << 20)

/* A new one below runs, which is made where it is missing, with its objective.  Only its owner may
 * look into it.  Unless the user named it, runs must not be a link (-ELOOP): a repository may have
 * brought it. */
int folder_make(const char *runs, bool is_named, const char *objective, struct folder **ret,
                struct gb_err *err);

/* The same at a path that was one, and is gone. */
int folder_make_again(const char *path, const char *objective, struct folder **ret,
                      struct gb_err *err);

/* Takes away one that was just made, and closes it: its task could not be begun. */
void folder_discard(struct folder **folder);

/* One that is there, of a task that is the caller's (store_task_lock()): what a killed writer left
 * half done is removed.  -ENOENT, or -ENOTDIR (also of a link), with an error for people. */
int folder_open(const char *path, struct folder **ret, struct gb_err *err);
void folder_close(struct folder **folder);

#define cleanup_folder cleanup_with(folder_close)

/* Absolute. */
const char *folder_path(const struct folder *folder);

/* How the first write failed that did; 0: none.  Any thread. */
int folder_failure(struct folder *folder);

/* One iteration: number from 1 on; agent [a-z0-9_-], at most 32 characters. */
struct folder_step {
    unsigned number;
    const char *agent;
};

enum folder_file {
    FOLDER_INPUT,  /* agent_input.json */
    FOLDER_OUTPUT, /* agent_output.json */
    FOLDER_REPORT, /* execution_report.txt, as a text of the caller's */
    N_FOLDER_FILES,
};

int folder_put(struct folder *folder, struct folder_step step, enum folder_file file,
               const char *bytes, size_t len, struct gb_err *err);

/* What came of a program.  Its bytes may be any. */
struct folder_report {
    bool is_timed_out;
    int exit_code;
    const char *output;
    size_t output_len;
    const char *errors;
    size_t errors_len;
};

/* For people: text as it is, what is none or what a terminal would obey as \x1b. */
int folder_report_text(const struct folder_report *report, struct buf *ret);
int folder_put_report(struct folder *folder, struct folder_step step,
                      const struct folder_report *report, struct gb_err *err);

/* All of them below code/.  A path that is refused (agent_path_check()) writes none. */
int folder_put_code(struct folder *folder, struct folder_step step, const struct agent_files *files,
                    struct gb_err *err);

int folder_put_checkpoint(struct folder *folder, const struct checkpoint *checkpoint,
                          struct gb_err *err);

/* 1: the checkpoint.  0: there is none, and only its objective is known, from objective.txt.
 * -ENOENT: neither is there.  -EINVAL: it cannot be read; the error names the file. */
int folder_get_checkpoint(struct folder *folder, struct checkpoint *ret, struct gb_err *err);

/* Adds a line to the transcript: one newline, at its end.  A line that stands there already, from
 * the life before, is passed over; from the first that differs on the old ones go.  -EFBIG when
 * the transcript has FOLDER_TRANSCRIPT_MAX. */
int folder_tell(struct folder *folder, const char *line, size_t len, struct gb_err *err);
