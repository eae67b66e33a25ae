/* SPDX-License-Identifier: Apache-2.0 */
/* agent/task.c - the orchestrator: chooses what is done next, until the task is done.
 *
 * A build that passed goes straight to the review, which is the last call: the usual task takes
 * four.  Whatever else came of a step goes back to the orchestrator.
 */
#include "agent/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/ask.h"
#include "agent/checkpoint.h"
#include "agent/decision.h"
#include "agent/folder.h"
#include "agent/plan.h"
#include "agent/query.h"
#include "agent/redact.h"
#include "agent/state.h"
#include "agent/user_box.h"
#include "base/err.h"
#include "json/writer.h"

#define NAME_SIZE      64
#define UNANSWERED_MAX 3 /* questions without anybody to ask */
#define IDLE_STEPS_MAX 2 /* steps in a row without new code: going on would only cost */

/* ---- what was chosen ------------------------------------------------------------------------ */

static void forget_build(struct task *task)
{
    struct agent_outcome *out = task->out;

    build_free(&task->build);
    free(take_ptr(task->earlier));
    task->n_earlier = 0;
    task->idle_steps = 0;
    judge_tests_clear(&out->tests);
    judge_report_clear(&out->report);
    judge_mutation_clear(&out->mutation);
    out->report.coverage = -1;
    out->mutation.score = -1;
    free(take_ptr(out->matrix));
}

/* Files of another contract that this one does not have would be delivered with it. */
static int keep_named(struct task *task, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    struct agent_files kept = { 0 };
    int r = 0;

    for (char **path = out->contract.files; *path && r == 0; path++) {
        const struct agent_file *file = agent_files_find(&out->code, *path);

        if (file)
            r = agent_files_put(&kept, file->path, file->text, file->len);
    }
    agent_files_clear(&out->code);
    out->code = kept;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for the files") : 0;
}

