/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_ignore.c - patterns of a .dockerignore, a NUL, and a path.
 *
 * A path below one that is left out is left out too, unless some line takes back.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "image/ignore.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_ignore struct ignore *ignore = NULL;
    const char *text = (const char *)data;
    const char *nul = size ? memchr(text, '\0', size) : NULL;
    cleanup_free char *path = NULL;
    char below[512];
    struct gb_err err = { 0 };
    int r;

    if (!nul)
        return 0;
    if (ignore_new(text, (size_t)(nul - text), &ignore, &err) < 0) {
        must(err.msg[0] && !ignore);
        return 0;
    }
    path = text_copy(nul + 1, (size_t)(text + size - nul - 1));
    if (!path || strlen(path) > 400)
        return 0;
    r = ignore_matches(ignore, path, NULL);
    must(r == 0 || r == 1);
    (void)snprintf(below, sizeof(below), "%s/below", path);
    if (r == 1 && !ignore_may_return(ignore))
        must(ignore_matches(ignore, below, NULL) == 1);
    return 0;
}
