/* SPDX-License-Identifier: Apache-2.0 */
/* engine/split.c - a stream of JSON objects, one behind the other.
 *
 * Only braces and strings are looked at: where an object ends.  Whether it is one, the parser says.
 */
#include "engine/split.h"

#include <errno.h>
#include <string.h>

void split_init(struct split *split, size_t max,
                int (*object)(void *user, const char *text, size_t len), void *user)
{
    *split = (struct split){ .text = BUF_INIT(max), .object = object, .user = user };
}

void split_clear(struct split *split)
{
    buf_clear(&split->text);
}

/* Inside of an object; true when this byte ends it. */
static bool step(struct split *split, char c)
{
    if (split->is_escaped) {
        split->is_escaped = false;
    } else if (split->is_string) {
        split->is_escaped = c == '\\';
        split->is_string = c != '"';
    } else if (c == '"') {
        split->is_string = true;
    } else if (c == '{') {
        split->depth++;
    } else if (c == '}') {
        split->depth--;
    }
    return split->depth == 0;
}

static size_t skip_blanks(const char *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && memchr(" \t\r\n", bytes[n], 4))
        n++;
    return n;
}

int split_feed(struct split *split, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t n = 0;
        bool is_over = false;
        int r;

        if (split->depth == 0) {
            n = skip_blanks(bytes, len);
            bytes += n;
            len -= n;
            if (len > 0 && bytes[0] != '{')
                return -EBADMSG;
        }
        for (n = 0; n < len && !is_over; n++)
            is_over = step(split, bytes[n]);
        r = buf_add(&split->text, bytes, n);
        bytes += n;
        len -= n;
        if (r == 0 && is_over) {
            r = split->object(split->user, split->text.data, split->text.len);
            buf_reset(&split->text);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int split_end(const struct split *split)
{
    return split->depth == 0 ? 0 : -EBADMSG;
}
