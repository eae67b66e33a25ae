/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_mutants.c - the tests against changed code: which function does no test notice?
 *
 * The code as it is goes first and tells which tests can be asked, and how long they take: what is
 * slow, fails or runs together with the code is left out, and a mutant gets a few times as long.
 * Then every mutant meets them in one pair of boxes, or a program's cases one after the other,
 * until one fails.  What time did not allow is left out of the result.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/crew.h"
#include "agent/guest.h"
#include "agent/judge_inside.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/value.h"

#define MUTANTS_MAX  40
#define MUTANTS_WORD "40"
#define ALL_MS       10000
#define SLOW_MS      1000 /* a test that takes longer is not asked */
#define LEAST_MS     500  /* that a mutant has for a test */
#define TIMES        5    /* what the code itself took */
#define CODE_DIR     "code"
#define LINES_KEEP   (48 << 20)
#define LINE_MAX_LEN (8 << 20)
#define FILES_MAX    FENCE_FILES_MAX
#define IDS_MAX      (1 << 20)

/* What became of a mutant. */
enum fate {
    FATE_UNRUN,
    FATE_KILLED,
    FATE_ALIVE,
};

struct mutant {
    struct json_value *line;
    enum fate fate;
};

struct mutation {
    const struct judge_spec *spec;
    struct mutant *mutants;
    size_t n;
    uint64_t deadline_ns;
    /* a library's */
    struct buf ids;
    size_t n_ids;
    double limit_s;
    /* a program's */
    struct program_cases cases;
    uint64_t *case_ms; /* 0: is not asked */
    struct program program;
    /* the first failure that is ours */
    pthread_mutex_t lock;
    atomic_bool is_over;
    int r;
    struct gb_err err;
};

static void fail(struct mutation *m, int r, const struct gb_err *err)
{
    (void)pthread_mutex_lock(&m->lock);
    if (m->r == 0) {
        m->r = r;
        m->err = *err;
    }
    (void)pthread_mutex_unlock(&m->lock);
    atomic_store(&m->is_over, true);
}

static uint64_t left_ms(const struct mutation *m)
{
    uint64_t now = clock_now_ns();

    return now < m->deadline_ns ? (m->deadline_ns - now) / NS_PER_MS : 0;
}

/* ---- making them ---------------------------------------------------------------------------- */

static bool is_python_file(const char *path)
{
    size_t len = strlen(path);

    return len > 3 && strcmp(path + len - 3, ".py") == 0;
}

static int load_mutator(const struct judge_spec *spec, struct load *ret)
{
    struct box_file guest;
    int r = load_files(ret, CODE_DIR, spec->code);

    guest_file(GUEST_MUTATE, &guest);
    return r < 0 ? r : load_add(ret, "", guest.path, guest.mode, guest.bytes, (size_t)guest.size);
}

/* The paths lie in the load, behind the words. */
static void say_mutate(const struct load *load, const char **argv)
{
    const char *const words[] = { "python3", "-I",         "-B",     guest_path(GUEST_MUTATE),
                                  "--max",   MUTANTS_WORD, "--root", CODE_DIR };
    size_t n = 0;

    for (; n < N_ELEMENTS(words); n++)
        argv[n] = words[n];
    for (size_t i = 0; i < load->n && i < FILES_MAX; i++)
        if (strncmp(load->files[i].path, CODE_DIR "/", sizeof(CODE_DIR)) == 0 &&
            is_python_file(load->files[i].path))
            argv[n++] = load->files[i].path;
}

static bool is_mutant(const struct mutation *m, const struct json_value *line)
{
    const char *file = json_str(json_get(line, "file"), NULL);

    return file && agent_files_find(m->spec->code, file) &&
           json_str(json_get(line, "source"), NULL) && json_str(json_get(line, "id"), NULL) &&
           json_str(json_get(line, "kind"), NULL);
}

static int read_mutants(struct mutation *m, const char *text, size_t len, struct gb_err *err)
{
    m->mutants = calloc(MUTANTS_MAX, sizeof(*m->mutants));
    if (!m->mutants)
        return gb_no_memory(err);
    while (len > 0 && m->n < MUTANTS_MAX) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t)(newline - text) : len;
        struct json_value **line = &m->mutants[m->n].line;

        /* A line that was cut is the last one. */
        if (json_value_parse(text, n, LINE_MAX_LEN, line, NULL) < 0)
            return 0;
        if (is_mutant(m, *line))
            m->n++;
        else
            json_value_free(line);
        n += newline ? 1 : 0;
        text += n;
        len -= n;
    }
    return 0;
}

