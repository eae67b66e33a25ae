/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/must.h - what a fuzz target demands, in builds of any kind. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define must(condition)                                                                   \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
