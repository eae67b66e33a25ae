/* SPDX-License-Identifier: Apache-2.0 */
/* agent/review.c - explains finished work to the person who asked for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/state.h"
#include "agent/tryout.h"
#include "agent/user_box.h"
#include "agent/write.h"
#include "base/err.h"

#define EXPLANATION_MAX (64 << 10)

/* ---- the results, as text ------------------------------------------------------------------- */

static void put_tests(const struct agent_outcome *out, struct buf *ret)
{
    for (size_t i = 0; i < out->tests.n; i++) {
        const struct judge_test *test = &out->tests.items[i];
        const struct judge_row *row = judge_report_row(&out->report, test->id);
        const char *result = row ? test_result_name(row->result) : "not run";

        (void)buf_printf(ret, "%s %s (%s, %s)%s\n", test->is_withdrawn ? "withdrawn" : result,
                         test->id, test_class_name(test->class), test_origin_name(test->origin),
                         row && row->is_suspect ? " suspect" : "");
    }
}

static void put_mutants(const struct judge_mutation *mutation, struct buf *ret)
{
    if (mutation->n == 0 || mutation->score < 0)
        return;
    (void)buf_printf(ret, "mutation score: %.0f %%\n", mutation->score * 100);
    for (size_t i = 0; i < mutation->n; i++)
        if (!mutation->items[i].is_killed && !mutation->items[i].is_hint)
            (void)buf_printf(ret, "no test notices: %s %s\n", mutation->items[i].function,
                             mutation->items[i].what);
}

static int results_text(const struct agent_outcome *out, struct buf *ret)
{
    (void)buf_printf(ret, "outcome: %s%s%s\nattempts: %u\n", outcome_name(out->report.outcome),
                     out->report.reason ? ", " : "", out->report.reason ? out->report.reason : "",
                     out->attempts);
    put_tests(out, ret);
    if (out->report.coverage >= 0)
        (void)buf_printf(ret, "statements covered: %.0f %%\n", out->report.coverage * 100);
    put_mutants(&out->mutation, ret);
    if (out->report.lint)
        (void)buf_printf(ret, "lint:\n%s\n", out->report.lint);
    return buf_error(ret);
}

/* ---- asking --------------------------------------------------------------------------------- */

static int take_explanation(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct agent_outcome *out = user;

    len = len > EXPLANATION_MAX ? EXPLANATION_MAX : len;
    free(out->explanation);
    out->explanation = strndup(text, len);
    return out->explanation ? 0 : gb_no_memory(err);
}

int review_write(struct task *task, struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    cleanup_buf struct buf files = BUF_INIT(STATE_FILES_MAX);
    cleanup_buf struct buf results = BUF_INIT(STATE_TEXT_MAX);
    cleanup_buf struct buf output = BUF_INIT(STATE_TEXT_MAX);
    struct prompt_var vars[TASK_VARS + 3];
    struct gb_err why = { 0 };
    struct question question = {
        .name = "review",
        .role = ROLE_ORCHESTRATOR,
        .doing = "explaining",
        .agent = "review",
        .prompt = "review",
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .seed = 1,
        .is_optional = true,
    };
    int r;

    r = tryout_show(task, "program", &output, err);
    if (r >= 0)
        r = user_box_keep(task, r > 0, err);
    if (r < 0)
        return r;
    if (files_text(&out->code, &files) < 0 || results_text(out, &results) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the review");
    task_vars(task, vars);
    vars[TASK_VARS] = (struct prompt_var){ "files", files.data, 0 };
    vars[TASK_VARS + 1] = (struct prompt_var){ "report", results.data, 0 };
    vars[TASK_VARS + 2] = (struct prompt_var){ "output", output.data, 0 };
    r = ask(task, &question, take_explanation, out, NULL, &why);
    if (r == -EBADMSG && !task->is_over) {
        task_note(task, "there is no explanation: %.*s", (int)gb_err_len(&why), why.msg);
        return 0;
    }
    if (r < 0 && err)
        *err = why;
    return r;
}
