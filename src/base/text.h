/* SPDX-License-Identifier: Apache-2.0 */
/* base/text.h - pieces of text that no NUL ends. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The bytes as a string on the heap; looks at nothing behind them.  NULL: no memory. */
static inline char *text_copy(const void *bytes, size_t len)
{
    char *text = malloc(len + 1);

    if (!text)
        return NULL;
    if (len)
        memcpy(text, bytes, len);
    text[len] = '\0';
    return text;
}