static int make_mutants(struct mutation *m, struct gb_err *err)
{
    const char *argv[FILES_MAX + 16] = { 0 };
    cleanup_load struct load load = { 0 };
    struct trial_spec trial = {
        .box = m->spec->box,
        .argv = argv,
        .keep = LINES_KEEP,
        .deadline_ns = m->deadline_ns,
        .cancel_fd = m->spec->cancel_fd,
    };
    struct trial_end end = { 0 };
    int r;

    if (load_mutator(m->spec, &load) < 0)
        return gb_no_memory(err);
    say_mutate(&load, argv);
    trial.files = load.files;
    trial.n_files = load.n;
    r = judge_trial(&trial, &end, err);
    if (r == 0)
        r = read_mutants(m, end.out.data ? end.out.data : "", end.out.len, err);
    trial_end_clear(&end);
    return r;
}

/* The code with one file changed; all of it is borrowed but the list. */
static int changed_code(const struct mutation *m, size_t i, struct agent_files *ret)
{
    const struct agent_files *code = m->spec->code;
    const char *file = json_str(json_get(m->mutants[i].line, "file"), NULL);
    const char *source = json_str(json_get(m->mutants[i].line, "source"), NULL);

    ret->items = calloc(code->n, sizeof(*ret->items));
    if (!ret->items)
        return -ENOMEM;
    ret->n = code->n;
    for (size_t k = 0; k < code->n; k++) {
        ret->items[k] = code->items[k];
        if (strcmp(code->items[k].path, file) == 0) {
            ret->items[k].text = strdup(source);
            ret->items[k].len = strlen(source);
            if (!ret->items[k].text)
                return -ENOMEM;
        }
    }
    return 0;
}

static void changed_clear(const struct mutation *m, struct agent_files *changed)
{
    for (size_t k = 0; k < changed->n; k++)
        if (changed->items[k].text != m->spec->code->items[k].text)
            free(changed->items[k].text);
    free(changed->items);
}

/* ---- a library ------------------------------------------------------------------------------ */

static void put_ids(const struct judge_tests *tests, struct buf *ret)
{
    for (size_t i = 0; i < tests->n; i++)
        if (!tests->items[i].is_withdrawn)
            (void)buf_printf(ret, "%s\n", tests->items[i].id);
}

static uint64_t patience_ms(double ms)
{
    return LEAST_MS + (uint64_t)(ms > 0 ? TIMES * ms : 0);
}

/* Which tests pass, and in what time. */
static int measure_library(struct mutation *m, struct gb_err *err)
{
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    cleanup_buf struct buf all = BUF_INIT(IDS_MAX);
    struct trial_end ends[2] = { 0 };
    struct batch batch = {
        .spec = m->spec,
        .code = m->spec->code,
        .limit_s = SLOW_MS / 1000.0,
        .wall_ms = ALL_MS,
    };
    uint64_t patience = LEAST_MS;
    int r;

    put_ids(m->spec->tests, &all);
    if (all.len == 0)
        return 0;
    batch.ids = all.data;
    r = library_batch(&batch, &verdicts, ends, err);
    for (size_t i = 0; r == 0 && i < verdicts.n_results; i++) {
        const struct guest_result *result = &verdicts.results[i];

        if (result->outcome != GUEST_PASSED || !judge_test_of(m->spec->tests, result->id))
            continue;
        (void)buf_printf(&m->ids, "%s\n", result->id);
        m->n_ids++;
        if (patience_ms(result->ms) > patience)
            patience = patience_ms(result->ms);
    }
    m->limit_s = (double)patience / 1000;
    trial_end_clear(&ends[0]);
    trial_end_clear(&ends[1]);
    if (r == 0 && (buf_error(&all) < 0 || buf_error(&m->ids) < 0))
        r = gb_no_memory(err);
    return r;
}

static bool all_passed(const struct mutation *m, const struct guest_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n_results; i++)
        if (verdicts->results[i].outcome != GUEST_PASSED)
            return false;
    return verdicts->has_end && !verdicts->is_broken && verdicts->n_results == m->n_ids;
}

