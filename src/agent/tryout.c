/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tryout.c - a program once, as a person would start it. */
#include "agent/tryout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/user_box.h"
#include "agent/write.h"
#include "base/err.h"

#define TRY_MAX  (16 << 20) /* two outputs of a MiB, if every byte is escaped */
#define SHOW_MAX (8 << 10)  /* of what it printed */

struct trying {
    const struct task *task;
    const struct agent_files *code;
    char *const *args;
    struct buf input;
    bool is_judged; /* it has met its cases */
};

/* A program that failed may have missed what it was not granted. */
static int tell_unreached(const struct task *task, struct judge_try *try, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);

    if (!try->summary || task->out->reach.n_refused == 0)
        return 0;
    (void)buf_puts(&text, try->summary);
    reach_put_refused(&task->out->reach, &text);
    free(try->summary);
    try->summary = buf_take(&text);
    return try->summary ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a diagnosis");
}

static int try_text(void *user, struct buf *ret, struct gb_err *err)
{
    const struct trying *trying = user;
    const struct agent_spec *spec = trying->task->spec;
    struct judge_spec judge = {
        .box = supply_box(trying->task),
        .unsupplied = trying->task->supply.failed,
        .contract = &trying->task->out->contract,
        .code = trying->code,
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .built = trying->task->built,
        .net = spec->network,
        .home = user_box_home(trying->task),
        .is_judged = trying->is_judged,
        .jobs = 1,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = task_deadline(trying->task),
    };
    cleanup_try struct judge_try try = { 0 };
    int r;

    judge.net.policy = trying->task->net.mode != NET_NONE ? &trying->task->net : NULL;
    if (!judge.net.policy)
        judge.net = (struct judge_net){ 0 };
    r = judge_try(&judge, trying->args, trying->input.data, trying->input.len, &try, err);
    if (r == 0)
        r = tell_unreached(trying->task, &try, err);
    if (r == 0)
        r = judge_try_text(&try, ret);
    return r < 0 ? r : task_clean(trying->task, ret);
}

/* What it depends on: the program, its arguments, its input, what it may reach, whose box it has.
 */
static int input_text(const struct trying *trying, struct buf *ret)
{
    char *const *granted = trying->task->out->reach.granted;
    int r = files_text(trying->code, ret);

    for (size_t i = 0; granted && granted[i] && r == 0; i++)
        r = buf_printf(ret, "network: %s\n", granted[i]);
    if (trying->task->spec->owner.name && r == 0)
        r = buf_printf(ret, "user: %s\n", trying->task->spec->owner.name);
    for (size_t i = 0; trying->args && trying->args[i] && r == 0; i++)
        r = buf_printf(ret, "%s\n", trying->args[i]);
    return r < 0 ? r : buf_add(ret, trying->input.data, trying->input.len);
}

static int run(struct task *task, const char *name, struct trying *trying, struct judge_try *ret,
               struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(STATE_FILES_MAX + CASE_REPEATED_MAX);
    cleanup_buf struct buf output = BUF_INIT(TRY_MAX);
    int r = input_text(trying, &input);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the program");
    r = supply_take(task, trying->code, 1, err);
    if (r == 0)
        r = task_do(task, name, &input, try_text, trying, &output, err);
    if (r >= 0)
        r = judge_try_parse(output.data, output.len, ret, err);
    if (r == 0 && ret->network)
        task_note(task, "network: %s", ret->network);
    if (r == 0 && ret->limits && !task->has_told_limits) {
        task_note(task, "limits in the box of %s: %s", task->spec->owner.name, ret->limits);
        task->has_told_limits = true;
    }
    return r;
}

int tryout(struct task *task, const char *name, const struct agent_files *code,
           const struct program_case *item, struct judge_try *ret, struct gb_err *err)
{
    struct trying trying = {
        .task = task,
        .code = code,
        .args = item ? item->argv : NULL,
        .input = BUF_INIT(CASE_REPEATED_MAX),
        .is_judged = item != NULL,
    };
    int r = item ? case_input(item, &trying.input) : 0;

    r = r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for the input")
              : run(task, name, &trying, ret, err);
    buf_clear(&trying.input);
    return r;
}

/* ---- what was built ------------------------------------------------------------------------- */

static const struct program_case *usual(const struct program_cases *cases,
                                        const struct judge_tests *tests)
{
    for (size_t i = 0; i < cases->n; i++)
        if (cases->items[i].class == CLASS_NORMAL && !cases->items[i].files[0] &&
            !judge_was_withdrawn(tests, cases->items[i].name))
            return &cases->items[i];
    return NULL;
}

/* What a network is for is in no case, for tests have none: such a program is started as its
 * contract says. */
static bool reaching(const struct task *task, struct program_case *ret)
{
    static char name[] = "with the network";
    static char nothing[] = "";
    size_t n = 0;

    while (task->out->contract.hosts[n])
        n++;
    if (n == task->out->reach.n_refused)
        return false;
    *ret = (struct program_case){
        .name = name,
        .argv = task->out->contract.run,
        .input = nothing,
    };
    return true;
}

/* It passed its tests and fails now: a person must know, whatever the outcome. */
static int tell_failed(struct task *task, const struct program_case *item,
                       const struct judge_try *try, struct gb_err *err)
{
    const struct case_expect *expect = &item->expect;
    bool is_wanted = expect->is_failure || expect->exit_code != 0;
    const char *summary = try->summary ? try->summary : diagnosis_name(try->diagnosis);
    int len = (int)strcspn(summary, "\n");

    if (try->diagnosis == DIAGNOSIS_NONE || (try->diagnosis == DIAGNOSIS_CRASH && is_wanted))
        return 0;
    free(task->out->run_failed);
    if (asprintf(&task->out->run_failed, "the last run, of '%s', failed: %.*s", item->name, len,
                 summary) < 0) {
        task->out->run_failed = NULL;
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for what failed");
    }
    task_note(task, "%s", task->out->run_failed);
    return 0;
}

int tryout_show(struct task *task, const char *name, struct buf *ret, struct gb_err *err)
{
    const char *json = task->out->tests.cases;
    cleanup_cases struct program_cases cases = { 0 };
    cleanup_try struct judge_try try = { 0 };
    struct agent_event event = { .kind = EVENT_OUTPUT };
    struct program_case alone;
    const struct program_case *item;
    int r;

    if (!json || cases_parse(json, strlen(json), &cases, NULL) < 0)
        return 0;
    item = reaching(task, &alone) ? &alone : usual(&cases, &task->out->tests);
    if (!item)
        return 0;
    r = tryout(task, name, &task->out->code, item, &try, err);
    if (r == 0)
        r = tell_failed(task, item, &try, err);
    if (r < 0)
        return r;
    event.text = try.out;
    event.len = try.out_len > SHOW_MAX ? SHOW_MAX : try.out_len;
    event.name = item->name;
    if (event.len > 0)
        task_tell(task, &event);
    r = buf_add(ret, event.text, event.len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for what it printed") : !try.is_unrun;
}
