/* SPDX-License-Identifier: Apache-2.0 */
/* base/dl.c - libraries that are opened on first use. */
#include "base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/* What the loader says names the part that is missing, which may be a library's library. */
static int missing(const struct dl *library, int code, struct gb_err *err)
{
    const char *reason = dlerror();

    return gb_fail(err, code, GB_BLAME_HOST, "this needs %s (apt-get install %s): %s",
                   library->file, library->package, reason ? reason : "it cannot be loaded");
}

static int fill(const struct dl *library, void *handle, struct gb_err *err)
{
    for (const struct dl_symbol *symbol = library->symbols; symbol->name; symbol++) {
        void *address = dlsym(handle, symbol->name);

        if (!address)
            return missing(library, -ELIBBAD, err);
        memcpy(symbol->target, &address, sizeof(address));
    }
    return 0;
}

static int load(struct dl *library, struct gb_err *err)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    int r;

    if (!handle)
        return missing(library, -ELIBACC, err);
    r = fill(library, handle, err);
    if (r < 0)
        (void)dlclose(handle);
    else
        library->handle = handle;
    return r;
}

int dl_open(struct dl *library, struct gb_err *err)
{
    int r = 0;

    (void)pthread_mutex_lock(&library->lock);
    if (!library->handle)
        r = load(library, err);
    (void)pthread_mutex_unlock(&library->lock);
    return r;
}
