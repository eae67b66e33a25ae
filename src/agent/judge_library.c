/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_library.c - a library and its tests: two boxes for each
 * (docs/internals/judge-guest.md).
 *
 * The box of the tests has the runner and the test files and tells verdicts on its stderr; the box
 * of the code has the code and the server that carries out calls.  A test that replaces parts of
 * the code runs in one box with it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/given.h"
#include "agent/judge_inside.h"
#include "base/err.h"
#include "base/path.h"

#define CODE_DIR   "code"
#define NONCE_FILE ".guest/nonce"
#define IDS_FILE   ".guest/ids"

#define TEST_MS       5000
#define STRESS_MS     20000
#define PAIR_GRACE_MS 5000 /* starts of interpreters, and a runner that ends a test itself */
#define VERDICTS_KEEP (4 << 20)
#define SERVER_KEEP   (64 << 10)
#define COVER_KEEP    (16 << 20)
#define COVER_WALL_MS 20000
#define MODULES_MAX   64
#define INPUTS_MAX    64 /* as --file has at most */
#define WORDS_MAX     (FENCE_FILES_MAX + 2 * MODULES_MAX + 2 * INPUTS_MAX + 32)
#define IDS_MAX       (1 << 20)
#define NO_CODE       ((const struct agent_files *)NULL)

/* ---- words of a command --------------------------------------------------------------------- */

struct words {
    const char *argv[WORDS_MAX + 1];
    size_t n;
    char modules[MODULES_MAX][NAME_MAX + 1];
    size_t n_modules;
    char limit[32];
    char limit_stress[32];
    char code[AGENT_PATH_MAX + sizeof(CODE_DIR "/")];
};

static void say(struct words *words, const char *word)
{
    if (words->n < WORDS_MAX)
        words->argv[words->n++] = word;
}

/* The directory that the contract's module lies in, with its slash; "" for none. */
static int module_dir(const struct contract *contract)
{
    const char *module = contract->module ? contract->module : "";

    return (int)(path_base(module) - module);
}

/* A file's module: the first part of its path below that directory. */
static void add_module(struct words *words, const struct contract *contract, const char *path)
{
    int dir = module_dir(contract);
    size_t len;
    char *name;

    if (strncmp(path, contract->module ? contract->module : "", (size_t)dir) != 0)
        return;
    path += dir;
    len = strcspn(path, "/.");
    if (len == 0 || len > NAME_MAX || words->n_modules == MODULES_MAX ||
        (path[len] == '.' && strcmp(path + len, ".py") != 0))
        return;
    name = words->modules[words->n_modules];
    memcpy(name, path, len);
    name[len] = '\0';
    for (size_t i = 0; i < words->n_modules; i++)
        if (strcmp(words->modules[i], name) == 0)
            return;
    words->n_modules++;
}

static void say_modules(struct words *words, const struct contract *contract,
                        const struct agent_files *code)
{
    if (contract->module)
        add_module(words, contract, contract->module);
    for (size_t i = 0; contract->files[i]; i++)
        add_module(words, contract, contract->files[i]);
    for (size_t i = 0; code && i < code->n; i++)
        add_module(words, contract, code->items[i].path);
    for (size_t i = 0; i < words->n_modules; i++) {
        say(words, "--module");
        say(words, words->modules[i]);
    }
}

static void say_files(struct words *words, const struct agent_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        if (agent_path_is_collected(files->items[i].path))
            say(words, files->items[i].path);
}

static void say_limits(struct words *words, double seconds, double stress_seconds)
{
    (void)snprintf(words->limit, sizeof(words->limit), "%.3f", seconds);
    (void)snprintf(words->limit_stress, sizeof(words->limit_stress), "%.3f", stress_seconds);
    say(words, "--limit");
    say(words, words->limit);
    say(words, "--limit-stress");
    say(words, words->limit_stress);
}

static void say_guest(struct words *words, enum guest_role role)
{
    say(words, "python3");
    say(words, "-I");
    say(words, "-B");
    say(words, guest_path(role));
}

/* Where tests and code work, they find the user's files by their names. */
static void say_inputs(struct words *words, const struct judge_spec *spec)
{
    for (size_t i = 0; i < spec->n_inputs && i < INPUTS_MAX; i++) {
        say(words, "--input");
        say(words, spec->inputs[i].path);
    }
}

static void say_code(struct words *words, const struct contract *contract)
{
    int dir = module_dir(contract);

    (void)snprintf(words->code, sizeof(words->code), CODE_DIR "%s%.*s", dir > 0 ? "/" : "",
                   dir > 0 ? dir - 1 : 0, contract->module ? contract->module : "");
    say(words, "--code");
    say(words, words->code);
}

