/* SPDX-License-Identifier: Apache-2.0 */
/* agent/choose.h - which of several solutions: by the tests that they pass, and by how many of them
 * do the same.
 *
 * Solutions of one group did the same on every test.  Tests that all, none or a solution that does
 * nothing pass do not count.  First comes the outcome (passed, suspect, failed, …), then the given
 * tests that pass, then size of the group × tests passed, then the lower number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct judge_report;
struct judge_tests;

struct choice_of {
    size_t which;
    size_t *groups; /* of each solution: the number of the first one that does the same */
    bool *counts;   /* of each test */
    bool is_weak;   /* it leads by less than one solution */
};

/* idle: tests that a solution that does nothing passes, or NULL.  -ENOMEM. */
int choose_best(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const bool *idle, struct choice_of *ret);
void choice_of_clear(struct choice_of *choice);

/* The matrix as JSON (docs/events.md), and as lines for people. */
int choose_json(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const struct choice_of *choice, struct buf *ret);
int choose_text(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const struct choice_of *choice, struct buf *ret);
