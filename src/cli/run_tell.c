/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_tell.c - what people are told of a task before it begins and when it has ended. */
#include "cli/run_tell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/num.h"
#include "box/box.h"
#include "cli/command.h"
#include "cli/run_deliver.h"
#include "cli/run_lines.h"
#include "cli/term_filter.h"
#include "cli/test_table.h"
#include "cli/view.h"
#include "model/model.h"
#include "run/touch.h"

#define TEXT_MAX       (256 << 10)
#define ANSWER_MAX     (16 << 20)
#define CODE_LINES_MAX 40

/* ---- the beginning -------------------------------------------------------------------------- */

static void put_model(const struct model *model, struct buf *ret)
{
    const char *endpoint = model_endpoint(model);

    (void)buf_puts(ret, model_label(model));
    if (endpoint && strstr(endpoint, "://"))
        (void)buf_printf(ret, " at %s", endpoint);
}

static void tell_models(struct view *view, const struct agent_spec *spec)
{
    static const char *const roles[N_ROLES] = {
        [ROLE_ORCHESTRATOR] = "orchestrator",
        [ROLE_CODER] = "coder",
        [ROLE_TESTER] = "tester",
    };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    bool is_one = true;

    for (int role = 1; role < N_ROLES; role++)
        is_one = is_one && spec->models[role] == spec->models[0];
    if (is_one) {
        put_model(spec->models[0], &text);
    } else {
        for (int role = 0; role < N_ROLES; role++) {
            (void)buf_printf(&text, "%s%-13s ", role ? "\n" : "", roles[role]);
            put_model(spec->models[role], &text);
        }
    }
    if (buf_error(&text) == 0)
        view_tell(view, TERM_DIM, "model", text.data);
}

static void tell_box(struct view *view, const struct agent_spec *spec)
{
    const struct box_spec *box = spec->box;
    bool has_net = spec->net && strcmp(spec->net, "none") != 0;
    cleanup_buf struct buf line = BUF_INIT(TEXT_MAX);
    char memory[NUM_TEXT_MAX];

    (void)buf_printf(&line, "%s, %s of memory, %.3g s a run, no network", box->backend,
                     num_size_text(box->limits.memory_bytes, memory),
                     (double)box->limits.wall_ms / 1000);
    if (has_net)
        (void)buf_printf(&line, " but for the last run: %s", spec->net);
    if (buf_error(&line) == 0)
        view_tell(view, TERM_DIM, "box", line.data);
}

void run_tell_begin(struct view *view, const struct agent_spec *spec, const char *folder)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    (void)buf_printf(&text, "%s%s%s", spec->id, folder ? " in " : "", folder ? folder : "");
    if (buf_error(&text) == 0)
        view_tell(view, TERM_DIM, "task", text.data);
    if (spec->models[0])
        tell_models(view, spec);
    else
        view_tell(view, TERM_DIM, "model", "none: a recording is replayed");
    if (spec->box)
        tell_box(view, spec);
    view_gap(view);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void tell_tests(struct view *view, const struct agent_outcome *outcome)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    if (outcome->tests.n > 0 && test_table(outcome, &text) == 0)
        view_tell(view, TERM_BOLD, "tests", text.data);
}

static void tell_files(struct view *view, const struct deliverable *delivered, const char *dir)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);

    if (delivered->n == 0)
        return;
    (void)buf_puts(&text, *dir ? dir : "not written; --out DIR says where to");
    for (size_t i = 0; i < delivered->n; i++) {
        const char *runner = touch_runner(delivered->items[i].path);
        char size[NUM_TEXT_MAX];

        (void)buf_printf(&text, "\n  %-28s %10s%s%s", delivered->items[i].path,
                         num_size_text(delivered->items[i].len, size), runner ? "  run by " : "",
                         runner ? runner : "");
    }
    if (buf_error(&text) == 0)
        view_tell(view, TERM_BOLD, "files", text.data);
}

