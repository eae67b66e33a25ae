/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_check.c - what can be told of Python code without running it.
 *
 * The reader is in a box (guest/python/judge_check.py): the code's text is hostile to a parser too.
 * Nothing of the code runs there, so what it prints is its own; it is bounded all the same.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/guest.h"
#include "agent/judge_inside.h"
#include "base/err.h"
#include "json/value.h"

#define CODE_DIR         "code"
#define CONTRACT_FILE    ".guest/contract.json"
#define DIR_SIZE         32
#define OUT_KEEP         ((size_t)2 << 20)
#define SUMMARY_MAX      ((size_t)16 << 10)
#define LINT_MAX         (16 << 10)
#define FINDINGS_MAX     8
#define LINT_PART        4 /* of the time of a run, for each linter */
#define TEXT_SHOWN       ((size_t)300)
#define UNSUPPLIED_SHOWN 4000
#define MODULES_SHOWN    ((size_t)1500)

/* Modules that somebody installed: neither the standard library nor private. */
static const char list_modules[] =
    "import os, pkgutil, sys\n"
    "folders = [p for p in sys.path if p.endswith('-packages')]\n"
    "folders += os.environ.get('PYTHONPATH', '').split(os.pathsep)[1:]\n"
    "names = {m.name for m in pkgutil.iter_modules(folders) if m.name[0] != '_'}\n"
    "print(', '.join(sorted(names)))\n";

/* ---- reading -------------------------------------------------------------------------------- */

static void put_str(struct buf *ret, const struct json_value *finding, const char *key)
{
    size_t len;
    const char *text = json_str(json_get(finding, key), &len);

    if (text)
        words_line(ret, text, len, TEXT_SHOWN);
}

static void put_place(struct buf *ret, const struct json_value *finding)
{
    uint64_t line = 0;

    put_str(ret, finding, "file");
    if (json_u64(json_get(finding, "line"), &line) && line > 0)
        (void)buf_printf(ret, ":%llu", (unsigned long long)line);
}

static void put_syntax(struct buf *ret, const struct json_value *finding)
{
    put_place(ret, finding);
    (void)buf_puts(ret, ": ");
    put_str(ret, finding, "message");
    if (json_kind(json_get(finding, "text")) == JSON_STRING) {
        (void)buf_puts(ret, "\n      ");
        put_str(ret, finding, "text");
    }
}

static void put_interface(struct buf *ret, const struct json_value *finding)
{
    put_str(ret, finding, "message");
    if (json_kind(json_get(finding, "wanted")) == JSON_STRING) {
        (void)buf_puts(ret, "; the contract has ");
        put_str(ret, finding, "wanted");
        (void)buf_puts(ret, ", the code ");
        put_str(ret, finding, "found");
    }
}

static void put_module(struct buf *ret, const struct json_value *finding)
{
    (void)buf_putc(ret, '\'');
    put_str(ret, finding, "module");
    (void)buf_puts(ret, "', imported in ");
    put_place(ret, finding);
}

static void put_lint(struct buf *ret, const struct json_value *finding)
{
    put_place(ret, finding);
    (void)buf_puts(ret, ": ");
    put_str(ret, finding, "code");
    (void)buf_putc(ret, ' ');
    put_str(ret, finding, "message");
}

/* The most fundamental first: what is told is the first list that is not empty. */
static const struct {
    const char *key;
    enum diagnosis diagnosis;
    const char *title;
    void (*put)(struct buf *ret, const struct json_value *finding);
} complaints[] = {
    { "syntax", DIAGNOSIS_SYNTAX, "The code is no valid Python:", put_syntax },
    { "interface", DIAGNOSIS_INTERFACE, "The code is not what the contract says:", put_interface },
    { "missing_modules", DIAGNOSIS_MODULE,
      "The code needs modules that are not there:", put_module },
};

