/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view_event.c - what a person sees of each event. */
#include <stdio.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "base/cleanup.h"
#include "cli/view_inside.h"

#define SAID_LINES  24
#define SAID_BYTES  (32 << 10)
#define DETAILS_MAX 4 /* failed tests that are told with their values */

static void on_begin(struct view *view, const struct agent_event *event)
{
    view_doing(view, "beginning");
}

static void on_step(struct view *view, const struct agent_event *event)
{
    if (event->text && event->len > 0)
        view_line(view, TERM_BOLD, "plan", event->text);
}

static void contract_names(const struct contract *contract, struct buf *out)
{
    for (size_t i = 0; i < contract->n_names; i++)
        (void)buf_printf(out, "\n%s%s", contract->names[i].name,
                         contract->names[i].signature ? contract->names[i].signature : "");
}

static void on_contract(struct view *view, const struct agent_event *event)
{
    static const char *const kinds[] = {
        [CONTRACT_ANSWER] = "an answer",
        [CONTRACT_PROGRAM] = "a program",
        [CONTRACT_LIBRARY] = "a library",
    };
    const struct contract *contract = event->contract;
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
    const char *summary = contract->summary ? contract->summary : "";

    (void)buf_printf(&out, "%s in %s%s%s", kinds[contract->kind], contract->language,
                     *summary ? ": " : "", summary);
    contract_names(contract, &out);
    for (size_t i = 0; contract->assumptions && contract->assumptions[i]; i++)
        (void)buf_printf(&out, "\nassumed: %s", contract->assumptions[i]);
    if (buf_error(&out) == 0)
        view_line(view, TERM_BOLD, "contract", out.data);
}

static void on_tests(struct view *view, const struct agent_event *event)
{
    unsigned by_class[N_CLASSES] = { 0 };
    unsigned held = 0;
    char line[200];
    int n;

    for (size_t i = 0; i < event->tests->n; i++) {
        by_class[event->tests->items[i].class]++;
        held += event->tests->items[i].origin == ORIGIN_HELD_BACK;
    }
    view->n_tests = event->tests->n;
    n = snprintf(line, sizeof(line), "%zu:", event->tests->n);
    for (int class = 0; class < N_CLASSES; class ++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%s %u %s", class ? "," : "",
                      by_class[class], test_class_name((enum test_class) class));
    (void)snprintf(line + n, sizeof(line) - (size_t)n, "; %u held back", held);
    view_line(view, TERM_BOLD, "tests", line);
}

static void on_attempt(struct view *view, const struct agent_event *event)
{
    char label[24];

    (void)snprintf(label, sizeof(label), "attempt %u", event->number);
    buf_reset(&view->marks);
    view_line(view, TERM_BOLD, label, event->text && !view->has_report ? event->text : "");
    view->has_report = false;
}

/* Answers that people read as they come; the others are JSON or prose. */
static bool is_read(const char *what)
{
    static const char *const read[] = { "writing code", "mending code", "writing tests",
                                        "adding tests" };

    for (size_t i = 0; i < N_ELEMENTS(read); i++)
        if (strcmp(what, read[i]) == 0)
            return true;
    return false;
}

static void on_ask(struct view *view, const struct agent_event *event)
{
    char line[sizeof(view->doing)];
    const char *what = event->name ? event->name : "asking";

    (void)snprintf(line, sizeof(line), "%.30s (%.60s)", what, event->text ? event->text : "");
    buf_reset(&view->marks);
    view_doing(view, line);
    view->shows_tail = is_read(what);
}

static void add_to_tail(struct view *view, char c)
{
    char *line = view->tail[view->n_lines % VIEW_TAIL_LINES];

    if (c == '\n') {
        view->n_lines++;
        view->tail_len = 0;
        view->tail[view->n_lines % VIEW_TAIL_LINES][0] = '\0';
    } else if (view->tail_len + 1 < VIEW_TAIL_WIDTH && c != '\r') {
        line[view->tail_len++] = (char)(c == '\t' ? ' ' : c);
        line[view->tail_len] = '\0';
    }
}

static void on_text(struct view *view, const struct agent_event *event)
{
    for (size_t i = 0; i < event->len; i++)
        add_to_tail(view, event->text[i]);
    view->n_bytes += event->len;
    view_draw(view, false);
}

static void on_reasoning(struct view *view, const struct agent_event *event)
{
    view_draw(view, false);
}

