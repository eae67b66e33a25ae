/* SPDX-License-Identifier: Apache-2.0 */
/* cli/term.h - where people read: colours, width, and how an error looks.
 *
 * auto means: colours on a terminal, unless NO_COLOR is set or TERM is "dumb"; CLICOLOR_FORCE asks
 * for them anywhere.  An explicit always or never beats them all.
 */
#pragma once

#include <stdbool.h>

#include "conf/value.h"

struct gb_err;

enum term_style {
    TERM_BOLD,
    TERM_DIM,
    TERM_RED,
    TERM_GREEN,
    TERM_YELLOW,
    N_TERM_STYLES,
};

struct term {
    int fd;
    bool is_tty;
    bool has_color;
    unsigned width; /* columns; 80 where there is no telling */
};

void term_init(struct term *term, int fd, enum color_mode color, char *const *env);

/* The bytes that begin a style and end any; "" without colours. */
const char *term_on(const struct term *term, enum term_style style);
const char *term_off(const struct term *term);

/* On stderr: "glovebox: message", and the remedy, if there is one, on a line of its own.
 * Control bytes are made visible, other newlines too. */
void term_error(const struct gb_err *err, enum color_mode color, char *const *env);

/* 2 when the caller can repair it, else 125: glovebox failed. */
int term_exit_code(const struct gb_err *err);