static void put_complaint(struct buf *ret, size_t which, const struct json_value *list)
{
    size_t n = json_count(list);

    (void)buf_printf(ret, "%s\n", complaints[which].title);
    for (size_t i = 0; i < n && i < FINDINGS_MAX; i++) {
        (void)buf_puts(ret, "  - ");
        complaints[which].put(ret, json_at(list, i));
        (void)buf_putc(ret, '\n');
    }
    if (n > FINDINGS_MAX)
        (void)buf_printf(ret, "  and %zu more\n", n - FINDINGS_MAX);
}

/* A package that is not there is no fault of code that does without: it is told with what is. */
static char *packages_text(const struct json_value *list)
{
    struct buf text = BUF_INIT(SUMMARY_MAX);
    size_t n = json_count(list);

    (void)buf_puts(&text, "The contract names packages that are not there: ");
    for (size_t i = 0; i < n && i < FINDINGS_MAX; i++) {
        size_t len = 0;
        const char *name = json_str(json_at(list, i), &len);

        (void)buf_puts(&text, i ? ", '" : "'");
        words_line(&text, name ? name : "", len, TEXT_SHOWN);
        (void)buf_putc(&text, '\'');
    }
    (void)buf_puts(&text, ". Do without them.\n");
    return buf_take(&text);
}

static char *hint_text(const struct json_value *hint)
{
    struct buf text = BUF_INIT(4 * TEXT_SHOWN);

    put_place(&text, hint);
    (void)buf_puts(&text, ": ");
    put_str(&text, hint, "message");
    return buf_take(&text);
}

static char *lint_text(const struct json_value *list)
{
    struct buf text = BUF_INIT(LINT_MAX);

    for (size_t i = 0; i < json_count(list) && text.len < LINT_MAX - 4 * TEXT_SHOWN; i++) {
        put_lint(&text, json_at(list, i));
        (void)buf_putc(&text, '\n');
    }
    return buf_take(&text);
}

int check_read(const char *json, size_t len, const struct judge_tests *tests, struct check *ret,
               struct gb_err *err)
{
    cleanup_json struct json_value *report = NULL;
    const struct json_value *hint;
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);
    int r = json_value_parse(json, len, OUT_KEEP, &report, err);

    if (r < 0)
        return gb_wrap(err, r, "what the check of the code said");
    for (size_t i = 0; i < N_ELEMENTS(complaints) && ret->diagnosis == DIAGNOSIS_NONE; i++) {
        const struct json_value *list = json_get(report, complaints[i].key);

        if (json_count(list) == 0)
            continue;
        ret->diagnosis = complaints[i].diagnosis;
        put_complaint(&text, i, list);
        ret->summary = buf_take(&text);
        if (!ret->summary)
            return gb_no_memory(err);
    }
    if (json_count(json_get(report, "missing_packages")) > 0) {
        ret->packages = packages_text(json_get(report, "missing_packages"));
        if (!ret->packages)
            return gb_no_memory(err);
    }
    if (json_count(json_get(report, "lint")) > 0)
        ret->lint = lint_text(json_get(report, "lint"));
    if (hints_find(json_get(report, "hints"), tests, &hint) < 0)
        return gb_no_memory(err);
    ret->hint = hint ? hint_text(hint) : NULL;
    return 0;
}

void check_clear(struct check *check)
{
    free(check->summary);
    free(check->packages);
    free(check->lint);
    free(check->hint);
    *check = (struct check){ 0 };
}

/* ---- in a box ------------------------------------------------------------------------------- */

static int run_python(const struct judge_spec *spec, const struct load *load,
                      const char *const *argv, size_t keep, struct trial_end *ret,
                      struct gb_err *err)
{
    const struct trial_spec trial = {
        .box = spec->box,
        .files = load->files,
        .n_files = load->n,
        .argv = argv,
        .keep = keep,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = spec->deadline_ns,
    };

    return judge_trial(&trial, ret, err);
}

