/* SPDX-License-Identifier: Apache-2.0 */
/* agent/report.c - what the judge found, as data and as JSON.
 *
 * The JSON is the journal's and the run folder's; it was written here, and is checked all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/fence.h"
#include "agent/judge.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"

#define TEXT_MAX (64 << 20)

/* ---- names ---------------------------------------------------------------------------------- */

static const char *const outcomes[] = {
    [OUTCOME_PASSED] = "passed",     [OUTCOME_FAILED] = "failed",   [OUTCOME_ERROR] = "error",
    [OUTCOME_TAMPERED] = "tampered", [OUTCOME_SUSPECT] = "suspect",
};

static const char *const diagnoses[] = {
    [DIAGNOSIS_NONE] = "none",           [DIAGNOSIS_SYNTAX] = "syntax",
    [DIAGNOSIS_INTERFACE] = "interface", [DIAGNOSIS_MODULE] = "missing module",
    [DIAGNOSIS_ASSERTION] = "assertion", [DIAGNOSIS_OUTPUT] = "wrong output",
    [DIAGNOSIS_TIMEOUT] = "timeout",     [DIAGNOSIS_MEMORY] = "memory",
    [DIAGNOSIS_CRASH] = "crash",
};

static const char *const classes[] = {
    [CLASS_NORMAL] = "normal",
    [CLASS_EDGE] = "edge",
    [CLASS_INVALID] = "invalid",
    [CLASS_STRESS] = "stress",
};

static const char *const origins[] = {
    [ORIGIN_GIVEN] = "given",
    [ORIGIN_DERIVED] = "derived",
    [ORIGIN_HELD_BACK] = "held back",
};

static const char *const results[] = {
    [TEST_PASSED] = "passed", [TEST_FAILED] = "failed",   [TEST_TIMEOUT] = "timeout",
    [TEST_ERROR] = "error",   [TEST_SKIPPED] = "skipped",
};

const char *outcome_name(enum outcome outcome)
{
    return outcomes[outcome];
}

const char *diagnosis_name(enum diagnosis diagnosis)
{
    return diagnoses[diagnosis];
}

const char *test_class_name(enum test_class class)
{
    return classes[class];
}

const char *test_origin_name(enum test_origin origin)
{
    return origins[origin];
}

const char *test_result_name(enum test_result result)
{
    return results[result];
}

/* ---- reading -------------------------------------------------------------------------------- */

/* One member after the other; the first that is not as expected is remembered. */
struct reading {
    const struct json_value *object;
    int r;
};

static void read_str(struct reading *in, const char *key, char **ret)
{
    const struct json_value *value = json_get(in->object, key);
    size_t len;
    const char *text = json_str(value, &len);

    if (json_kind(value) == JSON_NONE || json_kind(value) == JSON_NULL)
        return;
    if (!text || strlen(text) != len) {
        in->r = -EINVAL;
        return;
    }
    *ret = strdup(text);
    if (!*ret)
        in->r = -ENOMEM;
}

static void read_name(struct reading *in, const char *key, const char *const *names, size_t n,
                      unsigned *ret)
{
    const char *text = json_str(json_get(in->object, key), NULL);

    for (size_t i = 0; text && i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (unsigned)i;
            return;
        }
    }
    in->r = -EINVAL;
}

#define read_enum(in, key, names, target)                            \
    do {                                                             \
        unsigned found_ = 0;                                         \
        read_name((in), (key), (names), N_ELEMENTS(names), &found_); \
        (target) = (__typeof__(target))found_;                       \
    } while (0)

static void read_number(struct reading *in, const char *key, uint64_t *ret)
{
    if (!json_u64(json_get(in->object, key), ret))
        in->r = -EINVAL;
}

static void read_share(struct reading *in, const char *key, double *ret)
{
    *ret = -1;
    if (json_kind(json_get(in->object, key)) != JSON_NULL &&
        !json_double(json_get(in->object, key), ret))
        in->r = -EINVAL;
}

static void read_flag(struct reading *in, const char *key, bool *ret)
{
    *ret = false;
    (void)json_bool(json_get(in->object, key), ret);
}

/* Room for as many as the list has; 0 and NULL for none. */
static void *read_list(struct reading *in, const char *key, size_t size, size_t *ret_n)
{
    size_t n = json_count(json_get(in->object, key));
    void *items = n > 0 ? calloc(n, size) : NULL;

    if (n > 0 && !items)
        in->r = -ENOMEM;
    *ret_n = items ? n : 0;
    return items;
}

