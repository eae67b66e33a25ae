/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tty_filter.c - what a program may do to the terminal that it was given. */
#include "cli/tty_filter.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define ESC 0x1b
#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define DEL 0x7f
#define C2  0xc2

/* C1 controls as their one byte; behind an ESC they are 0x40 less. */
#define C1_ST 0x9c

/* A string that is longer is no string any more: the rest of the output is shown. */
#define STRING_MAX 65536

/* DCS, SOS, OSC, PM, APC. */
static bool begins_string(unsigned c1)
{
    return c1 == 0x90 || c1 == 0x98 || (c1 >= 0x9d && c1 <= 0x9f);
}

static bool is_c1(uint8_t byte)
{
    return byte >= 0x80 && byte < 0xa0;
}

/* How many bytes follow the first one of a character. */
static unsigned bytes_behind(uint8_t lead)
{
    if (lead >= 0xf0 && lead <= 0xf4)
        return 3;
    if (lead >= 0xe0 && lead <= 0xef)
        return 2;
    return lead >= 0xc2 && lead <= 0xdf ? 1 : 0;
}

static void begin_string(struct tty_filter *f)
{
    f->state = TTY_STRING;
    f->dropped = 0;
}

static void take_plain(struct tty_filter *f, uint8_t byte, struct buf *ret)
{
    if (f->n_more && (byte & 0xc0) == 0x80) {
        f->n_more--;
        (void)buf_putc(ret, (char)byte); /* the buf remembers a failure */
        return;
    }
    f->n_more = 0;
    if (byte == ESC) {
        f->state = TTY_ESCAPE;
    } else if (byte == C2) {
        f->state = TTY_C2;
    } else if (begins_string(byte)) {
        begin_string(f);
    } else if (!is_c1(byte)) {
        f->n_more = bytes_behind(byte);
        (void)buf_putc(ret, (char)byte);
    }
}

/* An ESC is never sent without the byte behind it: between them something could be dropped, and
 * what comes then would stand behind the ESC.  Terminals obey controls there, pass over DEL, and go
 * on with the ESC; so does this. */
static void take_escape(struct tty_filter *f, uint8_t byte, struct buf *ret)
{
    if (byte == ESC || byte == DEL)
        return;
    if (byte < 0x20 && byte != CAN && byte != SUB) {
        (void)buf_putc(ret, (char)byte);
        return;
    }
    f->state = TTY_PLAIN;
    if (begins_string(byte + 0x40u)) {
        begin_string(f);
    } else if (byte == '%') {
        f->state = TTY_CODING;
    } else if (byte >= 0x80) {
        take_plain(f, byte, ret);
    } else if (byte >= 0x20) {
        (void)buf_putc(ret, ESC);
        (void)buf_putc(ret, (char)byte);
    }
}

static void take_c2(struct tty_filter *f, uint8_t byte, struct buf *ret)
{
    f->state = TTY_PLAIN;
    if (begins_string(byte)) {
        begin_string(f);
        return;
    }
    if (is_c1(byte))
        return;
    if ((byte & 0xc0) != 0x80) {
        take_plain(f, byte, ret);
        return;
    }
    (void)buf_putc(ret, (char)C2);
    (void)buf_putc(ret, (char)byte);
}

static void take_string(struct tty_filter *f, uint8_t byte)
{
    if (byte == ESC)
        f->state = TTY_STRING_ESCAPE;
    else if (byte == C2)
        f->state = TTY_STRING_C2;
    else if (byte == BEL || byte == CAN || byte == SUB || byte == C1_ST)
        f->state = TTY_PLAIN;
    else
        f->state = TTY_STRING;
    if (++f->dropped > STRING_MAX)
        f->state = TTY_PLAIN;
}

/* An ESC ends a string also when no backslash follows: then it begins what follows. */
static void take_byte(struct tty_filter *f, uint8_t byte, struct buf *ret)
{
    switch (f->state) {
    case TTY_PLAIN:
        take_plain(f, byte, ret);
        break;
    case TTY_ESCAPE:
        take_escape(f, byte, ret);
        break;
    case TTY_C2:
        take_c2(f, byte, ret);
        break;
    case TTY_CODING:
        f->state = TTY_PLAIN;
        break;
    case TTY_STRING:
        take_string(f, byte);
        break;
    case TTY_STRING_C2:
        if (byte == C1_ST)
            f->state = TTY_PLAIN;
        else
            take_string(f, byte);
        break;
    case TTY_STRING_ESCAPE:
        f->state = byte == '\\' ? TTY_PLAIN : TTY_ESCAPE;
        if (f->state == TTY_ESCAPE)
            take_escape(f, byte, ret);
        break;
    }
}

int tty_filter_add(struct tty_filter *filter, const void *bytes, size_t len, struct buf *ret)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < len; i++)
        take_byte(filter, at[i], ret);
    return buf_error(ret);
}
