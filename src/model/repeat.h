/* SPDX-License-Identifier: Apache-2.0 */
/* model/repeat.h - events that differ from the one before in nothing but their text.
 *
 * A token of a stream comes in some hundred bytes of JSON that are the same each time but for one
 * string.  An event that was parsed and held nothing but text is kept; the next one is compared
 * with it, and where only that string differs (and a second one that means nothing: OpenAI's
 * padding), its literal is all that is left to read.  What a parser would say of the rest it has
 * said already.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define REPEAT_MAX   2048 /* bytes of an event that is kept */
#define REPEAT_HOLES 2

struct repeat {
    struct buf event; /* empty: none is kept */
    struct {
        size_t from; /* of the literal, with its quotes */
        size_t to;
        bool is_text;
    } holes[REPEAT_HOLES];
    size_t n_holes;
};

/* Keeps a parsed event that held text and nothing else.  Forgets all when it cannot be told for
 * sure where in it the text stands. */
void repeat_learn(struct repeat *repeat, const char *event, size_t len, const char *text,
                  size_t text_len);

/* Is it the same but for its strings?  Then the literal of the text: it may hold escapes, and has
 * not been looked at but for its end. */
bool repeat_fits(const struct repeat *repeat, const char *event, size_t len, const char **ret,
                 size_t *ret_len);

void repeat_clear(struct repeat *repeat);
