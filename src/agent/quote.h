/* SPDX-License-Identifier: Apache-2.0 */
/* agent/quote.h - bytes of a stranger, fit for one line of an error or a diagnosis. */
#pragma once

#include <stddef.h>

#define QUOTE_SIZE 96

/* In double quotes, with escapes for whatever is no printable UTF-8, cut with an ellipsis when it
 * does not fit.  Returns text. */
const char *quote_bytes(const void *bytes, size_t len, char text[static QUOTE_SIZE]);
const char *quote_str(const char *str, char text[static QUOTE_SIZE]);
