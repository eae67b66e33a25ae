/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view.h - a task as a person sees it work: on a terminal live, elsewhere line by line.
 *
 * Listens to events (agent/event.h).  On a terminal the last line tells what is going on and is
 * drawn again and again; everything above it stays.  Text of a model or a program is filtered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/term.h"

struct agent_event;

struct view {
    struct term term;
    bool is_live;      /* the last line may be drawn over */
    bool has_status;   /* it is drawn */
    uint64_t drawn_ns; /* when */
    size_t n_lines;    /* of the answer that streams */
    size_t n_bytes;
    unsigned n_rows; /* tests told of this attempt */
    char doing[64];  /* "attempt 2: writing code" */
};

/* is_plain: no status line, no colours that move. */
void view_init(struct view *view, const struct term *term, bool is_plain);

/* An agent_listener's hear(); user is the view. */
void view_hear(void *user, const struct agent_event *event);

/* Takes the status line away. */
void view_end(struct view *view);
