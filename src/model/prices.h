/* SPDX-License-Identifier: Apache-2.0 */
/* model/prices.h - what an answer cost, by the list prices of prices.def. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct model_usage;
struct provider;

/* In millionths of a dollar, rounded up.  What the server itself said goes first; local servers
 * cost nothing; false when usage or price is not known. */
bool price_of(const struct provider *provider, const char *model, const struct model_usage *usage,
              uint64_t *ret_microdollars);