static int meet_library(struct mutation *m, const struct agent_files *code, enum fate *ret,
                        struct gb_err *err)
{
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    struct trial_end ends[2] = { 0 };
    const struct batch batch = {
        .spec = m->spec,
        .code = code,
        .ids = m->ids.data,
        .ends_at_first = true,
        .limit_s = m->limit_s,
        .wall_ms = left_ms(m) + 1,
    };
    int r = library_batch(&batch, &verdicts, ends, err);

    if (r == 0 && all_passed(m, &verdicts))
        *ret = FATE_ALIVE;
    else if (r == 0 && (verdicts.has_end || left_ms(m) > 0))
        *ret = FATE_KILLED;
    trial_end_clear(&ends[0]);
    trial_end_clear(&ends[1]);
    return r;
}

/* ---- a program ------------------------------------------------------------------------------ */

static void take_time(struct mutation *m, size_t i, uint64_t ms)
{
    if (ms <= SLOW_MS)
        m->case_ms[i] = patience_ms((double)ms);
}

static void measure_case(void *user, size_t i)
{
    struct mutation *m = user;
    const struct judge_test *test = judge_test_of(m->spec->tests, m->cases.items[i].name);
    struct judge_row row = { 0 };
    struct gb_err err = { 0 };
    int r;

    if (!test || test->is_withdrawn || atomic_load(&m->is_over) || left_ms(m) == 0)
        return;
    r = program_meet(&m->program, m->spec, &m->cases.items[i], &row, NULL, &err);
    if (r < 0)
        fail(m, r, &err);
    else if (r > 0)
        take_time(m, i, row.ms);
    free(row.message);
    free(row.detail);
    free(row.seen);
}

/* As the judge has measured them, or in boxes of their own. */
static void measure_cases(struct mutation *m)
{
    const struct judge_report *judged = m->spec->judged;

    if (!judged) {
        crew_do(m->cases.n, m->spec->jobs, measure_case, m);
        return;
    }
    for (size_t i = 0; i < m->cases.n; i++) {
        const struct judge_row *row = judge_report_row(judged, m->cases.items[i].name);

        if (row && !row->is_withdrawn && row->result == TEST_PASSED)
            take_time(m, i, row->ms);
    }
}

static int measure_program(struct mutation *m, struct gb_err *err)
{
    const char *json = m->spec->tests->cases ? m->spec->tests->cases : "";
    enum diagnosis ignored = DIAGNOSIS_NONE;
    cleanup_free char *summary = NULL;
    int r = cases_parse(json, strlen(json), &m->cases, err);

    if (r == 0)
        r = program_prepare(m->spec, &m->program, &ignored, &summary, err);
    if (r < 0 || summary)
        return r;
    m->case_ms = calloc(m->cases.n + 1, sizeof(*m->case_ms));
    if (!m->case_ms)
        return gb_no_memory(err);
    measure_cases(m);
    for (size_t i = 0; i < m->cases.n; i++)
        m->n_ids += m->case_ms[i] > 0;
    return 0;
}

static int meet_program(struct mutation *m, const struct agent_files *code, enum fate *ret,
                        struct gb_err *err)
{
    struct judge_spec spec = *m->spec;
    struct program program = { 0 };
    enum diagnosis ignored = DIAGNOSIS_NONE;
    cleanup_free char *summary = NULL;
    int r;

