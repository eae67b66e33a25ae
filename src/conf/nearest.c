/* SPDX-License-Identifier: Apache-2.0 */
/* conf/nearest.c - edit distance: letters inserted, left out, replaced or two swapped. */
#include "conf/nearest.h"

#include <stddef.h>
#include <string.h>

/* Longer words are never misspelt keys or options; their distance is not worth the square. */
#define WORD_MAX 48

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;

    return least < c ? least : c;
}

/* Three rows of the table are enough: a swap looks two rows back. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_MAX + 1];

    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        const unsigned *above = rows[(i - 1) % 3];
        unsigned *row = rows[i % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned wrong = a[i - 1] != b[j - 1];

            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + wrong);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                unsigned swapped = rows[(i - 2) % 3][j - 2] + 1;

                if (swapped < row[j])
                    row[j] = swapped;
            }
        }
    }
    return rows[a_len % 3][b_len];
}

void nearest_offer(struct nearest *near, const char *word)
{
    size_t text_len = strlen(near->text);
    size_t word_len = strlen(word);
    unsigned d;

    if (text_len > WORD_MAX || word_len > WORD_MAX)
        return;
    d = distance(near->text, text_len, word, word_len);
    if (!near->best || d < near->distance) {
        near->best = word;
        near->distance = d;
    }
}

const char *nearest_best(const struct nearest *near)
{
    if (!near->best || !near->text[0])
        return NULL;
    return near->distance <= (strlen(near->best) + 2) / 3 ? near->best : NULL;
}
