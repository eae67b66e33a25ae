/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_drive.c - the judge without the loop around it, for pytest.
 *
 * stdin has one JSON object: contract, solutions [{path: text}], tests {path: text} or cases, and
 * if wanted inputs {path: text}, withdrawn [id], limits, jobs, toolchains [dir], args [word],
 * input, cancel_after (rows), deadline_ms (from now), and do: a list of "collect", "run", "mutate"
 * and "try".  stdout has what came of each, as {"code": errno, "error": text} or the judge's own
 * JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/contract.h"
#include "agent/judge.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/box.h"
#include "json/value.h"
#include "json/writer.h"

#define TEXT_MAX      (64 << 20)
#define SOLUTIONS_MAX 32
#define WORDS_MAX     32

struct drive {
    struct json_value *asked;
    struct contract contract;
    struct agent_files solutions[SOLUTIONS_MAX];
    size_t n_solutions;
    struct judge_tests tests;
    struct judge_input inputs[WORDS_MAX];
    struct box_spec box;
    const char *toolchains[WORDS_MAX + 1];
    struct judge_spec specs[SOLUTIONS_MAX];
    struct buf seen; /* ids of rows as they came, a line each */
    uint64_t rows_left;
    int cancel_fd;
};

static void die(const char *what, const struct gb_err *err)
{
    (void)fprintf(stderr, "judge_drive: %s: %s\n", what, err->msg);
    exit(3);
}

static void read_stdin(struct buf *text)
{
    char piece[65536];
    ssize_t n;

    while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
        (void)buf_add(text, piece, (size_t)n);
}

static void read_files(const struct json_value *object, struct agent_files *ret)
{
    for (size_t i = 0; i < json_count(object); i++) {
        const char *path;
        size_t len;
        const char *text = json_str(json_member(object, i, &path), &len);

        if (!text || agent_files_put(ret, path, text, len) < 0)
            die("a file", &(struct gb_err){ .msg = "cannot be taken" });
    }
}

static void read_words(const struct json_value *list, const char **ret)
{
    for (size_t i = 0; i < json_count(list) && i < WORDS_MAX; i++)
        ret[i] = json_str(json_at(list, i), NULL);
}

static void read_limits(const struct json_value *object, struct limits *ret)
{
    const struct {
        const char *key;
        uint64_t *value;
    } fields[] = {
        { "wall_ms", &ret->wall_ms },
        { "memory_bytes", &ret->memory_bytes },
        { "pids", &ret->pids },
        { "output_max", &ret->output_max },
    };

    for (size_t i = 0; i < N_ELEMENTS(fields); i++)
        (void)json_u64(json_get(object, fields[i].key), fields[i].value);
}

static void on_row(void *user, const struct judge_row *row)
{
    struct drive *d = user;
    uint64_t one = 1;

    (void)buf_printf(&d->seen, "%s\n", row->id);
    if (d->rows_left > 0 && --d->rows_left == 0 && write(d->cancel_fd, &one, sizeof(one)) < 0)
        abort();
}

static void read_tests(struct drive *d)
{
    const struct json_value *cases = json_get(d->asked, "cases");

    read_files(json_get(d->asked, "tests"), &d->tests.files);
    if (cases) {
        struct buf text = BUF_INIT(TEXT_MAX);

        (void)json_value_text(cases, &text);
        d->tests.cases = buf_take(&text);
    }
}

static size_t read_inputs(struct drive *d)
{
    const struct json_value *object = json_get(d->asked, "inputs");
    size_t n = json_count(object) < WORDS_MAX ? json_count(object) : WORDS_MAX;

    for (size_t i = 0; i < n; i++)
        d->inputs[i].bytes =
            json_str(json_member(object, i, &d->inputs[i].path), &d->inputs[i].len);
    return n;
}

static void read_spec(struct drive *d)
{
    const char *uid_base = getenv("GLOVEBOX_UID_BASE");
    struct gb_err err = { 0 };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    uint64_t jobs = 2;
    uint64_t deadline_ms;
    uint64_t deadline_ns = CLOCK_NEVER_NS;
    size_t n_inputs = read_inputs(d);

    (void)json_value_text(json_get(d->asked, "contract"), &text);
    if (contract_parse(text.data, text.len, &d->contract, &err) < 0)
        die("contract", &err);
    read_tests(d);
    read_words(json_get(d->asked, "toolchains"), d->toolchains);
    d->box = (struct box_spec){
        .backend = "native",
        .limits = limits_default(),
        .toolchains = d->toolchains,
        .run_dir = getenv("GLOVEBOX_RUN_DIR"),
        .uid_base = uid_base ? (uint32_t)strtoul(uid_base, NULL, 10) : 0x70000000u,
    };
    read_limits(json_get(d->asked, "limits"), &d->box.limits);
    (void)json_u64(json_get(d->asked, "jobs"), &jobs);
    if (json_u64(json_get(d->asked, "deadline_ms"), &deadline_ms))
        deadline_ns = clock_after_ms(deadline_ms);
    (void)json_u64(json_get(d->asked, "cancel_after"), &d->rows_left);
    d->n_solutions = json_count(json_get(d->asked, "solutions"));
    for (size_t i = 0; i < d->n_solutions && i < SOLUTIONS_MAX; i++) {
        read_files(json_at(json_get(d->asked, "solutions"), i), &d->solutions[i]);
        d->specs[i] = (struct judge_spec){
            .box = &d->box,
            .contract = &d->contract,
            .code = &d->solutions[i],
            .tests = &d->tests,
            .inputs = d->inputs,
            .n_inputs = n_inputs,
            .jobs = (unsigned)jobs,
            .cancel_fd = d->cancel_fd,
            .deadline_ns = deadline_ns,
            .progress = on_row,
            .user = d,
        };
    }
}

