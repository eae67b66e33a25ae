/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/usage.h - what a box uses, from the counters of its groups. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct box_usage;

/* dirs: its groups, in any order and of either version; each counter is read where it is.  What no
 * group counts is left 0. */
void usage_read(const int *dirs, size_t n, struct box_usage *ret);

/* One of them: memory_bytes.  -ENOENT when no group counts it. */
int usage_memory_bytes(const int *dirs, size_t n, uint64_t *ret);
