/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_query.c - what a search server is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query.h"
#include "agent/task.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

static void check_clean(const char *text, const char *expected)
{
    cleanup_buf struct buf query = BUF_INIT(QUERY_MAX);

    query_clean(text, strlen(text), &query);
    assert_string_equal(query.data ? query.data : "", expected);
}

static void words_leave_and_values_stay(void **state)
{
    (void)state;
    check_clean("ValueError: invalid literal for int() with base 10: 'secret'",
                "ValueError invalid literal for int with base");
    check_clean("numpy 1.26.4 has no attribute `float_`", "numpy 1.26.4 has no attribute");
    check_clean("FileNotFoundError: /home/me/key.pem", "FileNotFoundError");
    check_clean("card 4111111111111111 refused", "card refused");
    check_clean("x = {1: 2}; rm -rf", "x rm -rf");
    check_clean("an \"open quote hides the rest", "an");
    check_clean("\x1b[31m\xc3\xa9 \x01 b", "b");
    check_clean("", "");
}

static void a_query_has_an_end(void **state)
{
    cleanup_buf struct buf query = BUF_INIT(QUERY_MAX);

    (void)state;
    for (int i = 0; i < 1000; i++)
        query_clean("word", 4, &query);
    assert_in_range(query.len, 200, QUERY_MAX);
}

static const char json[] =
    "{\"kind\":\"library\",\"language\":\"python\",\"summary\":\"reads 'x' files\","
    "\"files\":[\"a.py\"],\"module\":\"a.py\",\"packages\":[\"lxml\"],"
    "\"names\":[{\"name\":\"f\",\"signature\":\"()\"}]}";

static void check_origin(enum test_origin origin, char *message, const char *wanted,
                         const char *expected)
{
    cleanup_buf struct buf query = BUF_INIT(QUERY_MAX);
    char id[] = "test_a.py::test_f";
    struct judge_test test = { .id = id, .origin = origin };
    struct judge_row row = { .id = id, .result = TEST_FAILED, .message = message };
    struct agent_outcome outcome = {
        .tests = { .items = &test, .n = 1 },
        .report = { .rows = &row, .n_rows = 1 },
    };
    struct gb_err err = { 0 };

    assert_int_equal(contract_parse(json, strlen(json), &outcome.contract, &err), 0);
    assert_int_equal(query_make(&outcome, wanted, &query), expected ? 0 : -ENOENT);
    if (expected)
        assert_string_equal(query.data, expected);
    contract_clear(&outcome.contract);
}

/* Which versions the boxes have is known, or only what the contract wishes for. */
static void check_libraries(const char *wish, char *installed, const char *expected)
{
    cleanup_buf struct buf query = BUF_INIT(QUERY_MAX);
    cleanup_buf struct buf text = BUF_INIT(4096);
    struct agent_outcome outcome = { .packages = installed };
    struct gb_err err = { 0 };

    (void)buf_printf(&text,
                     "{\"kind\":\"program\",\"language\":\"python\",\"summary\":\"x\","
                     "\"files\":[\"a.py\"],\"packages\":[%s]}",
                     wish);
    if (contract_parse(text.data, text.len, &outcome.contract, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(query_make(&outcome, "numpy.linalg.LinAlgError", &query), 0);
    assert_string_equal(query.data, expected);
    contract_clear(&outcome.contract);
}

static void libraries_are_named_with_their_versions(void **state)
{
    char both[] = "{\"packages\":[{\"name\":\"six\",\"version\":\"1.16\"},{\"name\":\"numpy\","
                  "\"version\":\"2.1.3\"},{\"name\":\"ruamel.yaml\",\"version\":\"0.18\"}]}";
    char broken[] = "{\"packages\":[1,{},{\"name\":\"numpy\"},{\"version\":\"3\"}]}";
    char evil[] = "{\"packages\":[{\"name\":\"numpy\",\"version\":\"/etc/passwd\"}]}";

    (void)state;
    check_libraries("\"numpy>=1.26\"", NULL, "python numpy 1.26 numpy.linalg.LinAlgError");
    check_libraries("\"numpy>=1.26\"", both, "python numpy 2.1.3 numpy.linalg.LinAlgError");
    check_libraries("", both, "python numpy 2.1.3 numpy.linalg.LinAlgError");
    check_libraries("\"Ruamel_YAML\"", both,
                    "python Ruamel_YAML 0.18 numpy 2.1.3 numpy.linalg.LinAlgError");
    check_libraries("\"numpy==2\"", broken, "python numpy 2 numpy.linalg.LinAlgError");
    check_libraries("", evil, "python numpy numpy.linalg.LinAlgError");
    check_libraries("\"lxml\"", NULL, "python lxml numpy.linalg.LinAlgError");
}

static void check_made(char *message, const char *wanted, const char *expected)
{
    check_origin(ORIGIN_DERIVED, message, wanted, expected);
}

static void what_a_test_that_is_held_back_saw_does_not_leave(void **state)
{
    char error[] = "ValueError: secret word";

    (void)state;
    check_origin(ORIGIN_HELD_BACK, error, NULL, NULL);
}

static void a_failure_is_asked_by_its_exception(void **state)
{
    char error[] = "lxml.etree.XMLSyntaxError: Start tag expected, '<' not found";
    char values[] = "AssertionError: expected 1, got 2";

    (void)state;
    check_made(error, NULL, "python lxml lxml.etree.XMLSyntaxError Start tag expected not found");
    check_made(values, NULL, NULL); /* nor do the words of the task leave instead */
    check_made(error, "lxml 5 recover option\nnot this", "python lxml lxml recover option");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_leave_and_values_stay),
        cmocka_unit_test(a_query_has_an_end),
        cmocka_unit_test(a_failure_is_asked_by_its_exception),
        cmocka_unit_test(libraries_are_named_with_their_versions),
        cmocka_unit_test(what_a_test_that_is_held_back_saw_does_not_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
