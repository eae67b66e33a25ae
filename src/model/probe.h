/* SPDX-License-Identifier: Apache-2.0 */
/* model/probe.h - finding a model server that runs on this machine. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "model/providers.h"

struct gb_err;

struct model_local {
    const struct provider *provider;
    char base_url[PROVIDER_URL_MAX];
    char *model; /* the first that it offers */
};

/* Asks at the usual addresses (or where the variables say) which models there are, in the order of
 * the table, each for a fraction of a second.  1 and the first that has one, 0 when there is none.
 * model_local_clear() is owed. */
int model_probe_local(provider_lookup lookup, void *user, struct model_local *ret,
                      struct gb_err *err);
void model_local_clear(struct model_local *local);

#define cleanup_local cleanup_with(model_local_clear)
