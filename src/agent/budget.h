/* SPDX-License-Identifier: Apache-2.0 */
/* agent/budget.h - how much a task may use: steps, attempts, tokens, money, time.
 *
 * A plain value, and deterministic: it reads no clock, what was spent is told to it, so that a task
 * that is resumed or replayed comes to the same end.  Every item has a limit; there is no value for
 * "as much as it likes".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct gb_err;

enum budget_item {
    BUDGET_STEPS,    /* choices of the orchestrator */
    BUDGET_ATTEMPTS, /* of the present step */
    BUDGET_TOKENS,   /* in and out */
    BUDGET_MONEY,    /* micro-dollars; models without a known price cost nothing here */
    BUDGET_TIME,     /* milliseconds by the clock */
    N_BUDGET_ITEMS,
};

struct budget {
    uint64_t limits[N_BUDGET_ITEMS];
    uint64_t spent[N_BUDGET_ITEMS];
};

/* These count; they saturate and never fail.  A new step has all its attempts before it. */
void budget_spend_step(struct budget *budget);
void budget_spend_attempt(struct budget *budget);
void budget_spend_tokens(struct budget *budget, uint64_t tokens);
void budget_spend_money(struct budget *budget, uint64_t micro_dollars);
void budget_spend_time(struct budget *budget, uint64_t ms);

/* What is left of an item; how it is called, and the option that raises it. */
uint64_t budget_left(const struct budget *budget, enum budget_item item);
const char *budget_item_name(enum budget_item item);
const char *budget_item_option(enum budget_item item);
bool budget_item_parse(const char *name, enum budget_item *ret);

/* "2 attempts, and may use 2": what was used, for people. */
#define BUDGET_TEXT_SIZE 192
void budget_used_text(const struct budget *budget, enum budget_item item,
                      char text[static BUDGET_TEXT_SIZE]);

/* May the task go on to `next`: another step, another attempt, or (with any other item) another
 * call?  Tokens, money and time must not be used up for any of them.  -EDQUOT: the error is for
 * people, and names the option that raises the limit. */
int budget_check(const struct budget *budget, enum budget_item next, struct gb_err *err);

/* The item that budget_check() complains of; false: none. */
bool budget_is_used_up(const struct budget *budget, enum budget_item next, enum budget_item *ret);

/* The limits as text and back, in a line.  -EINVAL: it is no such text. */
int budget_limits_text(const struct budget *budget, struct buf *ret);
int budget_limits_parse(const char *text, size_t len, struct budget *ret);

/* Takes the larger limit of each item.  false: none was larger. */
bool budget_raise(struct budget *budget, const struct budget *to);