/* ---- what is done --------------------------------------------------------------------------- */

static void put_error(struct json_writer *w, const char *key, int r, const struct gb_err *err)
{
    json_object_begin(w, key);
    json_put_i64(w, "code", -r);
    json_put_str(w, "error", err->msg);
    json_object_end(w);
}

static void put_text(struct json_writer *w, const char *key, struct buf *text)
{
    json_put_raw(w, key, text->data);
    buf_clear(text);
}

static void withdraw(struct drive *d)
{
    const struct json_value *list = json_get(d->asked, "withdrawn");

    for (size_t i = 0; i < json_count(list); i++)
        for (size_t k = 0; k < d->tests.n; k++)
            if (strcmp(json_str(json_at(list, i), NULL), d->tests.items[k].id) == 0)
                d->tests.items[k].is_withdrawn = true;
}

static void do_collect(struct drive *d, struct json_writer *w)
{
    struct buf text = BUF_INIT(TEXT_MAX);
    struct gb_err err = { 0 };
    int r = judge_collect(&d->specs[0], &d->tests, &err);

    withdraw(d);
    if (r < 0 || judge_tests_text(&d->tests, &text) < 0)
        put_error(w, "collect", r, &err);
    else
        put_text(w, "collect", &text);
}

static void do_run(struct drive *d, struct json_writer *w)
{
    struct judge_report reports[SOLUTIONS_MAX] = { 0 };
    struct buf text = BUF_INIT(TEXT_MAX);
    struct gb_err err = { 0 };
    int r = d->n_solutions == 1 ? judge_run(d->specs, reports, &err)
                                : judge_run_all(d->specs, d->n_solutions, reports, &err);

    if (r < 0) {
        put_error(w, "run", r, &err);
    } else {
        json_array_begin(w, "run");
        for (size_t i = 0; i < d->n_solutions; i++) {
            (void)judge_report_text(&reports[i], &text);
            put_text(w, NULL, &text);
        }
        json_array_end(w);
    }
    for (size_t i = 0; i < d->n_solutions; i++)
        judge_report_clear(&reports[i]);
}

static void do_mutate(struct drive *d, struct json_writer *w)
{
    struct judge_mutation mutation = { 0 };
    struct buf text = BUF_INIT(TEXT_MAX);
    struct gb_err err = { 0 };
    int r = judge_mutate(&d->specs[0], &mutation, &err);

    if (r < 0 || judge_mutation_text(&mutation, &text) < 0)
        put_error(w, "mutate", r, &err);
    else
        put_text(w, "mutate", &text);
    judge_mutation_clear(&mutation);
}

static void do_try(struct drive *d, struct json_writer *w)
{
    const char *input = json_str(json_get(d->asked, "input"), NULL);
    const char *args[WORDS_MAX + 1] = { 0 };
    char *own[WORDS_MAX + 1] = { 0 };
    struct judge_try try = { 0 };
    struct buf text = BUF_INIT(TEXT_MAX);
    struct gb_err err = { 0 };
    int r;

    read_words(json_get(d->asked, "args"), args);
    for (size_t i = 0; args[i]; i++)
        own[i] = strdup(args[i]);
    r = judge_try(&d->specs[0], own, input, input ? strlen(input) : 0, &try, &err);
    if (r < 0 || judge_try_text(&try, &text) < 0)
        put_error(w, "try", r, &err);
    else
        put_text(w, "try", &text);
    for (size_t i = 0; own[i]; i++)
        free(own[i]);
    judge_try_clear(&try);
}

static const struct {
    const char *name;
    void (*act)(struct drive *d, struct json_writer *w);
} deeds[] = {
    { "collect", do_collect },
    { "run", do_run },
    { "mutate", do_mutate },
    { "try", do_try },
};

static void act(struct drive *d, struct buf *ret)
{
    const struct json_value *list = json_get(d->asked, "do");
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    for (size_t i = 0; i < json_count(list); i++)
        for (size_t k = 0; k < N_ELEMENTS(deeds); k++)
            if (strcmp(deeds[k].name, json_str(json_at(list, i), NULL)) == 0)
                deeds[k].act(d, &w);
    json_put_str(&w, "progress", d->seen.data ? d->seen.data : "");
    json_object_end(&w);
    if (json_writer_end(&w) < 0)
        abort();
}

int main(void)
{
    struct drive d = { .cancel_fd = eventfd(0, EFD_CLOEXEC), .seen = BUF_INIT(TEXT_MAX) };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    cleanup_buf struct buf answer = BUF_INIT(TEXT_MAX);
    struct gb_err err = { 0 };

    read_stdin(&text);
    if (json_value_parse(text.data ? text.data : "", text.len, TEXT_MAX, &d.asked, &err) < 0)
        die("stdin", &err);
    read_spec(&d);
    act(&d, &answer);
    (void)puts(answer.data);
    for (size_t i = 0; i < d.n_solutions; i++)
        agent_files_clear(&d.solutions[i]);
    judge_tests_clear(&d.tests);
    contract_clear(&d.contract);
    json_value_free(&d.asked);
    buf_clear(&d.seen);
    close(d.cancel_fd);
    return 0;
}
