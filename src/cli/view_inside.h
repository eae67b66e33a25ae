/* SPDX-License-Identifier: Apache-2.0 */
/* cli/view_inside.h - the parts of the view among themselves; all of it under its lock.
 *
 *    view.c          lines that stay, lines that are drawn over, their ticker
 *    view_event.c    events, each as such lines
 */
#pragma once

#include "cli/view.h"

#define VIEW_LINE_MAX (64 << 10)
#define VIEW_INDENT   14 /* mark, blank, label, blank */

/* "● tests      12 written": a label, then text in one line or several, the later ones indented. */
void view_line(struct view *view, enum term_style style, const char *label, const char *text);
/* Lines as they are, coloured already. */
void view_raw(struct view *view, const struct buf *text);
void view_line_gap(struct view *view);

/* What is going on; "": nothing that takes time. */
void view_doing(struct view *view, const char *what);
/* Drawn at most so often, unless it is urgent: a model's answer comes in thousands of pieces. */
void view_draw(struct view *view, bool is_urgent);

/* Marks of tests from one to another, in colour. */
void view_marks(const struct view *view, size_t from, size_t to, struct buf *out);
void view_money(const struct agent_spent *spent, char text[static 32]);

/* An event, whichever it is. */
void view_take(struct view *view, const struct agent_event *event);