/* ---- files of a box ------------------------------------------------------------------------- */

/* The guest's own files last: no test may stand in their place. */
static int load_tests(struct load *load, const struct judge_spec *spec,
                      const struct judge_tests *tests, const char *nonce, const char *ids)
{
    int r = load_inputs(load, spec);

    if (r == 0)
        r = load_files(load, "", &tests->files);
    if (r == 0)
        r = load_add(load, "", NONCE_FILE, 0444, nonce, strlen(nonce));
    if (r == 0 && ids)
        r = load_add(load, "", IDS_FILE, 0444, ids, strlen(ids));
    return r < 0 ? r : load_guest(load, GUEST_RUNNER);
}

static int load_code(struct load *load, const struct judge_spec *spec,
                     const struct agent_files *code)
{
    int r = load_inputs(load, spec);

    for (size_t i = 0; r == 0 && i < spec->n_inputs; i++)
        r = load_add(load, CODE_DIR, spec->inputs[i].path, 0444, spec->inputs[i].bytes,
                     spec->inputs[i].len);
    return r < 0 ? r : load_files(load, CODE_DIR, code);
}

static struct trial_spec trial_of(const struct judge_spec *spec, const struct box_spec *box,
                                  const struct load *load, const struct words *words, size_t keep)
{
    return (struct trial_spec){
        .box = box,
        .files = load->files,
        .n_files = load->n,
        .argv = words->argv,
        .keep = keep,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = spec->deadline_ns,
    };
}

static struct box_spec box_within(const struct judge_spec *spec, uint64_t wall_ms)
{
    struct box_spec box = *spec->box;

    box.limits.wall_ms = wall_ms;
    return box;
}

static int read_verdicts(const struct trial_end *runner, const char *nonce,
                         struct guest_verdicts *ret, struct gb_err *err)
{
    if (guest_verdicts_read(runner->err.data ? runner->err.data : "", runner->err.len, nonce, ret) <
        0)
        return gb_no_memory(err);
    return runner->end.exec_error ? gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                                            "no python3 in the box" GB_REMEDY
                                            "apt install python3, or show one with --toolchain DIR")
                                  : 0;
}

/* ---- collecting ----------------------------------------------------------------------------- */

static int collected(const struct guest_verdicts *verdicts, const struct trial_end *end,
                     const struct limits *limits, struct judge_tests *tests, struct gb_err *err)
{
    cleanup_free struct judge_found *found = NULL;
    cleanup_buf struct buf why = BUF_INIT(JUDGE_LINE_MAX);
    enum diagnosis ignored;

    if (verdicts->problem)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the tests do not load: %.400s",
                       verdicts->problem);
    if (!verdicts->has_end || verdicts->is_broken || end->is_cut[2]) {
        bool is_ended = words_end(end, limits, &why, &ignored);

        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the tests do not load: %s",
                       is_ended && why.data ? why.data : "they end the process that loads them");
    }
    found = calloc(verdicts->n_tests + 1, sizeof(*found));
    if (!found)
        return gb_no_memory(err);
    for (size_t i = 0; i < verdicts->n_tests; i++) {
        const struct guest_test *test = &verdicts->tests[i];
        size_t given = strlen(GIVEN_FILE);

        found[i] = (struct judge_found){
            .id = test->id,
            .has_class = test->has_class,
            .class = test->class,
            .is_given = strncmp(test->id, GIVEN_FILE, given) == 0 && test->id[given] == ':',
        };
    }
    return judge_items(tests, found, verdicts->n_tests, err);
}

static int collect(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err)
{
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    cleanup_load struct load load = { 0 };
    struct words words = { 0 };
    char nonce[ID_SIZE];
    struct trial_spec trial;
    struct trial_end end = { 0 };
    int r = judge_nonce(nonce, err);

    if (r < 0)
        return r;
    if (load_tests(&load, spec, tests, nonce, NULL) < 0)
        return gb_no_memory(err);
    say_guest(&words, GUEST_RUNNER);
    say(&words, "--collect");
    say(&words, "--nonce-file");
    say(&words, NONCE_FILE);
    say_inputs(&words, spec);
    say_modules(&words, spec->contract, NO_CODE);
    say_files(&words, &tests->files);
    trial = trial_of(spec, spec->box, &load, &words, VERDICTS_KEEP);
    r = judge_trial(&trial, &end, err);
    if (r == 0)
        r = read_verdicts(&end, nonce, &verdicts, err);
    if (r == 0)
        r = collected(&verdicts, &end, &spec->box->limits, tests, err);
    trial_end_clear(&end);
    return r;
}