static int told(int r, const char *what, struct gb_err *err)
{
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "%s that was remembered is damaged", what) : 0;
}

/* ---- reports -------------------------------------------------------------------------------- */

static void write_row(struct json_writer *w, const struct judge_row *row)
{
    json_object_begin(w, NULL);
    json_put_str(w, "id", row->id);
    json_put_str(w, "result", results[row->result]);
    json_put_str(w, "message", row->message);
    json_put_str(w, "detail", row->detail);
    json_put_u64(w, "ms", row->ms);
    json_put_u64(w, "memory_bytes", row->memory_bytes);
    json_put_bool(w, "withdrawn", row->is_withdrawn);
    json_put_bool(w, "suspect", row->is_suspect);
    json_put_bool(w, "together", row->is_together);
    json_put_str(w, "seen", row->seen);
    json_object_end(w);
}

static int read_row(const struct json_value *object, struct judge_row *ret)
{
    struct reading in = { .object = object };

    read_str(&in, "id", &ret->id);
    read_enum(&in, "result", results, ret->result);
    read_str(&in, "message", &ret->message);
    read_str(&in, "detail", &ret->detail);
    read_number(&in, "ms", &ret->ms);
    read_number(&in, "memory_bytes", &ret->memory_bytes);
    read_flag(&in, "withdrawn", &ret->is_withdrawn);
    read_flag(&in, "suspect", &ret->is_suspect);
    read_flag(&in, "together", &ret->is_together);
    read_str(&in, "seen", &ret->seen);
    return in.r < 0 ? in.r : ret->id ? 0 : -EINVAL;
}

void judge_put_share(struct json_writer *w, const char *key, double share)
{
    if (share < 0)
        json_put_null(w, key);
    else
        json_put_double(w, key, share, 4);
}

int judge_report_text(const struct judge_report *report, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "outcome", outcomes[report->outcome]);
    json_put_str(&w, "reason", report->reason);
    json_put_str(&w, "diagnosis", diagnoses[report->diagnosis]);
    json_put_str(&w, "summary", report->summary);
    judge_put_share(&w, "coverage", report->coverage);
    json_put_str(&w, "lint", report->lint);
    json_put_u64(&w, "ms", report->ms);
    json_put_u64(&w, "memory_peak_bytes", report->memory_peak_bytes);
    json_array_begin(&w, "tests");
    for (size_t i = 0; i < report->n_rows; i++)
        write_row(&w, &report->rows[i]);
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

int judge_report_parse(const char *json, size_t len, struct judge_report *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    struct reading in = { 0 };
    int r = json_value_parse(json, len, TEXT_MAX, &value, err);

    *ret = (struct judge_report){ 0 };
    if (r < 0)
        return r;
    in.object = value;
    read_enum(&in, "outcome", outcomes, ret->outcome);
    read_str(&in, "reason", &ret->reason);
    read_enum(&in, "diagnosis", diagnoses, ret->diagnosis);
    read_str(&in, "summary", &ret->summary);
    read_share(&in, "coverage", &ret->coverage);
    read_str(&in, "lint", &ret->lint);
    read_number(&in, "ms", &ret->ms);
    read_number(&in, "memory_peak_bytes", &ret->memory_peak_bytes);
    ret->rows = read_list(&in, "tests", sizeof(*ret->rows), &ret->n_rows);
    for (size_t i = 0; i < ret->n_rows && in.r == 0; i++)
        in.r = read_row(json_at(json_get(value, "tests"), i), &ret->rows[i]);
    if (in.r < 0)
        judge_report_clear(ret);
    return told(in.r, "a report", err);
}

const struct judge_test *judge_test_of(const struct judge_tests *tests, const char *id)
{
    for (size_t i = 0; i < tests->n; i++)
        if (strcmp(tests->items[i].id, id) == 0)
            return &tests->items[i];
    return NULL;
}

bool judge_was_withdrawn(const struct judge_tests *tests, const char *id)
{
    const struct judge_test *test = judge_test_of(tests, id);

    return test && test->is_withdrawn;
}

const struct judge_row *judge_report_row(const struct judge_report *report, const char *id)
{
    for (size_t i = 0; i < report->n_rows; i++)
        if (strcmp(report->rows[i].id, id) == 0)
            return report->rows[i].is_withdrawn ? NULL : &report->rows[i];
    return NULL;
}

