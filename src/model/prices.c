/* SPDX-License-Identifier: Apache-2.0 */
/* model/prices.c - the rows of prices.def, and those of a user's table.
 *
 * A dollar for a million tokens is a millionth of a dollar for one: the tables' numbers are
 * microdollars a token. */
#include "model/prices.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "model/model.h"
#include "model/providers.h"
#include "net/url.h"

#define PRICE_MAX 1e6 /* dollars for a million tokens */

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

struct price_table {
    char *text; /* the names are in it */
    struct price *rows;
    size_t n;
};

/* ---- a user's table ------------------------------------------------------------------------- */

static bool read_price(const char *word, double *ret)
{
    char *end;

    if (!word || !word[0] || word[strspn(word, "0123456789.")])
        return false;
    *ret = strtod(word, &end);
    return !*end && *ret <= PRICE_MAX;
}

/* "PROVIDER/MODEL" is cut in two; names of models may have slashes of their own. */
static const char *read_name(char *word, struct price *price)
{
    char *slash = word ? strchr(word, '/') : NULL;

    if (!slash || !slash[1])
        return "it begins with PROVIDER/MODEL";
    *slash = '\0';
    price->provider = word;
    price->model = slash + 1;
    return provider_by_name(word) ? NULL : "there is no such provider";
}

/* NULL, or what is wrong with the line. */
static const char *read_row(char *line, struct price *price)
{
    char *rest = NULL;
    const char *wrong = read_name(strtok_r(line, " \t\r", &rest), price);
    const char *over;

    if (wrong)
        return wrong;
    if (!read_price(strtok_r(NULL, " \t\r", &rest), &price->input) ||
        !read_price(strtok_r(NULL, " \t\r", &rest), &price->cached) ||
        !read_price(strtok_r(NULL, " \t\r", &rest), &price->output))
        return "three prices follow, in dollars for a million tokens: input, cached input, output";
    over = strtok_r(NULL, " \t\r", &rest);
    if (over && num_parse_u64(over, 1, MODEL_TOKENS_MAX, &price->over) < 0)
        return "what follows the prices is a number of tokens";
    return strtok_r(NULL, " \t\r", &rest) ? "there is too much in it" : NULL;
}

static int read_rows(struct price_table *table, struct gb_err *err)
{
    unsigned number = 0;
    char *next = table->text;

    while (next) {
        char *line = strsep(&next, "\n");
        struct price price = { 0 };
        const char *wrong;

        number++;
        line[strcspn(line, "#")] = '\0';
        if (!line[strspn(line, " \t\r")])
            continue;
        wrong = table->n < PRICE_TABLE_ROWS ? read_row(line, &price) : "there are too many rows";
        if (wrong)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "line %u: %s", number, wrong);
        table->rows[table->n++] = price;
    }
    return 0;
}

int price_table_parse(const char *text, size_t len, struct price_table **ret, struct gb_err *err)
{
    struct price_table *table = calloc(1, sizeof(*table));
    int r;

    if (!table)
        return gb_no_memory(err);
    table->text = strndup(text, len);
    table->rows = calloc(PRICE_TABLE_ROWS, sizeof(*table->rows));
    r = table->text && table->rows ? read_rows(table, err) : gb_no_memory(err);
    if (r < 0) {
        price_table_free(&table);
        return r;
    }
    *ret = table;
    return 0;
}

void price_table_free(struct price_table **table)
{
    if (!*table)
        return;
    free((*table)->text);
    free((*table)->rows);
    free(*table);
    *table = NULL;
}

/* ---- looking up ----------------------------------------------------------------------------- */

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

static bool is_any(const struct price *price)
{
    return strcmp(price->model, "*") == 0;
}

static bool is_of(const struct price *price, const struct price_place *place)
{
    size_t len = strlen(price->model);

    if (strcmp(price->provider, place->provider->name) != 0)
        return false;
    return is_any(price) ||
           (strncmp(place->model, price->model, len) == 0 && is_snapshot(place->model + len));
}

/* Later rows count more, and named models more than any; NULL. */
static const struct price *find(const struct price *rows, size_t n, const struct price_place *place,
                                uint64_t input)
{
    const struct price *found = NULL;

    for (size_t i = 0; i < n; i++)
        if (is_of(&rows[i], place) && (rows[i].over == 0 || input > rows[i].over) &&
            (!found || !is_any(&rows[i]) || is_any(found)))
            found = &rows[i];
    return found;
}

static bool is_providers_own(const struct price_place *place)
{
    char own[PROVIDER_URL_MAX];

    return place->provider->base_url && place->base_url &&
           provider_base_url(place->provider, NULL, own, NULL) == 0 &&
           strcmp(own, place->base_url) == 0;
}

/* Somebody else's service may be behind a proxy of this machine: that is not for nothing. */
static bool is_free(const struct price_place *place)
{
    return !place->provider || (place->provider->flags & PROVIDER_LOCAL && place->base_url &&
                                url_is_here(place->base_url));
}

static const struct price *price_at(const struct price_place *place, uint64_t input)
{
    static const struct price nothing = { 0 };
    const struct price *found = NULL;

    if (place->table && place->provider)
        found = find(place->table->rows, place->table->n, place, input);
    if (!found && is_free(place))
        return &nothing;
    if (!found && is_providers_own(place))
        found = find(prices, N_ELEMENTS(prices), place, input);
    return found;
}

bool price_of(const struct price_place *place, const struct model_usage *usage,
              uint64_t *ret_microdollars)
{
    const struct price *price = price_at(place, usage->input);
    double cached;
    double cost;

    if (!usage->has_cost && !price)
        return false;
    if (usage->has_cost) {
        *ret_microdollars = usage->cost;
        return true;
    }
    cached = (double)(usage->cached < usage->input ? usage->cached : usage->input);
    cost = ((double)usage->input - cached) * price->input + cached * price->cached +
           (double)usage->output * price->output;
    *ret_microdollars = (uint64_t)cost + ((double)(uint64_t)cost < cost);
    return true;
}
