/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge.c - the order in which solutions meet their tests.
 *
 *    read      solutions in Python, several in one box           side by side
 *    prepare   each solution: check, compile                     side by side
 *    matrix    every test of every solution that came so far     side by side, one crew
 *    conclude  outcome, summary                                  side by side
 *
 * Rows lie where their tests do, whatever ends first.  After the first failure that is ours no new
 * box is begun.
 */
#include "agent/judge.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/crew.h"
#include "agent/judge_inside.h"
#include "base/clock.h"
#include "base/err.h"

struct place { /* of a test in the matrix */
    size_t solution;
    size_t test;
};

struct matrix {
    struct judging *judgings;
    size_t n;
    struct place *places;
    size_t n_places;
    size_t group;         /* solutions that are read in one box */
    pthread_mutex_t lock; /* of every judging's r and err, and around progress */
    atomic_bool is_over;  /* something failed */
};

int judge_cancelled(struct gb_err *err)
{
    return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
}

int judge_trial(const struct trial_spec *trial, struct trial_end *ret, struct gb_err *err)
{
    int r = trial_run(trial, ret, err);

    return r == 0 && ret->verdict == VERDICT_CANCELLED ? judge_cancelled(err) : r;
}

int judge_nonce(char ret[static ID_SIZE], struct gb_err *err)
{
    int r = id_make('v', ret);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "drawing a nonce: %s", strerror(-r)) : 0;
}

static const struct judge_kind *kind_of(const struct judge_spec *spec)
{
    return spec->contract->kind == CONTRACT_LIBRARY ? &judge_library : &judge_program;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static int check_found(const struct judge_found *found, size_t n, struct gb_err *err)
{
    if (n == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "there is no test");
    if (n > JUDGE_TESTS_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "%zu tests are more than %d", n,
                       JUDGE_TESTS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!found[i].has_class)
            return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                           "'%.200s' has none of the marks normal, edge, invalid, stress",
                           found[i].id);
        for (size_t k = 0; k < i; k++)
            if (strcmp(found[k].id, found[i].id) == 0)
                return gb_fail(err, -EINVAL, GB_BLAME_PEER, "two tests are named '%.200s'",
                               found[i].id);
    }
    return 0;
}

static void items_free(struct judge_test *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(items[i].id);
    free(items);
}

int judge_items(struct judge_tests *tests, const struct judge_found *found, size_t n,
                struct gb_err *err)
{
    struct judge_test *items;
    size_t derived = 0;
    int r = check_found(found, n, err);

    if (r < 0)
        return r;
    items = calloc(n, sizeof(*items));
    if (!items)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        items[i].id = strdup(found[i].id);
        if (!items[i].id) {
            items_free(items, n);
            return gb_no_memory(err);
        }
        items[i].class = found[i].class;
        items[i].is_withdrawn = judge_was_withdrawn(tests, found[i].id);
        items[i].origin = found[i].is_given    ? ORIGIN_GIVEN
                          : ++derived % 3 == 0 ? ORIGIN_HELD_BACK
                                               : ORIGIN_DERIVED;
    }
    items_free(tests->items, tests->n);
    tests->items = items;
    tests->n = n;
    return 0;
}

int judge_collect(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err)
{
    return kind_of(spec)->collect(spec, tests, err);
}

/* ---- one solution --------------------------------------------------------------------------- */

int judging_begin(struct judging *j, const struct judge_spec *spec, struct judge_report *report,
                  struct gb_err *err)
{
    const struct judge_tests *tests = spec->tests;

    *j = (struct judging){ .spec = spec, .report = report };
    report->coverage = -1;
    report->rows = calloc(tests->n + 1, sizeof(*report->rows));
    j->notes = calloc(tests->n + 1, sizeof(*j->notes));
    if (!report->rows || !j->notes)
        return gb_no_memory(err);
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_test *test = &tests->items[i];