/* ---- one test ------------------------------------------------------------------------------- */

static uint64_t limit_of(const struct judge_spec *spec, const struct judge_test *test)
{
    uint64_t limit = test->class == CLASS_STRESS ? STRESS_MS : TEST_MS;

    return limit < spec->box->limits.wall_ms ? limit : spec->box->limits.wall_ms;
}

static void say_test(struct words *words, const struct judge_spec *spec,
                     const struct judge_test *test)
{
    double seconds = (double)limit_of(spec, test) / 1000;

    say(words, "--nonce-file");
    say(words, NONCE_FILE);
    say(words, "--id");
    say(words, test->id);
    say_limits(words, seconds, seconds);
    say_inputs(words, spec);
    say_modules(words, spec->contract, spec->code);
    say_files(words, &spec->tests->files);
}

static int meet_together(const struct judging *j, const struct judge_test *test,
                         struct judge_row *row, struct judge_note *note, struct gb_err *err)
{
    const struct judge_spec *spec = j->spec;
    struct box_spec box = box_within(spec, limit_of(spec, test) + PAIR_GRACE_MS);
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    cleanup_load struct load load = { 0 };
    struct words words = { 0 };
    char nonce[ID_SIZE];
    struct trial_spec trial;
    struct trial_end end = { 0 };
    int r = judge_nonce(nonce, err);

    row->is_together = note->is_together = true;
    if (r < 0)
        return r;
    if (load_code(&load, spec, spec->code) < 0 ||
        load_tests(&load, spec, spec->tests, nonce, NULL) < 0)
        return gb_no_memory(err);
    say_guest(&words, GUEST_RUNNER);
    say(&words, "--together");
    say_code(&words, spec->contract);
    say_test(&words, spec, test);
    trial = trial_of(spec, &box, &load, &words, VERDICTS_KEEP);
    r = judge_trial(&trial, &end, err);
    if (r == 0)
        r = read_verdicts(&end, nonce, &verdicts, err);
    if (r == 0)
        r = pair_judge(
            &(struct pair_seen){
                .id = test->id, .verdicts = &verdicts, .limits = &box.limits, .runner = &end },
            row, note, err);
    trial_end_clear(&end);
    return r;
}

/* Runs both; cancelled is an error. */
static int run_pair(const struct trial_spec *runner, const struct trial_spec *server,
                    const char *nonce, struct guest_verdicts *ret, struct trial_end ends[2],
                    struct gb_err *err)
{
    int r = trial_pair(runner, server, ends, err);

    if (r == 0 && ends[0].verdict == VERDICT_CANCELLED)
        r = judge_cancelled(err);
    return r < 0 ? r : read_verdicts(&ends[0], nonce, ret, err);
}

static int meet_apart(const struct judging *j, const struct judge_test *test, struct judge_row *row,
                      struct judge_note *note, struct gb_err *err)
{
    const struct judge_spec *spec = j->spec;
    struct box_spec box = box_within(spec, limit_of(spec, test) + PAIR_GRACE_MS);
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    cleanup_load struct load tests = { 0 };
    cleanup_load struct load code = { 0 };
    struct words say_runner = { 0 };
    struct words say_server = { 0 };
    struct trial_spec runner;
    struct trial_spec server;
    struct trial_end ends[2] = { 0 };
    char nonce[ID_SIZE];
    int r = judge_nonce(nonce, err);

    if (r < 0)
        return r;
    if (load_tests(&tests, spec, spec->tests, nonce, NULL) < 0 ||
        load_code(&code, spec, spec->code) < 0 || load_guest(&code, GUEST_SERVER) < 0)
        return gb_no_memory(err);
    say_guest(&say_runner, GUEST_RUNNER);
    say_test(&say_runner, spec, test);
    say_guest(&say_server, GUEST_SERVER);
    say_code(&say_server, spec->contract);
    say_inputs(&say_server, spec);
    runner = trial_of(spec, &box, &tests, &say_runner, VERDICTS_KEEP);
    server = trial_of(spec, &box, &code, &say_server, SERVER_KEEP);
    r = run_pair(&runner, &server, nonce, &verdicts, ends, err);
    if (r == 0)
        r = pair_judge(&(struct pair_seen){ .id = test->id,
                                            .verdicts = &verdicts,
                                            .limits = &box.limits,
                                            .runner = &ends[0],
                                            .server = &ends[1] },
                       row, note, err);
    trial_end_clear(&ends[0]);
    trial_end_clear(&ends[1]);
    return r;
}

