/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view.c - a task as a person sees it work. */
#include "cli/view.h"

#include <stdio.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/event.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/term_filter.h"

#define LINE_MAX_BYTES (64 << 10)
#define REDRAW_MS      80
#define LABEL_WIDTH    11
#define DETAILS_MAX    4 /* failed tests that are told with their values */

/* ---- lines ---------------------------------------------------------------------------------- */

static void put(const struct view *view, const struct buf *text)
{
    if (text->len > 0)
        (void)fd_write_full(view->term.fd, text->data, text->len);
}

static void status_clear(struct view *view)
{
    static const char erase[] = "\r\x1b[K";

    if (view->has_status)
        (void)fd_write_full(view->term.fd, erase, sizeof(erase) - 1);
    view->has_status = false;
}

/* "● tests      12 written": a label, then text in one line or several, the later ones indented. */
static void tell(struct view *view, enum term_style style, const char *label, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    const char *mark = label[0] ? "●" : " ";

    status_clear(view);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        (void)buf_printf(&out, "%s%s%s %-*s ", term_on(&view->term, style), mark,
                         term_off(&view->term), LABEL_WIDTH, label);
        (void)term_filter_line(line, strcspn(line, "\n"), &out);
        (void)buf_putc(&out, '\n');
        mark = " ";
        label = "";
    }
    put(view, &out);
}

/* Drawn at most so often: a model's answer comes in thousands of pieces. */
static void status(struct view *view, bool is_urgent)
{
    uint64_t now_ns = clock_now_ns();
    char line[160];
    int n;

    if (!view->is_live || (!is_urgent && now_ns - view->drawn_ns < REDRAW_MS * NS_PER_MS))
        return;
    n = snprintf(line, sizeof(line), "\r\x1b[K%s… %s%s", term_on(&view->term, TERM_DIM),
                 view->doing, term_off(&view->term));
    if (n > 0 && view->n_bytes > 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, " %zu lines", view->n_lines + 1);
    if (n > 0)
        (void)fd_write_full(view->term.fd, line,
                            (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
    view->drawn_ns = now_ns;
    view->has_status = true;
}

static void doing(struct view *view, const char *what)
{
    (void)snprintf(view->doing, sizeof(view->doing), "%s", what);
    view->n_lines = 0;
    view->n_bytes = 0;
    status(view, true);
}

/* ---- events --------------------------------------------------------------------------------- */

static void on_step(struct view *view, const struct agent_event *event)
{
    if (event->text && event->len > 0)
        tell(view, TERM_DIM, event->name, event->text);
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
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);

    (void)buf_printf(&out, "%s in %s: %s", kinds[contract->kind], contract->language,
                     contract->summary ? contract->summary : "");
    contract_names(contract, &out);
    for (size_t i = 0; contract->assumptions && contract->assumptions[i]; i++)
        (void)buf_printf(&out, "\nassumed: %s", contract->assumptions[i]);
    if (buf_error(&out) == 0)
        tell(view, TERM_BOLD, "contract", out.data);
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
    n = snprintf(line, sizeof(line), "%zu:", event->tests->n);
    for (int class = 0; class < N_CLASSES; class ++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "%s %u %s", class ? "," : "",
                      by_class[class], test_class_name((enum test_class) class));
    (void)snprintf(line + n, sizeof(line) - (size_t)n, "; %u held back", held);
    tell(view, TERM_BOLD, "tests", line);
}

static void on_attempt(struct view *view, const struct agent_event *event)
{
    char label[24];

    (void)snprintf(label, sizeof(label), "attempt %u", event->number);
    view->n_rows = 0;
    tell(view, TERM_BOLD, label, event->text ? event->text : "");
}

static void on_ask(struct view *view, const struct agent_event *event)
{
    char what[sizeof(view->doing)];

    (void)snprintf(what, sizeof(what), "%s: %s", event->name, event->text ? event->text : "");
    doing(view, what);
}

static void on_text(struct view *view, const struct agent_event *event)
{
    for (size_t i = 0; i < event->len; i++)
        view->n_lines += event->text[i] == '\n';
    view->n_bytes += event->len;
    status(view, false);
}

static void on_again(struct view *view, const struct agent_event *event)
{
    view->n_lines = 0;
    view->n_bytes = 0;
    tell(view, TERM_YELLOW, "again", event->text);
}

static void on_code(struct view *view, const struct agent_event *event)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);

    for (size_t i = 0; i < event->files->n; i++) {
        size_t lines = 0;

        for (size_t k = 0; k < event->files->items[i].len; k++)
            lines += event->files->items[i].text[k] == '\n';
        (void)buf_printf(&out, "%s%s (%zu lines)", i ? ", " : "", event->files->items[i].path,
                         lines);
    }
    if (out.len > 0 && buf_error(&out) == 0)
        tell(view, TERM_DIM, "", out.data);
}

