/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_run_order.c - what a task was told survives the store, and nothing else does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/run_order.h"
#include "cli/strings.h"

#include <cmocka.h>

static void fill(struct run_options *options)
{
    assert_int_equal(id_make('t', options->order.id), 0);
    options->order.language = strdup("python");
    options->order.ask = ASK_ALWAYS;
    options->order.candidates = 4;
    for (uint64_t i = 0; i < N_BUDGET_ITEMS; i++)
        options->order.budget.limits[i] = 25 + i;
    options->order.has_contract = true;
    assert_int_equal(strings_add(&options->order.files, "data of mine.csv"), 0);
    assert_int_equal(strings_add(&options->order.before, "a.py"), 0);
    assert_int_equal(strings_add(&options->host.sources, "/home/me/data.csv"), 0);
    assert_int_equal(strings_add(&options->host.sources, "0123"), 0);
    assert_int_equal(strings_add(&options->host.flags, "model"), 0);
    assert_int_equal(strings_add(&options->host.flags, "scripted/\"x\""), 0);
    options->host.out = strdup("/tmp/out");
    options->host.is_forced = true;
}

static void what_was_told_comes_back_whole(void **state)
{
    cleanup_options struct run_options told = { 0 };
    cleanup_options struct run_options back = { 0 };
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    cleanup_buf struct buf again = BUF_INIT(1 << 20);
    struct gb_err err = { 0 };

    (void)state;
    fill(&told);
    assert_int_equal(run_options_text(&told, &text), 0);
    assert_int_equal(run_options_parse(text.data, &back, &err), 0);
    assert_int_equal(run_options_text(&back, &again), 0);
    assert_string_equal(text.data, again.data);
    assert_int_equal(back.order.ask, ASK_ALWAYS);
    assert_int_equal(back.order.budget.limits[BUDGET_STEPS], 25);
    assert_null(back.order.effort);
    assert_string_equal(back.host.flags[1], "scripted/\"x\"");
    assert_true(back.host.is_forced);
}

static void an_order_says_nothing_of_the_host(void **state)
{
    cleanup_options struct run_options told = { 0 };
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    (void)state;
    fill(&told);
    assert_int_equal(run_order_text(&told.order, &text), 0);
    assert_null(strstr(text.data, "/home/me"));
    assert_null(strstr(text.data, "/tmp/out"));
    assert_non_null(strstr(text.data, "data of mine.csv"));
}

/* The text with `from` replaced by `to` is refused. */
static void refused(const char *from, const char *to)
{
    cleanup_options struct run_options told = { 0 };
    cleanup_options struct run_options back = { 0 };
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    cleanup_buf struct buf bad = BUF_INIT(1 << 20);
    struct gb_err err = { 0 };
    const char *place;

    fill(&told);
    assert_int_equal(run_options_text(&told, &text), 0);
    place = strstr(text.data, from);
    assert_non_null(place);
    assert_int_equal(
        buf_printf(&bad, "%.*s%s%s", (int)(place - text.data), text.data, to, place + strlen(from)),
        0);
    assert_true(run_options_parse(bad.data, &back, &err) < 0);
    assert_non_null(strstr(err.msg, "what the task was told"));
}

static void what_was_not_told_so_is_refused(void **state)
{
    (void)state;
    refused("\"version\":1", "\"version\":2");
    refused("\"candidates\":4", "\"candidates\":0");
    refused("\"candidates\":4", "\"candidates\":4000000000");
    refused("\"ask\":\"always\"", "\"ask\":\"sometimes\"");
    refused("\"id\":\"t_", "\"id\":\"b_");
    refused("data of mine.csv", "../data.csv");
    refused("\"a.py\"", "\"/etc/a.py\"");
    refused("\"0123\"", "\"0123\",\"x\"");
    refused("\"model\",", "");
    refused("\"steps\":25", "\"steps\":-1");
    refused("{\"order\"", "{\"o\"");
}

static void a_list_grows_one_by_one(void **state)
{
    char **list = NULL;

    (void)state;
    assert_int_equal(strings_count(list), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(strings_add(&list, "x"), 0);
    assert_int_equal(strings_count(list), 5);
    strings_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_comes_back_whole),
        cmocka_unit_test(an_order_says_nothing_of_the_host),
        cmocka_unit_test(what_was_not_told_so_is_refused),
        cmocka_unit_test(a_list_grows_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
