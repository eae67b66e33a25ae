/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_given.c - the examples of a task become tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/contract.h"
#include "agent/given.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

static const char json[] =
    "{\"kind\":\"library\",\"language\":\"python\",\"summary\":\"durations\","
    "\"files\":[\"src/duration.py\"],\"module\":\"src/duration.py\","
    "\"names\":[{\"name\":\"parse\",\"signature\":\"(text: str) -> int\"},"
    "{\"name\":\"Span.add\",\"signature\":\"(self)\"}],"
    "\"examples\":[{\"input\":\"parse('1h30m')\",\"output\":\"5400\"},"
    "{\"input\":\"parse('x')\",\"output\":\"raises ValueError\"},"
    "{\"input\":\"parse(\\n)\",\"output\":\"1\"}]}";

static void examples_become_tests(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct contract contract = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(contract_parse(json, strlen(json), &contract, &err), 0);
    assert_int_equal(given_library(&contract, &text), 2);
    assert_string_equal(text.data, "\"\"\"The examples that the task gives.\"\"\"\n"
                                   "import pytest\n\n"
                                   "from duration import parse\n\n\n"
                                   "@pytest.mark.normal\n"
                                   "def test_given_1():\n"
                                   "    assert (parse('1h30m')) == (5400)\n\n\n"
                                   "@pytest.mark.normal\n"
                                   "def test_given_2():\n"
                                   "    with pytest.raises(ValueError):\n"
                                   "        parse('x')\n");
    contract_clear(&contract);
}

static const char program[] =
    "{\"kind\":\"program\",\"language\":\"python\",\"summary\":\"adds\",\"files\":[\"add.py\"],"
    "\"examples\":[{\"input\":\"$ -n 3 'a b' \\\"c d\\\" e\\\\ f ''\",\"output\":\"x\"},"
    "{\"input\":\"1\\n2\\n\",\"output\":\"3\"}]}";

static void examples_of_a_program_become_cases(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    cleanup_cases struct program_cases cases = { 0 };
    struct contract contract = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(contract_parse(program, strlen(program), &contract, &err), 0);
    assert_int_equal(given_program(&contract, &text), 0);
    assert_int_equal(cases_parse(text.data, text.len, &cases, &err), 0);
    assert_int_equal(cases.n, 2);
    assert_string_equal(cases.items[0].name, GIVEN_CASE "1");
    assert_string_equal(cases.items[0].argv[0], "-n");
    assert_string_equal(cases.items[0].argv[2], "a b");
    assert_string_equal(cases.items[0].argv[3], "c d");
    assert_string_equal(cases.items[0].argv[4], "e f");
    assert_string_equal(cases.items[0].argv[5], "");
    assert_null(cases.items[0].argv[6]);
    assert_string_equal(cases.items[0].expect.out, "x");
    assert_string_equal(cases.items[1].input, "1\n2\n");
    assert_null(cases.items[1].argv[0]);
    contract_clear(&contract);
}

static void no_examples_are_no_cases(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct contract contract = { 0 };

    (void)state;
    assert_int_equal(given_program(&contract, &text), 0);
    assert_string_equal(text.data, "{\"cases\":[]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_become_tests),
        cmocka_unit_test(examples_of_a_program_become_cases),
        cmocka_unit_test(no_examples_are_no_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