/* What there is instead, so that the model can do without. */
static int add_available(const struct judge_spec *spec, char **told, struct gb_err *err)
{
    static const char *const argv[] = { "python3", "-I", "-c", list_modules, NULL };
    const struct load nothing = { 0 };
    cleanup_buf struct buf text = BUF_INIT(3 * SUMMARY_MAX + 2 * MODULES_SHOWN);
    struct trial_end end;
    int r = run_python(spec, &nothing, argv, OUT_KEEP, &end, err);

    if (r == 0) {
        (void)buf_puts(&text, *told);
        (void)buf_puts(&text,
                       "They are not installed in this box; available: the standard library");
        if (end.verdict == VERDICT_OK && end.out.len > 1) {
            (void)buf_puts(&text, ", ");
            words_line(&text, end.out.data, end.out.len - 1, MODULES_SHOWN);
        }
        (void)buf_putc(&text, '\n');
        if (spec->unsupplied)
            (void)buf_printf(&text, "%.*s", UNSUPPLIED_SHOWN, spec->unsupplied);
        free(*told);
        *told = buf_take(&text);
        r = *told ? 0 : gb_no_memory(err);
    }
    trial_end_clear(&end);
    return r;
}

/* What is decided before any test is told with the packages that are missing. */
static int tell_missing(const struct judge_spec *spec, struct check *check, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(2 * SUMMARY_MAX);

    if (check->packages && !check->summary)
        return add_available(spec, &check->packages, err);
    if (check->packages) {
        (void)buf_puts(&text, check->summary);
        (void)buf_puts(&text, check->packages);
        free(check->summary);
        check->summary = buf_take(&text);
        if (!check->summary)
            return gb_no_memory(err);
    }
    return check->packages || check->diagnosis == DIAGNOSIS_MODULE
               ? add_available(spec, &check->summary, err)
               : 0;
}

/* Each solution has a directory of its own; the contract is that of all. */
static int load_check(const struct judge_spec *specs, size_t n, char (*dirs)[DIR_SIZE],
                      struct load *ret, struct buf *contract)
{
    struct box_file guest;
    int r = contract_text(specs[0].contract, contract);

    for (size_t i = 0; r == 0 && i < n; i++) {
        (void)snprintf(dirs[i], DIR_SIZE, CODE_DIR "/%zu", i);
        r = load_files(ret, dirs[i], specs[i].code);
    }
    if (r == 0)
        r = load_add(ret, "", CONTRACT_FILE, 0444, contract->data, contract->len);
    guest_file(GUEST_CHECK, &guest);
    return r < 0 ? r : load_add(ret, "", guest.path, guest.mode, guest.bytes, (size_t)guest.size);
}

/* Nothing of them runs, so that one box can have them all. */
static int read_codes(const struct judge_spec *specs, size_t n, struct trial_end *ret,
                      struct gb_err *err)
{
    char seconds[32];
    const char *argv[CHECKED_MAX + 9] = { "python3",    "-I",
                                          "-B",         guest_path(GUEST_CHECK),
                                          "--contract", CONTRACT_FILE,
                                          "--seconds",  seconds };
    char dirs[CHECKED_MAX][DIR_SIZE];
    cleanup_buf struct buf contract = BUF_INIT((size_t)CONTRACT_TEXT_MAX * 2);
    cleanup_load struct load load = { 0 };

    *ret = (struct trial_end){ 0 };
    /* Linters must not use up the time in which the code itself has to be read. */
    (void)snprintf(seconds, sizeof(seconds), "%.3f",
                   (double)specs[0].box->limits.wall_ms / 1000 / LINT_PART);
    if (load_check(specs, n, dirs, &load, &contract) < 0)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        argv[8 + i] = dirs[i];
    return run_python(&specs[0], &load, argv, n * OUT_KEEP, ret, err);
}

/* The checker itself ended badly: a text that breaks the parser is no valid code.  But one that had
 * no time to be read may be: the limit of a run is the operator's. */
