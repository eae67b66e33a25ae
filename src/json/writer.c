/* SPDX-License-Identifier: Apache-2.0 */
/* json/writer.c - writes JSON text into a buf.
 *
 * The state is one bit a level: whether a comma is due follows from has_items, because a level that
 * was just left is itself an item of the one it returns to. */
#include "json/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "json/utf8.h"

void json_writer_init(struct json_writer *w, struct buf *buf, bool is_pretty)
{
    *w = (struct json_writer){ .buf = buf, .is_pretty = is_pretty };
}

int json_writer_end(struct json_writer *w)
{
    assert(w->depth == 0 && w->has_items);
    if (w->is_pretty)
        (void)buf_putc(w->buf, '\n');
    return buf_error(w->buf);
}

static bool is_in_object(const struct json_writer *w)
{
    return w->depth > 0 && (w->objects >> (w->depth - 1) & 1);
}

static void put_line(const struct json_writer *w)
{
    if (!w->is_pretty)
        return;
    (void)buf_putc(w->buf, '\n');
    for (unsigned i = 0; i < w->depth; i++)
        (void)buf_puts(w->buf, "  ");
}

/* ---- strings -------------------------------------------------------------------------------- */

static bool is_plain(uint32_t point)
{
    if (point < 0x20 || point == '"' || point == '\\')
        return false;
    return !(point >= 0x7f && point <= 0x9f) && point != 0x2028 && point != 0x2029;
}

static void put_escape(struct buf *buf, uint32_t point)
{
    static const char shorts[][3] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
    };

    if (point < N_ELEMENTS(shorts) && shorts[point][0])
        (void)buf_puts(buf, shorts[point]);
    else
        (void)buf_printf(buf, "\\u%04" PRIx32, point);
}

static void put_text(struct buf *buf, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    size_t plain = 0; /* bytes from at on that stand for themselves, not yet appended */

    (void)buf_putc(buf, '"');
    while (plain < len) {
        uint32_t point = 0;
        size_t n = utf8_decode(at + plain, len - plain, &point);

        if (n > 0 && is_plain(point)) {
            plain += n;
            continue;
        }
        (void)buf_add(buf, at, plain);
        if (n > 0)
            put_escape(buf, point);
        else
            (void)buf_puts(buf, UTF8_REPLACEMENT);
        n = plain + (n > 0 ? n : 1);
        at += n;
        len -= n;
        plain = 0;
    }
    (void)buf_add(buf, at, plain);
    (void)buf_putc(buf, '"');
}

/* ---- structure ------------------------------------------------------------------------------ */

/* What stands before every value: comma, line, key. */
static void put_head(struct json_writer *w, const char *key)
{
    assert((key != NULL) == is_in_object(w));
    assert(w->depth > 0 || !w->has_items);
    if (w->has_items)
        (void)buf_putc(w->buf, ',');
    if (w->depth > 0)
        put_line(w);
    if (key) {
        put_text(w->buf, key, strlen(key));
        (void)buf_puts(w->buf, w->is_pretty ? ": " : ":");
    }
    w->has_items = true;
}

static void begin(struct json_writer *w, const char *key, bool is_object)
{
    uint64_t bit;

    put_head(w, key);
    assert(w->depth < JSON_WRITER_DEPTH_MAX);
    bit = UINT64_C(1) << w->depth++;
    w->objects = is_object ? w->objects | bit : w->objects & ~bit;
    w->has_items = false;
    (void)buf_putc(w->buf, is_object ? '{' : '[');
}

static void end(struct json_writer *w, bool is_object)
{
    assert(w->depth > 0 && is_in_object(w) == is_object);
    w->depth--;
    if (w->has_items)
        put_line(w);
    w->has_items = true;
    (void)buf_putc(w->buf, is_object ? '}' : ']');
}

void json_object_begin(struct json_writer *w, const char *key)
{
    begin(w, key, true);
}

void json_object_end(struct json_writer *w)
{
    end(w, true);
}

void json_array_begin(struct json_writer *w, const char *key)
{
    begin(w, key, false);
}

void json_array_end(struct json_writer *w)
{
    end(w, false);
}

/* ---- values --------------------------------------------------------------------------------- */

void json_put_null(struct json_writer *w, const char *key)
{
    put_head(w, key);
    (void)buf_puts(w->buf, "null");
}

void json_put_bytes(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
    put_head(w, key);
    put_text(w->buf, bytes, len);
}

void json_put_str(struct json_writer *w, const char *key, const char *str)
{
    if (str)
        json_put_bytes(w, key, str, strlen(str));
    else
        json_put_null(w, key);
}

static void put_base64(struct buf *buf, const uint8_t *at, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (; len > 0; at += 3) {
        uint32_t bits = (uint32_t)at[0] << 16;
        char four[4] = { 0, 0, '=', '=' };

        bits |= len > 1 ? (uint32_t)at[1] << 8 : 0;
        bits |= len > 2 ? at[2] : 0;
        four[0] = digits[bits >> 18];
        four[1] = digits[bits >> 12 & 63];
        if (len > 1)
            four[2] = digits[bits >> 6 & 63];
        if (len > 2)
            four[3] = digits[bits & 63];
        (void)buf_add(buf, four, sizeof(four));
        len -= len > 3 ? 3 : len;
    }
}

void json_put_base64(struct json_writer *w, const char *key, const void *bytes, size_t len)
{
    put_head(w, key);
    (void)buf_putc(w->buf, '"');
    put_base64(w->buf, bytes, len);
    (void)buf_putc(w->buf, '"');
}

void json_put_u64(struct json_writer *w, const char *key, uint64_t value)
{
    put_head(w, key);
    (void)buf_printf(w->buf, "%" PRIu64, value);
}

void json_put_i64(struct json_writer *w, const char *key, int64_t value)
{
    put_head(w, key);
    (void)buf_printf(w->buf, "%" PRId64, value);
}

/* In integers: printf's decimal point is the locale's. */
static void put_fixed(struct buf *buf, double value, unsigned decimals)
{
    uint64_t scale = 1;
    double scaled;

    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    scaled = (value < 0 ? -value : value) * (double)scale + 0.5;
    if (scaled >= 0x1p63) {
        (void)buf_printf(buf, "%.0f", value);
        return;
    }
    (void)buf_printf(buf, "%s%" PRIu64, value < 0 && scaled >= 1 ? "-" : "",
                     (uint64_t)scaled / scale);
    if (decimals > 0)
        (void)buf_printf(buf, ".%0*" PRIu64, (int)decimals, (uint64_t)scaled % scale);
}

void json_put_double(struct json_writer *w, const char *key, double value, unsigned decimals)
{
    assert(decimals <= 9);
    if (!isfinite(value)) {
        json_put_null(w, key);
        return;
    }
    put_head(w, key);
    put_fixed(w->buf, value, decimals);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
    put_head(w, key);
    (void)buf_puts(w->buf, value ? "true" : "false");
}

void json_put_raw(struct json_writer *w, const char *key, const char *text)
{
    put_head(w, key);
    (void)buf_puts(w->buf, text);
}
