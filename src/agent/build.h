/* SPDX-License-Identifier: Apache-2.0 */
/* agent/build.h - work on one contract: attempts, and what is remembered of them.  For the files
 * build*.c, doubt.c and candidates.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/anchors.h"
#include "agent/state.h"

#define BUILD_NAME_SIZE 96

/* A test's last failure, by its place in the tests. */
struct doubt {
    char *message; /* NULL: it passed */
    bool is_asked; /* somebody has judged the test already */
};

/* The best attempt's code and report are in task->out: the next one begins from there. */
struct build {
    struct buf history; /* a line for each attempt */
    struct doubt *doubts;
    size_t n_doubts;
    char *last;        /* diagnosis and first message of the last attempt */
    bool is_repeated;  /* it was the same as the one before */
    bool is_sent_back; /* functions that no test notices were */
    bool has_code;     /* task->out has some attempt's */
    char *worse;       /* what is wrong with the last attempt, when it is not the best; NULL */
    struct anchors anchors;
};

/* The report in the folder, beside the code. */
void build_keep_report(const struct task *task, unsigned iteration,
                       const struct judge_report *report);

/* Judges code as the effect NAME; tells rows and report.  The caller owes judge_report_clear(). */
int build_judge(struct task *task, const char *name, const struct agent_files *code,
                struct judge_report *ret, struct gb_err *err);

/* Tests of a report that passed; -1 of one that was tampered with. */
int build_score(const struct judge_report *report);

/* The judge's input as one text: what a verdict depends on. */
int build_input(const struct task *task, const struct agent_files *code, struct buf *ret);

/* A spec for the judge, without code. */
struct judge_spec build_judge_spec(struct task *task);

/* Asks about derived tests that failed twice with the same values.  1 when one was withdrawn. */
int doubt_tests(struct task *task, const char *prefix, const struct judge_report *report,
                struct gb_err *err);

/* The first attempt as several solutions, of which the best is taken: *ret is its code. */
int candidates_try(struct task *task, const char *prefix, struct agent_files *ret,
                   struct judge_report *report, struct gb_err *err);
