/* SPDX-License-Identifier: Apache-2.0 */
/* model/headers.c - what a model's server is told beside the request. */
#include "model/headers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/model.h"
#include "model/wire.h"

#define VALUE_MAX 4096

static int check(const struct provider *provider, const char *what, const char *value,
                 struct gb_err *err)
{
    if (strlen(value) > VALUE_MAX)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the %s for %s is too long", what,
                       provider->name);
    for (; *value; value++)
        if ((unsigned char)*value <= ' ' || (unsigned char)*value >= 0x7f)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "the %s for %s holds a blank, a line break or what no key holds", what,
                           provider->name);
    return 0;
}

static int add(struct headers *headers, const char *before, const char *value, struct gb_err *err)
{
    char **line = &headers->owned[headers->n_owned];

    if (asprintf(line, "%s%s", before, value) < 0) {
        *line = NULL;
        return gb_no_memory(err);
    }
    headers->n_owned++;
    headers->lines[headers->n++] = *line;
    return 0;
}

static int add_key(const struct provider *provider, const struct model_spec *spec,
                   struct headers *headers, struct gb_err *err)
{
    const char *before =
        spec->key_is_token ? "Authorization: Bearer " : wire_of(provider)->key_header;
    int r;

    if (!spec->key || !spec->key[0])
        return 0;
    r = check(provider, "key", spec->key, err);
    return r < 0 ? r : add(headers, before, spec->key, err);
}

int headers_make(const struct provider *provider, const struct model_spec *spec,
                 struct headers *ret, struct gb_err *err)
{
    const struct provider_header *row;
    int r;

    ret->lines[ret->n++] = "Content-Type: application/json";
    ret->lines[ret->n++] = "Accept: application/json, text/event-stream";
    if (wire_of(provider)->header)
        ret->lines[ret->n++] = wire_of(provider)->header;
    r = add_key(provider, spec, ret, err);
    for (size_t i = 0; r == 0 && (row = provider_header_at(provider, i)); i++) {
        char before[64];

        if (!spec->extra[i] || !spec->extra[i][0])
            continue;
        r = check(provider, row->env, spec->extra[i], err);
        (void)snprintf(before, sizeof(before), "%s: ", row->name);
        if (r == 0)
            r = add(ret, before, spec->extra[i], err);
    }
    return r;
}

void headers_clear(struct headers *headers)
{
    for (size_t i = 0; i < headers->n_owned; i++) {
        explicit_bzero(headers->owned[i], strlen(headers->owned[i]));
        free(headers->owned[i]);
    }
    *headers = (struct headers){ 0 };
}
