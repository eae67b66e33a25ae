/* SPDX-License-Identifier: Apache-2.0 */
/* cli/live.h - a few lines at the bottom of a terminal that are drawn over and over.
 *
 * Everything above them stays.  A line that is too long is cut by the terminal, never wrapped, so
 * that the lines drawn are the lines there.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct term;

#define LIVE_LINES_MAX 12

struct live {
    int fd;
    unsigned n_lines; /* drawn now */
};

/* lines: separated by newlines, none at the end; at most LIVE_LINES_MAX of them are drawn. */
void live_draw(struct live *live, const struct buf *lines);

/* Takes them away; the cursor is where they began. */
void live_erase(struct live *live);
