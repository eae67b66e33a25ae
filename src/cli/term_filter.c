/* SPDX-License-Identifier: Apache-2.0 */
/* cli/term_filter.c - makes bytes from a box harmless on a terminal. */
#include "cli/term_filter.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "json/utf8.h"

static bool is_plain(uint8_t byte)
{
    return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t';
}

/* Marks, embeddings, overrides and isolates of direction; line and paragraph separators. */
static bool is_turning(uint32_t point)
{
    return point == 0x061c || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static int put_ascii_control(uint8_t byte, struct buf *ret)
{
    const char caret[2] = { '^', (char)(byte ^ 0x40) };

    return buf_add(ret, caret, sizeof(caret));
}

/* A well-formed character of len bytes. */
static int put_character(const uint8_t *bytes, size_t len, uint32_t point, struct buf *ret)
{
    if (point >= 0x80 && point < 0xa0)
        return buf_printf(ret, "\\x%02x", point);
    if (is_turning(point))
        return buf_printf(ret, "\\u%04x", point);
    return buf_add(ret, bytes, len);
}

/* How long the character that begins with this byte is; 1 when none does. */
static size_t expected(uint8_t lead)
{
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    return lead >= 0xf0 && lead <= 0xf4 ? 4 : 1;
}

/* Could more bytes still complete it?  Only if those that are here continue it. */
static bool is_cut_off(const uint8_t *bytes, size_t len)
{
    if (len >= expected(bytes[0]))
        return false;
    for (size_t i = 1; i < len; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* One byte or character that is not plain; the number of bytes used, 0 when its rest must come
 * first. */
static size_t take_special(const uint8_t *bytes, size_t len, struct buf *ret)
{
    uint32_t point = 0;
    size_t n;

    if (bytes[0] < 0x80) {
        (void)put_ascii_control(bytes[0], ret); /* the buf remembers a failure */
        return 1;
    }
    n = utf8_decode(bytes, len, &point);
    if (n) {
        (void)put_character(bytes, n, point, ret);
        return n;
    }
    if (is_cut_off(bytes, len))
        return 0;
    buf_printf(ret, "\\x%02x", bytes[0]);
    return 1;
}

/* Whole characters of bytes; the number of bytes used. */
static size_t take(const uint8_t *bytes, size_t len, struct buf *ret)
{
    size_t at = 0;

    while (at < len) {
        size_t run = at;
        size_t n;

        while (run < len && is_plain(bytes[run]))
            run++;
        buf_add(ret, bytes + at, run - at);
        at = run;
        if (at == len)
            break;
        n = take_special(bytes + at, len - at, ret);
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

int term_filter_add(struct term_filter *filter, const void *bytes, size_t len, struct buf *ret)
{
    const uint8_t *at = bytes;

    /* Byte by byte until nothing is held any more: at most three. */
    while (filter->n_held && len) {
        size_t used;

        filter->held[filter->n_held++] = *at++;
        len--;
        used = take(filter->held, filter->n_held, ret);
        filter->n_held -= used;
        memmove(filter->held, filter->held + used, filter->n_held);
    }
    if (len) {
        size_t used = take(at, len, ret);

        filter->n_held = len - used;
        memcpy(filter->held, at + used, filter->n_held);
    }
    return buf_error(ret);
}

int term_filter_end(struct term_filter *filter, struct buf *ret)
{
    for (size_t i = 0; i < filter->n_held; i++)
        buf_printf(ret, "\\x%02x", filter->held[i]);
    filter->n_held = 0;
    return buf_error(ret);
}

int term_filter_line(const char *text, size_t len, struct buf *ret)
{
    struct term_filter filter = { 0 };

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' || text[i] == '\t') {
            (void)term_filter_end(&filter, ret);
            (void)put_ascii_control((uint8_t)text[i], ret);
        } else {
            (void)term_filter_add(&filter, text + i, 1, ret);
        }
    }
    return term_filter_end(&filter, ret);
}
