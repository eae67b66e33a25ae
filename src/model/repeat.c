/* SPDX-License-Identifier: Apache-2.0 */
/* model/repeat.c - events that differ from the one before in nothing but their text. */
#include "model/repeat.h"

#include <string.h>

/* ---- literals ------------------------------------------------------------------------------- */

/* The length of the string literal at the beginning, with its quotes; 0: there is none. */
static size_t literal_at(const char *text, size_t len)
{
    if (len == 0 || text[0] != '"')
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (text[i] == '"')
            return i + 1;
        if ((unsigned char)text[i] < ' ')
            return 0;
        i += text[i] == '\\';
    }
    return 0;
}

/* Letters, digits and the like: a literal that needs no parser. */
static bool is_plain(const char *literal, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++)
        if ((unsigned char)literal[i] < ' ' || (unsigned char)literal[i] >= 0x7f ||
            literal[i] == '\\')
            return false;
    return true;
}

/* ---- learning ------------------------------------------------------------------------------- */

/* Where the string under this key begins; 0 unless the key is there exactly once.  In a literal its
 * quotes would be escaped, so what is found is a key. */
static size_t value_of(const char *event, size_t len, const char *key)
{
    const char *found = memmem(event, len, key, strlen(key));
    size_t at;

    if (!found)
        return 0;
    at = (size_t)(found - event) + strlen(key);
    if (memmem(event + at, len - at, key, strlen(key)))
        return 0;
    at += strspn(event + at, " ");
    if (event[at] != ':')
        return 0;
    at++;
    at += strspn(event + at, " ");
    return event[at] == '"' ? at : 0;
}

static void add_hole(struct repeat *repeat, size_t from, bool is_text)
{
    size_t n = repeat->n_holes++;

    repeat->holes[n].from = from;
    repeat->holes[n].to = from + literal_at(repeat->event.data + from, repeat->event.len - from);
    repeat->holes[n].is_text = is_text;
}

/* An escape outside of the text could hide a key. */
static bool has_escape(const struct repeat *repeat, size_t from, size_t to)
{
    return to > from && memchr(repeat->event.data + from, '\\', to - from);
}

void repeat_learn(struct repeat *repeat, const char *event, size_t len, const char *text,
                  size_t text_len)
{
    size_t content = len <= REPEAT_MAX ? value_of(event, len, "\"content\"") : 0;
    size_t padding = content ? value_of(event, len, "\"obfuscation\"") : 0;
    size_t literal = content ? literal_at(event + content, len - content) : 0;

    repeat->n_holes = 0;
    buf_reset(&repeat->event);
    repeat->event.max = REPEAT_MAX;
    /* Only a text that is its own literal: is this the one that was read? */
    if (literal != text_len + 2 || memcmp(event + content + 1, text, text_len) != 0 ||
        buf_add(&repeat->event, event, len) < 0)
        return;
    if (padding && padding < content)
        add_hole(repeat, padding, false);
    add_hole(repeat, content, true);
    if (padding > content)
        add_hole(repeat, padding, false);
    if (has_escape(repeat, 0, content) || has_escape(repeat, content + literal, len))
        repeat->n_holes = 0;
}

void repeat_clear(struct repeat *repeat)
{
    buf_clear(&repeat->event);
    repeat->n_holes = 0;
}

/* ---- comparing ------------------------------------------------------------------------------ */

bool repeat_fits(const struct repeat *repeat, const char *event, size_t len, const char **ret,
                 size_t *ret_len)
{
    const char *kept = repeat->event.data;
    size_t at = 0;   /* in the event */
    size_t from = 0; /* in the kept one */

    for (size_t i = 0; i < repeat->n_holes; i++) {
        size_t same = repeat->holes[i].from - from;
        size_t literal;

        if (len - at < same || memcmp(event + at, kept + from, same) != 0)
            return false;
        at += same;
        from = repeat->holes[i].to;
        literal = literal_at(event + at, len - at);
        if (literal == 0)
            return false;
        if (repeat->holes[i].is_text) {
            *ret = event + at;
            *ret_len = literal;
        } else if (!is_plain(event + at, literal)) {
            return false;
        }
        at += literal;
    }
    return repeat->n_holes > 0 && len - at == repeat->event.len - from &&
           memcmp(event + at, kept + from, len - at) == 0;
}
