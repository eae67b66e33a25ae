/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_program.c - a program and its cases: compiled once, no case sees another's traces.
 *
 * Each case has a new box, or one in which the case before it left nothing (agent/trial_pool.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "agent/trial_pool.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/digest.h"
#include "wire/crate.h"

#define BUILD_MARK      BUILD_DIR "/.here" /* makes the directory */
#define BUILD_FILES_MAX 2000
#define BUILD_BYTES_MAX (256 << 20)

#define OUT_KEEP     (1 << 20)
#define OUT_SHOWN    1500
#define SUMMARY_MAX  (64 << 10) /* of both streams of a compiler, each byte told in five */
#define INPUT_MAX    (CASE_REPEATED_MAX + 1)
#define DETAIL_MAX   (8 << 10)
#define COMPILE_SEEN 6000

/* ---- what was built ------------------------------------------------------------------------- */

/* Takes files out of the box that built them. */
struct fetch {
    struct load *load;
    char path[sizeof(BUILD_DIR) + CRATE_PATH_MAX + 1];
    unsigned mode;
    char *bytes;
    size_t len;
    size_t have;
};

static int fetch_item(void *user, const struct crate_item *item)
{
    struct fetch *fetch = user;

    (void)snprintf(fetch->path, sizeof(fetch->path), BUILD_DIR "/%s", item->path);
    fetch->mode = item->mode;
    fetch->len = (size_t)item->size;
    fetch->have = 0;
    fetch->bytes = malloc(fetch->len + 1);
    return fetch->bytes ? 0 : -ENOMEM;
}

static int fetch_data(void *user, const uint8_t *bytes, size_t len)
{
    struct fetch *fetch = user;

    memcpy(fetch->bytes + fetch->have, bytes, len); /* the crate's reader counts */
    fetch->have += len;
    return 0;
}

static int fetch_done(void *user)
{
    struct fetch *fetch = user;

    return load_take(fetch->load, fetch->path, fetch->mode & 0777, take_ptr(fetch->bytes),
                     fetch->len);
}

static const struct crate_ops fetch_ops = {
    .item = fetch_item,
    .data = fetch_data,
    .done = fetch_done,
};

static int compile_failed(const struct program *program, const struct trial_end *end,
                          enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err)
{
    const struct language *language = program->language;
    cleanup_buf struct buf text = BUF_INIT(SUMMARY_MAX);

    if (end->is_late)
        return 0; /* nor will it be started: each test has no time either, and says so */
    if (end->end.exec_error == ENOENT)
        return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                       "no %s for %s in the box" GB_REMEDY
                       "apt install %s, or show one with --toolchain DIR",
                       language->program, language->name, language->package);
    if (words_end(end, &program->box.limits, &text, ret_diagnosis)) {
        (void)buf_puts(&text, " while it was compiled.\n");
    } else {
        *ret_diagnosis = DIAGNOSIS_SYNTAX;
        (void)buf_puts(&text, "It does not compile.\n");
    }
    words_output(&text, "the compiler says", end->err.data, end->err.len, COMPILE_SEEN);
    words_output(&text, "and", end->out.data, end->out.len, COMPILE_SEEN);
    *ret_summary = buf_take(&text);
    return *ret_summary ? 0 : gb_no_memory(err);
}

static int build_refused(const struct trial_end *end, enum diagnosis *ret_diagnosis,
                         char **ret_summary, struct gb_err *err)
{
    *ret_diagnosis = DIAGNOSIS_SYNTAX;
    return asprintf(ret_summary, "It compiles, but what comes of that cannot be used: %s.\n",
                    end->refused.msg) < 0
               ? gb_no_memory(err)
               : 0;
}

