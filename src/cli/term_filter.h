/* SPDX-License-Identifier: Apache-2.0 */
/* cli/term_filter.h - makes bytes from a box harmless on a terminal.
 *
 * A terminal obeys what it is shown: titles, clipboards (OSC 52), answers typed back, text that
 * overwrites other text.  So control characters are shown instead of sent: C0 and DEL in caret
 * form (ESC is "^["), C1 and bytes that are no UTF-8 as "\x9b", and the characters that turn
 * around the direction of text as "\u202e".  Newline and tab pass.  Because every control is
 * replaced by itself, a sequence that is split over two writes is no way round; only a UTF-8
 * character may be split, and the filter waits for its rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;

/* One per stream; starts as `= { 0 }`. */
struct term_filter {
    uint8_t held[4]; /* the beginning of a character whose rest has not come */
    size_t n_held;
};

/* Appends what may be shown of these bytes; 0 or ret's error. */
int term_filter_add(struct term_filter *filter, const void *bytes, size_t len, struct buf *ret);

/* The stream has ended: shows what is still held. */
int term_filter_end(struct term_filter *filter, struct buf *ret);

/* A whole text on one line: newline and tab are made visible too. */
int term_filter_line(const char *text, size_t len, struct buf *ret);