static void on_row(struct view *view, const struct agent_event *event)
{
    bool is_passed = event->row->result == TEST_PASSED;
    cleanup_buf struct buf out = BUF_INIT(256);

    view->n_rows++;
    if (!view->is_live)
        return;
    status_clear(view);
    (void)buf_printf(&out, "%s%s%s%s", view->n_rows == 1 ? "  " : "",
                     term_on(&view->term, is_passed ? TERM_GREEN : TERM_RED), is_passed ? "✓" : "✗",
                     term_off(&view->term));
    put(view, &out);
}

static void tell_failed(struct view *view, const struct judge_report *report)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    unsigned told = 0;

    for (size_t i = 0; i < report->n_rows && told < DETAILS_MAX; i++) {
        const struct judge_row *row = &report->rows[i];

        if (row->result == TEST_PASSED)
            continue;
        (void)buf_printf(&out, "%s%s: %s", told++ ? "\n" : "", row->id,
                         row->message ? row->message : test_result_name(row->result));
    }
    if (told > 0 && buf_error(&out) == 0)
        tell(view, TERM_RED, "", out.data);
}

static void on_report(struct view *view, const struct agent_event *event)
{
    const struct judge_report *report = event->report;
    unsigned passed = 0;
    char line[160];

    if (view->is_live && view->n_rows > 0)
        (void)fd_write_full(view->term.fd, "\n", 1);
    for (size_t i = 0; i < report->n_rows; i++)
        passed += report->rows[i].result == TEST_PASSED;
    (void)snprintf(line, sizeof(line), "%s: %u of %zu tests", outcome_name(report->outcome), passed,
                   report->n_rows);
    tell(view, report->outcome == OUTCOME_PASSED ? TERM_GREEN : TERM_RED, "", line);
    if (report->diagnosis != DIAGNOSIS_NONE)
        tell(view, TERM_YELLOW, "diagnosis", diagnosis_name(report->diagnosis));
    tell_failed(view, report);
    if (report->reason)
        tell(view, TERM_RED, "", report->reason);
}

static void on_mutation(struct view *view, const struct agent_event *event)
{
    const struct judge_mutation *mutation = event->mutation;
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);

    if (mutation->score < 0)
        return;
    (void)buf_printf(&out, "%.0f %% of %zu changes are noticed", mutation->score * 100,
                     mutation->n);
    for (size_t i = 0; i < mutation->n; i++)
        if (!mutation->items[i].is_killed && !mutation->items[i].is_hint)
            (void)buf_printf(&out, "\nno test notices %s: %s", mutation->items[i].function,
                             mutation->items[i].what);
    if (buf_error(&out) == 0)
        tell(view, TERM_BOLD, "mutants", out.data);
}

static void on_said(struct view *view, const struct agent_event *event)
{
    static const char *const labels[N_EVENTS] = {
        [EVENT_SEARCH] = "search",
        [EVENT_QUESTION] = "question",
        [EVENT_OUTPUT] = "output",
        [EVENT_NOTE] = "note",
    };

    tell(view, TERM_BOLD, labels[event->kind], event->text);
}

static void on_end(struct view *view, const struct agent_event *event)
{
    const struct agent_spent *spent = &event->spent;
    char cost[40] = "cost unknown";
    char line[200];

    if (spent->has_cost)
        (void)snprintf(cost, sizeof(cost), "$%.4f", (double)spent->micro_dollars / 1e6);
    (void)snprintf(line, sizeof(line), "%u model calls, %llu tokens, %s, %.1f s", spent->calls,
                   (unsigned long long)spent->tokens, cost, (double)spent->wall_ms / 1000);
    tell(view, strcmp(event->name, "passed") == 0 ? TERM_GREEN : TERM_RED, event->name, line);
    if (event->text && event->len > 0)
        tell(view, TERM_DIM, "", event->text);
}

static void (*const handlers[N_EVENTS])(struct view *view, const struct agent_event *event) = {
    [EVENT_STEP] = on_step,       [EVENT_CONTRACT] = on_contract, [EVENT_TESTS] = on_tests,
    [EVENT_ATTEMPT] = on_attempt, [EVENT_ASK] = on_ask,           [EVENT_TEXT] = on_text,
    [EVENT_REASONING] = on_text,  [EVENT_AGAIN] = on_again,       [EVENT_CODE] = on_code,
    [EVENT_ROW] = on_row,         [EVENT_REPORT] = on_report,     [EVENT_MUTATION] = on_mutation,
    [EVENT_SEARCH] = on_said,     [EVENT_QUESTION] = on_said,     [EVENT_OUTPUT] = on_said,
    [EVENT_NOTE] = on_said,       [EVENT_END] = on_end,
};

void view_init(struct view *view, const struct term *term, bool is_plain)
{
    *view = (struct view){ .term = *term, .is_live = term->is_tty && !is_plain };
}

void view_hear(void *user, const struct agent_event *event)
{
    if (handlers[event->kind])
        handlers[event->kind](user, event);
}

void view_end(struct view *view)
{
    status_clear(view);
}
