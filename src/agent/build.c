/* SPDX-License-Identifier: Apache-2.0 */
/* agent/build.c - work on one contract: tests, then attempts until all of them pass.
 *
 * An attempt begins from the best code so far.
 */
#include "agent/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/anchors.h"
#include "agent/attempt.h"
#include "agent/folder.h"
#include "agent/journal.h"
#include "agent/query.h"
#include "agent/testing.h"
#include "agent/write.h"
#include "base/err.h"
#include "store/digest.h"

#define MUTATION_MAX (4 << 20)
#define LINE_SIZE    512
#define NOTICED_MIN  0.2 /* a lower mutation score makes a pass suspect */

/* ---- what is remembered --------------------------------------------------------------------- */

static struct build *build_of(struct task *task)
{
    if (!task->build)
        task->build = calloc(1, sizeof(*task->build));
    if (task->build)
        task->build->history.max = STATE_TEXT_MAX;
    return task->build;
}

void build_free(struct build **build)
{
    struct build *b = *build;

    if (!b)
        return;
    for (size_t i = 0; i < b->n_doubts; i++)
        free(b->doubts[i].message);
    free(b->doubts);
    free(b->last);
    free(b->worse);
    anchors_clear(&b->anchors);
    buf_clear(&b->history);
    free(b);
    *build = NULL;
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *diagnosis_of(const struct task *task)
{
    const struct judge_report *report = &task->out->report;

    if (report->summary)
        return report->summary;
    return report->reason ? report->reason : diagnosis_name(report->diagnosis);
}

/* What went wrong with the best, how the last one was worse, and what it broke. */
static int diagnosis_text(const struct task *task, struct buf *ret)
{
    const struct build *build = task->build;

    (void)buf_puts(ret, diagnosis_of(task));
    if (build->worse)
        (void)buf_printf(ret, "\n\nThe last attempt was worse and is not shown: %s", build->worse);
    if (build->anchors.broken)
        (void)buf_printf(ret, "\n\nPassed before and broke in the last attempt: %s",
                         build->anchors.broken);
    return buf_error(ret);
}

struct coder {
    struct task *task;
    const char *prefix; /* of the attempt's effects */
};

static int write_once(void *user, bool is_anew, struct agent_files *ret, unsigned *ret_iteration,
                      struct gb_err *err)
{
    const struct coder *coder = user;
    struct task *task = coder->task;
    struct build *build = task->build;
    cleanup_buf struct buf diagnosis = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf anchors = BUF_INIT(STATE_TEXT_MAX);
    char name[BUILD_NAME_SIZE];
    struct writing writing = {
        .name = name,
        .prompt = build->has_code ? "repair" : "code",
        .seed = task->out->attempts,
        .present = task->out->code.n > 0 ? &task->out->code : NULL,
    };

    (void)snprintf(name, sizeof(name), "%s/code%s", coder->prefix, is_anew ? "-anew" : "");
    if (build->has_code) {
        if (diagnosis_text(task, &diagnosis) < 0 ||
            anchors_text(&build->anchors, &task->out->tests, &anchors) < 0)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a prompt");
        writing.diagnosis = diagnosis.data;
        writing.history = build->history.data;
        writing.anchors = anchors.data;
    }
    if (is_anew)
        attempt_ask_anew(task, &writing);
    return write_code(task, &writing, ret, ret_iteration, err);
}

/* Code that was written before the contract is the first attempt. */
static int write_or_draft(void *user, bool is_anew, struct agent_files *ret,
                          unsigned *ret_iteration, struct gb_err *err)
{
    const struct coder *coder = user;
    struct task *task = coder->task;

    if (task->draft.n == 0)
        return write_once(user, is_anew, ret, ret_iteration, err);
    *ret = task->draft;
    *ret_iteration = task->iteration;
    task->draft = (struct agent_files){ 0 };
    return 0;
}

/* ---- after a verdict ------------------------------------------------------------------------ */

/* The first failure that may be shown. */
static const struct judge_row *first_failed(const struct judge_tests *tests,
                                            const struct judge_report *report)
{
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_row *row = judge_report_row(report, tests->items[i].id);

        if (row && row->result != TEST_PASSED && !tests->items[i].is_withdrawn &&
            tests->items[i].origin != ORIGIN_HELD_BACK)
            return row;
    }
    return NULL;
}

/* Tests that count, and how many of them passed. */
static size_t count_tests(const struct judge_tests *tests, const struct judge_report *report,
                          size_t *ret_passed)
{
    size_t n = 0;

    *ret_passed = 0;
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_row *row = judge_report_row(report, tests->items[i].id);

        n += row && !tests->items[i].is_withdrawn;
        *ret_passed += row && row->result == TEST_PASSED;
    }
    return n;
}