        report->rows[i].id = strdup(test->id);
        report->rows[i].result = test->is_withdrawn ? TEST_SKIPPED : TEST_ERROR;
        report->rows[i].is_withdrawn = test->is_withdrawn;
        j->notes[i].test = test;
        report->n_rows = i + 1;
        if (!report->rows[i].id)
            return gb_no_memory(err);
    }
    return 0;
}

static void rows_free(struct judge_report *report)
{
    struct judge_report rows = { .rows = report->rows, .n_rows = report->n_rows };

    judge_report_clear(&rows);
    report->rows = NULL;
    report->n_rows = 0;
}

void judging_clear(struct judging *j)
{
    for (size_t i = 0; j->notes && i < j->report->n_rows; i++) {
        free(j->notes[i].against);
        free(j->notes[i].function);
    }
    /* No test has run: rows would say that each is broken. */
    if (j->report && j->is_decided)
        rows_free(j->report);
    free(j->notes);
    check_clear(&j->check);
    program_clear(&j->program);
    cases_clear(&j->cases);
    *j = (struct judging){ 0 };
}

/* ---- side by side --------------------------------------------------------------------------- */

static void fail(struct matrix *m, struct judging *j, int r, const struct gb_err *err)
{
    (void)pthread_mutex_lock(&m->lock);
    if (j->r == 0) {
        j->r = r;
        j->err = *err;
    }
    (void)pthread_mutex_unlock(&m->lock);
    atomic_store(&m->is_over, true);
}

/* As many boxes as there are hands; one that is alone is read when it is prepared. */
static size_t group_size(const struct matrix *m, unsigned jobs)
{
    size_t hands = jobs > 0 ? jobs : 1;
    size_t size = (m->n + hands - 1) / hands;

    return size < CHECKED_MAX ? size : CHECKED_MAX;
}

static void read_group(void *user, size_t i)
{
    struct matrix *m = user;
    size_t first = i * m->group;
    size_t n = m->n - first < m->group ? m->n - first : m->group;

    check_some(&m->judgings[first], n);
}

static void read_all(struct matrix *m, unsigned jobs)
{
    m->group = group_size(m, jobs);
    if (m->group > 1 && check_is_for(m->judgings[0].spec))
        crew_do((m->n + m->group - 1) / m->group, jobs, read_group, m);
}

static void prepare_one(void *user, size_t i)
{
    struct matrix *m = user;
    struct judging *j = &m->judgings[i];
    uint64_t start_ns = clock_now_ns();
    struct gb_err err = { 0 };
    int r;

    if (atomic_load(&m->is_over))
        return;
    r = kind_of(j->spec)->prepare(j, &err);
    if (r < 0)
        fail(m, j, r, &err);
    j->report->ms = (clock_now_ns() - start_ns) / NS_PER_MS;
}

static void meet_one(void *user, size_t i)
{
    struct matrix *m = user;
    struct judging *j = &m->judgings[m->places[i].solution];
    size_t test = m->places[i].test;
    struct gb_err err = { 0 };
    bool is_last;
    int r;

    if (atomic_load(&m->is_over))
        return;
    r = kind_of(j->spec)->meet(j, test, &err);
    if (r < 0) {
        fail(m, j, r, &err);
        return;
    }
    (void)pthread_mutex_lock(&m->lock);
    j->report->ms += j->report->rows[test].ms;
    if (j->spec->progress)
        j->spec->progress(j->spec->user, &j->report->rows[test]);
    is_last = --j->n_open == 0;
    (void)pthread_mutex_unlock(&m->lock);
    if (is_last && kind_of(j->spec)->rest)
        kind_of(j->spec)->rest(j);
}

static bool has_passed(const struct judge_report *report)
{
    return report->outcome == OUTCOME_PASSED || report->outcome == OUTCOME_SUSPECT;
}