/* The contract becomes the present one; work on another is forgotten. */
static int agree(struct task *task, struct contract *contract, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    struct agent_event event = { .kind = EVENT_CONTRACT, .contract = &out->contract };

    if (contract_text(contract, &text) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the contract");
    if (task->contract && strcmp(task->contract, text.data) == 0)
        return 0;
    forget_build(task);
    contract_clear(&out->contract);
    free(task->contract);
    task->contract = buf_take(&text);
    out->contract = *contract;
    *contract = (struct contract){ 0 };
    out->has_contract = true;
    task_tell(task, &event);
    if (!task->contract)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the contract");
    return task->spec->before ? 0 : keep_named(task, err);
}

/* With --ask always a human reads the contract first.  1: it is right. */
static int is_agreed(struct task *task, const struct contract *contract, struct gb_err *err)
{
    static const char *const yes[] = { "", "y", "yes", "ok" };
    cleanup_buf struct buf question = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf answer = BUF_INIT(STATE_TEXT_MAX);
    char name[NAME_SIZE];
    int r;

    if (task->spec->ask != ASK_ALWAYS)
        return 1;
    (void)contract_text(contract, &question);
    (void)buf_puts(&question, "\nIs this what you want? (empty: yes)");
    if (buf_error(&question) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a question");
    (void)snprintf(name, sizeof(name), "step-%u/agree", task->step);
    r = ask_human(task, name, question.data, &answer, err);
    if (r <= 0)
        return r < 0 ? r : 1;
    for (size_t i = 0; i < N_ELEMENTS(yes); i++)
        if (strcasecmp(answer.data ? answer.data : "", yes[i]) == 0)
            return 1;
    return 0;
}

static int set_text(char **place, const char *text, struct gb_err *err)
{
    char *copy = strdup(text);

    if (!copy)
        return gb_no_memory(err);
    free(*place);
    *place = copy;
    return 1;
}

/* Why it ends: what the judge says, or what was wrong last and what stopped it. */
static int give_up(struct task *task, const char *why, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    const char *last = build_last(task);

    if (out->report.reason)
        return set_text(&out->reason, out->report.reason, err);
    (void)buf_printf(&text, "%s%s%s", last ? last : "", last ? "; " : "", why);
    return set_text(&out->reason, text.data ? text.data : why, err);
}

/* Nobody but the words of the task said that a program's output would be its answer. */
static int doubt_answer(struct task *task, struct gb_err *err)
{
    if (!task->is_unplanned || task->out->outcome != OUTCOME_PASSED)
        return 0;
    task->out->outcome = OUTCOME_SUSPECT;
    return set_text(&task->out->reason,
                    "no plan could be had from the model: this is what a program printed that was "
                    "written from the task alone",
                    err);
}

/* Each: 1 when the task is done, 0 when the orchestrator goes on. */

static int do_code(struct task *task, struct plan *plan, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    bool is_answer;
    size_t known;
    int r;

    out->tried = (struct agent_stop){ 0 };
    r = plan->has_contract ? is_agreed(task, &plan->contract, err) : 1;

    if (r == 0)
        task_log(task, "the user wants another contract");
    if (r < 1)
        return r;
    r = plan->has_contract ? agree(task, &plan->contract, err) : 0;
    if (r == 0)
        r = reach_settle(task, err);
    if (r < 0)
        return r;
    is_answer = out->contract.kind == CONTRACT_ANSWER;
    known = task->n_earlier;
    r = is_answer ? answer_make(task, err) : build_make(task, err);
    task->idle_steps = task->n_earlier > known ? 0 : task->idle_steps + 1;
    if (r == 0 && build_is_untested(task))
        return give_up(task, "it was not tested", err);
    if (r == 0 && task->idle_steps >= IDLE_STEPS_MAX)
        return give_up(task, "the model keeps giving the same code", err);
    if (r < 0 || (out->outcome != OUTCOME_PASSED && out->outcome != OUTCOME_SUSPECT))
        return r;
    r = is_answer ? doubt_answer(task, err) : review_write(task, err);
    return r < 0 ? r : 1;
}

static int do_search(struct task *task, struct plan *plan, struct gb_err *err)
{
    const char *query = plan->decision.query;
    cleanup_buf struct buf clean = BUF_INIT(QUERY_MAX);
    char name[NAME_SIZE];

    query_clean(query, strlen(query), &clean);
    if (clean.len == 0) {
        task_log(task, "the query has no words that may leave: no paths, no values, no code");
        return 0;
    }
    (void)snprintf(name, sizeof(name), "step-%u/search", task->step);
    return lookup(task, name, clean.data, err);
}

static int do_human(struct task *task, struct plan *plan, struct gb_err *err)
{
    char name[NAME_SIZE];
    int r;

    (void)snprintf(name, sizeof(name), "step-%u/human", task->step);
    r = ask_human(task, name, plan->decision.question, NULL, err);
    if (r != 0)
        return r < 0 ? r : 0;
    task_note(task, "nobody is asked: %s", plan->decision.question);
    task_log(task, "there is nobody to ask: assume what is most sensible, and say so");
    if (++task->unanswered < UNANSWERED_MAX)
        return 0;
    return give_up(task, "it needs an answer, and --ask never lets nobody ask", err);
}

/* An answer counts only where nothing was built: it would hide that a build has failed. */
static int do_finish(struct task *task, struct plan *plan, struct gb_err *err)
{
    const struct decision *decision = &plan->decision;
    struct agent_outcome *out = task->out;

    if (decision->explanation && set_text(&out->explanation, decision->explanation, err) < 0)
        return -ENOMEM;
    if (decision->answer && out->attempts == 0) {
        out->outcome = OUTCOME_PASSED;
        return set_text(&out->answer, decision->answer, err);
    }
    return give_up(task, decision->reason ? decision->reason : "it was given up", err);
}

static int (*const doers[N_ACTIONS])(struct task *task, struct plan *plan, struct gb_err *err) = {
    [ACTION_CODE] = do_code,
    [ACTION_SEARCH] = do_search,
    [ACTION_HUMAN] = do_human,
    [ACTION_FINISH] = do_finish,
};

/* ---- steps ---------------------------------------------------------------------------------- */

static const char *last_lines(const char *text, size_t most)
{
    size_t n = 0;

    for (const char *at = text; at && *at; at++)
        n += *at == '\n';
    for (; n > most; n--)
        text = strchr(text, '\n') + 1;
    return text;
}

/* The lines of what was done so far, as JSON strings. */
static char **history_of(const struct task *task)
{
    char **lines = calloc(CHECKPOINT_HISTORY_MAX + 1, sizeof(*lines));
    const char *at = last_lines(task->steps.data, CHECKPOINT_HISTORY_MAX);

    for (size_t n = 0; lines && at && *at && n < CHECKPOINT_HISTORY_MAX; n++) {
        cleanup_buf struct buf line = BUF_INIT(STATE_TEXT_MAX);
        size_t len = strcspn(at, "\n");
        struct json_writer w;

        json_writer_init(&w, &line, false);
        json_put_bytes(&w, NULL, at, len);
        lines[n] = json_writer_end(&w) == 0 ? buf_take(&line) : NULL;
        at += len + (at[len] == '\n');
    }
    return lines;
}

static void keep_checkpoint(const struct task *task)
{
    struct checkpoint checkpoint = {
        .objective = strdup(task->spec->objective),
        .history = history_of(task),
        .latest_code = task->out->code,
        .execution_feedback = task->out->report.summary,
        .orchestrator_step = task->step,
    };

    if (task->spec->folder && checkpoint.objective && checkpoint.history)
        (void)folder_put_checkpoint(task->spec->folder, &checkpoint, NULL);
    for (size_t i = 0; checkpoint.history && checkpoint.history[i]; i++)
        free(checkpoint.history[i]);
    free(checkpoint.history);
    free(checkpoint.objective);
}

static void tell_step(struct task *task, const struct decision *decision)
{
    struct agent_event event = {
        .kind = EVENT_STEP,
        .name = action_name(decision->action),
        .text = decision->reason ? decision->reason : "",
        .number = task->step,
    };

    event.len = strlen(event.text);
    task_tell(task, &event);
}

static int one_step(struct task *task, struct gb_err *err)
{
    struct plan plan = { .task = task };
    int r = task_may(task, BUDGET_STEPS, err);

    if (r < 0)
        return r;
    budget_spend_step(&task->budget);
    task->step++;
    r = plan_make(task, &plan, err);
    if (r == 0) {
        tell_step(task, &plan.decision);
        r = doers[plan.decision.action](task, &plan, err);
    }
    plan_clear(&plan);
    keep_checkpoint(task);
    return r;
}

/* A run that is continued: its files, and its contract until the orchestrator gives another. */
static int take_before(struct task *task, struct gb_err *err)
{
    const struct agent_spec *spec = task->spec;
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    struct contract contract = { 0 };
    int r = 0;

    for (size_t i = 0; spec->before && i < spec->before->n && r == 0; i++)
        r = agent_files_put(&task->out->code, spec->before->items[i].path,
                            spec->before->items[i].text, spec->before->items[i].len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "the files of the run that is continued");
    if (spec->past)
        (void)buf_puts(&task->steps, spec->past);
    task->step = spec->past_steps;
    for (unsigned i = 0; i < spec->past_steps; i++)
        budget_spend_step(&task->budget);
    if (spec->before && spec->before->n > 0)
        task_log(task, "the task continues %s, whose files are there",
                 spec->past ? "one from elsewhere" : "a finished one");
    if (!spec->contract)
        return 0;
    r = contract_text(spec->contract, &text);
    if (r == 0)
        r = contract_parse(text.data, text.len, &contract, err);
    if (r == 0)
        r = agree(task, &contract, err);
    contract_clear(&contract);
    return r;
}

static int work(struct task *task, struct gb_err *err)
{
    int r = facts_take(task, err);

    if (r == 0)
        r = supply_begin(task, err);
    if (r == 0)
        r = user_box_look(task, err);
    if (r == 0)
        r = reach_begin(task, err);
    if (r == 0)
        r = take_before(task, err);
    while (r == 0)
        r = one_step(task, err);
    return r;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* A model that did not answer in time: that it did not is forgotten when there is more. */
static void keep_stop(struct task *task)
{
    struct agent_stop stop = {
        .is_there = true,
        .item = BUDGET_TIME,
        .budget = task->budget,
        .place = journal_place_before(task->spec->journal),
    };

    if (!task->is_over || task->out->stop.is_there)
        return;
    /* A server that says how long one has to wait is not waited for. */
    budget_spend_time(&stop.budget, budget_left(&stop.budget, BUDGET_TIME));
    task->out->stop = stop;
}

/* What stopped it is how the task ended, unless it could go on another time: a budget that is used
 * up, or a model whose answers are of no use.  Work that was accepted before stays so. */
static int conclude(struct task *task, int r, struct gb_err *err)
{
    struct agent_outcome *out = task->out;

    if (r >= 0 && out->report.reason && !out->reason)
        r = set_text(&out->reason, out->report.reason, err);
    if (r >= 0 || (r == -EAGAIN && out->is_waiting))
        return 0;
    if (!task->is_over && r != -EBADMSG)
        return r;
    if (out->outcome == OUTCOME_PASSED || out->outcome == OUTCOME_SUSPECT)
        return 0;
    if (!task->is_over)
        out->outcome = OUTCOME_ERROR;
    r = give_up(task, err->msg, err);
    return r < 0 ? r : 0;
}

static void tell_begin(struct task *task)
{
    struct agent_event event = {
        .kind = EVENT_BEGIN,
        .name = task->spec->id,
        .text = task->spec->objective,
        .len = strlen(task->spec->objective),
    };

    task_tell(task, &event);
}

static void tell_end(struct task *task)
{
    const struct agent_outcome *out = task->out;
    struct agent_event event = {
        .kind = EVENT_END,
        .name = out->is_waiting ? "waiting" : outcome_name(out->outcome),
        .text = out->explanation ? out->explanation : "",
        .spent = task->spent,
    };

    event.len = strlen(event.text);
    task_tell(task, &event);
}

static void task_clear(struct task *task)
{
    for (size_t i = 0; i < N_ROLES; i++) {
        free(task->models[i].label);
        free(task->models[i].endpoint);
    }
    free(task->languages);
    free(task->available);
    free(task->inputs);
    free(task->workspace);
    free(task->contract);
    free(task->network);
    supply_clear(&task->supply);
    for (size_t i = 0; task->asked_hosts && task->asked_hosts[i]; i++)
        free(task->asked_hosts[i]);
    free(task->asked_hosts);
    net_policy_clear(&task->net);
    free(task->earlier);
    agent_files_clear(&task->draft);
    build_free(&task->build);
    buf_clear(&task->steps);
    buf_clear(&task->human);
    buf_clear(&task->search);
    redactor_free(&task->redactor);
    (void)pthread_mutex_destroy(&task->lock);
}

int agent_run(const struct agent_spec *spec, struct agent_outcome *ret, struct gb_err *err)
{
    struct task task = {
        .spec = spec,
        .out = ret,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .budget = spec->budget,
        .spent = { .has_cost = true },
        .steps = BUF_INIT(STATE_TEXT_MAX),
        .human = BUF_INIT(STATE_TEXT_MAX),
        .search = BUF_INIT(STATE_TEXT_MAX),
    };
    struct gb_err why = { 0 };
    int r = redactor_new(spec->secrets, &task.redactor);

    ret->outcome = OUTCOME_FAILED;
    ret->report.coverage = -1;
    ret->mutation.score = -1;
    ret->inputs = spec->inputs;
    ret->n_inputs = spec->n_inputs;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory");
    task.built = judge_built_new(); /* without it more is compiled */
    tell_begin(&task);
    r = conclude(&task, work(&task, &why), &why);
    ret->spent = task.spent;
    keep_stop(&task);
    if (r == 0)
        tell_end(&task);
    else if (err)
        *err = why;
    judge_built_free(&task.built);
    task_clear(&task);
    return r;
}

void agent_outcome_clear(struct agent_outcome *outcome)
{
    free(outcome->question);
    free(outcome->reason);
    free(outcome->answer);
    free(outcome->explanation);
    free(outcome->run_failed);
    free(outcome->packages);
    free(outcome->matrix);
    contract_clear(&outcome->contract);
    reach_clear(&outcome->reach);
    agent_files_clear(&outcome->code);
    judge_tests_clear(&outcome->tests);
    judge_report_clear(&outcome->report);
    judge_mutation_clear(&outcome->mutation);
    *outcome = (struct agent_outcome){ 0 };
}