/* "attempt 2: assertion, 9 of 12 tests passed: test_x: expected 3, got 4"; nothing of tests that
 * are held back. */
static void line_of(const struct task *task, const struct judge_report *report,
                    char line[static LINE_SIZE])
{
    const struct judge_row *row = first_failed(&task->out->tests, report);
    const char *message = row && row->message ? row->message : "";
    size_t passed;
    size_t n = count_tests(&task->out->tests, report, &passed);

    if (report->outcome == OUTCOME_TAMPERED)
        (void)snprintf(line, LINE_SIZE, "tampered: %s", report->reason ? report->reason : "");
    else
        (void)snprintf(line, LINE_SIZE, "%s, %zu of %zu tests passed%s%s%s%s",
                       diagnosis_name(report->diagnosis), passed, n, row ? ": " : "",
                       row ? row->id : "", message[0] ? ": " : "", message);
}

/* Its code and report are those of the task from now on. */
static void take_best(struct task *task, struct agent_files *code, struct judge_report *report)
{
    struct agent_outcome *out = task->out;

    agent_files_clear(&out->code);
    judge_report_clear(&out->report);
    judge_mutation_clear(&out->mutation);
    out->mutation.score = -1;
    out->code = *code;
    out->report = *report;
    out->outcome = report->outcome;
    *code = (struct agent_files){ 0 };
    *report = (struct judge_report){ 0 };
    task->build->has_code = true;
}

static int settle(struct task *task, struct agent_files *code, struct judge_report *report,
                  struct gb_err *err)
{
    struct build *build = task->build;
    bool is_best = !build->has_code || build_score(report) >= build_score(&task->out->report);
    char line[LINE_SIZE];

    line_of(task, report, line);
    (void)buf_printf(&build->history, "attempt %u: %s\n", task->out->attempts, line);
    build->is_repeated = build->last && strcmp(build->last, line) == 0;
    free(build->last);
    free(build->worse);
    build->last = strdup(line);
    build->worse = is_best ? NULL : strdup(line);
    if (!build->last || (!is_best && !build->worse) ||
        anchors_take(&build->anchors, &task->out->tests, report) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for an attempt");
    if (is_best)
        take_best(task, code, report);
    return 0;
}

/* The same failure twice, or the coder asks: the web may know. */
static int maybe_search(struct task *task, const char *prefix, const struct agent_files *code,
                        struct gb_err *err)
{
    cleanup_buf struct buf query = BUF_INIT(QUERY_MAX);
    cleanup_buf struct buf wanted = BUF_INIT(STATE_TEXT_MAX);
    char name[BUILD_NAME_SIZE];
    bool wants = write_wants_search(code, &wanted);

    if ((!wants && !task->build->is_repeated) || task->searches >= AGENT_SEARCHES_MAX)
        return 0;
    if (query_make(task->out, wants ? wanted.data : NULL, &query) < 0)
        return 0;
    (void)snprintf(name, sizeof(name), "%s/search", prefix);
    return lookup(task, name, query.data, err);
}

/* ---- tests that can fail -------------------------------------------------------------------- */

static int mutation_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct task *task = user;
    struct judge_spec spec = build_judge_spec(task);
    struct judge_mutation mutation = { 0 };
    int r;

    spec.code = &task->out->code;
    spec.progress = NULL;
    spec.known = &task->out->mutation;
    spec.judged = &task->out->report;
    r = judge_mutate(&spec, &mutation, err);
    if (r == 0)
        r = judge_mutation_text(&mutation, ret);
    judge_mutation_clear(&mutation);
    return r;
}

static int mutate(struct task *task, const char *name, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    struct agent_event event = { .kind = EVENT_MUTATION, .mutation = &out->mutation };
    cleanup_buf struct buf input = BUF_INIT(STATE_FILES_MAX);
    cleanup_buf struct buf output = BUF_INIT(MUTATION_MAX);
    int r = build_input(task, &out->code, &input);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the mutants");
    r = task_do(task, name, &input, mutation_text, task, &output, err);
    if (r < 0)
        return r;
    event.is_remembered = r == 1;
    judge_mutation_clear(&out->mutation);
    r = judge_mutation_parse(output.data, output.len, &out->mutation, err);
    if (r == 0)
        task_tell(task, &event);
    return r;
}

/* Functions whose emptying nobody noticed, a line each; their number. */
static unsigned unnoticed(const struct judge_mutation *mutation, struct buf *ret)
{
    unsigned n = 0;

    for (size_t i = 0; i < mutation->n; i++) {
        const struct judge_mutant *mutant = &mutation->items[i];

        if (!mutant->is_killed && !mutant->is_hint)
            n += buf_printf(ret, "%s (line %u): %s\n", mutant->function, mutant->line,
                            mutant->what) == 0;
    }
    return n;
}