static void on_again(struct view *view, const struct agent_event *event)
{
    view_line(view, TERM_YELLOW, "again", event->text ? event->text : "");
    view->n_lines = 0;
    view->n_bytes = 0;
    view->tail_len = 0;
    view->tail[0][0] = '\0';
}

static void on_answered(struct view *view, const struct agent_event *event)
{
    view->spent = event->spent;
    view_doing(view, "checking");
}

static void on_code(struct view *view, const struct agent_event *event)
{
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);

    for (size_t i = 0; i < event->files->n; i++) {
        size_t lines = 0;

        for (size_t k = 0; k < event->files->items[i].len; k++)
            lines += event->files->items[i].text[k] == '\n';
        (void)buf_printf(&out, "%s%s (%zu line%s)", i ? ", " : "", event->files->items[i].path,
                         lines, lines == 1 ? "" : "s");
    }
    buf_reset(&view->marks);
    if (out.len > 0 && buf_error(&out) == 0)
        view_line(view, TERM_DIM, "", out.data);
    view_doing(view, "running it in boxes");
}

static void on_row(struct view *view, const struct agent_event *event)
{
    (void)buf_putc(&view->marks, (char)(event->row->result == TEST_PASSED));
    view_draw(view, false);
}

static void tell_failed(struct view *view, const struct judge_report *report)
{
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
    unsigned told = 0;
    unsigned untold = 0;

    for (size_t i = 0; i < report->n_rows; i++) {
        const struct judge_row *row = &report->rows[i];

        if (row->result == TEST_PASSED || row->is_withdrawn)
            continue;
        if (told == DETAILS_MAX)
            untold++;
        else
            (void)buf_printf(&out, "%s%s: %s", told++ ? "\n" : "", row->id,
                             row->message ? row->message : test_result_name(row->result));
    }
    if (untold > 0)
        (void)buf_printf(&out, "\n… and %u more", untold);
    if (told > 0 && buf_error(&out) == 0)
        view_line(view, TERM_RED, "", out.data);
}

/* All marks in the order of the report, in lines of the terminal's width. */
static void tell_marks(struct view *view, const struct judge_report *report)
{
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
    size_t room = view->term.width > VIEW_INDENT + 8 ? view->term.width - VIEW_INDENT : 8;

    buf_reset(&view->marks);
    for (size_t i = 0; i < report->n_rows; i++)
        if (!report->rows[i].is_withdrawn)
            (void)buf_putc(&view->marks, (char)(report->rows[i].result == TEST_PASSED));
    for (size_t i = 0; i < view->marks.len; i += room) {
        size_t end = i + room < view->marks.len ? i + room : view->marks.len;

        (void)buf_printf(&out, "%*s", VIEW_INDENT, "");
        view_marks(view, i, end, &out);
        (void)buf_putc(&out, '\n');
    }
    buf_reset(&view->marks);
    view_raw(view, &out);
}

static void on_report(struct view *view, const struct agent_event *event)
{
    const struct judge_report *report = event->report;
    bool is_passed = report->outcome == OUTCOME_PASSED;
    size_t passed;
    size_t n = judge_report_count(report, &passed);
    char line[160];

    tell_marks(view, report);
    (void)snprintf(line, sizeof(line), "%zu of %zu tests%s%s%s", passed, n,
                   is_passed ? "" : " passed",
                   report->diagnosis != DIAGNOSIS_NONE ? "; diagnosis: " : "",
                   report->diagnosis != DIAGNOSIS_NONE ? diagnosis_name(report->diagnosis) : "");
    view_line(view, is_passed ? TERM_GREEN : TERM_RED, outcome_name(report->outcome), line);
    tell_failed(view, report);
    if (report->reason)
        view_line(view, TERM_RED, "", report->reason);
    view->has_report = true;
    view_doing(view, is_passed ? "changing the code: do the tests notice?" : "checking");
}

static void on_mutation(struct view *view, const struct agent_event *event)
{
    const struct judge_mutation *mutation = event->mutation;
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
    size_t n = 0;

    view_doing(view, "checking");
    if (mutation->score < 0)
        return;
    for (size_t i = 0; i < mutation->n; i++)
        n += !mutation->items[i].is_hint;
    (void)buf_printf(&out, "%.0f %% of %zu changes to the code are noticed by its tests",
                     mutation->score * 100, n);
    for (size_t i = 0; i < mutation->n; i++)
        if (!mutation->items[i].is_killed && !mutation->items[i].is_hint)
            (void)buf_printf(&out, "\nno test notices %s: %s", mutation->items[i].function,
                             mutation->items[i].what);
    if (buf_error(&out) == 0)
        view_line(view, TERM_BOLD, "mutants", out.data);
}

