/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view.c - a task as a person sees it work. */
#include "cli/view.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/contract.h"
#include "agent/fence.h"
#include "agent/judge.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/term_filter.h"

#define LINE_MAX_BYTES (64 << 10)
#define TICK_MS        100
#define LABEL_WIDTH    11
#define INDENT         14 /* mark, blank, label, blank */
#define SAID_LINES     24
#define SAID_BYTES     (32 << 10)
#define DETAILS_MAX    4 /* failed tests that are told with their values */
#define MARKS_MAX      4096

/* ---- lines that stay ------------------------------------------------------------------------ */

static void put(const struct view *view, const struct buf *text)
{
    if (text->len > 0)
        (void)fd_write_full(view->term.fd, text->data, text->len);
}

/* Lines as they are, coloured already. */
static void tell_raw(struct view *view, const struct buf *text)
{
    if (buf_error(text) < 0)
        return;
    live_erase(&view->live);
    put(view, text);
}

/* "● tests      12 written": a label, then text in one line or several, the later ones indented. */
static void tell(struct view *view, enum term_style style, const char *label, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(4UL * LINE_MAX_BYTES);
    const char *mark = label[0] ? "●" : " ";

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        (void)buf_printf(&out, "%s%s%s %-*s ", term_on(&view->term, style), mark,
                         term_off(&view->term), LABEL_WIDTH, label);
        (void)term_filter_line(line, strcspn(line, "\n"), &out);
        while (out.len > 0 && out.data[out.len - 1] == ' ')
            out.data[--out.len] = '\0';
        (void)buf_putc(&out, '\n');
        mark = " ";
        label = "";
    }
    tell_raw(view, &out);
}

static void tell_gap(struct view *view)
{
    live_erase(&view->live);
    (void)fd_write_full(view->term.fd, "\n", 1);
}

/* ---- lines that are drawn over -------------------------------------------------------------- */

static void money_text(const struct agent_spent *spent, char text[static 32])
{
    if (spent->has_cost)
        (void)snprintf(text, 32, "$%.4f", (double)spent->micro_dollars / 1e6);
    else
        (void)snprintf(text, 32, "cost unknown");
}

/* The last of them that fit, in colour. */
static void put_marks(const struct view *view, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        bool is_passed = view->marks.data[i];
        bool is_first = i == from || view->marks.data[i - 1] != view->marks.data[i];
        bool is_last = i + 1 == to || view->marks.data[i + 1] != view->marks.data[i];

        (void)buf_printf(out, "%s%s%s",
                         is_first ? term_on(&view->term, is_passed ? TERM_GREEN : TERM_RED) : "",
                         is_passed ? "✓" : "✗", is_last ? term_off(&view->term) : "");
    }
}

static void draw_tail(const struct view *view, struct buf *out)
{
    size_t first = view->n_lines + 1 > VIEW_TAIL_LINES ? view->n_lines + 1 - VIEW_TAIL_LINES : 0;

    if (!view->shows_tail || view->n_bytes == 0)
        return;
    for (size_t i = first; i <= view->n_lines; i++) {
        const char *line = view->tail[i % VIEW_TAIL_LINES];

        (void)buf_printf(out, "%*s%s│ ", INDENT, "", term_on(&view->term, TERM_DIM));
        (void)term_filter_line(line, strlen(line), out);
        (void)buf_printf(out, "%s\n", term_off(&view->term));
    }
}

static void draw_tests(const struct view *view, struct buf *out)
{
    size_t n = view->marks.len;
    size_t room = view->term.width > INDENT + 16 ? view->term.width - INDENT - 16 : 1;

    if (n == 0)
        return;
    (void)buf_printf(out, "%*s", INDENT, "");
    put_marks(view, n > room ? n - room : 0, n, out);
    (void)buf_printf(out, " %s%zu of %zu%s\n", term_on(&view->term, TERM_DIM), n,
                     view->n_tests > n ? view->n_tests : n, term_off(&view->term));
}

static void draw_status(const struct view *view, uint64_t now_ns, struct buf *out)
{
    static const char *const frames[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
    char money[32];

    (void)buf_printf(out, "%s%s ", term_on(&view->term, TERM_DIM),
                     frames[view->frame % N_ELEMENTS(frames)]);
    (void)term_filter_line(view->doing, strlen(view->doing), out);
    if (view->n_bytes > 0)
        (void)buf_printf(out, ", %zu lines", view->n_lines + 1);
    (void)buf_printf(out, " · %.0f s", (double)(now_ns - view->since_ns) / (double)NS_PER_S);
    if (view->spent.calls > 0) {
        money_text(&view->spent, money);
        (void)buf_printf(out, " · %llu tokens, %s", (unsigned long long)view->spent.tokens, money);
    }
    (void)buf_puts(out, term_off(&view->term));
}

/* Drawn at most so often: a model's answer comes in thousands of pieces. */
static void draw(struct view *view, bool is_urgent)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    uint64_t now_ns = clock_now_ns();

    if (!view->is_live || !view->doing[0] ||
        (!is_urgent && now_ns - view->drawn_ns < TICK_MS * NS_PER_MS))
        return;
    view->frame++;
    draw_tail(view, &out);
    draw_tests(view, &out);
    draw_status(view, now_ns, &out);
    if (buf_error(&out) == 0)
        live_draw(&view->live, &out);
    view->drawn_ns = now_ns;
}

