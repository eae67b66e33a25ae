/* SPDX-License-Identifier: Apache-2.0 */
/* base/num.h - numbers, sizes and durations that people write.
 *
 * Strict: the whole text must be used, no sign, no blank, no NaN, no overflow.  Functions return 0,
 * -EINVAL (not such a number) or -ERANGE (out of bounds).  *ret is written only on success.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only, min <= value <= max. */
int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/* "512m", "1.5g", "64 KiB" is not: digits, an optional fraction, an optional suffix k m g t (any
 * case, optionally followed by b or ib); powers of 1024.  Zero is -ERANGE. */
int num_parse_size(const char *text, uint64_t *ret_bytes);

/* "30", "0.5", "250ms", "2s", "3m", "1h", in seconds without a suffix; the result in ms, rounded
 * up.  Zero is -ERANGE. */
int num_parse_duration(const char *text, uint64_t *ret_ms);

/* "1", "0.5": thousandths.  Zero is -ERANGE. */
int num_parse_milli(const char *text, uint64_t *ret_milli);

/* "512 MiB", "1.5 GiB", "12 B". */
#define NUM_TEXT_MAX 32
const char *num_size_text(uint64_t bytes, char text[static NUM_TEXT_MAX]);