/* Once, in a box; what came of it is put into each other box. */
static int compile(const struct judge_spec *spec, struct program *program,
                   enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err)
{
    const struct box_get_spec get = {
        .dir = BOX_WORKSPACE "/" BUILD_DIR,
        .path = "",
        .max_files = BUILD_FILES_MAX,
        .max_bytes = BUILD_BYTES_MAX,
    };
    cleanup_load struct load built = { 0 };
    struct fetch fetch = { .load = &built };
    struct trial_spec trial = {
        .box = &program->box,
        .argv = program->build,
        .env = program->env,
        .keep = OUT_KEEP,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = spec->deadline_ns,
        .get = &get,
        .get_ops = &fetch_ops,
        .get_user = &fetch,
    };
    struct trial_end end;
    int r;

    if (load_add(&program->load, "", BUILD_MARK, 0444, "", 0) < 0)
        return gb_no_memory(err);
    trial.files = program->load.files;
    trial.n_files = program->load.n;
    r = judge_trial(&trial, &end, err);
    free(fetch.bytes);
    if (r < 0)
        r = gb_wrap(err, r, "compiling");
    else if (end.verdict != VERDICT_OK)
        r = compile_failed(program, &end, ret_diagnosis, ret_summary, err);
    else if (end.refused.code < 0)
        r = build_refused(&end, ret_diagnosis, ret_summary, err);
    if (r == 0 && !*ret_summary && end.verdict == VERDICT_OK)
        built_put(spec->built, spec->code, program, &built);
    for (size_t i = 0; r == 0 && !*ret_summary && i < built.n; i++) {
        r = load_take(&program->load, built.files[i].path, built.files[i].mode,
                      take_ptr(built.own[i].bytes), (size_t)built.files[i].size);
        if (r < 0)
            r = gb_no_memory(err);
    }
    trial_end_clear(&end);
    return r;
}

/* ---- making it ready ------------------------------------------------------------------------ */

/* The build under the name by which the contract starts it. */
static int rename_build(struct program *program)
{
    for (size_t i = 0; program->name && i < program->load.n; i++)
        if (strcmp(program->load.files[i].path, BUILD_FILE) == 0)
            return load_add(&program->load, "", program->name, program->load.files[i].mode,
                            program->load.files[i].bytes, (size_t)program->load.files[i].size);
    return 0;
}

static int not_there(const char *path, enum diagnosis *ret_diagnosis, char **ret_summary,
                     struct gb_err *err)
{
    *ret_diagnosis = DIAGNOSIS_INTERFACE;
    return asprintf(ret_summary, "The file '%s', which the contract names, is missing.\n", path) < 0
               ? gb_no_memory(err)
               : 0;
}

int program_prepare(const struct judge_spec *spec, struct program *ret,
                    enum diagnosis *ret_diagnosis, char **ret_summary, struct gb_err *err)
{
    const char *path = spec->contract->files[0];
    const struct agent_file *first = path ? agent_files_find(spec->code, path) : NULL;
    int r;

    *ret = (struct program){ 0 };
    if (!path)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "a contract without file");
    if (!first)
        return not_there(path, ret_diagnosis, ret_summary, err);
    r = program_commands(spec, first, ret, err);
    if (r < 0)
        return r;
    if (load_inputs(&ret->load, spec) < 0)
        return gb_no_memory(err);
    ret->n_inputs = ret->load.n;
    if (load_files(&ret->load, "", spec->code) < 0)
        return gb_no_memory(err);
    if (ret->build)
        r = built_get(spec->built, spec->code, ret);
    if (r < 0)
        return gb_no_memory(err);
    if (ret->build && r == 0)
        r = compile(spec, ret, ret_diagnosis, ret_summary, err);
    else
        r = 0;
    if (r == 0 && rename_build(ret) < 0)
        r = gb_no_memory(err);
    if (r == 0 && !*ret_summary)
        ret->pool = trial_pool_new(ret->box.limits.wall_ms); /* it can do without */
    return r;
}

void program_clear(struct program *program)
{
    trial_pool_free(program->pool);
    language_steps_clear(program->steps);
    load_clear(&program->load);
    free(program->build);
    free(program->argv);
    *program = (struct program){ 0 };
}

