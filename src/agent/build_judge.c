/* SPDX-License-Identifier: Apache-2.0 */
/* agent/build_judge.c - the judge's verdict on an attempt, as an effect. */
#include <errno.h>
#include <string.h>

#include "agent/build.h"
#include "agent/journal.h"
#include "agent/write.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/writer.h"

#define REPORT_MAX (16 << 20)
#define INPUT_MAX  (16 << 20)

struct judging {
    struct task *task;
    const struct agent_files *code;
};

static void tell_row(void *user, const struct judge_row *row)
{
    struct task *task = user;
    cleanup_buf struct buf message = BUF_INIT(STATE_TEXT_MAX);
    struct judge_row clean = *row;
    struct agent_event event = { .kind = EVENT_ROW, .row = &clean };

    if (row->message && buf_puts(&message, row->message) == 0 && task_clean(task, &message) == 0)
        clean.message = message.data;
    else
        clean.message = NULL;
    task_tell(task, &event);
}

struct judge_spec build_judge_spec(struct task *task)
{
    const struct agent_spec *spec = task->spec;

    return (struct judge_spec){
        .box = supply_box(task),
        .unsupplied = task->supply.failed,
        .contract = &task->out->contract,
        .tests = &task->out->tests,
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .built = task->built,
        .jobs = spec->jobs,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = task_deadline(task),
        .progress = tell_row,
        .user = task,
    };
}

int build_input(const struct task *task, const struct agent_files *code, struct buf *ret)
{
    int r = buf_puts(ret, task->contract);

    if (r == 0)
        r = judge_tests_text(&task->out->tests, ret);
    return r < 0 ? r : files_text(code, ret);
}

static int report_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct judging *judging = user;
    struct judge_spec spec = build_judge_spec(judging->task);
    cleanup_report struct judge_report report = { 0 };
    int r;

    spec.code = judging->code;
    r = judge_run(&spec, &report, err);
    if (r == 0)
        r = judge_report_text(&report, ret);
    return r < 0 ? r : task_clean(judging->task, ret);
}

static void tell_report(struct task *task, const struct judge_report *report, bool is_remembered)
{
    struct agent_event event = {
        .kind = EVENT_REPORT,
        .report = report,
        .is_remembered = is_remembered,
    };

    for (size_t i = 0; is_remembered && i < report->n_rows; i++) {
        struct agent_event row = {
            .kind = EVENT_ROW,
            .row = &report->rows[i],
            .is_remembered = true,
        };

        if (!report->rows[i].is_withdrawn)
            task_tell(task, &row);
    }
    task_tell(task, &event);
}

int build_judge(struct task *task, const char *name, const struct agent_files *code,
                struct judge_report *ret, struct gb_err *err)
{
    struct judging judging = { task, code };
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_buf struct buf output = BUF_INIT(REPORT_MAX);
    bool is_remembered;
    int r = build_input(task, code, &input);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the judge's input");
    r = supply_take(task, code, 1, err);
    if (r == 0)
        r = task_do(task, name, &input, report_text, &judging, &output, err);
    if (r < 0)
        return r;
    is_remembered = r == 1;
    r = judge_report_parse(output.data, output.len, ret, err);
    if (r < 0)
        return r;
    tell_report(task, ret, is_remembered);
    return 0;
}

int build_score(const struct judge_report *report)
{
    size_t passed;

    (void)judge_report_count(report, &passed);
    return report->outcome == OUTCOME_TAMPERED ? -1 : (int)passed;
}
