/* SPDX-License-Identifier: Apache-2.0 */
/* agent/budget.c - how much a task may use. */
#include "agent/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"

#define AMOUNT_SIZE 64

static void count_text(uint64_t value, char text[static AMOUNT_SIZE])
{
    (void)snprintf(text, AMOUNT_SIZE, "%" PRIu64, value);
}

static void money_text(uint64_t micro, char text[static AMOUNT_SIZE])
{
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
    const char *what;   /* of it were used */
    const char *option; /* raises it */
    uint64_t limit;     /* by default */
    void (*text)(uint64_t value, char text[static AMOUNT_SIZE]);
} items[N_BUDGET_ITEMS] = {
    [BUDGET_STEPS] = { "steps", "--max-steps", 25, count_text },
    [BUDGET_ATTEMPTS] = { "attempts", "--max-attempts", 5, count_text },
    [BUDGET_TOKENS] = { "tokens", "--max-tokens", 2000000, count_text },
    [BUDGET_MONEY] = { "of money", "--max-cost", 5000000, money_text },
    [BUDGET_TIME] = { "of time", "--max-time", 3600000, time_text },
};

struct budget budget_default(void)
{
    struct budget budget = { 0 };

    for (size_t i = 0; i < N_BUDGET_ITEMS; i++)
        budget.limits[i] = items[i].limit;
    return budget;
}

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

static int check_item(const struct budget *budget, enum budget_item item, struct gb_err *err)
{
    char spent[AMOUNT_SIZE];
    char limit[AMOUNT_SIZE];

    if (budget_left(budget, item) > 0)
        return 0;
    items[item].text(budget->spent[item], spent);
    items[item].text(budget->limits[item], limit);
    return gb_fail(err, -EDQUOT, GB_BLAME_CALLER,
                   "the task has used %s %s, and may use %s; --continue with a larger %s goes on",
                   spent, items[item].what, limit, items[item].option);
}

int budget_check(const struct budget *budget, enum budget_item next, struct gb_err *err)
{
    static const enum budget_item always[] = { BUDGET_TOKENS, BUDGET_MONEY, BUDGET_TIME };
    int r = check_item(budget, next, err);

    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && r == 0; i++)
        r = check_item(budget, always[i], err);
    return r;
}