/* ---- one start ------------------------------------------------------------------------------ */

static const char **join(const char **argv, char *const *args)
{
    size_t n = 0;
    size_t n_args = 0;
    const char **joined;

    while (argv[n])
        n++;
    while (args && args[n_args])
        n_args++;
    joined = calloc(n + n_args + 1, sizeof(*joined));
    for (size_t i = 0; joined && i < n; i++)
        joined[i] = argv[i];
    for (size_t i = 0; joined && i < n_args; i++)
        joined[n + i] = args[i];
    return joined;
}

int program_start(const struct program *program, const struct load *load, char *const *args,
                  const void *input, size_t input_len, uint64_t wall_ms,
                  const struct judge_spec *spec, struct trial_end *ret, struct gb_err *err)
{
    cleanup_free const char **argv = join(program->argv, args);
    struct box_spec box = program->box;
    const struct trial_spec trial = {
        .box = &box,
        .files = load->files,
        .n_files = load->n,
        .argv = argv,
        .env = program->env,
        .more_env = spec->net.env,
        .input = input,
        .input_len = input_len,
        .keep = OUT_KEEP,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = spec->deadline_ns,
        .there = program->there,
        /* Those that wait have no network. */
        .pool =
            load == &program->load && !program->box.net && !program->there ? program->pool : NULL,
    };

    *ret = (struct trial_end){ 0 };
    if (!argv)
        return gb_no_memory(err);
    if (wall_ms < box.limits.wall_ms)
        box.limits.wall_ms = wall_ms;
    return judge_trial(&trial, ret, err);
}

/* ---- one case ------------------------------------------------------------------------------- */

/* Is it the code's, or was it built?  The inputs come first in what a program has. */
static bool is_programs(const struct program *program, const struct judge_spec *spec,
                        const char *path)
{
    if (agent_files_find(spec->code, path))
        return true;
    for (size_t i = program->n_inputs; i < program->load.n; i++)
        if (strcmp(program->load.files[i].path, path) == 0)
            return true;
    return false;
}

int program_case_load(const struct program *program, const struct judge_spec *spec,
                      const struct program_case *item, struct load *ret)
{
    int r = load_copy(ret, &program->load);

    for (size_t i = 0; r == 0 && item->files[i]; i += 2)
        if (!is_programs(program, spec, item->files[i]))
            r = load_add(ret, "", item->files[i], 0644, item->files[i + 1],
                         strlen(item->files[i + 1]));
    return r;
}

/* What it did, whatever was expected: exit code, output, or that it did not end by itself. */
static int case_seen_digest(const struct trial_end *end, char **ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(OUT_KEEP + 64);
    char digest[DIGEST_SIZE];
    int r;

    (void)buf_printf(&text, "%s %u\n", verdict_name(end->verdict), end->end.code);
    if (end->verdict == VERDICT_OK || end->verdict == VERDICT_NONZERO)
        (void)buf_add(&text, end->out.data ? end->out.data : "", end->out.len);
    r = buf_error(&text) < 0 ? gb_no_memory(err) : digest_of(text.data, text.len, digest, err);
    if (r < 0)
        return r;
    *ret = strdup(digest);
    return *ret ? 0 : gb_no_memory(err);
}

struct case_seen program_seen(const struct trial_end *end)
{
    return (struct case_seen){
        .out = end->out.data ? end->out.data : "",
        .out_len = end->out.len,
        .err = end->err.data ? end->err.data : "",
        .err_len = end->err.len,
        .exit_code = (int)end->end.code,
    };
}

/* 1, 0 and why, or negative. */
static int compare(const struct program_case *item, const struct trial_end *end,
                   char why[static CASE_WHY_SIZE])
{
    const struct case_seen seen = program_seen(end);

    if (end->is_cut[1] && item->expect.out) {
        (void)snprintf(why, CASE_WHY_SIZE, "stdout is longer than %d bytes", OUT_KEEP);
        return 0;
    }
    return case_compare(&item->expect, &seen, why);
}

