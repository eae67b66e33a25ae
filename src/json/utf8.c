/* SPDX-License-Identifier: Apache-2.0 */
/* json/utf8.c - UTF-8 and its repair. */
#include "json/utf8.h"

#include "base/buf.h"
#include "base/cleanup.h"

/* By first byte: how long the sequence is, and the bounds of its second byte, which alone tell
 * overlong forms, surrogates and what lies above U+10FFFF from the rest (RFC 3629, section 4). */
struct lead {
    uint8_t first;
    uint8_t last;
    uint8_t len;
    uint8_t second_min;
    uint8_t second_max;
};

static const struct lead leads[] = {
    { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf }, { 0xe1, 0xec, 3, 0x80, 0xbf },
    { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf }, { 0xf0, 0xf0, 4, 0x90, 0xbf },
    { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *lead_of(uint8_t byte)
{
    for (size_t i = 0; i < N_ELEMENTS(leads); i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

size_t utf8_decode(const uint8_t *bytes, size_t len, uint32_t *ret_point)
{
    const struct lead *lead;
    uint32_t point;

    if (len == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *ret_point = bytes[0];
        return 1;
    }
    lead = lead_of(bytes[0]);
    if (!lead || len < lead->len || bytes[1] < lead->second_min || bytes[1] > lead->second_max)
        return 0;
    point = bytes[0] & (0xffu >> (lead->len + 1));
    for (size_t i = 1; i < lead->len; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3fu);
    }
    *ret_point = point;
    return lead->len;
}

bool utf8_is_valid(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint32_t point;

    while (len > 0) {
        size_t n = utf8_decode(at, len, &point);

        if (n == 0)
            return false;
        at += n;
        len -= n;
    }
    return true;
}

int utf8_repair(const void *bytes, size_t len, struct buf *ret)
{
    const uint8_t *at = bytes;
    size_t good = 0; /* well-formed bytes before at + good, not yet appended */
    uint32_t point;

    while (good < len) {
        size_t n = utf8_decode(at + good, len - good, &point);

        if (n > 0) {
            good += n;
            continue;
        }
        (void)buf_add(ret, at, good);
        (void)buf_puts(ret, UTF8_REPLACEMENT);
        at += good + 1;
        len -= good + 1;
        good = 0;
    }
    (void)buf_add(ret, at, good);
    return buf_error(ret);
}

bool utf8_is_unseen(uint32_t point)
{
    static const uint32_t ranges[][2] = {
        { 0x00, 0x08 },       { 0x0b, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },
        { 0x034f, 0x034f },   { 0x061c, 0x061c },    { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
        { 0x180b, 0x180f },   { 0x200b, 0x200f },    { 0x2028, 0x202e }, { 0x2060, 0x206f },
        { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },    { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
        { 0xfff0, 0xfffb },   { 0xfffe, 0xffff },    { 0xe000, 0xf8ff }, { 0x1bca0, 0x1bca3 },
        { 0x1d173, 0x1d17a }, { 0xe0000, 0x10ffff },
    };

    for (size_t i = 0; i < N_ELEMENTS(ranges); i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}
