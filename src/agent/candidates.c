/* SPDX-License-Identifier: Apache-2.0 */
/* agent/candidates.c - several solutions meet all tests in one matrix, and the best is taken. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/attempt.h"
#include "agent/build.h"
#include "agent/choose.h"
#include "agent/journal.h"
#include "agent/stub.h"
#include "agent/write.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"

#define WARM       0.8 /* the temperature of all but the first */
#define MATRIX_MAX (64 << 20)

struct candidates {
    struct task *task;
    size_t n;                                           /* solutions that were written */
    struct agent_files codes[AGENT_CANDIDATES_MAX + 1]; /* and a stub, for a library */
    unsigned iterations[AGENT_CANDIDATES_MAX];
    struct judge_report reports[AGENT_CANDIDATES_MAX + 1];
    bool has_stub;
};

static void candidates_free(struct candidates **all)
{
    for (size_t i = 0; *all && i <= AGENT_CANDIDATES_MAX; i++) {
        agent_files_clear(&(*all)->codes[i]);
        judge_report_clear(&(*all)->reports[i]);
    }
    free(*all);
    *all = NULL;
}

#define cleanup_candidates cleanup_with(candidates_free)

/* ---- writing -------------------------------------------------------------------------------- */

static int write_one(struct candidates *all, const char *prefix, size_t number, struct gb_err *err)
{
    struct task *task = all->task;
    char name[BUILD_NAME_SIZE];
    struct writing writing = {
        .name = name,
        .prompt = "code",
        .temperature = number == 0 ? 0 : WARM,
        .seed = number + 1,
        .present = task->out->code.n > 0 ? &task->out->code : NULL,
    };
    struct agent_event event = { .kind = EVENT_CODE, .files = &all->codes[all->n] };
    int r;

    (void)snprintf(name, sizeof(name), "%s/candidate-%zu", prefix, number + 1);
    r = write_code(task, &writing, &all->codes[all->n], &all->iterations[all->n], err);
    if (r < 0)
        return r;
    task_tell(task, &event);
    files_keep(task, all->iterations[all->n], &all->codes[all->n]);
    all->n++;
    return 0;
}

/* One that cannot be used leaves the others to choose from. */
static int write_all(struct candidates *all, const char *prefix, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; i < all->task->spec->candidates && i < AGENT_CANDIDATES_MAX; i++) {
        struct gb_err why = { 0 };

        r = write_one(all, prefix, i, &why);
        if (r == -EBADMSG && !all->task->is_over) {
            task_note(all->task, "%s", why.msg);
            agent_files_clear(&all->codes[all->n]);
        } else if (r < 0) {
            if (err)
                *err = why;
            return r;
        }
    }
    if (all->n == 0)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "none of the solutions could be used");
    return 0;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void find_idle(const struct candidates *all, bool *idle)
{
    const struct judge_tests *tests = &all->task->out->tests;
    const struct judge_report *stub = &all->reports[all->n];

    for (size_t i = 0; i < tests->n; i++)
        idle[i] = all->has_stub ? i < stub->n_rows && stub->rows[i].result == TEST_PASSED
                                : stub_passes(tests, tests->items[i].id);
}

static int pick(const struct candidates *all, struct choice_of *ret, struct gb_err *err)
{
    const struct judge_tests *tests = &all->task->out->tests;
    cleanup_free bool *idle = calloc(tests->n + 1, sizeof(*idle));
    int r = -ENOMEM;

    if (idle) {
        find_idle(all, idle);
        r = choose_best(tests, all->reports, all->n, idle, ret);
    }
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory to choose a solution") : 0;
}

/* What meets the tests: solutions that are the same, letter for letter, do it once. */
struct meeting {
    struct judge_spec specs[AGENT_CANDIDATES_MAX + 1];
    struct judge_report reports[AGENT_CANDIDATES_MAX + 1];
    size_t places[AGENT_CANDIDATES_MAX + 1]; /* of each solution in these */
    size_t n;
};

static bool are_same(const struct agent_files *a, const struct agent_files *b)
{
    bool is_same = a->n == b->n;

    for (size_t i = 0; is_same && i < a->n; i++) {
        const struct agent_file *other = agent_files_find(b, a->items[i].path);

        is_same = other && other->len == a->items[i].len &&
                  memcmp(other->text, a->items[i].text, other->len) == 0;
    }
    return is_same;
}

static void meeting_init(struct meeting *m, struct candidates *all)
{
    for (size_t i = 0; i < all->n + all->has_stub; i++) {
        size_t twin = 0;

        while (twin < i && !are_same(&all->codes[twin], &all->codes[i]))
            twin++;
        if (twin < i) {
            m->places[i] = m->places[twin];
            continue;
        }
        m->specs[m->n] = build_judge_spec(all->task);
        m->specs[m->n].code = &all->codes[i];
        if (i == all->n)
            m->specs[m->n].progress = NULL;
        m->places[i] = m->n++;
    }
}

