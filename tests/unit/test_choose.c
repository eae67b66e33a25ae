/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_choose.c - which of several solutions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/choose.h"
#include "agent/contract.h"
#include "agent/judge.h"
#include "agent/stub.h"
#include "base/buf.h"

#include <cmocka.h>

#define N_TESTS 4
#define MOST    4

/* A matrix: a letter for each test of each solution.  Capitals have passed; the letter itself is
 * what was seen. */
struct matrix {
    struct judge_test tests[N_TESTS];
    struct judge_row rows[MOST][N_TESTS];
    char seen[MOST][N_TESTS][2];
    struct judge_report reports[MOST];
    struct judge_tests list;
};

static void fill(struct matrix *m, const char *const *solutions, size_t n)
{
    static char names[N_TESTS][3] = { "t1", "t2", "t3", "t4" };

    *m = (struct matrix){ 0 };
    m->list = (struct judge_tests){ .items = m->tests, .n = N_TESTS };
    for (size_t i = 0; i < N_TESTS; i++)
        m->tests[i] = (struct judge_test){ .id = names[i], .origin = ORIGIN_DERIVED };
    for (size_t i = 0; i < n; i++) {
        m->reports[i] = (struct judge_report){ .rows = m->rows[i], .n_rows = N_TESTS };
        for (size_t k = 0; k < N_TESTS; k++) {
            m->seen[i][k][0] = solutions[i][k];
            m->rows[i][k] = (struct judge_row){
                .id = names[k],
                .result = solutions[i][k] < 'a' ? TEST_PASSED : TEST_FAILED,
                .seen = m->seen[i][k],
            };
        }
    }
}

static void check(const char *const *solutions, size_t n, const bool *idle, size_t which,
                  bool is_weak)
{
    struct matrix m;
    struct choice_of choice;

    fill(&m, solutions, n);
    assert_int_equal(choose_best(&m.list, m.reports, n, idle, &choice), 0);
    assert_int_equal(choice.which, which);
    assert_int_equal(choice.is_weak, is_weak);
    choice_of_clear(&choice);
}

static void more_tests_win(void **state)
{
    (void)state;
    check((const char *const[]){ "Abcd", "ABCd", "ABcd" }, 3, NULL, 1, true);
}

static void those_who_agree_win(void **state)
{
    (void)state;
    check((const char *const[]){ "ABCx", "ABcD", "ABcD", "ABcD" }, 4, NULL, 1, false);
}

static void the_lower_number_wins_a_tie(void **state)
{
    (void)state;
    check((const char *const[]){ "ABcd", "ABcd", "abCD", "abCD" }, 4, NULL, 0, true);
}

static void tests_that_nothing_passes_do_not_count(void **state)
{
    const bool idle[N_TESTS] = { true, true, true, false };

    (void)state;
    check((const char *const[]){ "ABCd", "abcD" }, 2, idle, 1, false);
    check((const char *const[]){ "ABCd", "abcD" }, 2, NULL, 0, true);
}

static void given_tests_come_first(void **state)
{
    const char *const solutions[] = { "ABCd", "ABCd", "abcD" };
    struct matrix m;
    struct choice_of choice;

    (void)state;
    fill(&m, solutions, 3);
    m.tests[3].origin = ORIGIN_GIVEN;
    assert_int_equal(choose_best(&m.list, m.reports, 3, NULL, &choice), 0);
    assert_int_equal(choice.which, 2);
    choice_of_clear(&choice);
}

static void what_was_tampered_with_passes_nothing(void **state)
{
    const char *const solutions[] = { "ABCD", "Abcd" };
    struct matrix m;
    struct choice_of choice;

    (void)state;
    fill(&m, solutions, 2);
    m.reports[0].outcome = OUTCOME_TAMPERED;
    assert_int_equal(choose_best(&m.list, m.reports, 2, NULL, &choice), 0);
    assert_int_equal(choice.which, 1);
    choice_of_clear(&choice);
}

static void one_that_was_not_run_has_no_rows(void **state)
{
    const char *const solutions[] = { "ABCD", "Abcd" };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    cleanup_buf struct buf json = BUF_INIT(1 << 16);
    struct matrix m;
    struct choice_of choice;

    (void)state;
    fill(&m, solutions, 2);
    m.reports[0].n_rows = 0;
    assert_int_equal(choose_best(&m.list, m.reports, 2, NULL, &choice), 0);
    assert_int_equal(choice.which, 1);
    assert_int_equal(choose_text(&m.list, m.reports, 2, &choice, &text), 0);
    assert_string_equal(text.data, "solution 1  ✗✗✗✗  group 1\nsolution 2  ✓✗✗✗  group 2  chosen");
    assert_int_equal(choose_json(&m.list, m.reports, 2, &choice, &json), 0);
    assert_non_null(strstr(json.data, "\"results\":[null,null,null,null]"));
    assert_non_null(strstr(json.data, "\"chosen\":2,\"weak\":false"));
    choice_of_clear(&choice);
}

static void a_stub_has_the_names(void **state)
{
    char *no_raises[] = { NULL };
    char module[] = "shop/cart.py";
    char *names[] = { (char[]){ "total" }, (char[]){ "Cart" }, (char[]){ "Cart.add" } };
    char signature[] = "(self, item: Item) -> None";
    char empty[] = "";
    struct contract_name list[] = {
        { names[0], empty, no_raises },
        { names[1], empty, no_raises },
        { names[2], signature, no_raises },
    };
    struct contract contract = { .module = module, .names = list, .n_names = 3 };
    cleanup_files struct agent_files files = { 0 };

    (void)state;
    assert_int_equal(stub_library(&contract, &files), 0);
    assert_string_equal(files.items[0].path, "shop/cart.py");
    assert_string_equal(files.items[0].text,
                        "from __future__ import annotations\n"
                        "\n\ndef total(*args, **kwargs):\n    return None\n"
                        "\n\nclass Cart:\n    \"\"\"Nothing.\"\"\"\n"
                        "\n    def add(self, item: Item) -> None:\n        return None\n");
}

static void a_case_that_silence_passes_tells_nothing(void **state)
{
    char cases[] =
        "{\"cases\":[{\"name\":\"quiet\",\"class\":\"edge\",\"expect\":{\"stdout\":\"\"}},"
        "{\"name\":\"loud\",\"class\":\"edge\",\"expect\":{\"stdout\":\"x\"}}]}";
    const struct judge_tests tests = { .cases = cases };

    (void)state;
    assert_true(stub_passes(&tests, "quiet"));
    assert_false(stub_passes(&tests, "loud"));
    assert_false(stub_passes(&tests, "no such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_tests_win),
        cmocka_unit_test(those_who_agree_win),
        cmocka_unit_test(the_lower_number_wins_a_tie),
        cmocka_unit_test(tests_that_nothing_passes_do_not_count),
        cmocka_unit_test(given_tests_come_first),
        cmocka_unit_test(what_was_tampered_with_passes_nothing),
        cmocka_unit_test(one_that_was_not_run_has_no_rows),
        cmocka_unit_test(a_stub_has_the_names),
        cmocka_unit_test(a_case_that_silence_passes_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
