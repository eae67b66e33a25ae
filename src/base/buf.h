/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.h - a growable byte string with a maximum.
 *
 * Invariants
 *  1. data is NULL and len is 0, or data[len] is a NUL that is not counted.
 *  2. len never exceeds max: an append that would cross it fails with -EMSGSIZE and adds nothing.
 *  3. A failed append marks the buffer; buf_error() tells, so that a writer may check once at the
 *     end.
 * The caller embeds it, starts it with BUF_INIT(max) and owes a buf_clear().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    int error; /* first failure, negative errno */
};

#define BUF_INIT(maximum) \
    {                     \
        .max = (maximum)  \
    }

int buf_add(struct buf *buf, const void *data, size_t len);
int buf_puts(struct buf *buf, const char *str);
int buf_putc(struct buf *buf, char c);
int buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for len more bytes at data + len; the caller fills it and adds to len itself. */
int buf_reserve(struct buf *buf, size_t len);

/* 0, or the first failure of any append. */
int buf_error(const struct buf *buf);

/* The contents as a heap string that the caller frees; the buffer is empty afterwards.  NULL when
 * an append had failed or memory is short. */
char *buf_take(struct buf *buf);

/* Empties it and keeps the memory. */
void buf_reset(struct buf *buf);
void buf_clear(struct buf *buf);

#define cleanup_buf cleanup_with(buf_clear)
