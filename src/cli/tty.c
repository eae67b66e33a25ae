/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tty.c - our terminal, handed to a program in a box for as long as it runs (-t). */
#include "cli/tty.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

/* What a program that was killed may have left: colours, a hidden cursor, reports of the mouse,
 * marks around what is pasted. */
static const char calm[] =
    "\033[0m\033[?25h\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l";

int tty_open(struct tty *ret, struct gb_err *err)
{
    *ret = (struct tty){ 0 };
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return gb_fail(err, -ENOTTY, GB_BLAME_CALLER,
                       "-t: stdin and stdout must be a terminal" GB_REMEDY
                       "leave -t out; --stdin lets the program read what is piped");
    return tcgetattr(STDIN_FILENO, &ret->before) < 0 ? gb_fail_sys(err, "asking the terminal") : 0;
}

void tty_size(uint32_t *ret_rows, uint32_t *ret_cols)
{
    struct winsize size = { 0 };

    (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row;
    *ret_cols = size.ws_col;
}

void tty_begin(void *user, uint32_t *ret_rows, uint32_t *ret_cols)
{
    struct tty *tty = user;
    struct termios raw = tty->before;

    tty_size(ret_rows, ret_cols);
    cfmakeraw(&raw);
    tty->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void tty_end(void *user)
{
    struct tty *tty = user;

    if (!tty->is_raw)
        return;
    tty->is_raw = false;
    (void)fd_write_full(STDOUT_FILENO, calm, strlen(calm));
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &tty->before);
}
