/* SPDX-License-Identifier: Apache-2.0 */
/* egress/asked.c - the different names that a box had looked up. */
#include "egress/asked.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

bool asked_take(struct asked *asked, const char *name, uint64_t max)
{
    cleanup_free char *copy = NULL;

    if (tfind(name, &asked->names, compare))
        return true;
    if (asked->n >= max)
        return false;
    copy = strdup(name);
    if (!copy || !tsearch(copy, &asked->names, compare))
        return false;
    (void)take_ptr(copy); /* the tree's */
    asked->n++;
    return true;
}

void asked_clear(struct asked *asked)
{
    tdestroy(asked->names, free);
    *asked = (struct asked){ 0 };
}
