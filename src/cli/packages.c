/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packages.c - what a command shows while packages are installed for its box. */
#include "cli/packages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/exec_lines.h"
#include "cli/term_filter.h"
#include "package/set.h"
#include "run/packages.h"

#define NAMES_MAX   400
#define LOG_LINES   12
#define LOG_MAX     (256u << 10)
#define DRAW_EVERY  100000000u /* ns */
#define NS_PER_TICK 1000000000u

/* ---- progress ------------------------------------------------------------------------------- */

static void put_names(const struct package_set *set, struct buf *ret)
{
    for (size_t i = 0; i < set->n; i++) {
        if (ret->len + strlen(set->items[i].name) > NAMES_MAX) {
            (void)buf_puts(ret, ", …");
            return;
        }
        (void)buf_printf(ret, "%s%s", i ? ", " : "", set->items[i].name);
    }
}

static void draw(struct packages_show *t, const char *line)
{
    cleanup_buf struct buf text = BUF_INIT(LOG_MAX);
    uint64_t now = clock_now_ns();

    if (t->drawn_ns && now - t->drawn_ns < DRAW_EVERY)
        return;
    t->drawn_ns = now;
    (void)buf_printf(&text, "%s ", t->word);
    put_names(t->set, &text);
    (void)buf_printf(&text, " … %llu s", (unsigned long long)((now - t->begun_ns) / NS_PER_TICK));
    if (*line) {
        (void)buf_puts(&text, "\n  ");
        (void)term_filter_line(line, strlen(line), &text);
    }
    if (buf_error(&text) == 0)
        live_draw(&t->live, &text);
}

/* The first that is known of a set, with a word for what is done about it. */
static void show(struct packages_show *t, const char *word, const struct package_set *set)
{
    cleanup_buf struct buf text = BUF_INIT(LOG_MAX);

    t->word = word;
    t->set = set;
    t->begun_ns = clock_now_ns();
    t->drawn_ns = 0;
    if (t->is_tty) {
        draw(t, "");
        return;
    }
    (void)buf_printf(&text, "glovebox: %s ", word);
    put_names(set, &text);
    (void)buf_putc(&text, '\n');
    if (buf_error(&text) == 0)
        (void)fd_write_full(STDERR_FILENO, text.data, text.len);
}

static void on_wait(void *user, const struct package_set *set)
{
    show(user, "waiting for another that installs", set);
}

static void on_begin(void *user, const struct package_set *set)
{
    show(user, "installing", set);
}

static void on_line(void *user, const char *line)
{
    struct packages_show *t = user;

    if (t->is_tty)
        draw(t, line);
}

static void on_end(void *user)
{
    struct packages_show *t = user;

    live_erase(&t->live);
}

void packages_show_init(struct packages_show *show)
{
    *show = (struct packages_show){
        .watch = { .wait = on_wait,
                   .begin = on_begin,
                   .line = on_line,
                   .end = on_end,
                   .user = show },
        .is_tty = isatty(STDERR_FILENO),
        .live = { .fd = STDERR_FILENO },
    };
}

/* ---- an installation as lines --------------------------------------------------------------- */

static void line_of_names(struct exec_lines *lines, const char *event,
                          const struct package_set *set)
{
    cleanup_buf struct buf names = BUF_INIT(PACKAGES_FILE_MAX);

    package_set_put_names(set, &names);
    exec_lines_install(lines, event, names.data ? names.data : "");
}

static void line_wait(void *user, const struct package_set *set)
{
    line_of_names(user, "waiting", set);
}

static void line_begin(void *user, const struct package_set *set)
{
    line_of_names(user, "installing", set);
}

static void line_said(void *user, const char *line)
{
    exec_lines_install(user, "installer", line);
}

struct packages_watch packages_watch_lines(struct exec_lines *lines)
{
    return (struct packages_watch){
        .wait = line_wait,
        .begin = line_begin,
        .line = line_said,
        .user = lines,
    };
}

/* ---- failure -------------------------------------------------------------------------------- */

void packages_print_log(const struct run_packages *told)
{
    cleanup_buf struct buf shown = BUF_INIT(LOG_MAX);
    struct term_filter filter = { 0 };
    const char *at = told && told->log ? told->log + strlen(told->log) : NULL;
    size_t lines = 0;

    while (at && at > told->log && lines <= LOG_LINES)
        lines += *--at == '\n';
    if (!at)
        return;
    at += *at == '\n' && lines > LOG_LINES;
    (void)term_filter_add(&filter, at, strlen(at), &shown);
    (void)term_filter_end(&filter, &shown);
    if (buf_error(&shown) == 0 && shown.len)
        (void)fd_write_full(STDERR_FILENO, shown.data, shown.len);
}