/* It failed by itself where it should not have. */
static bool is_crash(const struct program_case *item, const struct trial_end *end)
{
    return end->end.code != 0 && !item->expect.is_failure &&
           (int)end->end.code != item->expect.exit_code && end->err.len > 0;
}

static int judge_end(const struct program *program, const struct program_case *item,
                     const struct trial_end *end, struct buf *why, enum diagnosis *ret_diagnosis)
{
    char line[CASE_WHY_SIZE] = "";
    int r;

    if (words_end(end, &program->box.limits, why, ret_diagnosis))
        return 0;
    r = compare(item, end, line);
    if (r == 0) {
        words_line(why, line, strlen(line), JUDGE_LINE_MAX);
        *ret_diagnosis = is_crash(item, end) ? DIAGNOSIS_CRASH : DIAGNOSIS_OUTPUT;
    }
    return r;
}

static int fill_row(const struct trial_end *end, int verdict, enum diagnosis diagnosis,
                    struct buf *why, struct judge_row *row, struct gb_err *err)
{
    cleanup_buf struct buf detail = BUF_INIT(DETAIL_MAX);

    row->result = verdict > 0                      ? TEST_PASSED
                  : diagnosis == DIAGNOSIS_TIMEOUT ? TEST_TIMEOUT
                                                   : TEST_FAILED;
    row->ms = end->end.wall_ns / NS_PER_MS;
    row->memory_bytes = end->end.memory_peak;
    if (!end->is_late && case_seen_digest(end, &row->seen, err) < 0)
        return err->code;
    if (verdict > 0)
        return 0;
    words_output(&detail, "stdout", end->out.data, end->out.len, OUT_SHOWN);
    words_output(&detail, "stderr", end->err.data, end->err.len, OUT_SHOWN);
    row->message = buf_take(why);
    row->detail = detail.len > 0 ? buf_take(&detail) : NULL;
    return row->message ? 0 : gb_no_memory(err);
}

int program_meet(const struct program *program, const struct judge_spec *spec,
                 const struct program_case *item, struct judge_row *row, struct judge_note *note,
                 struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_buf struct buf why = BUF_INIT(JUDGE_LINE_MAX + CASE_WHY_SIZE);
    cleanup_load struct load load = { 0 };
    enum diagnosis diagnosis = DIAGNOSIS_NONE;
    struct program limited = *program;
    struct trial_end end;
    int verdict;
    int r;

    if (case_input(item, &input) < 0 ||
        (item->files[0] && program_case_load(program, spec, item, &load) < 0))
        return gb_no_memory(err);
    if (item->timeout_ms < limited.box.limits.wall_ms)
        limited.box.limits.wall_ms = item->timeout_ms;
    r = program_start(&limited, item->files[0] ? &load : &limited.load, item->argv, input.data,
                      input.len, item->timeout_ms, spec, &end, err);
    verdict = r < 0 ? r : judge_end(&limited, item, &end, &why, &diagnosis);
    if (r == 0 && verdict < 0)
        r = gb_no_memory(err);
    if (r == 0 && row)
        r = fill_row(&end, verdict, diagnosis, &why, row, err);
    if (r == 0 && note)
        note->diagnosis = diagnosis;
    trial_end_clear(&end);
    return r < 0 ? r : verdict;
}

/* ---- the kind ------------------------------------------------------------------------------- */

/* A case may not replace what is judged. */
static int check_case_files(const struct judge_spec *spec, const struct program_case *item,
                            struct gb_err *err)
{
    for (size_t i = 0; item->files[i]; i += 2)
        for (size_t j = 0; spec->contract->files[j]; j++)
            if (strcmp(item->files[i], spec->contract->files[j]) == 0)
                return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                               "case '%s' brings the file '%s', which is the program's own",
                               item->name, item->files[i]);
    return 0;
}

