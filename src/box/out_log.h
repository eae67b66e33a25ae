/* SPDX-License-Identifier: Apache-2.0 */
/* box/out_log.h - what a run wrote, in order of arrival.
 *
 * A log keeps at most `keep` bytes: the first half and the last half, so that the beginning and
 * the error at the end both survive a flood; what lies between is counted and dropped.  A mark is
 * a moment of it, valid during and after the run; what lies between two is told, and how much of it
 * was dropped.
 *
 * Thread-safe: one writer, any number of readers.
 *
 * Invariants
 *  1. Memory is bounded by keep, an eighth of it and a fixed sum, whatever the pattern of writes
 *     (one-byte writes that alternate between the streams included).
 *  2. totals count every byte added, kept or not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct out_log;

enum out_stream {
    OUT_STDOUT = 1,
    OUT_STDERR = 2,
};

/* NULL when memory is short. */
struct out_log *out_log_new(uint64_t keep);
void out_log_free(struct out_log *log);

void out_log_add(struct out_log *log, enum out_stream stream, const void *bytes, size_t len);

/* Where the log stood at a moment, in bytes of each stream. */
struct out_mark {
    uint64_t out;
    uint64_t err;
};

struct out_mark out_log_mark(struct out_log *log);

bool out_log_is_truncated(struct out_log *log);

/* Appends all that is kept of one stream; where bytes of it were dropped, a line
 * "\n[... N bytes dropped ...]\n" stands when mark is set.  0, or the buf's error. */
int out_log_text(struct out_log *log, enum out_stream stream, bool mark, struct buf *ret);

/* The same of what was added between two moments. */
int out_log_part(struct out_log *log, enum out_stream stream, struct out_mark from,
                 struct out_mark to, bool mark, struct buf *ret);
