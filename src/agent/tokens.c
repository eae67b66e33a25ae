/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tokens.c - words and numbers of a text, whatever language it is in. */
#include "agent/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_MAX 3  /* tokens of the text between two that belong together */
#define GAP_MAX     24 /* bytes */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_inside(const char *text, size_t len, size_t i)
{
    unsigned char c = (unsigned char)text[i];

    if (c == '.')
        return i > 0 && i + 1 < len && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    return is_digit(text[i]) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c >= 0x80;
}

static int grow(struct tokens *tokens)
{
    size_t room = tokens->room ? 2 * tokens->room : 16;
    struct token *grown = reallocarray(tokens->items, room, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    tokens->items = grown;
    tokens->room = room;
    return 0;
}

int tokens_of(const char *text, size_t len, bool has_escapes, size_t most, struct tokens *ret)
{
    for (size_t i = 0; i < len && ret->n < most;) {
        size_t from = i;

        if (has_escapes && text[i] == '\\') {
            i += 2;
            continue;
        }
        while (i < len && is_inside(text, len, i))
            i++;
        if (i == from) {
            i++;
            continue;
        }
        if (ret->n == ret->room && grow(ret) < 0)
            return -ENOMEM;
        ret->items[ret->n++] = (struct token){ text + from, i - from };
    }
    return 0;
}

void tokens_clear(struct tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct tokens){ 0 };
}

static bool same(struct token a, struct token b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static const char *end_of(struct token token)
{
    return token.at + token.len;
}

/* Are all of them in the text from the i-th of its tokens on, with little between?  The last. */
static bool follows(const struct tokens *text, size_t i, const struct tokens *wanted, size_t *last)
{
    if (!same(text->items[i], wanted->items[0]))
        return false;
    for (size_t k = 1; k < wanted->n; k++) {
        const char *end = end_of(text->items[i]);
        size_t next = i + 1;

        while (next < text->n && next - i <= FOREIGN_MAX &&
               !same(text->items[next], wanted->items[k]))
            next++;
        if (next == text->n || next - i > FOREIGN_MAX ||
            (size_t)(text->items[next].at - end) > GAP_MAX)
            return false;
        i = next;
    }
    *last = i;
    return true;
}

bool tokens_have(const struct tokens *text, size_t i, const struct tokens *these,
                 const struct tokens *beside, size_t near)
{
    const char *from = text->items[i].at;
    const char *end;
    size_t last;
    size_t ignored;

    if (these->n == 0 || !follows(text, i, these, &last))
        return false;
    if (beside->n == 0)
        return true;
    end = end_of(text->items[last]);
    for (size_t k = i; k > 0 && (size_t)(from - text->items[k - 1].at) <= near; k--)
        if (follows(text, k - 1, beside, &ignored))
            return true;
    for (size_t k = last + 1; k < text->n && (size_t)(text->items[k].at - end) <= near; k++)
        if (follows(text, k, beside, &ignored))
            return true;
    return false;
}
