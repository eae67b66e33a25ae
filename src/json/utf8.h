/* SPDX-License-Identifier: Apache-2.0 */
/* json/utf8.h - UTF-8 as RFC 3629 has it, and its repair.
 *
 * What a program writes may be any bytes; what leaves in JSON is UTF-8.  Every byte that belongs
 * to no well-formed sequence becomes one U+FFFD: overlong forms, surrogates and code points above
 * U+10FFFF are not well-formed, so each of their bytes is replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The length (1-4) of the well-formed sequence at bytes and its code point; 0 when there is none.
 * A sequence that is cut off by len is none. */
size_t utf8_decode(const uint8_t *bytes, size_t len, uint32_t *ret_point);

bool utf8_is_valid(const void *bytes, size_t len);

/* Characters that nobody sees and that models obey all the same: controls but tab and newline,
 * marks that turn the direction of text, blanks of no width, fillers, tags, what is private. */
bool utf8_is_unseen(uint32_t point);

/* Appends the bytes, repaired. */
int utf8_repair(const void *bytes, size_t len, struct buf *ret);
