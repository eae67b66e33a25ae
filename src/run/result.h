/* SPDX-License-Identifier: Apache-2.0 */
/* run/result.h - what is known of a run when it is over, and its JSON (docs/result.md).
 *
 * A plain struct that its owner fills and then owes a run_result_clear().  A program that failed is
 * a result like any other; `error` is set only when glovebox could not do its part.
 *
 * One log holds the output of all steps; each step remembers where the log stood when it began and
 * ended.  The step that decides is the last one that was begun: a step that fails is the last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "box/out_log.h"
#include "box/receipt.h"
#include "box/walls.h"
#include "run/verdict.h"

struct audit;
struct buf;
struct run_packages;

#define RUN_SCHEMA    1
#define RUN_STEPS_MAX 2
#define RUN_NOTES_MAX 16

struct run_step {
    const char *name; /* "compile", "run"; borrowed */
    enum verdict verdict;
    struct run_facts facts;
    uint64_t wall_us;
    uint64_t cpu_us;
    uint64_t memory_peak_bytes;  /* 0: not measured */
    uint64_t memory_files_bytes; /* how much of the memory were files (tmpfs) at the end */
    struct out_mark begin;       /* of its output in the log */
    struct out_mark end;
};

struct run_file {
    char *path; /* owned; any bytes */
    uint64_t bytes;
};

struct run_result {
    char id[ID_SIZE];
    const char *language; /* NULL for a plain command; borrowed */
    struct run_step steps[RUN_STEPS_MAX];
    size_t n_steps;      /* begun */
    size_t n_planned;    /* that there would be if all went well */
    struct out_log *log; /* owned; NULL before the first step */
    uint64_t survivors;
    struct run_file *files; /* owned */
    size_t n_files;
    char *notes[RUN_NOTES_MAX]; /* owned; what was not done, one sentence each; any bytes */
    size_t n_notes;
    struct gb_err error;
    enum wall broken; /* the wall that the error is about, where has_broken */
    bool has_broken;
    struct audit *network;         /* owned; NULL: it had none */
    struct run_packages *packages; /* owned; NULL: it wanted none */
    bool has_receipt;
    struct receipt receipt;
};

/* Adds a file with a copy of its path; -ENOMEM. */
int run_result_add_file(struct run_result *result, const char *path, uint64_t bytes);

/* Adds a sentence about what was not done; what does not fit is left out. */
void run_result_add_note(struct run_result *result, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a sentence for each of the first few things that the network refused. */
void run_result_note_network(struct run_result *result);

/* Frees all it owns and makes it empty. */
void run_result_clear(struct run_result *result);

/* The step that decides; one of verdict sandbox_error when none was begun. */
const struct run_step *run_result_step(const struct run_result *result);

/* The exit code of the command line. */
int run_result_exit_code(const struct run_result *result);

/* One sentence for a person: which limit it was and what raises it.  NULL when no limit decided. */
#define RUN_HINT_MAX 256
const char *run_result_hint(const struct run_result *result, char text[static RUN_HINT_MAX]);

/* "killed by SIGSEGV (exit 139)"; NULL when no signal decided. */
#define RUN_END_MAX 80
const char *run_result_killed(const struct run_result *result, char text[static RUN_END_MAX]);

/* "SIGKILL", "SIGRTMIN+2". */
#define RUN_SIGNAL_MAX 24
const char *run_signal_name(uint32_t signo, char text[static RUN_SIGNAL_MAX]);

/* Appends the JSON document; 0 or the buf's error.  with_base64: the output also as it was, byte
 * for byte. */
int run_result_json(const struct run_result *result, bool with_base64, struct buf *ret);

/* The document's receipt alone; null where there was no box. */
int run_receipt_json(const struct run_result *result, struct buf *ret);
