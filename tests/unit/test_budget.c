/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_budget.c - when a task has had enough, and what people are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/budget.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <cmocka.h>

/* 25 steps, 5 attempts each, 2 million tokens, 5 dollars, an hour; nothing spent. */
static struct budget usual(void)
{
    return (struct budget){
        .limits = { [BUDGET_STEPS] = 25,
                    [BUDGET_ATTEMPTS] = 5,
                    [BUDGET_TOKENS] = 2000000,
                    [BUDGET_MONEY] = 5000000,
                    [BUDGET_TIME] = 3600000 },
    };
}

static void expect_end(const struct budget *budget, enum budget_item next, const char *text)
{
    struct gb_err err = { 0 };

    assert_int_equal(budget_check(budget, next, &err), -EDQUOT);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_string_equal(err.msg, text);
}

static void a_new_budget_has_room_for_everything(void **state)
{
    struct budget budget = usual();

    (void)state;
    for (int i = 0; i < N_BUDGET_ITEMS; i++) {
        assert_int_equal(budget_check(&budget, (enum budget_item)i, NULL), 0);
        assert_true(budget_left(&budget, (enum budget_item)i) == budget.limits[i]);
    }
}

static void steps_end(void **state)
{
    struct budget budget = usual();

    (void)state;
    for (int i = 0; i < 25; i++) {
        assert_int_equal(budget_check(&budget, BUDGET_STEPS, NULL), 0);
        budget_spend_step(&budget);
    }
    expect_end(&budget, BUDGET_STEPS,
               "the task has used 25 steps, and may use 25; "
               "--resume with a larger --max-steps goes on");
    assert_int_equal(budget_check(&budget, BUDGET_ATTEMPTS, NULL), 0);
}

static void every_step_has_its_attempts(void **state)
{
    struct budget budget = usual();

    (void)state;
    budget.limits[BUDGET_ATTEMPTS] = 2;
    budget_spend_step(&budget);
    budget_spend_attempt(&budget);
    assert_int_equal(budget_check(&budget, BUDGET_ATTEMPTS, NULL), 0);
    budget_spend_attempt(&budget);
    expect_end(&budget, BUDGET_ATTEMPTS,
               "the task has used 2 attempts, and may use 2; "
               "--resume with a larger --max-attempts goes on");
    assert_int_equal(budget_check(&budget, BUDGET_STEPS, NULL), 0);
    budget_spend_step(&budget);
    assert_int_equal(budget_check(&budget, BUDGET_ATTEMPTS, NULL), 0);
    assert_int_equal(budget_left(&budget, BUDGET_ATTEMPTS), 2);
}

static void tokens_money_and_time_end_everything(void **state)
{
    struct budget budget = usual();

    (void)state;
    budget_spend_tokens(&budget, 1999999);
    assert_int_equal(budget_check(&budget, BUDGET_TOKENS, NULL), 0);
    budget_spend_tokens(&budget, 2);
    expect_end(&budget, BUDGET_STEPS,
               "the task has used 2000001 tokens, and may use 2000000; "
               "--resume with a larger --max-tokens goes on");
    budget = usual();
    budget_spend_money(&budget, 5019999);
    expect_end(&budget, BUDGET_ATTEMPTS,
               "the task has used $5.01 of money, and may use $5.00; "
               "--resume with a larger --max-cost goes on");
    budget = usual();
    budget_spend_time(&budget, 3600000);
    expect_end(&budget, BUDGET_TOKENS,
               "the task has used 60 min 0 s of time, and may use 60 min 0 s; "
               "--resume with a larger --max-time goes on");
    budget.limits[BUDGET_TIME] = 1500;
    expect_end(&budget, BUDGET_TIME,
               "the task has used 60 min 0 s of time, and may use 1.500 s; "
               "--resume with a larger --max-time goes on");
}

static void what_is_too_much_to_count_stays_too_much(void **state)
{
    struct budget budget = usual();

    (void)state;
    budget_spend_tokens(&budget, UINT64_MAX);
    budget_spend_tokens(&budget, UINT64_MAX);
    assert_true(budget.spent[BUDGET_TOKENS] == UINT64_MAX);
    assert_int_equal(budget_left(&budget, BUDGET_TOKENS), 0);
    assert_int_equal(budget_check(&budget, BUDGET_TOKENS, NULL), -EDQUOT);
}

static void a_limit_of_nothing_allows_nothing(void **state)
{
    struct budget budget = usual();

    (void)state;
    budget.limits[BUDGET_MONEY] = 0;
    assert_int_equal(budget_check(&budget, BUDGET_STEPS, NULL), -EDQUOT);
}

static void limits_only_grow(void **state)
{
    struct budget budget = usual();
    struct budget to = budget;

    (void)state;
    to.limits[BUDGET_STEPS] = 1;
    assert_false(budget_raise(&budget, &to));
    to.limits[BUDGET_TIME]++;
    assert_true(budget_raise(&budget, &to));
    assert_true(budget.limits[BUDGET_TIME] == to.limits[BUDGET_TIME]);
    assert_int_equal(budget.limits[BUDGET_STEPS], 25);
}

static void limits_come_back_from_their_text(void **state)
{
    static const char *const wrong[] = {
        "",
        "{}",
        "[1,2,3,4,5]",
        "7",
        "{\"steps\":-1}",
        "{\"steps\":1,\"attempts\":1,\"tokens\":1,\"money\":1,\"time\":\"1\"}",
    };
    cleanup_buf struct buf text = BUF_INIT(4096);
    struct budget budget = usual();
    struct budget got = { 0 };

    (void)state;
    budget.limits[BUDGET_MONEY] = 123456789012;
    assert_int_equal(budget_limits_text(&budget, &text), 0);
    assert_int_equal(budget_limits_parse(text.data, text.len, &got), 0);
    assert_memory_equal(got.limits, budget.limits, sizeof(got.limits));
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        assert_int_equal(budget_limits_parse(wrong[i], strlen(wrong[i]), &got), -EINVAL);
        assert_memory_equal(got.limits, budget.limits, sizeof(got.limits));
    }
}

static void items_have_names_and_options(void **state)
{
    enum budget_item item;

    (void)state;
    for (enum budget_item i = 0; i < N_BUDGET_ITEMS; i++) {
        assert_true(budget_item_parse(budget_item_name(i), &item));
        assert_int_equal(item, i);
        assert_int_equal(strncmp(budget_item_option(i), "--max-", 6), 0);
    }
    assert_false(budget_item_parse("patience", &item));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_budget_has_room_for_everything),
        cmocka_unit_test(steps_end),
        cmocka_unit_test(every_step_has_its_attempts),
        cmocka_unit_test(tokens_money_and_time_end_everything),
        cmocka_unit_test(what_is_too_much_to_count_stays_too_much),
        cmocka_unit_test(a_limit_of_nothing_allows_nothing),
        cmocka_unit_test(limits_only_grow),
        cmocka_unit_test(limits_come_back_from_their_text),
        cmocka_unit_test(items_have_names_and_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
