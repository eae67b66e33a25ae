/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_given.c - the examples of a task become tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_become_tests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