/* By the very names that the contract's examples have: a tester may call a case as it likes. */
static bool is_given(const struct contract *contract, const char *name)
{
    char given[64];

    for (size_t i = 0; i < contract->n_examples; i++) {
        (void)snprintf(given, sizeof(given), GIVEN_CASE "%zu", i + 1);
        if (strcmp(name, given) == 0)
            return true;
    }
    return false;
}

static int collect(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err)
{
    cleanup_cases struct program_cases cases = { 0 };
    cleanup_free struct judge_found *found = NULL;
    const char *json = tests->cases ? tests->cases : "";
    int r = cases_parse(json, strlen(json), &cases, err);

    for (size_t i = 0; r == 0 && i < cases.n; i++)
        r = check_case_files(spec, &cases.items[i], err);
    if (r < 0)
        return r;
    found = calloc(cases.n + 1, sizeof(*found));
    if (!found)
        return gb_no_memory(err);
    for (size_t i = 0; i < cases.n; i++)
        found[i] = (struct judge_found){
            .id = cases.items[i].name,
            .has_class = true,
            .class = cases.items[i].class,
            .is_given = is_given(spec->contract, cases.items[i].name),
        };
    return judge_items(tests, found, cases.n, err);
}

static int find_cases(struct judging *j, struct gb_err *err)
{
    const char *json = j->spec->tests->cases ? j->spec->tests->cases : "";
    int r = j->report->n_rows > 0 ? cases_parse(json, strlen(json), &j->cases, err) : 0;

    for (size_t i = 0; r == 0 && i < j->report->n_rows; i++) {
        j->notes[i].item = cases_find(&j->cases, j->notes[i].test->id);
        if (!j->notes[i].item)
            r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "no case is named '%s'",
                        j->notes[i].test->id);
    }
    return r;
}

/* A box that is to serve again must be watched: that costs more than it saves where few cases come.
 */
#define SHARING_PAYS 8

static int tell_unsupplied(struct judging *j, struct gb_err *err)
{
    if (!j->spec->unsupplied)
        return 0;
    j->check.packages = strdup(j->spec->unsupplied);
    return j->check.packages ? 0 : gb_no_memory(err);
}

/* Before anything runs: Python's check reads, a compiler compiles, other interpreters read. */
static int prepare(struct judging *j, struct gb_err *err)
{
    struct judge_report *report = j->report;
    int r = find_cases(j, err);

    if (r == 0)
        r = check_is_for(j->spec) ? judging_check(j, err) : tell_unsupplied(j, err);
    if (r == 0 && !report->summary)
        r = program_prepare(j->spec, &j->program, &report->diagnosis, &report->summary, err);
    if (r == 0 && !report->summary)
        r = syntax_check(j->spec, &j->program, &report->diagnosis, &report->summary, err);
    if (r == 0 && !report->summary && report->n_rows >= SHARING_PAYS)
        trial_pool_watch(j->program.pool);
    j->is_decided = report->summary != NULL;
    return r;
}

static int meet(struct judging *j, size_t i, struct gb_err *err)
{
    int r = program_meet(&j->program, j->spec, j->notes[i].item, &j->report->rows[i], &j->notes[i],
                         err);

    return r < 0 ? r : 0;
}

static void rest(struct judging *j)
{
    trial_pool_rest(j->program.pool);
}

static int conclude(struct judging *j, struct gb_err *err)
{
    int r = j->report->outcome == OUTCOME_PASSED ? special_find(j, err) : 0;

    rest(j);
    return r;
}

static int cover(struct judging *j, struct gb_err *err)
{
    cleanup_free char *refused = NULL;
    enum diagnosis ignored;
    int r;

    if (!check_is_for(j->spec))
        return 0;
    r = find_cases(j, err);
    if (r == 0)
        r = program_prepare(j->spec, &j->program, &ignored, &refused, err);
    return r < 0 || refused ? r : program_watch(j, err);
}

const struct judge_kind judge_program = {
    .collect = collect,
    .prepare = prepare,
    .meet = meet,
    .rest = rest,
    .conclude = conclude,
    .cover = cover,
};
