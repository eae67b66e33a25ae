/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_print.c - the streams of `glovebox exec`: output of the box, and our own words. */
#include "cli/exec_print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "cli/exec_lines.h"
#include "cli/exec_session.h"
#include "cli/term.h"
#include "run/language.h"
#include "run/result.h"
#include "run/run.h"

/* Kept per piece when the terminal is protected; a piece grows at most fourfold. */
#define SHOWN_MAX (1 << 20)

#define PIPE_SIZE (1 << 20)

int printer_output(void *user, int stream, const void *bytes, size_t len)
{
    struct printer *p = user;
    struct sink *sink = &p->sinks[stream];
    cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);

    if (p->lines)
        return exec_lines_output(p->lines, stream, bytes, len);
    if (sink->is_tty) {
        int r = p->tty->is_raw ? tty_filter_add(&p->tty_filter, bytes, len, &shown)
                               : term_filter_add(&sink->filter, bytes, len, &shown);

        if (r < 0)
            return r;
        bytes = shown.data;
        len = shown.len;
    }
    if (len > 0 && p->error == 0) {
        (void)buf_add(&sink->outlet.pending, bytes, len);
        p->error = outlet_push(&sink->outlet);
    }
    if (len > 0 && sink->is_ours)
        p->is_mid_line = ((const char *)bytes)[len - 1] != '\n';
    return p->error;
}

void printer_begin(struct printer *p, const struct run_request *request)
{
    p->wall_ms = request->box->limits.wall_ms;
    if (p->lines)
        exec_lines_begin(p->lines, request->id, request->language ? request->language->name : NULL,
                         p->wall_ms);
}

void printer_step(void *user, const char *name)
{
    struct printer *p = user;

    p->sinks[1].outlet.deadline_ns = p->sinks[2].outlet.deadline_ns = clock_after_ms(p->wall_ms);
    if (p->lines)
        exec_lines_step(p->lines, name);
}

void printer_start_line(struct printer *p)
{
    if (p->is_mid_line)
        (void)fd_write_full(STDERR_FILENO, "\n", 1);
    p->is_mid_line = false;
}

int printer_check(const struct printer *p, struct gb_err *err)
{
    if (p->error == 0 || p->error == -EPIPE || p->error == -ETIMEDOUT)
        return 0;
    return gb_fail(err, p->error, GB_BLAME_HOST, "writing the output: %s", strerror(-p->error));
}

static bool is_same_file(int a, int b)
{
    struct stat one;
    struct stat other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

void printer_init(struct printer *p, int cancel_fd)
{
    *p = (struct printer){ 0 };
    for (int stream = 1; stream <= 2; stream++) {
        outlet_init(&p->sinks[stream].outlet, stream, cancel_fd);
        p->sinks[stream].is_tty = isatty(stream);
    }
    p->sinks[1].is_ours = is_same_file(STDOUT_FILENO, STDERR_FILENO);
    p->sinks[2].is_ours = true;
}

void printer_clear(struct printer *p)
{
    outlet_clear(&p->sinks[1].outlet);
    outlet_clear(&p->sinks[2].outlet);
}

int printer_pipe(const struct sink *sink)
{
    struct stat st;

    if (sink->is_ours || fstat(sink->outlet.fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return -1;
    (void)fcntl(sink->outlet.fd, F_SETPIPE_SZ, PIPE_SIZE); /* refused where the user has many */
    return sink->outlet.fd;
}

void printer_rest(struct printer *p)
{
    for (int stream = 1; stream <= 2; stream++) {
        struct sink *sink = &p->sinks[stream];
        int r;

        if (sink->is_tty)
            (void)term_filter_end(&sink->filter, &sink->outlet.pending);
        r = outlet_finish(&sink->outlet);
        if (p->error == 0)
            p->error = r;
    }
}

bool printer_is_heard(const struct printer *p)
{
    return p->sinks[2].outlet.error != -ETIMEDOUT &&
           !(p->sinks[1].is_ours && p->sinks[1].outlet.error == -ETIMEDOUT);
}

/* Names of files come from the box. */
void printer_notes(struct printer *p, const struct run_result *result)
{
    for (size_t i = 0; i < result->n_notes; i++) {
        cleanup_buf struct buf text = BUF_INIT(SHOWN_MAX);

        printer_start_line(p);
        (void)buf_puts(&text, "glovebox: ");
        (void)term_filter_line(result->notes[i], strlen(result->notes[i]), &text);
        (void)buf_putc(&text, '\n');
        if (!buf_error(&text))
            (void)fd_write_full(STDERR_FILENO, text.data, text.len);
    }
}

void printer_hint(struct printer *p, const struct run_result *result, enum color_mode color)
{
    char text[RUN_HINT_MAX];
    char end[RUN_END_MAX];
    const char *hint = run_result_hint(result, text);
    const char *killed = run_result_killed(result, end);
    struct term term;

    if (!hint && !killed)
        return;
    printer_start_line(p);
    term_init(&term, STDERR_FILENO, color, environ);
    (void)dprintf(STDERR_FILENO, "%sglovebox: %s%s%s%s\n", term_on(&term, TERM_YELLOW),
                  hint ? verdict_name(run_result_step(result)->verdict) : "", hint ? ": " : "",
                  hint ? hint : killed, term_off(&term));
}
