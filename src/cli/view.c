/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view.c - a task as a person sees it work: lines that stay, and those that are drawn over. */
#include "cli/view.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/term_filter.h"
#include "cli/view_inside.h"

#define TICK_MS     100
#define LABEL_WIDTH 11
#define MARKS_MAX   4096

/* ---- lines that stay ------------------------------------------------------------------------ */

static void put(const struct view *view, const struct buf *text)
{
    if (text->len > 0)
        (void)fd_write_full(view->term.fd, text->data, text->len);
}

/* Lines as they are, coloured already. */
void view_raw(struct view *view, const struct buf *text)
{
    if (buf_error(text) < 0)
        return;
    live_erase(&view->live);
    put(view, text);
}

/* "● tests      12 written": a label, then text in one line or several, the later ones indented. */
void view_line(struct view *view, enum term_style style, const char *label, const char *text)
{
    cleanup_buf struct buf out = BUF_INIT(4UL * VIEW_LINE_MAX);
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
    view_raw(view, &out);
}

void view_line_gap(struct view *view)
{
    live_erase(&view->live);
    (void)fd_write_full(view->term.fd, "\n", 1);
}

/* ---- lines that are drawn over -------------------------------------------------------------- */

void view_money(const struct agent_spent *spent, char text[static 32])
{
    if (spent->has_cost)
        (void)snprintf(text, 32, "$%.4f", (double)spent->micro_dollars / 1e6);
    else
        (void)snprintf(text, 32, "cost unknown");
}

/* The last of them that fit, in colour. */
void view_marks(const struct view *view, size_t from, size_t to, struct buf *out)
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

        (void)buf_printf(out, "%*s%s│ ", VIEW_INDENT, "", term_on(&view->term, TERM_DIM));
        (void)term_filter_line(line, strlen(line), out);
        (void)buf_printf(out, "%s\n", term_off(&view->term));
    }
}

static void draw_tests(const struct view *view, struct buf *out)
{
    size_t n = view->marks.len;
    size_t room = view->term.width > VIEW_INDENT + 16 ? view->term.width - VIEW_INDENT - 16 : 1;

    if (n == 0)
        return;
    (void)buf_printf(out, "%*s", VIEW_INDENT, "");
    view_marks(view, n > room ? n - room : 0, n, out);
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
        view_money(&view->spent, money);
        (void)buf_printf(out, " · %llu tokens, %s", (unsigned long long)view->spent.tokens, money);
    }
    (void)buf_puts(out, term_off(&view->term));
}

/* Drawn at most so often: a model's answer comes in thousands of pieces. */
void view_draw(struct view *view, bool is_urgent)
{
    cleanup_buf struct buf out = BUF_INIT(VIEW_LINE_MAX);
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
            view_draw(view, false);
    }
    (void)pthread_mutex_unlock(&view->lock);
    return NULL;
}

/* "": nothing that takes time. */
void view_doing(struct view *view, const char *what)
{
    (void)snprintf(view->doing, sizeof(view->doing), "%s", what);
    view->since_ns = clock_now_ns();
    view->n_lines = 0;
    view->n_bytes = 0;
    view->tail_len = 0;
    view->tail[0][0] = '\0';
    view->shows_tail = false;
    if (what[0])
        view_draw(view, true);
    else
        live_erase(&view->live);
}

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
    view_take(view, event);
    view_draw(view, false);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_tell(struct view *view, enum term_style style, const char *label, const char *text)
{
    (void)pthread_mutex_lock(&view->lock);
    view_line(view, style, label, text);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_gap(struct view *view)
{
    (void)pthread_mutex_lock(&view->lock);
    view_line_gap(view);
    (void)pthread_mutex_unlock(&view->lock);
}

void view_pause(struct view *view)
{
    (void)pthread_mutex_lock(&view->lock);
    view_doing(view, "");
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