/* A test that turns out to replace parts of the code runs once more, with it. */
static int meet(struct judging *j, size_t i, struct gb_err *err)
{
    const struct judge_test *test = j->notes[i].test;
    struct judge_row *row = &j->report->rows[i];
    struct judge_note *note = &j->notes[i];
    int r = meet_apart(j, test, row, note, err);

    if (r == 1)
        r = meet_together(j, test, row, note, err);
    return r < 0 ? r : 0;
}

/* ---- many tests ----------------------------------------------------------------------------- */

static void say_batch(struct words *words, const struct batch *batch)
{
    say_guest(words, GUEST_RUNNER);
    say(words, "--batch");
    if (batch->ends_at_first)
        say(words, "--exitfirst");
    say(words, "--nonce-file");
    say(words, NONCE_FILE);
    say(words, "--ids-file");
    say(words, IDS_FILE);
    say_limits(words, batch->limit_s, batch->limit_s);
    say_inputs(words, batch->spec);
    say_modules(words, batch->spec->contract, batch->code);
    say_files(words, &batch->spec->tests->files);
}

int library_batch(const struct batch *batch, struct guest_verdicts *ret, struct trial_end ends[2],
                  struct gb_err *err)
{
    const struct judge_spec *spec = batch->spec;
    struct box_spec box = box_within(spec, batch->wall_ms);
    cleanup_load struct load tests = { 0 };
    cleanup_load struct load code = { 0 };
    struct words say_runner = { 0 };
    struct words say_server = { 0 };
    struct trial_spec runner;
    struct trial_spec server;
    char nonce[ID_SIZE];
    int r = judge_nonce(nonce, err);

    if (r < 0)
        return r;
    if (load_tests(&tests, spec, spec->tests, nonce, batch->ids) < 0 ||
        load_code(&code, spec, batch->code) < 0 || load_guest(&code, GUEST_SERVER) < 0)
        return gb_no_memory(err);
    say_batch(&say_runner, batch);
    say_guest(&say_server, GUEST_SERVER);
    say_code(&say_server, spec->contract);
    say_inputs(&say_server, spec);
    say(&say_server, "--fork");
    if (batch->cover) {
        say(&say_server, "--cover");
        say(&say_server, batch->cover);
    }
    runner = trial_of(spec, &box, &tests, &say_runner, VERDICTS_KEEP);
    server = trial_of(spec, &box, &code, &say_server, batch->cover ? COVER_KEEP : SERVER_KEEP);
    return run_pair(&runner, &server, nonce, ret, ends, err);
}

/* Tests that count and run apart; stress tests would only take time. */
static void ids_for_coverage(const struct judging *j, struct buf *ret)
{
    for (size_t i = 0; i < j->report->n_rows; i++)
        if (!j->notes[i].test->is_withdrawn && !j->notes[i].is_together &&
            j->notes[i].test->class != CLASS_STRESS)
            (void)buf_printf(ret, "%s\n", j->notes[i].test->id);
}

/* Once more with every statement watched, all in one pair: it slows the code down, so that the runs
 * that count go without. */
static int cover(struct judging *j, struct gb_err *err)
{
    cleanup_verdicts struct guest_verdicts verdicts = { 0 };
    cleanup_buf struct buf ids = BUF_INIT(IDS_MAX);
    struct trial_end ends[2] = { 0 };
    char dir[AGENT_PATH_MAX + 1];
    char nonce[ID_SIZE];
    struct batch batch = {
        .spec = j->spec,
        .code = j->spec->code,
        .cover = nonce,
        .limit_s = TEST_MS / 1000.0,
        .wall_ms = COVER_WALL_MS,
    };
    int r = judge_nonce(nonce, err);

    ids_for_coverage(j, &ids);
    if (r < 0 || ids.len == 0)
        return r;
    if (buf_error(&ids) < 0)
        return gb_no_memory(err);
    batch.ids = ids.data;
    (void)snprintf(dir, sizeof(dir), "%.*s", module_dir(j->spec->contract),
                   j->spec->contract->module ? j->spec->contract->module : "");
    r = library_batch(&batch, &verdicts, ends, err);
    if (r == 0)
        j->report->coverage = coverage_read(ends[1].err.data ? ends[1].err.data : "",
                                            ends[1].err.len, nonce, j->spec->code, dir);
    trial_end_clear(&ends[0]);
    trial_end_clear(&ends[1]);
    return r;
}

/* ---- the kind ------------------------------------------------------------------------------- */

static int prepare(struct judging *j, struct gb_err *err)
{
    int r = judging_check(j, err);

    j->is_decided = j->report->summary != NULL;
    return r;
}

const struct judge_kind judge_library = {
    .collect = collect,
    .prepare = prepare,
    .meet = meet,
    .cover = cover,
};
