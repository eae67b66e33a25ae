/* SPDX-License-Identifier: Apache-2.0 */
/* base/count.c - counters of the kernel. */
#include "base/count.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* The longest is memory.stat, of about sixty lines. */
#define TEXT_SIZE 8192

/* Where the number begins; the end of the text when there is no such line. */
static const char *value_of(const char *text, const char *key)
{
    size_t len = strlen(key);

    while (*text && !(strncmp(text, key, len) == 0 && text[len] == ' ')) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return *text ? text + len + 1 : text;
}

int count_read(int dir, const char *file, const char *key, uint64_t *ret)
{
    char text[TEXT_SIZE];
    const char *value;
    ssize_t n = fd_read_text(dir, file, text, sizeof(text));

    if (n < 0)
        return (int)n;
    value = key ? value_of(text, key) : text;
    if (*value < '0' || *value > '9')
        return -ENODATA;
    *ret = strtoull(value, NULL, 10);
    return 0;
}
