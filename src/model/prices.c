/* SPDX-License-Identifier: Apache-2.0 */
/* model/prices.c - the rows of prices.def.
 *
 * A dollar for a million tokens is a millionth of a dollar for one: the table's numbers are
 * microdollars a token. */
#include "model/prices.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "model/providers.h"

struct price {
    const char *provider;
    const char *model;
    uint64_t over; /* tokens of the prompt */
    double input;
    double cached;
    double output;
};

static const struct price prices[] = {
#define PRICE(provider, model, over, input, cached, output) \
    { provider, model, over, input, cached, output },
#include "model/prices.def"
#undef PRICE
};

/* "", "-20251001", "-2026-09-22", "-latest": what may follow a model's name. */
static bool is_snapshot(const char *rest)
{
    if (!rest[0] || strcmp(rest, "-latest") == 0)
        return true;
    if (*rest++ != '-' || strlen(rest) < 8)
        return false;
    for (; *rest; rest++)
        if (!isdigit((unsigned char)*rest) && *rest != '-')
            return false;
    return true;
}

static bool is_of(const struct price *price, const struct provider *provider, const char *model)
{
    size_t len = strlen(price->model);

    return strcmp(price->provider, provider->name) == 0 && strncmp(model, price->model, len) == 0 &&
           is_snapshot(model + len);
}

bool price_of(const struct provider *provider, const char *model, const struct model_usage *usage,
              uint64_t *ret_microdollars)
{
    const struct price *found = NULL;
    double cached;
    double cost;

    if (usage->has_cost || !provider || provider->flags & PROVIDER_LOCAL) {
        *ret_microdollars = usage->has_cost ? usage->cost : 0;
        return true;
    }
    for (size_t i = 0; i < N_ELEMENTS(prices); i++)
        if (is_of(&prices[i], provider, model) &&
            (prices[i].over == 0 || usage->input > prices[i].over))
            found = &prices[i];
    if (!found || !usage->is_known)
        return false;
    cached = (double)(usage->cached < usage->input ? usage->cached : usage->input);
    cost = ((double)usage->input - cached) * found->input + cached * found->cached +
           (double)usage->output * found->output;
    *ret_microdollars = (uint64_t)cost + ((double)(uint64_t)cost < cost);
    return true;
}
