/* SPDX-License-Identifier: Apache-2.0 */
/* model/prices.h - what a request cost: by the user's own table, else by prices.def.
 *
 * A list price holds where the provider sells, at its own address.  What somebody else takes there
 * is known only from the user's table, or from the server's own word; a server of this machine that
 * belongs to nobody takes nothing.  Nothing is guessed: a price that is not known must not look
 * like none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gb_err;
struct model_usage;
struct price_table;
struct provider;

/* Lines of a user's table, blank ones and those with # left out:
 *
 *    PROVIDER/MODEL  INPUT  CACHED  OUTPUT  [OVER]
 *
 * in dollars for a million tokens; OVER: of prompts with more tokens than that, whole.  A MODEL *
 * is any of that provider; one that is named counts more.  -EINVAL: the error names the line. */
#define PRICE_TABLE_MAX  (256 << 10) /* bytes of its text */
#define PRICE_TABLE_ROWS 2000
int price_table_parse(const char *text, size_t len, struct price_table **ret, struct gb_err *err);
void price_table_free(struct price_table **table);

struct price_place {
    const struct provider *provider; /* NULL: scripted */
    const char *model;
    const char *base_url;            /* as provider_base_url() has it */
    const struct price_table *table; /* NULL: none */
};

/* Of one request, in millionths of a dollar, rounded up.  What the server itself said goes first;
 * false when the price is not known. */
bool price_of(const struct price_place *place, const struct model_usage *usage,
              uint64_t *ret_microdollars);