/* The one that will be taken is measured as if it were alone. */
static int cover_best(struct meeting *m, struct candidates *all, struct gb_err *err)
{
    struct choice_of choice = { 0 };
    size_t place;
    int r;

    for (size_t i = 0; i < all->n + all->has_stub; i++)
        all->reports[i] = m->reports[m->places[i]]; /* borrowed */
    r = pick(all, &choice, err);
    memset(all->reports, 0, sizeof(all->reports));
    place = m->places[choice.which];
    choice_of_clear(&choice);
    return r < 0 ? r : judge_cover(&m->specs[place], &m->reports[place], err);
}

static int put_reports(const struct meeting *m, size_t n, struct buf *ret)
{
    struct json_writer w;
    int r = 0;

    json_writer_init(&w, ret, false);
    json_array_begin(&w, NULL);
    for (size_t i = 0; i < n && r == 0; i++) {
        cleanup_buf struct buf report = BUF_INIT(MATRIX_MAX);

        r = judge_report_text(&m->reports[m->places[i]], &report);
        if (r == 0)
            json_put_raw(&w, NULL, report.data);
    }
    json_array_end(&w);
    return r < 0 ? r : json_writer_end(&w);
}

static int matrix_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct candidates *all = user;
    cleanup_free struct meeting *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return gb_no_memory(err);
    meeting_init(m, all);
    r = judge_run_all(m->specs, m->n, m->reports, err);
    if (r == 0)
        r = cover_best(m, all, err);
    if (r == 0)
        r = put_reports(m, all->n + all->has_stub, ret);
    for (size_t i = 0; i < m->n; i++)
        judge_report_clear(&m->reports[i]);
    return r < 0 ? r : task_clean(all->task, ret);
}

static int read_matrix(struct candidates *all, const struct buf *output, struct gb_err *err)
{
    cleanup_json struct json_value *list = NULL;
    int r = json_value_parse(output->data, output->len, MATRIX_MAX, &list, err);

    for (size_t i = 0; i < all->n + all->has_stub && r == 0; i++) {
        cleanup_buf struct buf text = BUF_INIT(MATRIX_MAX);

        r = json_value_text(json_at(list, i), &text);
        if (r == 0)
            r = judge_report_parse(text.data, text.len, &all->reports[i], err);
    }
    return r;
}

static int judge_all(struct candidates *all, const char *prefix, struct gb_err *err)
{
    struct task *task = all->task;
    cleanup_buf struct buf input = BUF_INIT(MATRIX_MAX);
    cleanup_buf struct buf output = BUF_INIT(MATRIX_MAX);
    char name[BUILD_NAME_SIZE];
    int r = 0;

    if (task->out->contract.kind == CONTRACT_LIBRARY)
        all->has_stub = stub_library(&task->out->contract, &all->codes[all->n]) == 0;
    for (size_t i = 0; i < all->n && r == 0; i++)
        r = build_input(task, &all->codes[i], &input);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the solutions");
    (void)snprintf(name, sizeof(name), "%s/matrix", prefix);
    r = supply_take(task, all->codes, all->n, err);
    if (r == 0)
        r = task_do(task, name, &input, matrix_text, all, &output, err);
    if (r >= 0)
        r = read_matrix(all, &output, err);
    return r;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static int tell_matrix(struct candidates *all, const struct choice_of *choice, struct gb_err *err)
{
    struct task *task = all->task;
    const struct judge_tests *tests = &task->out->tests;
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf json = BUF_INIT(STATE_TEXT_MAX);
    struct agent_event matrix = { .kind = EVENT_MATRIX };
    struct agent_event report = {
        .kind = EVENT_REPORT,
        .report = &all->reports[choice->which],
    };

    if (choose_text(tests, all->reports, all->n, choice, &text) < 0 ||
        choose_json(tests, all->reports, all->n, choice, &json) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the matrix");
    free(task->out->matrix);
    task->out->matrix = buf_take(&json);
    matrix.text = text.data;
    matrix.len = text.len;
    task_tell(task, &matrix);
    task_tell(task, &report);
    return 0;
}

static int choose(struct candidates *all, size_t *ret, struct gb_err *err)
{
    struct choice_of choice = { 0 };
    int r = pick(all, &choice, err);

    if (r == 0)
        r = tell_matrix(all, &choice, err);
    *ret = choice.which;
    choice_of_clear(&choice);
    return r;
}

static int remember_all(const struct candidates *all, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; i < all->n && r == 0; i++) {
        build_keep_report(all->task, all->iterations[i], &all->reports[i]);
        r = attempt_remember(all->task, &all->codes[i], err);
    }
    return r;
}

int candidates_try(struct task *task, const char *prefix, struct agent_files *ret,
                   struct judge_report *report, struct gb_err *err)
{
    cleanup_candidates struct candidates *all = calloc(1, sizeof(*all));
    size_t which = 0;
    int r;

    if (!all)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for solutions");
    all->task = task;
    r = write_all(all, prefix, err);
    if (r == 0)
        r = judge_all(all, prefix, err);
    if (r == 0)
        r = remember_all(all, err);
    if (r == 0)
        r = choose(all, &which, err);
    if (r < 0)
        return r;
    *ret = all->codes[which];
    *report = all->reports[which];
    all->codes[which] = (struct agent_files){ 0 };
    all->reports[which] = (struct judge_report){ 0 };
    return 1;
}
