/* SPDX-License-Identifier: Apache-2.0 */
/* model/probe.c - finding a model server that runs on this machine. */
#include "model/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/headers.h"
#include "model/listing.h"
#include "model/model.h"
#include "model/wire.h"
#include "net/http.h"

#define CONNECT_MS 300
#define TOTAL_MS   1500

/* 1 when it has a model. */
static int ask(struct http_client *client, const struct provider_choice *choice,
               struct model_local *ret)
{
    const struct wire *wire = wire_of(choice->provider);
    const struct model_spec spec = { .key = choice->key, .key_is_token = choice->key_is_token };
    cleanup_headers struct headers headers = { 0 };
    char url[PROVIDER_URL_MAX + 64];
    const struct listing_request request = {
        .url = url,
        .headers = headers.lines,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .cancel_fd = -1,
    };
    struct listing listing = { 0 };
    int r;

    if (provider_base_url(choice->provider, choice->base_url, ret->base_url, NULL) < 0)
        return 0;
    (void)snprintf(url, sizeof(url), "%s%s", ret->base_url, wire->list_path);
    if (headers_make(choice->provider, &spec, &headers, NULL) < 0 ||
        listing_get(client, &request, &listing, NULL) < 0)
        return 0;
    ret->provider = choice->provider;
    ret->model = listing.usual ? strdup(listing.usual) : NULL;
    r = listing.usual && !ret->model ? -ENOMEM : listing.usual != NULL;
    listing_clear(&listing);
    return r;
}

int model_probe_local(provider_lookup lookup, void *user, struct model_local *ret,
                      struct gb_err *err)
{
    cleanup_with(http_client_free) struct http_client *client = NULL;
    const struct provider *provider;
    int r = http_client_new(&client, err);

    *ret = (struct model_local){ 0 };
    for (size_t i = 0; r == 0 && (provider = provider_at(i)); i++) {
        struct provider_choice choice;

        (void)provider_gather(provider, lookup, user, &choice);
        if (provider->flags & PROVIDER_LOCAL && (provider->base_url || choice.base_url))
            r = ask(client, &choice, ret);
    }
    if (r == -ENOMEM)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for a model");
    return r;
}

void model_local_clear(struct model_local *local)
{
    free(local->model);
    *local = (struct model_local){ 0 };
}
