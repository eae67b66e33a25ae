/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tty_filter.h - what a program may do to the terminal that it was given.
 *
 * With -t a program draws: cursor, colours, the other screen, so controls must pass.  What does not
 * are control strings (OSC, DCS, SOS, PM, APC): with them a program reaches beyond the screen, to
 * clipboard, title and files of some terminals, and has text of its choice typed back.  Their
 * beginning is dropped too, so that a string cut in pieces, or one without an end, is no way round.
 * The one-byte forms (C1) are dropped where they are no part of a character, and where they are one
 * (U+0090 as UTF-8) they begin a string like the others.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;

enum tty_state {
    TTY_PLAIN,
    TTY_ESCAPE, /* behind an ESC, which is held */
    TTY_CODING, /* behind ESC %, which chooses how bytes are read: this filter knows UTF-8 only */
    TTY_C2,     /* behind the first byte of U+0080 to U+00bf, which is held */
    TTY_STRING, /* in a control string */
    TTY_STRING_ESCAPE, /* … behind an ESC */
    TTY_STRING_C2,     /* … behind that byte */
};

/* Starts as `= { 0 }`. */
struct tty_filter {
    enum tty_state state;
    unsigned n_more; /* bytes that the character begun still has */
    size_t dropped;  /* of the string */
};

/* Appends what passes; 0 or ret's error. */
int tty_filter_add(struct tty_filter *filter, const void *bytes, size_t len, struct buf *ret);
