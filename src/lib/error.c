/* SPDX-License-Identifier: Apache-2.0 */
/* lib/error.c - errors as the library's caller gets them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "gen/version.h"
#include "lib/inside.h"

static const int blames[] = {
    [GB_BLAME_NONE] = GLOVEBOX_BLAME_NONE, [GB_BLAME_CALLER] = GLOVEBOX_BLAME_CALLER,
    [GB_BLAME_HOST] = GLOVEBOX_BLAME_HOST, [GB_BLAME_PEER] = GLOVEBOX_BLAME_PEER,
    [GB_BLAME_BUG] = GLOVEBOX_BLAME_BUG,
};

/* What the struct was when the caller was compiled is all that may be written. */
static void put(const struct glovebox_error *from, struct glovebox_error *ret)
{
    size_t size = ret->size;

    if (size < offsetof(struct glovebox_error, remedy) + sizeof(from->remedy))
        return;
    memcpy((char *)ret + sizeof(size), (const char *)from + sizeof(size),
           sizeof(*from) - sizeof(size));
}

int lib_told(int r, const struct gb_err *err, struct glovebox_error *ret)
{
    struct glovebox_error told = GLOVEBOX_ERROR_INIT;
    const char *remedy = r < 0 ? gb_err_remedy(err) : NULL;

    if (!ret)
        return r;
    if (r < 0) {
        told.code = r;
        told.blame = blames[err->blame];
        (void)snprintf(told.message, sizeof(told.message), "%.*s", (int)gb_err_len(err), err->msg);
        (void)snprintf(told.remedy, sizeof(told.remedy), "%s", remedy ? remedy : "");
    }
    if (!told.message[0] && r < 0)
        (void)snprintf(told.message, sizeof(told.message), "%s", strerror(-r));
    put(&told, ret);
    return r;
}

const char *glovebox_version(void)
{
    return GB_VERSION;
}
