/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tokens.h - words and numbers of a text, whatever language it is in.
 *
 * Code has the input of a test when it has the same words and numbers, with little between them:
 * "31\n11\n", [31, 11] and "$(printf '31 11')" are one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct token { /* borrowed: a piece of the text */
    const char *at;
    size_t len;
};

struct tokens {
    struct token *items;
    size_t n;
    size_t room;
};

/* Adds those of the text, until there are so many.  has_escapes: an escape of a string (\n) stands
 * between them.  -ENOMEM or 0; tokens_clear() is owed in any case. */
int tokens_of(const char *text, size_t len, bool has_escapes, size_t most, struct tokens *ret);
void tokens_clear(struct tokens *tokens);

/* Does the text have all of these from its i-th on, and within so many bytes of them all of those
 * beside?  Of no tokens it has all; not of these. */
bool tokens_have(const struct tokens *text, size_t i, const struct tokens *these,
                 const struct tokens *beside, size_t near);