static void *tick(void *user)
{
    struct view *view = user;

    (void)pthread_mutex_lock(&view->lock);
    while (!view->is_over) {
        struct timespec until;

        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * (long)NS_PER_MS;
        until.tv_sec += until.tv_nsec / (long)NS_PER_S;
        until.tv_nsec %= (long)NS_PER_S;
        (void)pthread_cond_timedwait(&view->wake, &view->lock, &until);
        if (!view->is_over)
            draw(view, false);
    }
    (void)pthread_mutex_unlock(&view->lock);
    return NULL;
}

/* "": nothing that takes time. */
static void doing(struct view *view, const char *what)
{
    (void)snprintf(view->doing, sizeof(view->doing), "%s", what);
    view->since_ns = clock_now_ns();
    view->n_lines = 0;
    view->n_bytes = 0;
    view->tail_len = 0;
    view->tail[0][0] = '\0';
    view->shows_tail = false;
    if (what[0])
        draw(view, true);
    else
        live_erase(&view->live);
}

/* ---- events --------------------------------------------------------------------------------- */

static void on_begin(struct view *view, const struct agent_event *event)
{
    doing(view, "beginning");
}

static void on_step(struct view *view, const struct agent_event *event)
{
    if (event->text && event->len > 0)
        tell(view, TERM_BOLD, "plan", event->text);
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
    const char *summary = contract->summary ? contract->summary : "";

    (void)buf_printf(&out, "%s in %s%s%s", kinds[contract->kind], contract->language,
                     *summary ? ": " : "", summary);
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
    view->n_tests = event->tests->n;
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
    buf_reset(&view->marks);
    tell(view, TERM_BOLD, label, event->text && !view->has_report ? event->text : "");
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
    doing(view, line);
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
    draw(view, false);
}

static void on_reasoning(struct view *view, const struct agent_event *event)
{
    draw(view, false);
}

static void on_again(struct view *view, const struct agent_event *event)
{
    tell(view, TERM_YELLOW, "again", event->text ? event->text : "");
    view->n_lines = 0;
    view->n_bytes = 0;
    view->tail_len = 0;
    view->tail[0][0] = '\0';
}

static void on_answered(struct view *view, const struct agent_event *event)
{
    view->spent = event->spent;
    doing(view, "checking");
}

static void on_code(struct view *view, const struct agent_event *event)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);

    for (size_t i = 0; i < event->files->n; i++) {
        size_t lines = 0;

        for (size_t k = 0; k < event->files->items[i].len; k++)
            lines += event->files->items[i].text[k] == '\n';
        (void)buf_printf(&out, "%s%s (%zu line%s)", i ? ", " : "", event->files->items[i].path,
                         lines, lines == 1 ? "" : "s");
    }
    buf_reset(&view->marks);
    if (out.len > 0 && buf_error(&out) == 0)
        tell(view, TERM_DIM, "", out.data);
    doing(view, "running it in boxes");
}

static void on_row(struct view *view, const struct agent_event *event)
{
    (void)buf_putc(&view->marks, (char)(event->row->result == TEST_PASSED));
    draw(view, false);
}

static void tell_failed(struct view *view, const struct judge_report *report)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
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
        tell(view, TERM_RED, "", out.data);
}

/* All marks in the order of the report, in lines of the terminal's width. */
static void tell_marks(struct view *view, const struct judge_report *report)
{
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    size_t room = view->term.width > INDENT + 8 ? view->term.width - INDENT : 8;

    buf_reset(&view->marks);
    for (size_t i = 0; i < report->n_rows; i++)
        if (!report->rows[i].is_withdrawn)
            (void)buf_putc(&view->marks, (char)(report->rows[i].result == TEST_PASSED));
    for (size_t i = 0; i < view->marks.len; i += room) {
        size_t end = i + room < view->marks.len ? i + room : view->marks.len;

        (void)buf_printf(&out, "%*s", INDENT, "");
        put_marks(view, i, end, &out);
        (void)buf_putc(&out, '\n');
    }
    buf_reset(&view->marks);
    tell_raw(view, &out);
}

