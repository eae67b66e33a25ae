/* SPDX-License-Identifier: Apache-2.0 */
/* agent/trial.h - a program in a box of its own, for the judge: files in, output back.
 *
 * A box of its own, or one that is as good as new (agent/trial_pool.h).
 *
 * And two of them side by side with their pipes crossed: what one writes the other reads, and the
 * host does not look at it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "box/box.h"
#include "run/verdict.h"

struct trial_pool;

struct trial_spec {
    const struct box_spec *box;
    const struct box_file *files; /* below the workspace */
    size_t n_files;
    const char *const *argv;
    char *const *env;            /* "K=V" over the box's own; may be NULL */
    const char *const *more_env; /* over those; may be NULL */
    const void *input;           /* its stdin; not with a pair */
    size_t input_len;
    size_t keep; /* bytes of each stream that are kept; of more, half from its end */
    int cancel_fd;
    uint64_t deadline_ns; /* no box begins after it or runs beyond it; 0, CLOCK_NEVER_NS: none */
    /* Boxes of trials with the same box, but for its wall time, and the same files, both of which
     * live as long as it.  NULL: none; not with a pair. */
    struct trial_pool *pool;
    struct box *there; /* a box that lives on: it runs there, and its files stay.  NULL: a new one;
                          not with a pool or a pair */
    bool is_reading;   /* nothing of the program runs: its box is as good as new afterwards */
    const struct box_get_spec *get; /* NULL, or what comes out when it has ended with 0, … */
    const struct crate_ops *get_ops;
    void *get_user; /* … not with a pair */
};

struct trial_end {
    enum verdict verdict;
    struct box_run_end end;
    struct buf out; /* stdout; empty in a pair */
    struct buf err;
    bool is_cut[3];        /* by stream: some of it was not kept */
    bool is_late;          /* the deadline ended it, or it never began; the verdict is timeout */
    bool has_begun;        /* its files were put, and it was executed */
    struct gb_err refused; /* what was to come out and could not, by the program's doing; code 0 */
};

/* 0 however the program ended; negative when there was no box, or it was lost.  A program that
 * could not be executed, or whose files cannot lie side by side, ends as a shell has it, 127 or
 * 126, and stderr says why.  The caller owes trial_end_clear() in any case. */
int trial_run(const struct trial_spec *spec, struct trial_end *ret, struct gb_err *err);

/* Both at once.  The second one is ended when the first one has. */
int trial_pair(const struct trial_spec *first, const struct trial_spec *second,
               struct trial_end ret[static 2], struct gb_err *err);

void trial_end_clear(struct trial_end *end);