size_t judge_report_count(const struct judge_report *report, size_t *ret_passed)
{
    size_t n = 0;

    *ret_passed = 0;
    for (size_t i = 0; i < report->n_rows; i++) {
        n += !report->rows[i].is_withdrawn;
        *ret_passed += report->rows[i].result == TEST_PASSED;
    }
    return n;
}

void judge_report_clear(struct judge_report *report)
{
    for (size_t i = 0; i < report->n_rows; i++) {
        free(report->rows[i].id);
        free(report->rows[i].message);
        free(report->rows[i].detail);
        free(report->rows[i].seen);
    }
    free(report->rows);
    free(report->reason);
    free(report->summary);
    free(report->lint);
    *report = (struct judge_report){ 0 };
}

/* ---- one start ------------------------------------------------------------------------------ */

int judge_try_text(const struct judge_try *try, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "diagnosis", diagnoses[try->diagnosis]);
    json_put_str(&w, "summary", try->summary);
    if (try->network)
        json_put_str(&w, "network", try->network);
    if (try->limits)
        json_put_str(&w, "limits", try->limits);
    json_put_bytes(&w, "out", try->out, try->out_len);
    json_put_bytes(&w, "errors", try->errors, try->errors_len);
    json_put_bool(&w, "cut", try->is_cut);
    json_put_bool(&w, "timed_out", try->is_timed_out);
    if (try->is_unrun)
        json_put_bool(&w, "unrun", true);
    json_put_u64(&w, "exit_code", (uint64_t)try->exit_code);
    json_put_u64(&w, "ms", try->ms);
    json_put_u64(&w, "memory_peak_bytes", try->memory_peak_bytes);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* A string that may hold anything; followed by a NUL that is not counted. */
static void read_bytes(struct reading *in, const char *key, char **ret, size_t *ret_len)
{
    const char *text = json_str(json_get(in->object, key), ret_len);

    if (!text) {
        in->r = -EINVAL;
        return;
    }
    *ret = malloc(*ret_len + 1);
    if (*ret)
        memcpy(*ret, text, *ret_len + 1);
    else
        in->r = -ENOMEM;
}

int judge_try_parse(const char *json, size_t len, struct judge_try *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    struct reading in = { 0 };
    uint64_t code = 0;
    int r = json_value_parse(json, len, TEXT_MAX, &value, err);

    *ret = (struct judge_try){ 0 };
    if (r < 0)
        return r;
    in.object = value;
    read_enum(&in, "diagnosis", diagnoses, ret->diagnosis);
    read_str(&in, "summary", &ret->summary);
    read_str(&in, "network", &ret->network);
    read_str(&in, "limits", &ret->limits);
    read_bytes(&in, "out", &ret->out, &ret->out_len);
    read_bytes(&in, "errors", &ret->errors, &ret->errors_len);
    read_flag(&in, "cut", &ret->is_cut);
    read_flag(&in, "timed_out", &ret->is_timed_out);
    (void)json_bool(json_get(value, "unrun"), &ret->is_unrun);
    read_number(&in, "exit_code", &code);
    read_number(&in, "ms", &ret->ms);
    read_number(&in, "memory_peak_bytes", &ret->memory_peak_bytes);
    ret->exit_code = (int)(code & 0xff);
    if (in.r < 0)
        judge_try_clear(ret);
    return told(in.r, "the run of a program", err);
}

void judge_try_clear(struct judge_try *try)
{
    free(try->summary);
    free(try->network);
    free(try->limits);
    free(try->out);
    free(try->errors);
    *try = (struct judge_try){ 0 };
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void write_test(struct json_writer *w, const struct judge_test *test)
{
    json_object_begin(w, NULL);
    json_put_str(w, "id", test->id);
    json_put_str(w, "class", classes[test->class]);
    json_put_str(w, "origin", origins[test->origin]);
    json_put_bool(w, "withdrawn", test->is_withdrawn);
    json_object_end(w);
}

static int read_test(const struct json_value *object, struct judge_test *ret)
{
    struct reading in = { .object = object };

    read_str(&in, "id", &ret->id);
    read_enum(&in, "class", classes, ret->class);
    read_enum(&in, "origin", origins, ret->origin);
    read_flag(&in, "withdrawn", &ret->is_withdrawn);
    return in.r < 0 ? in.r : ret->id ? 0 : -EINVAL;
}

int judge_tests_text(const struct judge_tests *tests, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "tests");
    for (size_t i = 0; i < tests->n; i++)
        write_test(&w, &tests->items[i]);
    json_array_end(&w);
    agent_files_list(&w, "files", &tests->files);
    json_put_str(&w, "cases", tests->cases);
    json_object_end(&w);
    return json_writer_end(&w);
}