/* "edge, stress": classes without a test that counts; "" when there is one of each. */
static void missing_classes(const struct judge_tests *tests, struct buf *ret)
{
    unsigned n[N_CLASSES] = { 0 };

    for (size_t i = 0; i < tests->n; i++)
        n[tests->items[i].class] += !tests->items[i].is_withdrawn;
    for (int class = 0; class < N_CLASSES; class ++)
        if (n[class] == 0)
            (void)buf_printf(ret, "%s%s", ret->len > 0 ? ", " : "",
                             test_class_name((enum test_class) class));
}

/* Tests that hardly notice when functions do nothing prove nothing; nor do tests that leave a whole
 * class of inputs out prove that the work is done. */
static int doubt_pass(struct task *task, struct gb_err *err)
{
    struct judge_report *report = &task->out->report;
    const struct judge_mutation *mutation = &task->out->mutation;
    cleanup_buf struct buf missing = BUF_INIT(LINE_SIZE);
    cleanup_buf struct buf reason = BUF_INIT(LINE_SIZE);

    if (report->outcome != OUTCOME_PASSED)
        return 0;
    missing_classes(&task->out->tests, &missing);
    if (mutation->score >= 0 && mutation->score < NOTICED_MIN)
        (void)buf_puts(&reason, "the tests hardly notice when functions do nothing");
    else if (missing.len > 0)
        (void)buf_printf(&reason, "there is no test of these classes: %s", missing.data);
    else
        return 0;
    free(report->reason);
    report->reason = buf_take(&reason);
    report->outcome = task->out->outcome = OUTCOME_SUSPECT;
    return report->reason ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a reason");
}

/* The tests meet mutants; what none of them notices is sent back once.  1: tests were added, and
 * the code has to meet them. */
static int challenge(struct task *task, const char *prefix, struct gb_err *err)
{
    struct build *build = task->build;
    cleanup_buf struct buf functions = BUF_INIT(STATE_TEXT_MAX);
    char name[BUILD_NAME_SIZE];
    int r;

    (void)snprintf(name, sizeof(name), "%s/mutants%s", prefix, build->is_sent_back ? "-more" : "");
    r = mutate(task, name, err);
    if (r < 0)
        return r;
    if (build->is_sent_back || unnoticed(&task->out->mutation, &functions) == 0)
        return doubt_pass(task, err);
    build->is_sent_back = true;
    r = testing_write(task, functions.data, err);
    if (r == -EBADMSG) {
        task_note(task, "no tests were added: %s", err->msg);
        return doubt_pass(task, err);
    }
    return r < 0 ? r : 1;
}

/* ---- one attempt ---------------------------------------------------------------------------- */

void build_keep_report(const struct task *task, unsigned iteration,
                       const struct judge_report *report)
{
    struct folder_step step = { iteration, "code" };
    cleanup_buf struct buf table = BUF_INIT(STATE_TEXT_MAX);
    struct folder_report text = { .exit_code = report->outcome == OUTCOME_PASSED ? 0 : 1 };

    if (!task->spec->folder)
        return;
    for (size_t i = 0; i < report->n_rows; i++) {
        const struct judge_row *row = &report->rows[i];

        if (row->is_withdrawn)
            continue;
        text.is_timed_out |= row->result == TEST_TIMEOUT;
        (void)buf_printf(&table, "%-8s %s%s%s\n", test_result_name(row->result), row->id,
                         row->message ? ": " : "", row->message ? row->message : "");
    }
    text.output = table.data ? table.data : "";
    text.output_len = table.len;
    text.errors = report->summary ? report->summary : "";
    text.errors_len = strlen(text.errors);
    (void)folder_put_report(task->spec->folder, step, &text, NULL);
}

/* Code and its verdict: one solution, or the best of several. */
static int attempt_code(struct task *task, const char *prefix, struct agent_files *code,
                        struct judge_report *report, struct gb_err *err)
{
    char name[BUILD_NAME_SIZE];
    struct agent_event event = { .kind = EVENT_CODE, .files = code };
    struct coder coder = { task, prefix };
    unsigned iteration;
    int r;

    if (task->spec->candidates > 1 && !task->build->has_code && task->out->tests.n > 0)
        return candidates_try(task, prefix, code, report, err);
    r = attempt_new(task, write_or_draft, &coder, code, &iteration, err);
    if (r <= 0)
        return r;
    r = attempt_remember(task, code, err);
    if (r < 0)
        return r;
    task_tell(task, &event);
    files_keep(task, iteration, code);
    (void)snprintf(name, sizeof(name), "%s/judge", prefix);
    r = build_judge(task, name, code, report, err);
    if (r < 0)
        return r;
    build_keep_report(task, iteration, report);
    return 1;
}

