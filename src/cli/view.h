/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view.h - a task as a person sees it work: on a terminal live, elsewhere line by line.
 *
 * Listens to events (agent/event.h), from any thread.  On a terminal the last lines tell what is
 * going on (what a model writes as it comes, tests as they end, time and money) and are drawn again
 * and again, also when nothing happens; everything above them stays.  Text of a model or a program
 * is filtered.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event.h"
#include "base/buf.h"
#include "cli/live.h"
#include "cli/term.h"

#define VIEW_TAIL_LINES 6
#define VIEW_TAIL_WIDTH 200

struct view {
    struct term term;
    bool is_live; /* the last lines may be drawn over */

    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t wake;
    pthread_t ticker; /* iff is_live */
    bool is_over;
    struct live live;
    uint64_t drawn_ns; /* when */
    unsigned frame;
    char doing[96];                              /* "writing code"; "": nothing that takes time */
    uint64_t since_ns;                           /* it has been going on */
    bool shows_tail;                             /* of the answer that streams */
    char tail[VIEW_TAIL_LINES][VIEW_TAIL_WIDTH]; /* its last lines, in a ring */
    size_t tail_len;                             /* of the line that grows */
    size_t n_lines;                              /* of all that came */
    size_t n_bytes;
    struct buf marks; /* a byte for each test of this attempt that has ended: 0 or 1 */
    size_t n_tests;   /* that there are */
    bool has_report;  /* the last attempt's, and why the next is needed was told with it */
    struct agent_spent spent;
};

/* is_plain: nothing is drawn over. */
void view_init(struct view *view, const struct term *term, bool is_plain);

/* An agent_listener's hear(); user is the view. */
void view_hear(void *user, const struct agent_event *event);

/* What is not an event: a label and lines, in the same columns. */
void view_tell(struct view *view, enum term_style style, const char *label, const char *text);

/* An empty line. */
void view_gap(struct view *view);

/* Takes the live lines away until something happens, so that a person can be asked. */
void view_pause(struct view *view);

/* Takes them away for good. */
void view_end(struct view *view);
