/* SPDX-License-Identifier: Apache-2.0 */
/* model/headers.h - what a model's server is told beside the request: the key, and who pays. */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "model/providers.h"

struct gb_err;
struct model_spec;

#define HEADERS_MAX (4 + PROVIDER_HEADERS_MAX) /* types both ways, the wire's own, the key */

struct headers {
    const char *lines[HEADERS_MAX + 1]; /* NULL-terminated */
    size_t n;
    char *owned[1 + PROVIDER_HEADERS_MAX]; /* secrets among them */
    size_t n_owned;
};

/* -EINVAL when a key or a value could not stand in a header: a line break in it would begin one of
 * its own.  headers_clear() is owed in any case; ret starts as { 0 }. */
int headers_make(const struct provider *provider, const struct model_spec *spec,
                 struct headers *ret, struct gb_err *err);
void headers_clear(struct headers *headers);

#define cleanup_headers cleanup_with(headers_clear)