static bool is_accepted(const struct task *task)
{
    return task->build->has_code && (task->out->report.outcome == OUTCOME_PASSED ||
                                     task->out->report.outcome == OUTCOME_SUSPECT);
}

/* The present code meets the tests once more: some were withdrawn, or added. */
static int judge_again(struct task *task, const char *prefix, const char *what, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    cleanup_report struct judge_report report = { 0 };
    char name[BUILD_NAME_SIZE];
    int r;

    (void)snprintf(name, sizeof(name), "%s/judge-%s", prefix, what);
    r = build_judge(task, name, &out->code, &report, err);
    if (r < 0)
        return r;
    judge_report_clear(&out->report);
    out->report = report;
    out->outcome = report.outcome;
    report = (struct judge_report){ 0 };
    return 0;
}

/* Doubts about tests that it failed, a search, and when it passed the mutants. */
static int attempt_after(struct task *task, const char *prefix, const struct agent_files *code,
                         const struct judge_report *report, struct gb_err *err)
{
    int r = 0;

    if (!is_accepted(task)) {
        r = doubt_tests(task, prefix, report, err);
        if (r == 1)
            r = judge_again(task, prefix, "without", err);
    }
    if (r == 0 && !is_accepted(task))
        return maybe_search(task, prefix, code, err);
    while (r == 0 && is_accepted(task)) {
        r = challenge(task, prefix, err);
        if (r != 1)
            return r;
        r = judge_again(task, prefix, "more", err);
    }
    return r;
}

static int one_attempt(void *user, struct gb_err *err)
{
    struct task *task = user;
    cleanup_files struct agent_files code = { 0 };
    cleanup_report struct judge_report report = { 0 };
    cleanup_files struct agent_files said = { 0 };
    char prefix[BUILD_NAME_SIZE / 2];
    int r;

    task->out->attempts++;
    (void)snprintf(prefix, sizeof(prefix), "step-%u/attempt-%u", task->step, task->out->attempts);
    task_tell_attempt(task, task->build->has_code && task->build->last ? task->build->last : "");
    r = attempt_code(task, prefix, &code, &report, err);
    if (r <= 0)
        return r;
    said.prose = code.prose ? strdup(code.prose) : NULL;
    r = settle(task, &code, &report, err);
    if (r < 0)
        return r;
    /* The report of the best has become the task's. */
    r = attempt_after(task, prefix, &said, task->build->worse ? &report : &task->out->report, err);
    return r < 0 ? r : 1;
}

static void lose_attempt(void *user, const char *why)
{
    struct task *task = user;

    (void)buf_printf(&task->build->history, "attempt %u: %s\n", task->out->attempts, why);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Without tests the code is only checked: whether it can be read, and has its names. */
bool build_is_untested(const struct task *task)
{
    return task->build && task->build->has_code && task->out->tests.n == 0;
}

static bool is_settled(const void *user)
{
    const struct task *task = user;

    return is_accepted(task) ||
           (build_is_untested(task) && task->out->report.outcome == OUTCOME_ERROR);
}

static void log_build(struct task *task)
{
    const struct judge_report *report = &task->out->report;

    if (is_accepted(task))
        task_log(task, "built: %s, %zu tests", outcome_name(report->outcome), report->n_rows);
    else if (task->build->has_code)
        task_log(task, "not built after %u attempts, %s: %s", task->out->attempts,
                 diagnosis_name(report->diagnosis), task->build->last ? task->build->last : "");
    else
        task_log(task, "the coder gave no code that could be used");
}

/* Code whose tests cannot be had is better than nothing, as long as nobody takes it for tested. */
static int find_tests(struct task *task, struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = testing_write(task, NULL, &why);

    if (r == -EBADMSG && !task->is_over) {
        task_note(task, "no tests could be had from the model: %s", why.msg);
        return 0;
    }
    if (r < 0 && err)
        *err = why;
    return r;
}

/* The judge says that there is no test; people want to know why. */
static int say_untested(struct task *task, struct gb_err *err)
{
    struct judge_report *report = &task->out->report;

    if (!build_is_untested(task) || report->outcome != OUTCOME_ERROR)
        return 0;
    free(report->reason);
    report->reason = strdup("no tests could be had from the model: the code is delivered untested");
    return report->reason ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a reason");
}

int build_make(struct task *task, struct gb_err *err)
{
    const struct attempting how = { is_settled, one_attempt, lose_attempt, task };
    int r = 0;

    if (!build_of(task))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a build");
    if (task->out->tests.n == 0)
        r = find_tests(task, err);
    if (r == 0)
        r = attempts_make(task, &how, err);
    if (r == 0)
        log_build(task);
    return r < 0 ? r : say_untested(task, err);
}

const char *build_last(const struct task *task)
{
    return task->build ? task->build->last : NULL;
}
