/* SPDX-License-Identifier: Apache-2.0 */
/* cli/term.c - where people read: colours, width, and how an error looks. */
#include "cli/term.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/term_filter.h"
#include "conf/environment.h"

#define WIDTH_DEFAULT 80

static bool is_set(char *const *env, const char *name)
{
    const char *value = environment_get(env, name);

    return value && *value;
}

static bool wants_color(const struct term *term, enum color_mode color, char *const *env)
{
    const char *name = environment_get(env, "TERM");
    const char *force = environment_get(env, "CLICOLOR_FORCE");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    if (is_set(env, "NO_COLOR"))
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return term->is_tty && name && *name && strcmp(name, "dumb") != 0;
}

void term_init(struct term *term, int fd, enum color_mode color, char *const *env)
{
    struct winsize size = { 0 };

    *term = (struct term){ .fd = fd, .width = WIDTH_DEFAULT };
    /* Only terminals answer this; one that does not know its size says 0. */
    term->is_tty = ioctl(fd, TIOCGWINSZ, &size) == 0;
    if (term->is_tty && size.ws_col)
        term->width = size.ws_col;
    term->has_color = wants_color(term, color, env);
}

const char *term_on(const struct term *term, enum term_style style)
{
    static const char *const codes[N_TERM_STYLES] = {
        [TERM_BOLD] = "\x1b[1m",   [TERM_DIM] = "\x1b[2m",     [TERM_RED] = "\x1b[31m",
        [TERM_GREEN] = "\x1b[32m", [TERM_YELLOW] = "\x1b[33m",
    };

    return term->has_color ? codes[style] : "";
}

const char *term_off(const struct term *term)
{
    return term->has_color ? "\x1b[0m" : "";
}

void term_error(const struct gb_err *err, enum color_mode color, char *const *env)
{
    cleanup_buf struct buf text = BUF_INIT(16 * sizeof(err->msg));
    const char *remedy = gb_err_remedy(err);
    struct term term;

    term_init(&term, STDERR_FILENO, color, env);
    buf_printf(&text, "%sglovebox:%s ", term_on(&term, TERM_RED), term_off(&term));
    term_filter_line(err->msg, gb_err_len(err), &text);
    buf_putc(&text, '\n');
    if (remedy) {
        buf_puts(&text, "  remedy: ");
        term_filter_line(remedy, strlen(remedy), &text);
        buf_putc(&text, '\n');
    }
    (void)fd_write_full(STDERR_FILENO, text.data, text.len); /* nowhere left to tell it */
}

int term_exit_code(const struct gb_err *err)
{
    return err->blame == GB_BLAME_CALLER ? 2 : 125;
}