    spec.code = code;
    r = program_prepare(&spec, &program, &ignored, &summary, err);
    if (r == 0)
        r = summary ? 0 : 1; /* what does not come so far has been noticed */
    for (size_t i = 0; r > 0 && i < m->cases.n; i++) {
        struct program_case item = m->cases.items[i];

        if (m->case_ms[i] == 0)
            continue;
        if (left_ms(m) == 0)
            break;
        item.timeout_ms = m->case_ms[i];
        r = program_meet(&program, &spec, &item, NULL, NULL, err);
    }
    program_clear(&program);
    if (r >= 0 && left_ms(m) > 0)
        *ret = r > 0 ? FATE_ALIVE : FATE_KILLED;
    return r < 0 ? r : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool is_library(const struct mutation *m)
{
    return m->spec->contract->kind == CONTRACT_LIBRARY;
}

/* By an earlier set of tests, which are all there still. */
static bool was_killed(const struct mutation *m, size_t i)
{
    const struct judge_mutation *known = m->spec->known;
    const char *id = json_str(json_get(m->mutants[i].line, "id"), NULL);

    for (size_t k = 0; known && k < known->n; k++)
        if (known->items[k].is_killed && strcmp(known->items[k].id, id) == 0)
            return true;
    return false;
}

static void meet_one(void *user, size_t i)
{
    struct mutation *m = user;
    struct agent_files code = { 0 };
    struct gb_err err = { 0 };
    int r;

    if (was_killed(m, i)) {
        m->mutants[i].fate = FATE_KILLED;
        return;
    }
    if (atomic_load(&m->is_over) || left_ms(m) == 0)
        return;
    if (changed_code(m, i, &code) < 0)
        r = gb_no_memory(&err);
    else if (is_library(m))
        r = meet_library(m, &code, &m->mutants[i].fate, &err);
    else
        r = meet_program(m, &code, &m->mutants[i].fate, &err);
    if (r < 0)
        fail(m, r, &err);
    changed_clear(m, &code);
}

static char *copy(const struct json_value *line, const char *key)
{
    const char *text = json_str(json_get(line, key), NULL);

    return strdup(text ? text : "");
}

static bool is_hint(const struct json_value *line)
{
    const char *kind = json_str(json_get(line, "kind"), NULL);

    return strcmp(kind, "empty") != 0 && strcmp(kind, "branch") != 0;
}

static int tell(const struct mutation *m, struct judge_mutation *ret, struct gb_err *err)
{
    size_t counted = 0;
    size_t killed = 0;

    ret->items = calloc(m->n + 1, sizeof(*ret->items));
    if (!ret->items)
        return gb_no_memory(err);
    for (size_t i = 0; i < m->n; i++) {
        const struct json_value *line = m->mutants[i].line;
        struct judge_mutant *item = &ret->items[ret->n];
        uint64_t number = 0;

        if (m->mutants[i].fate == FATE_UNRUN)
            continue;
        ret->n++;
        (void)json_u64(json_get(line, "line"), &number);
        item->id = copy(line, "id");
        item->function = copy(line, "function");
        item->what = copy(line, "what");
        item->line = (unsigned)number;
        item->is_hint = is_hint(line);
        item->is_killed = m->mutants[i].fate == FATE_KILLED;
        if (!item->id || !item->function || !item->what)
            return gb_no_memory(err);
        counted += !item->is_hint;
        killed += !item->is_hint && item->is_killed;
    }
    ret->score = counted > 0 ? (double)killed / (double)counted : -1;
    return 0;
}

static int mutate(struct mutation *m, struct judge_mutation *ret, struct gb_err *err)
{
    int r = make_mutants(m, err);

    if (r < 0 || m->n == 0)
        return r;
    r = is_library(m) ? measure_library(m, err) : measure_program(m, err);
    if (r == 0 && m->r == 0 && m->n_ids > 0)
        crew_do(m->n, m->spec->jobs, meet_one, m);
    if (r == 0 && m->r < 0) {
        *err = m->err;
        r = m->r;
    }
    return r < 0 ? r : tell(m, ret, err);
}

/* One deadline for every box there is: of the mutator, of measuring, of the mutants. */
static uint64_t deadline_of(const struct judge_spec *spec)
{
    uint64_t own_ns = clock_after_ms(ALL_MS);

    return spec->deadline_ns > 0 && spec->deadline_ns < own_ns ? spec->deadline_ns : own_ns;
}

int judge_mutate(const struct judge_spec *asked, struct judge_mutation *ret, struct gb_err *err)
{
    struct judge_spec spec = *asked;
    struct mutation m = {
        .spec = &spec,
        .ids = BUF_INIT(IDS_MAX),
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    int r;

    *ret = (struct judge_mutation){ .score = -1 };
    m.deadline_ns = spec.deadline_ns = deadline_of(asked);
    if (strcmp(spec.contract->language, "python") != 0)
        return 0;
    r = mutate(&m, ret, err);
    for (size_t i = 0; i < m.n; i++)
        json_value_free(&m.mutants[i].line);
    free(m.mutants);
    free(m.case_ms);
    buf_clear(&m.ids);
    cases_clear(&m.cases);
    program_clear(&m.program);
    (void)pthread_mutex_destroy(&m.lock);
    if (r < 0)
        judge_mutation_clear(ret);
    return r;
}