static int check_failed(const struct judge_spec *spec, const struct trial_end *end,
                        struct check *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);

    if (end->end.exec_error)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "no python3 in the box" GB_REMEDY
                       "apt install python3, or show one with --toolchain DIR");
    ret->diagnosis = DIAGNOSIS_SYNTAX;
    (void)buf_puts(&text, "Python's own parser fails on the code: ");
    if (!words_end(end, &spec->box->limits, &text, &ret->diagnosis))
        (void)buf_puts(&text, "it ended with an error");
    if (ret->diagnosis == DIAGNOSIS_TIMEOUT)
        (void)buf_puts(&text, ", the limit of every run of this task (--timeout)");
    (void)buf_puts(&text, ".\n");
    words_output(&text, "stderr", end->err.data, end->err.len, TEXT_SHOWN);
    if (ret->diagnosis != DIAGNOSIS_TIMEOUT)
        ret->diagnosis = DIAGNOSIS_SYNTAX;
    ret->summary = buf_take(&text);
    return ret->summary ? 0 : gb_no_memory(err);
}

/* So much, or so strange, that it cannot be read: no text of a sane size makes that. */
static int check_unreadable(struct check *ret, struct gb_err *err)
{
    check_clear(ret);
    ret->diagnosis = DIAGNOSIS_SYNTAX;
    ret->summary =
        strdup("The code cannot be checked: what there is to say about it has no end.\n");
    return ret->summary ? 0 : gb_no_memory(err);
}

static int check_answer(const struct judge_spec *spec, const struct trial_end *end,
                        struct check *ret, struct gb_err *err)
{
    int r;

    if (end->is_late)
        return 0; /* the tests will have no time either, and say so */
    if (end->verdict != VERDICT_OK)
        return check_failed(spec, end, ret, err);
    r = end->is_cut[1]
            ? -EMSGSIZE
            : check_read(end->out.data ? end->out.data : "", end->out.len, spec->tests, ret, err);
    return r < 0 && r != -ENOMEM ? check_unreadable(ret, err) : r;
}

int check_code(const struct judge_spec *spec, struct check *ret, struct gb_err *err)
{
    struct trial_end end;
    int r;

    *ret = (struct check){ 0 };
    r = read_codes(spec, 1, &end, err);
    if (r == 0)
        r = check_answer(spec, &end, ret, err);
    trial_end_clear(&end);
    if (r == 0)
        r = tell_missing(spec, ret, err);
    if (r < 0)
        check_clear(ret);
    return r;
}

/* ---- several solutions ---------------------------------------------------------------------- */

bool check_is_for(const struct judge_spec *spec)
{
    return strcmp(spec->contract->language, "python") == 0;
}

/* The lines that came, up to the first that is none. */
static void read_lines(struct judging *js, size_t n, const char *text, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        const char *newline = memchr(text, '\n', len);
        size_t line = newline ? (size_t)(newline - text) : 0;

        if (!newline || line > OUT_KEEP ||
            check_read(text, line, js[i].spec->tests, &js[i].check, NULL) < 0) {
            check_clear(&js[i].check);
            return;
        }
        js[i].is_read = true;
        text += line + 1;
        len -= line + 1;
    }
}

void check_some(struct judging *js, size_t n)
{
    struct trial_end end;
    struct gb_err ignored = { 0 };

    assert(n <= CHECKED_MAX);
    if (read_codes(js[0].spec, n, &end, &ignored) == 0 && !end.is_cut[1] && end.out.data)
        read_lines(js, n, end.out.data, end.out.len);
    trial_end_clear(&end);
}

int judging_check(struct judging *j, struct gb_err *err)
{
    struct judge_report *report = j->report;
    int r =
        j->is_read ? tell_missing(j->spec, &j->check, err) : check_code(j->spec, &j->check, err);

    report->diagnosis = j->check.diagnosis;
    report->summary = take_ptr(j->check.summary);
    report->lint = take_ptr(j->check.lint);
    return r;
}