/* So many lines as a person reads, and how many there are besides. */
static void put_lines(const char *text, size_t len, size_t most, struct buf *out)
{
    size_t lines = 0;
    size_t more = 0;
    size_t n = 0;

    while (n < len && n < SAID_BYTES && lines < most)
        lines += text[n++] == '\n';
    (void)buf_add(out, text, n);
    if (n == len)
        return;
    for (size_t i = n; i < len; i++)
        more += text[i] == '\n';
    if (lines < most) /* in the middle of a line */
        (void)buf_puts(out, "…\n");
    (void)buf_printf(out, "… %zu line%s more", more + 1, more ? "s" : "");
}

static void on_said(struct view *view, const struct agent_event *event)
{
    /* What is asked, and what several solutions came to, is of no use in part. */
    static const struct {
        const char *label;
        size_t most;
    } said[N_EVENTS] = {
        [EVENT_SEARCH] = { "search", SAID_LINES },
        [EVENT_QUESTION] = { "question", SAID_BYTES },
        [EVENT_OUTPUT] = { "output", SAID_LINES },
        [EVENT_NOTE] = { "note", SAID_LINES },
        [EVENT_MATRIX] = { "solutions", SAID_BYTES },
        [EVENT_NETWORK] = { "network", SAID_LINES },
        [EVENT_PACKAGES] = { "packages", SAID_LINES },
    };
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
    size_t len = event->text ? event->len : 0;

    while (len > 0 && event->text[len - 1] == '\n')
        len--;
    if (len == 0)
        return;
    put_lines(event->text, len, said[event->kind].most, &out);
    if (buf_error(&out) == 0)
        view_line(view, TERM_BOLD, said[event->kind].label, out.data);
}

static void on_installing(struct view *view, const struct agent_event *event)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "installing %.180s", event->text);
    view_doing(view, line);
}

static void on_waiting(struct view *view, const struct agent_event *event)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "waiting for another that installs %.150s", event->text);
    view_doing(view, line);
}

static void on_end(struct view *view, const struct agent_event *event)
{
    const struct agent_spent *spent = &event->spent;
    char money[32];
    char cached[48] = "";
    char line[200];

    view_doing(view, "");
    view_money(spent, money);
    if (spent->cached > 0)
        (void)snprintf(cached, sizeof(cached), " (%llu cached)", (unsigned long long)spent->cached);
    (void)snprintf(line, sizeof(line), "%u model call%s, %llu tokens%s, %s, %.1f s", spent->calls,
                   spent->calls == 1 ? "" : "s", (unsigned long long)spent->tokens, cached, money,
                   (double)spent->wall_ms / 1000);
    view_line_gap(view);
    view_line(view, strcmp(event->name, "passed") == 0 ? TERM_GREEN : TERM_RED, event->name, line);
    if (event->text && event->len > 0)
        view_line(view, TERM_DIM, "", event->text);
}

static void (*const handlers[N_EVENTS])(struct view *view, const struct agent_event *event) = {
    [EVENT_BEGIN] = on_begin,
    [EVENT_STEP] = on_step,
    [EVENT_CONTRACT] = on_contract,
    [EVENT_TESTS] = on_tests,
    [EVENT_ATTEMPT] = on_attempt,
    [EVENT_ASK] = on_ask,
    [EVENT_TEXT] = on_text,
    [EVENT_REASONING] = on_reasoning,
    [EVENT_AGAIN] = on_again,
    [EVENT_ANSWERED] = on_answered,
    [EVENT_CODE] = on_code,
    [EVENT_ROW] = on_row,
    [EVENT_REPORT] = on_report,
    [EVENT_MUTATION] = on_mutation,
    [EVENT_SEARCH] = on_said,
    [EVENT_QUESTION] = on_said,
    [EVENT_OUTPUT] = on_said,
    [EVENT_NOTE] = on_said,
    [EVENT_MATRIX] = on_said,
    [EVENT_END] = on_end,
    [EVENT_NETWORK] = on_said,
    [EVENT_PACKAGES] = on_said,
    [EVENT_INSTALLING] = on_installing,
    [EVENT_WAITING] = on_waiting,
};

void view_take(struct view *view, const struct agent_event *event)
{
    if (handlers[event->kind])
        handlers[event->kind](view, event);
}