/* What gave the answer, as far as it fits on a screen; all of it is in the folder. */
static void tell_code(struct view *view, const struct agent_outcome *outcome)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    const struct agent_file *file = outcome->code.items;
    size_t lines = 0;
    size_t len = 0;

    if (!outcome->answer || outcome->code.n != 1)
        return;
    while (len < file->len && lines < CODE_LINES_MAX)
        lines += file->text[len++] == '\n';
    (void)buf_puts(&text, file->path);
    (void)buf_puts(&text, "\n");
    (void)buf_add(&text, file->text, len);
    while (text.len > 0 && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    (void)buf_puts(&text, len < file->len ? "\n..." : "");
    if (buf_error(&text) == 0)
        view_tell(view, TERM_BOLD, "code", text.data);
}

static void tell_measures(struct view *view, const struct agent_outcome *outcome)
{
    char line[200];
    char memory[NUM_TEXT_MAX];
    const struct judge_report *report = &outcome->report;
    int n = 0;

    if (outcome->code.n == 0)
        return;
    if (report->n_rows > 0 && report->coverage >= 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "coverage %.0f %% of statements",
                      report->coverage * 100);
    if (outcome->mutation.n > 0 && outcome->mutation.score >= 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%smutation score %.0f %%", n ? ", " : "",
                      outcome->mutation.score * 100);
    if (report->memory_peak_bytes > 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%sat most %s of memory", n ? ", " : "",
                      num_size_text(report->memory_peak_bytes, memory));
    if (n > 0)
        view_tell(view, TERM_BOLD, "measured", line);
}

static void tell_line(struct view *view, const char *label, const struct buf *line)
{
    if (line->len > 0 && buf_error(line) == 0)
        view_tell(view, TERM_BOLD, label, line->data);
}

void run_tell_end(struct view *view, const struct agent_outcome *outcome,
                  const struct deliverable *delivered, const char *dir, char *const *files)
{
    cleanup_buf struct buf run = BUF_INIT(TEXT_MAX);
    cleanup_buf struct buf test = BUF_INIT(TEXT_MAX);

    if (outcome->reason && outcome->outcome != OUTCOME_PASSED)
        view_tell(view, TERM_RED, "reason", outcome->reason);
    if (outcome->run_failed)
        view_tell(view, TERM_RED, "failed", outcome->run_failed);
    if (outcome->answer && outcome->code.n == 0)
        view_tell(view, TERM_BOLD, "note", "answered without code: nothing was run or tested");
    tell_code(view, outcome);
    tell_tests(view, outcome);
    tell_measures(view, outcome);
    tell_files(view, delivered, dir);
    (void)line_to_run(outcome, dir, files, &run);
    (void)line_to_test(outcome, dir, &test);
    if (delivered->n > 0 && *dir) {
        tell_line(view, "run it", &run);
        tell_line(view, "test it", &test);
    }
    if (outcome->answer && isatty(STDOUT_FILENO))
        view_gap(view); /* the answer comes next, by itself */
}

void run_tell_stop(struct view *view, const char *id, const struct agent_stop *stop)
{
    char line[ID_SIZE + 100];

    if (!stop)
        return;
    (void)snprintf(line, sizeof(line), "with more than it had: glovebox run --resume %s %s N", id,
                   budget_item_option(stop->item));
    view_tell(view, TERM_BOLD, "go on", line);
}

int run_tell_answer(const char *answer, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(4UL * ANSWER_MAX);
    size_t len = strlen(answer);

    if (isatty(STDOUT_FILENO)) {
        struct term_filter filter = { 0 };

        (void)term_filter_add(&filter, answer, len, &text);
        (void)term_filter_end(&filter, &text);
    } else {
        (void)buf_add(&text, answer, len);
    }
    if (len == 0 || answer[len - 1] != '\n')
        (void)buf_putc(&text, '\n');
    return command_print(&text, err);
}