static int read_files(const struct json_value *list, struct agent_files *ret)
{
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json_value *file = json_at(list, i);
        const char *path = json_str(json_get(file, "path"), NULL);
        size_t len;
        const char *text = json_str(json_get(file, "text"), &len);
        int r = path && text ? agent_files_put(ret, path, text, len) : -EINVAL;

        if (r < 0)
            return r;
    }
    return 0;
}

int judge_tests_parse(const char *json, size_t len, struct judge_tests *ret, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    struct reading in = { 0 };
    int r = json_value_parse(json, len, TEXT_MAX, &value, err);

    *ret = (struct judge_tests){ 0 };
    if (r < 0)
        return r;
    in.object = value;
    ret->items = read_list(&in, "tests", sizeof(*ret->items), &ret->n);
    for (size_t i = 0; i < ret->n && in.r == 0; i++)
        in.r = read_test(json_at(json_get(value, "tests"), i), &ret->items[i]);
    if (in.r == 0)
        in.r = read_files(json_get(value, "files"), &ret->files);
    read_str(&in, "cases", &ret->cases);
    if (in.r < 0)
        judge_tests_clear(ret);
    return told(in.r, "a set of tests", err);
}

void judge_tests_clear(struct judge_tests *tests)
{
    for (size_t i = 0; i < tests->n; i++)
        free(tests->items[i].id);
    free(tests->items);
    agent_files_clear(&tests->files);
    free(tests->cases);
    *tests = (struct judge_tests){ 0 };
}

/* ---- mutants -------------------------------------------------------------------------------- */

static void write_mutant(struct json_writer *w, const struct judge_mutant *mutant)
{
    json_object_begin(w, NULL);
    json_put_str(w, "id", mutant->id);
    json_put_str(w, "function", mutant->function);
    json_put_u64(w, "line", mutant->line);
    json_put_str(w, "what", mutant->what);
    json_put_bool(w, "hint", mutant->is_hint);
    json_put_bool(w, "killed", mutant->is_killed);
    json_object_end(w);
}

static int read_mutant(const struct json_value *object, struct judge_mutant *ret)
{
    struct reading in = { .object = object };
    uint64_t line = 0;

    read_str(&in, "id", &ret->id);
    read_str(&in, "function", &ret->function);
    read_number(&in, "line", &line);
    read_str(&in, "what", &ret->what);
    read_flag(&in, "hint", &ret->is_hint);
    read_flag(&in, "killed", &ret->is_killed);
    ret->line = (unsigned)line;
    return in.r < 0 ? in.r : ret->id ? 0 : -EINVAL;
}

int judge_mutation_text(const struct judge_mutation *mutation, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    judge_put_share(&w, "score", mutation->score);
    json_array_begin(&w, "mutants");
    for (size_t i = 0; i < mutation->n; i++)
        write_mutant(&w, &mutation->items[i]);
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

int judge_mutation_parse(const char *json, size_t len, struct judge_mutation *ret,
                         struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    struct reading in = { 0 };
    int r = json_value_parse(json, len, TEXT_MAX, &value, err);

    *ret = (struct judge_mutation){ 0 };
    if (r < 0)
        return r;
    in.object = value;
    read_share(&in, "score", &ret->score);
    ret->items = read_list(&in, "mutants", sizeof(*ret->items), &ret->n);
    for (size_t i = 0; i < ret->n && in.r == 0; i++)
        in.r = read_mutant(json_at(json_get(value, "mutants"), i), &ret->items[i]);
    if (in.r < 0)
        judge_mutation_clear(ret);
    return told(in.r, "a mutation report", err);
}

void judge_mutation_clear(struct judge_mutation *mutation)
{
    for (size_t i = 0; i < mutation->n; i++) {
        free(mutation->items[i].id);
        free(mutation->items[i].function);
        free(mutation->items[i].what);
    }
    free(mutation->items);
    *mutation = (struct judge_mutation){ 0 };
}
