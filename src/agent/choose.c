/* SPDX-License-Identifier: Apache-2.0 */
/* agent/choose.c - which of several solutions. */
#include "agent/choose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge.h"
#include "base/buf.h"
#include "json/writer.h"

/* ---- reading the matrix --------------------------------------------------------------------- */

static const struct judge_row *row_at(const struct judge_report *report, size_t test)
{
    return test < report->n_rows ? &report->rows[test] : NULL;
}

static bool is_passed(const struct judge_report *report, size_t test)
{
    const struct judge_row *row = row_at(report, test);

    return row && row->result == TEST_PASSED && report->outcome != OUTCOME_TAMPERED;
}

static bool same_row(const struct judge_row *a, const struct judge_row *b)
{
    if (!a || !b)
        return a == b;
    if (a->result != b->result)
        return false;
    return a->seen && b->seen ? strcmp(a->seen, b->seen) == 0 : a->seen == b->seen;
}

static bool does_the_same(const struct judge_report *a, const struct judge_report *b, size_t tests)
{
    if (a->outcome == OUTCOME_TAMPERED || b->outcome == OUTCOME_TAMPERED)
        return false;
    for (size_t i = 0; i < tests; i++)
        if (!same_row(row_at(a, i), row_at(b, i)))
            return false;
    return true;
}

static void find_groups(const struct judge_report *reports, size_t n, size_t tests, size_t *groups)
{
    for (size_t i = 0; i < n; i++) {
        groups[i] = i;
        for (size_t k = 0; k < i && groups[i] == i; k++)
            if (groups[k] == k && does_the_same(&reports[k], &reports[i], tests))
                groups[i] = k;
    }
}

static bool does_count(const struct judge_report *reports, size_t n, size_t test, const bool *idle)
{
    size_t passed = 0;

    for (size_t i = 0; i < n; i++)
        passed += is_passed(&reports[i], test);
    return passed > 0 && passed < n && !(idle && idle[test]);
}

/* ---- the order ------------------------------------------------------------------------------ */

struct merit {
    unsigned rank; /* of its outcome */
    size_t given;
    size_t score; /* size of the group × tests passed that count */
    size_t passed;
};

static struct merit merit_of(const struct judge_tests *tests, const struct judge_report *reports,
                             size_t n, const struct choice_of *choice, size_t which)
{
    static const unsigned ranks[] = {
        [OUTCOME_PASSED] = 4, [OUTCOME_SUSPECT] = 3,  [OUTCOME_FAILED] = 2,
        [OUTCOME_ERROR] = 1,  [OUTCOME_TAMPERED] = 0,
    };
    struct merit merit = { .rank = ranks[reports[which].outcome] };
    size_t size = 0;

    for (size_t i = 0; i < n; i++)
        size += choice->groups[i] == choice->groups[which];
    for (size_t i = 0; i < tests->n; i++) {
        bool passed = is_passed(&reports[which], i);

        merit.given += passed && tests->items[i].origin == ORIGIN_GIVEN;
        merit.passed += passed && choice->counts[i];
    }
    merit.score = size * merit.passed;
    return merit;
}

static bool is_better(struct merit a, struct merit b)
{
    if (a.rank != b.rank)
        return a.rank > b.rank;
    return a.given != b.given ? a.given > b.given : a.score > b.score;
}

/* The best of another group comes within one solution of it. */
static bool is_close(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                     const struct choice_of *choice)
{
    struct merit best = merit_of(tests, reports, n, choice, choice->which);

    for (size_t i = 0; i < n; i++) {
        struct merit other = merit_of(tests, reports, n, choice, i);

        if (choice->groups[i] != choice->groups[choice->which] && other.given == best.given &&
            other.score + best.passed > best.score)
            return true;
    }
    return false;
}

int choose_best(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const bool *idle, struct choice_of *ret)
{
    struct merit best;

    *ret = (struct choice_of){
        .groups = calloc(n, sizeof(*ret->groups)),
        .counts = calloc(tests->n + 1, sizeof(*ret->counts)),
    };
    if (!ret->groups || !ret->counts)
        return -ENOMEM;
    find_groups(reports, n, tests->n, ret->groups);
    for (size_t i = 0; i < tests->n; i++)
        ret->counts[i] = does_count(reports, n, i, idle);
    best = merit_of(tests, reports, n, ret, 0);
    for (size_t i = 1; i < n; i++) {
        struct merit merit = merit_of(tests, reports, n, ret, i);

        if (is_better(merit, best)) {
            best = merit;
            ret->which = i;
        }
    }
    ret->is_weak = is_close(tests, reports, n, ret);
    return 0;
}

void choice_of_clear(struct choice_of *choice)
{
    free(choice->groups);
    free(choice->counts);
    *choice = (struct choice_of){ 0 };
}

/* ---- showing it ----------------------------------------------------------------------------- */

static void put_solution(struct json_writer *w, const struct judge_tests *tests,
                         const struct judge_report *report, size_t number, size_t group)
{
    json_object_begin(w, NULL);
    json_put_u64(w, "solution", number);
    json_put_u64(w, "group", group);
    json_put_str(w, "outcome", outcome_name(report->outcome));
    json_array_begin(w, "results");
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_row *row = row_at(report, i);

        json_put_str(w, NULL, row ? test_result_name(row->result) : NULL);
    }
    json_array_end(w);
    json_object_end(w);
}

int choose_json(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const struct choice_of *choice, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "tests");
    for (size_t i = 0; i < tests->n; i++) {
        json_object_begin(&w, NULL);
        json_put_str(&w, "id", tests->items[i].id);
        json_put_bool(&w, "counts", choice->counts[i]);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_array_begin(&w, "solutions");
    for (size_t i = 0; i < n; i++)
        put_solution(&w, tests, &reports[i], i + 1, choice->groups[i] + 1);
    json_array_end(&w);
    json_put_u64(&w, "chosen", choice->which + 1);
    json_put_bool(&w, "weak", choice->is_weak);
    json_object_end(&w);
    return json_writer_end(&w);
}

int choose_text(const struct judge_tests *tests, const struct judge_report *reports, size_t n,
                const struct choice_of *choice, struct buf *ret)
{
    for (size_t i = 0; i < n; i++) {
        (void)buf_printf(ret, "%ssolution %zu  ", i ? "\n" : "", i + 1);
        for (size_t k = 0; k < tests->n; k++)
            (void)buf_puts(ret, is_passed(&reports[i], k) ? "✓" : "✗");
        (void)buf_printf(ret, "  group %zu%s", choice->groups[i] + 1,
                         i == choice->which ? "  chosen" : "");
    }
    if (choice->is_weak)
        (void)buf_puts(ret, "\nthe lead is weak: less than one solution");
    return buf_error(ret);
}
