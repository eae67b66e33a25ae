/* SPDX-License-Identifier: Apache-2.0 */
/* base/count.h - counters of the kernel: a file of one number, or of lines "KEY NUMBER". */
#pragma once

#include <stdint.h>

/* The number behind the key, or the file's only one without a key (NULL).  On failure *ret is as it
 * was: a count that cannot be read is not 0.  -ENODATA: the file has no such line or number. */
int count_read(int dir, const char *file, const char *key, uint64_t *ret);
