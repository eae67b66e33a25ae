/* SPDX-License-Identifier: Apache-2.0 */
/* net/curl_lib.c - libcurl, opened on first use. */
#include "net/curl_lib.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/dl.h"
#include "base/err.h"

struct curl_lib curl_fn;

#define SYMBOL(name) DL_SYMBOL(curl_fn.name, "curl_" #name),
static const struct dl_symbol symbols[] = { CURL_LIB_FUNCTIONS(SYMBOL){ 0 } };

static struct dl library = DL_INIT("libcurl.so.4", "libcurl4", symbols);

static void global_init(void)
{
    /* A failure shows again when the handles are made. */
    (void)curl_fn.global_init(CURL_GLOBAL_DEFAULT);
}

int curl_lib_open(struct gb_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int r = dl_open(&library, err);

    if (r == 0)
        (void)pthread_once(&once, global_init);
    return r;
}

void curl_lib_seal(void)
{
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}
