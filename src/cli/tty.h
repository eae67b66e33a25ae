/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tty.h - our terminal, handed to a program in a box for as long as it runs (-t).
 *
 * Every key goes to the program's own terminal, Ctrl-C too; what it may do to ours is
 * tty_filter.h's matter.  Afterwards our terminal is as it was, and what was typed ahead, or typed
 * back by the terminal itself, is thrown away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct gb_err;

struct tty {
    struct termios before;
    bool is_raw;
};

/* Stdin and stdout must be one. */
int tty_open(struct tty *ret, struct gb_err *err);

/* The two halves of a struct run_tty; user is the struct tty. */
void tty_begin(void *user, uint32_t *ret_rows, uint32_t *ret_cols);
void tty_end(void *user);

/* 0 × 0 where there is no telling. */
void tty_size(uint32_t *ret_rows, uint32_t *ret_cols);
