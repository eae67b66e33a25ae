/* SPDX-License-Identifier: Apache-2.0 */
/* lib/texts.c - owned lists of texts. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lib/inside.h"

int texts_add(struct texts *texts, char *text, struct gb_err *err)
{
    char **grown = text ? reallocarray(texts->items, texts->n + 2, sizeof(*grown)) : NULL;

    if (!grown) {
        free(text);
        return gb_no_memory(err);
    }
    texts->items = grown;
    grown[texts->n++] = text;
    grown[texts->n] = NULL;
    return 0;
}

int texts_copy(struct texts *texts, const char *const *from, struct gb_err *err)
{
    struct texts copy = { 0 };
    int r = 0;

    for (; r == 0 && from && *from; from++)
        r = texts_add(&copy, strdup(*from), err);
    if (r < 0) {
        texts_clear(&copy);
        return r;
    }
    texts_clear(texts);
    *texts = copy;
    return 0;
}

void texts_clear(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct texts){ 0 };
}
