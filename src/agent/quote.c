/* SPDX-License-Identifier: Apache-2.0 */
/* agent/quote.c - bytes of a stranger, fit for one line. */
#include "agent/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "json/utf8.h"

#define ELLIPSIS   "\xe2\x80\xa6"
#define ESCAPE_MAX 4 /* the longest piece: "\xff", or four bytes of UTF-8 */

static bool is_plain(uint32_t point)
{
    if (point < 0x20 || point == '"' || point == '\\')
        return false;
    return !(point >= 0x7f && point <= 0x9f) && point != 0x2028 && point != 0x2029;
}

static const char *short_escape(uint8_t byte)
{
    static const char *const shorts[] = {
        ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['"'] = "\\\"", ['\\'] = "\\\\",
    };

    return byte < sizeof(shorts) / sizeof(shorts[0]) ? shorts[byte] : NULL;
}

/* One piece of the text for the bytes at `at`; how many bytes it took. */
static size_t put_piece(const uint8_t *at, size_t len, char piece[static ESCAPE_MAX + 1])
{
    uint32_t point = 0;
    size_t n = utf8_decode(at, len, &point);

    if (n > 0 && is_plain(point)) {
        memcpy(piece, at, n);
        piece[n] = '\0';
        return n;
    }
    if (short_escape(*at))
        (void)snprintf(piece, ESCAPE_MAX + 1, "%s", short_escape(*at));
    else
        (void)snprintf(piece, ESCAPE_MAX + 1, "\\x%02x", *at);
    return 1;
}

const char *quote_bytes(const void *bytes, size_t len, char text[static QUOTE_SIZE])
{
    const size_t room = QUOTE_SIZE - sizeof(ELLIPSIS "\"");
    const uint8_t *at = bytes;
    size_t n = 0;

    text[n++] = '"';
    while (len > 0) {
        char piece[ESCAPE_MAX + 1];
        size_t taken = put_piece(at, len, piece);

        if (n + strlen(piece) > room) {
            n += (size_t)snprintf(text + n, QUOTE_SIZE - n, ELLIPSIS);
            break;
        }
        n += (size_t)snprintf(text + n, QUOTE_SIZE - n, "%s", piece);
        at += taken;
        len -= taken;
    }
    (void)snprintf(text + n, QUOTE_SIZE - n, "\"");
    return text;
}

const char *quote_str(const char *str, char text[static QUOTE_SIZE])
{
    return quote_bytes(str, strlen(str), text);
}
