/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.c - a growable byte string with a maximum. */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail(struct buf *buf, int code)
{
    if (!buf->error)
        buf->error = code;
    return code;
}

int buf_reserve(struct buf *buf, size_t len)
{
    size_t cap = buf->cap ? buf->cap : 64;
    char *grown;

    if (len > buf->max || buf->len > buf->max - len)
        return fail(buf, -EMSGSIZE);
    if (buf->data && buf->cap - buf->len > len)
        return 0;
    while (cap - buf->len <= len)
        cap *= 2;
    grown = realloc(buf->data, cap);
    if (!grown)
        return fail(buf, -ENOMEM);
    buf->data = grown;
    buf->cap = cap;
    buf->data[buf->len] = '\0';
    return 0;
}

int buf_add(struct buf *buf, const void *data, size_t len)
{
    int r = buf_reserve(buf, len);

    if (r < 0)
        return r;
    if (len > 0)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return 0;
}

int buf_puts(struct buf *buf, const char *str)
{
    return buf_add(buf, str, strlen(str));
}

int buf_putc(struct buf *buf, char c)
{
    return buf_add(buf, &c, 1);
}

int buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    int len;
    int r;

    va_start(ap, fmt);
    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    r = len < 0 ? fail(buf, -EINVAL) : buf_reserve(buf, (size_t)len);
    if (r == 0) {
        (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    return r;
}

int buf_error(const struct buf *buf)
{
    return buf->error;
}

char *buf_take(struct buf *buf)
{
    char *data = NULL;

    if (!buf->error && buf_reserve(buf, 0) == 0)
        data = take_ptr(buf->data);
    buf_clear(buf);
    return data;
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->error = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

void buf_clear(struct buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->error = 0;
}
