/* SPDX-License-Identifier: Apache-2.0 */
/* base/count.h - counters of the kernel: a file of one number, or of lines "KEY NUMBER". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The number behind the key, or the file's only one without a key (NULL).  False, and *ret as it
 * was, when there is no such file, line or number. */
bool count_read(int dir, const char *file, const char *key, uint64_t *ret);

/* The same; 0 where there is none. */
uint64_t count_of(int dir, const char *file, const char *key);
