/* SPDX-License-Identifier: Apache-2.0 */
/* agent/anchors.h - tests that have passed in any attempt: none that follows should break them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct judge_report;
struct judge_tests;

/* Starts as { 0 }. */
struct anchors {
    bool *has_passed; /* by the tests' places; more of them may be added, none goes */
    size_t n;
    char *broken; /* ids that an earlier attempt passed and the last one did not; NULL: none */
};

/* Another attempt's report.  Tests that are held back are never among the broken: their names are
 * not the coder's to know.  -ENOMEM. */
int anchors_take(struct anchors *anchors, const struct judge_tests *tests,
                 const struct judge_report *report);

/* Their ids, a line each; of those that count and may be seen. */
int anchors_text(const struct anchors *anchors, const struct judge_tests *tests, struct buf *ret);

void anchors_clear(struct anchors *anchors);
