/* SPDX-License-Identifier: Apache-2.0 */
/* cli/strings.c - lists of strings that end with NULL. */
#include "cli/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

size_t strings_count(char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

int strings_add(char ***list, const char *text)
{
    cleanup_free char *copy = strdup(text);
    size_t n = strings_count(*list);
    char **grown = copy ? reallocarray(*list, n + 2, sizeof(*grown)) : NULL;

    if (!grown)
        return -ENOMEM;
    grown[n] = take_ptr(copy);
    grown[n + 1] = NULL;
    *list = grown;
    return 0;
}

void strings_free(char **list)
{
    for (char **item = list; item && *item; item++)
        free(*item);
    free(list);
}