static void conclude_one(void *user, size_t i)
{
    struct matrix *m = user;
    struct judging *j = &m->judgings[i];
    const struct judge_kind *kind = kind_of(j->spec);
    struct gb_err err = { 0 };
    int r;

    if (atomic_load(&m->is_over))
        return;
    r = judging_conclude(j, &err);
    if (r == 0 && kind->conclude && !j->is_decided && has_passed(j->report))
        r = kind->conclude(j, &err);
    if (r < 0)
        fail(m, j, r, &err);
}

static bool has_place(const struct judging *j, size_t test)
{
    return !j->is_decided && test < j->report->n_rows && !j->notes[test].test->is_withdrawn;
}

static size_t most_rows(const struct matrix *m)
{
    size_t most = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->judgings[i].report->n_rows > most)
            most = m->judgings[i].report->n_rows;
    return most;
}

/* As many solutions side by side as there are hands, test by test through them: each has a box that
 * waits for its next test, and few boxes wait. */
static int lay_out(struct matrix *m, unsigned jobs)
{
    size_t width = jobs > 0 ? jobs : 1;
    size_t most = most_rows(m);

    m->places = calloc(most * m->n + 1, sizeof(*m->places));
    if (!m->places)
        return -ENOMEM;
    for (size_t first = 0; first < m->n; first += width)
        for (size_t test = 0; test < most; test++)
            for (size_t i = first; i < m->n && i < first + width; i++)
                if (has_place(&m->judgings[i], test)) {
                    m->places[m->n_places++] = (struct place){ .solution = i, .test = test };
                    m->judgings[i].n_open++;
                }
    return 0;
}

static int first_failure(const struct matrix *m, struct gb_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->judgings[i].r == 0)
            continue;
        if (err)
            *err = m->judgings[i].err;
        return m->judgings[i].r;
    }
    return 0;
}

static int run_matrix(struct matrix *m, unsigned jobs, struct gb_err *err)
{
    int r;

    read_all(m, jobs);
    crew_do(m->n, jobs, prepare_one, m);
    r = first_failure(m, err);
    if (r == 0 && lay_out(m, jobs) < 0)
        r = gb_no_memory(err);
    if (r < 0)
        return r;
    crew_do(m->n_places, jobs, meet_one, m);
    crew_do(m->n, jobs, conclude_one, m);
    return first_failure(m, err);
}

int judge_run_all(const struct judge_spec *specs, size_t n, struct judge_report *ret,
                  struct gb_err *err)
{
    struct matrix m = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int r = 0;

    memset(ret, 0, n * sizeof(*ret));
    m.judgings = calloc(n, sizeof(*m.judgings));
    if (!m.judgings)
        return gb_no_memory(err);
    for (; r == 0 && m.n < n; m.n++)
        r = judging_begin(&m.judgings[m.n], &specs[m.n], &ret[m.n], err);
    if (r == 0 && n > 0)
        r = run_matrix(&m, specs[0].jobs, err);
    for (size_t i = 0; i < m.n; i++)
        judging_clear(&m.judgings[i]);
    free(m.places);
    free(m.judgings);
    (void)pthread_mutex_destroy(&m.lock);
    return r;
}

/* ---- statements ----------------------------------------------------------------------------- */

int judge_cover(const struct judge_spec *spec, struct judge_report *report, struct gb_err *err)
{
    cleanup_report struct judge_report anew = { 0 };
    struct judging j;
    int r;

    if (!has_passed(report) || report->n_rows == 0)
        return 0;
    r = judging_begin(&j, spec, &anew, err);
    for (size_t i = 0; r == 0 && i < anew.n_rows && i < report->n_rows; i++)
        j.notes[i].is_together = report->rows[i].is_together;
    if (r == 0)
        r = kind_of(spec)->cover(&j, err);
    if (r == 0)
        report->coverage = anew.coverage;
    judging_clear(&j);
    return r;
}

int judge_run(const struct judge_spec *spec, struct judge_report *ret, struct gb_err *err)
{
    int r = judge_run_all(spec, 1, ret, err);

    return r < 0 ? r : judge_cover(spec, ret, err);
}