static void on_report(struct view *view, const struct agent_event *event)
{
    const struct judge_report *report = event->report;
    bool is_passed = report->outcome == OUTCOME_PASSED;
    size_t passed;
    size_t n = judge_report_count(report, &passed);
    char line[160];

    tell_marks(view, report);
    (void)snprintf(line, sizeof(line), "%zu of %zu tests%s%s", passed, n,
                   report->diagnosis != DIAGNOSIS_NONE ? "; diagnosis: " : "",
                   report->diagnosis != DIAGNOSIS_NONE ? diagnosis_name(report->diagnosis) : "");
    tell(view, is_passed ? TERM_GREEN : TERM_RED, outcome_name(report->outcome), line);
    tell_failed(view, report);
    if (report->reason)
        tell(view, TERM_RED, "", report->reason);
    view->has_report = true;
    doing(view, is_passed ? "changing the code: do the tests notice?" : "checking");
}

static void on_mutation(struct view *view, const struct agent_event *event)
{
    const struct judge_mutation *mutation = event->mutation;
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    size_t n = 0;

    doing(view, "checking");
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
        tell(view, TERM_BOLD, "mutants", out.data);
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
    cleanup_buf struct buf out = BUF_INIT(LINE_MAX_BYTES);
    size_t len = event->text ? event->len : 0;

    while (len > 0 && event->text[len - 1] == '\n')
        len--;
    if (len == 0)
        return;
    put_lines(event->text, len, said[event->kind].most, &out);
    if (buf_error(&out) == 0)
        tell(view, TERM_BOLD, said[event->kind].label, out.data);
}

static void on_installing(struct view *view, const struct agent_event *event)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "installing %.180s", event->text);
    doing(view, line);
}

static void on_waiting(struct view *view, const struct agent_event *event)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "waiting for another that installs %.150s", event->text);
    doing(view, line);
}

static void on_end(struct view *view, const struct agent_event *event)
{
    const struct agent_spent *spent = &event->spent;
    char money[32];
    char cached[48] = "";
    char line[200];

    doing(view, "");
    money_text(spent, money);
    if (spent->cached > 0)
        (void)snprintf(cached, sizeof(cached), " (%llu cached)", (unsigned long long)spent->cached);
    (void)snprintf(line, sizeof(line), "%u model call%s, %llu tokens%s, %s, %.1f s", spent->calls,
                   spent->calls == 1 ? "" : "s", (unsigned long long)spent->tokens, cached, money,
                   (double)spent->wall_ms / 1000);
    tell_gap(view);
    tell(view, strcmp(event->name, "passed") == 0 ? TERM_GREEN : TERM_RED, event->name, line);
    if (event->text && event->len > 0)
        tell(view, TERM_DIM, "", event->text);
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

/* ---- the view ------------------------------------------------------------------------------- */

/* Signals are for whoever waits for them. */
static int start_ticker(struct view *view)
{
    sigset_t all;
    sigset_t old;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&view->ticker, NULL, tick, view);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

void view_init(struct view *view, const struct term *term, bool is_plain)
{
    pthread_condattr_t attr;

    *view = (struct view){
        .term = *term,
        .live = { .fd = term->fd },
        .marks = BUF_INIT(MARKS_MAX),
    };
    (void)pthread_mutex_init(&view->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&view->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    view->is_live = term->is_tty && !is_plain;
    if (view->is_live && start_ticker(view) != 0)
        view->is_live = false; /* then it is line by line */
}

void view_hear(void *user, const struct agent_event *event)
{
    struct view *view = user;

    (void)pthread_mutex_lock(&view->lock);
    if (handlers[event->kind])
        handlers[event->kind](view, event);
    draw(view, false);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_tell(struct view *view, enum term_style style, const char *label, const char *text)
{
    (void)pthread_mutex_lock(&view->lock);
    tell(view, style, label, text);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_gap(struct view *view)
{
    (void)pthread_mutex_lock(&view->lock);
    tell_gap(view);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_pause(struct view *view)
{
    (void)pthread_mutex_lock(&view->lock);
    doing(view, "");
    (void)pthread_mutex_unlock(&view->lock);
}

void view_end(struct view *view)
{
    (void)pthread_mutex_lock(&view->lock);
    view->is_over = true;
    live_erase(&view->live);
    (void)pthread_cond_signal(&view->wake);
    (void)pthread_mutex_unlock(&view->lock);
    if (view->is_live)
        (void)pthread_join(view->ticker, NULL);
    (void)pthread_cond_destroy(&view->wake);
    (void)pthread_mutex_destroy(&view->lock);
    buf_clear(&view->marks);
    view->is_live = false;
}
