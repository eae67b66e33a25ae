/* SPDX-License-Identifier: Apache-2.0 */
/* agent/budget.c - how much a task may use. */
#include "agent/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"

#define AMOUNT_SIZE     64
#define LIMITS_TEXT_MAX 1024

static void count_text(uint64_t value, char text[static AMOUNT_SIZE])
{
    (void)snprintf(text, AMOUNT_SIZE, "%" PRIu64, value);
}

/* Cents; a few of them to a hundredth. */
static void money_text(uint64_t micro, char text[static AMOUNT_SIZE])
{
    if (micro % 10000 != 0 && micro < 100000)
        (void)snprintf(text, AMOUNT_SIZE, "$%.4f", (double)micro / 1e6);
    else
        (void)snprintf(text, AMOUNT_SIZE, "$%" PRIu64 ".%02" PRIu64, micro / 1000000,
                       micro % 1000000 / 10000);
}

static void time_text(uint64_t ms, char text[static AMOUNT_SIZE])
{
    uint64_t s = ms / 1000;

    if (s >= 60)
        (void)snprintf(text, AMOUNT_SIZE, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else
        (void)snprintf(text, AMOUNT_SIZE, "%" PRIu64 ".%03" PRIu64 " s", s, ms % 1000);
}

static const struct {
    const char *name;   /* in JSON */
    const char *what;   /* of it were used */
    const char *option; /* raises it */
    void (*text)(uint64_t value, char text[static AMOUNT_SIZE]);
} items[N_BUDGET_ITEMS] = {
    [BUDGET_STEPS] = { "steps", "steps", "--max-steps", count_text },
    [BUDGET_ATTEMPTS] = { "attempts", "attempts", "--max-attempts", count_text },
    [BUDGET_TOKENS] = { "tokens", "tokens", "--max-tokens", count_text },
    [BUDGET_MONEY] = { "money", "of money", "--max-cost", money_text },
    [BUDGET_TIME] = { "time", "of time", "--max-time", time_text },
};

static void spend(struct budget *budget, enum budget_item item, uint64_t amount)
{
    uint64_t *spent = &budget->spent[item];

    *spent = amount > UINT64_MAX - *spent ? UINT64_MAX : *spent + amount;
}

void budget_spend_step(struct budget *budget)
{
    spend(budget, BUDGET_STEPS, 1);
    budget->spent[BUDGET_ATTEMPTS] = 0;
}

void budget_spend_attempt(struct budget *budget)
{
    spend(budget, BUDGET_ATTEMPTS, 1);
}

void budget_spend_tokens(struct budget *budget, uint64_t tokens)
{
    spend(budget, BUDGET_TOKENS, tokens);
}

void budget_spend_money(struct budget *budget, uint64_t micro_dollars)
{
    spend(budget, BUDGET_MONEY, micro_dollars);
}

void budget_spend_time(struct budget *budget, uint64_t ms)
{
    spend(budget, BUDGET_TIME, ms);
}

uint64_t budget_left(const struct budget *budget, enum budget_item item)
{
    if (budget->spent[item] >= budget->limits[item])
        return 0;
    return budget->limits[item] - budget->spent[item];
}

const char *budget_item_name(enum budget_item item)
{
    return items[item].name;
}

const char *budget_item_option(enum budget_item item)
{
    return items[item].option;
}

bool budget_item_parse(const char *name, enum budget_item *ret)
{
    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        if (strcmp(items[item].name, name) == 0) {
            *ret = item;
            return true;
        }
    return false;
}

void budget_used_text(const struct budget *budget, enum budget_item item,
                      char text[static BUDGET_TEXT_SIZE])
{
    char spent[AMOUNT_SIZE];
    char limit[AMOUNT_SIZE];

    items[item].text(budget->spent[item], spent);
    items[item].text(budget->limits[item], limit);
    (void)snprintf(text, BUDGET_TEXT_SIZE, "%s %s, and may use %s", spent, items[item].what, limit);
}

bool budget_is_used_up(const struct budget *budget, enum budget_item next, enum budget_item *ret)
{
    const enum budget_item order[] = { next, BUDGET_TOKENS, BUDGET_MONEY, BUDGET_TIME };

    for (size_t i = 0; i < N_ELEMENTS(order); i++)
        if (budget_left(budget, order[i]) == 0) {
            *ret = order[i];
            return true;
        }
    return false;
}

int budget_check(const struct budget *budget, enum budget_item next, struct gb_err *err)
{
    char used[BUDGET_TEXT_SIZE];
    enum budget_item item;

    if (!budget_is_used_up(budget, next, &item))
        return 0;
    budget_used_text(budget, item, used);
    return gb_fail(err, -EDQUOT, GB_BLAME_CALLER,
                   "the task has used %s; --resume with a larger %s goes on", used,
                   items[item].option);
}

/* ---- limits as text ------------------------------------------------------------------------- */

int budget_limits_text(const struct budget *budget, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        json_put_u64(&w, items[item].name, budget->limits[item]);
    json_object_end(&w);
    return json_writer_end(&w);
}

int budget_limits_parse(const char *text, size_t len, struct budget *ret)
{
    cleanup_json struct json_value *value = NULL;
    struct budget budget = { 0 };
    int r = json_value_parse(text, len, LIMITS_TEXT_MAX, &value, NULL);

    for (enum budget_item item = 0; r == 0 && item < N_BUDGET_ITEMS; item++)
        if (!json_u64(json_get(value, items[item].name), &budget.limits[item]))
            r = -EINVAL;
    if (r == 0)
        *ret = budget;
    return r < 0 ? -EINVAL : 0;
}

bool budget_raise(struct budget *budget, const struct budget *to)
{
    bool is_raised = false;

    for (enum budget_item item = 0; item < N_BUDGET_ITEMS; item++)
        if (to->limits[item] > budget->limits[item]) {
            budget->limits[item] = to->limits[item];
            is_raised = true;
        }
    return is_raised;
}
