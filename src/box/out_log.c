/* SPDX-License-Identifier: Apache-2.0 */
/* box/out_log.c - what a run wrote, in order of arrival.
 *
 * One block of `keep` bytes holds both halves: a head that is filled once and a ring behind it for
 * the tail.  The place of a position follows from the position alone:
 *
 *    position  0 ........ head | dropped ... | first tail position ............. total
 *    index     0 ........ head |             | head + (position - head) % tail
 *
 * To which stream a byte belongs is one bit a byte in a second block.  A list of runs would cost
 * more than the bytes themselves when a program writes byte by byte to both streams, and would
 * have to forget early; bits cost an eighth, always.  Neither block is touched before it is used,
 * so that a short run costs a page or two. */
#include "box/out_log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct out_log {
    uint64_t head; /* bytes of the first half */
    uint64_t tail; /* bytes of the ring */
    uint8_t *bytes;
    uint8_t *bits; /* 1: stderr */

    /* Guards all below and the two blocks. */
    pthread_mutex_t mutex;
    uint64_t totals[OUT_STDERR + 1];
    uint64_t total;
};

/* ---- life ----------------------------------------------------------------------------------- */

struct out_log *out_log_new(uint64_t keep)
{
    struct out_log *log = calloc(1, sizeof(*log));

    if (!log)
        return NULL;
    log->head = keep / 2;
    log->tail = keep - log->head;
    (void)pthread_mutex_init(&log->mutex, NULL);
    log->bytes = malloc(keep + 1);
    log->bits = calloc(keep / 8 + 1, 1);
    if (log->bytes && log->bits)
        return log;
    out_log_free(log);
    return NULL;
}

void out_log_free(struct out_log *log)
{
    if (!log)
        return;
    (void)pthread_mutex_destroy(&log->mutex);
    free(log->bits);
    free(log->bytes);
    free(log);
}

/* ---- places --------------------------------------------------------------------------------- */

/* The first position that the tail still holds; `head` while nothing was dropped. */
static uint64_t tail_start(const struct out_log *log)
{
    uint64_t kept = log->head + log->tail;

    return log->total > kept ? log->total - log->tail : log->head;
}

static uint64_t index_of(const struct out_log *log, uint64_t position)
{
    if (position < log->head)
        return position;
    return log->head + (position - log->head) % log->tail;
}

/* How many positions from this one on lie side by side, within head or ring. */
static uint64_t room_at(const struct out_log *log, uint64_t position)
{
    uint64_t index = index_of(log, position);

    return (index < log->head ? log->head : log->head + log->tail) - index;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- bits ----------------------------------------------------------------------------------- */

static bool bit_get(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static void bit_set(uint8_t *bits, uint64_t i, bool value)
{
    uint8_t mask = (uint8_t)(1u << (i % 8));

    bits[i / 8] = value ? bits[i / 8] | mask : bits[i / 8] & (uint8_t)~mask;
}

static void bits_fill(uint8_t *bits, uint64_t from, uint64_t len, bool value)
{
    uint64_t end = from + len;

    while (from < end && from % 8 != 0)
        bit_set(bits, from++, value);
    memset(bits + from / 8, value ? 0xff : 0, (end - from) / 8);
    from += (end - from) / 8 * 8;
    while (from < end)
        bit_set(bits, from++, value);
}

/* How many bits from `from` on, at most len, equal the first. */
static uint64_t bits_run(const uint8_t *bits, uint64_t from, uint64_t len)
{
    bool value = bit_get(bits, from);
    uint8_t same = value ? 0xff : 0;
    uint64_t end = from + len;
    uint64_t i = from;

    while (i < end && bit_get(bits, i) == value) {
        if (i % 8 == 0 && bits[i / 8] == same)
            i += 8;
        else
            i++;
    }
    return least(i, end) - from;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Puts bytes at the end, the mutex being held; what the tail could not hold anyway is left out. */
static void append(struct out_log *log, enum out_stream stream, const uint8_t *at, uint64_t len)
{
    while (len > 0) {
        uint64_t n = len;

        if (log->total >= log->head && len > log->tail) {
            n = len - log->tail;
        } else {
            uint64_t index = index_of(log, log->total);

            n = least(len, room_at(log, log->total));
            memcpy(log->bytes + index, at, n);
            bits_fill(log->bits, index, n, stream == OUT_STDERR);
        }
        log->total += n;
        at += n;
        len -= n;
    }
}

void out_log_add(struct out_log *log, enum out_stream stream, const void *bytes, size_t len)
{
    (void)pthread_mutex_lock(&log->mutex);
    log->totals[stream] += len;
    append(log, stream, bytes, len);
    (void)pthread_mutex_unlock(&log->mutex);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The bytes of one stream that lie together at a kept position; their stream is told. */
static uint64_t span_at(const struct out_log *log, uint64_t position, enum out_stream *ret_stream)
{
    uint64_t index = index_of(log, position);
    uint64_t len = least(room_at(log, position), log->total - position);

    *ret_stream = bit_get(log->bits, index) ? OUT_STDERR : OUT_STDOUT;
    return bits_run(log->bits, index, len);
}

struct out_mark out_log_mark(struct out_log *log)
{
    struct out_mark mark;

    (void)pthread_mutex_lock(&log->mutex);
    mark = (struct out_mark){ .out = log->totals[OUT_STDOUT], .err = log->totals[OUT_STDERR] };
    (void)pthread_mutex_unlock(&log->mutex);
    return mark;
}

bool out_log_is_truncated(struct out_log *log)
{
    bool is_truncated;

    (void)pthread_mutex_lock(&log->mutex);
    is_truncated = log->total > log->head + log->tail;
    (void)pthread_mutex_unlock(&log->mutex);
    return is_truncated;
}

/* ---- all of a stream ------------------------------------------------------------------------ */

/* Counts the bytes of a stream kept in [from, to), and appends them when ret is given. */
static uint64_t take_stream(const struct out_log *log, enum out_stream stream, uint64_t from,
                            uint64_t to, struct buf *ret)
{
    uint64_t taken = 0;

    while (from < to) {
        enum out_stream found;
        uint64_t len = least(span_at(log, from, &found), to - from);

        if (found == stream) {
            taken += len;
            if (ret)
                (void)buf_add(ret, log->bytes + index_of(log, from), len);
        }
        from += len;
    }
    return taken;
}

int out_log_part(struct out_log *log, enum out_stream stream, struct out_mark from,
                 struct out_mark to, bool mark, struct buf *ret)
{
    uint64_t added = stream == OUT_STDERR ? to.err - from.err : to.out - from.out;
    uint64_t begin = from.out + from.err;
    uint64_t end = to.out + to.err;
    uint64_t start; /* of what the tail holds of it */
    uint64_t kept;

    (void)pthread_mutex_lock(&log->mutex);
    start = most(begin, tail_start(log));
    kept = take_stream(log, stream, begin, least(log->head, end), ret);
    kept += take_stream(log, stream, start, end, NULL);
    if (mark && kept < added)
        (void)buf_printf(ret, "\n[... %" PRIu64 " bytes dropped ...]\n", added - kept);
    (void)take_stream(log, stream, start, end, ret);
    (void)pthread_mutex_unlock(&log->mutex);
    return buf_error(ret);
}

int out_log_text(struct out_log *log, enum out_stream stream, bool mark, struct buf *ret)
{
    return out_log_part(log, stream, (struct out_mark){ 0 }, out_log_mark(log), mark, ret);
}
