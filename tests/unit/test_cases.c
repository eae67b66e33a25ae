/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_cases.c - tests of a program: what a model may write, and when a program passes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/value.h"

#include <cmocka.h>

static const char both[] =
    "{\"cases\":[{\"name\":\"adds two numbers\",\"class\":\"normal\",\"argv\":[\"-n\",\"2\"],"
    "\"stdin\":\"1 2\\n\",\"files\":{\"data/a.txt\":\"x\"},\"timeout\":1.5,"
    "\"expect\":{\"stdout\":\"3\",\"mode\":\"exact\",\"exit_code\":0}},"
    "{\"name\":\"many lines\",\"class\":\"stress\",\"stdin\":\"1\\n\",\"stdin_repeat\":1000,"
    "\"expect\":{\"stdout\":\"1000.0\",\"mode\":\"tolerance\",\"tolerance\":0.01}},"
    "{\"name\":\"no number\",\"class\":\"invalid\",\"stdin\":\"x\","
    "\"expect\":{\"exit_code\":\"nonzero\",\"stderr_contains\":\"number\"}}]}";

static int parse(const char *json, struct program_cases *ret, struct gb_err *err)
{
    return cases_parse(json, strlen(json), ret, err);
}

static void cases_are_read(void **state)
{
    cleanup_cases struct program_cases cases = { 0 };
    const struct program_case *item;
    size_t n_of[N_CLASSES] = { 0 };

    (void)state;
    assert_int_equal(parse(both, &cases, NULL), 0);
    assert_int_equal(cases.n, 3);
    item = cases_find(&cases, "adds two numbers");
    assert_int_equal(item->class, CLASS_NORMAL);
    assert_string_equal(item->argv[1], "2");
    assert_null(item->argv[2]);
    assert_string_equal(item->input, "1 2\n");
    assert_string_equal(item->files[0], "data/a.txt");
    assert_string_equal(item->files[1], "x");
    assert_int_equal(item->timeout_ms, 1500);
    assert_string_equal(item->expect.out, "3");
    assert_int_equal(item->expect.mode, CASE_EXACT);
    item = cases_find(&cases, "no number");
    assert_true(item->expect.is_failure);
    assert_null(item->expect.out);
    assert_null(item->argv[0]);
    assert_null(item->files[0]);
    assert_int_equal(item->timeout_ms, CASE_TIMEOUT_MS);
    for (size_t i = 0; i < cases.n; i++)
        n_of[cases.items[i].class]++;
    assert_int_equal(n_of[CLASS_STRESS], 1);
    assert_int_equal(n_of[CLASS_EDGE], 0);
    assert_null(cases_find(&cases, "other"));
}

static void large_input_is_repeated(void **state)
{
    cleanup_cases struct program_cases cases = { 0 };
    cleanup_buf struct buf input = BUF_INIT(CASE_REPEATED_MAX);

    (void)state;
    assert_int_equal(parse(both, &cases, NULL), 0);
    assert_int_equal(case_input(&cases.items[1], &input), 0);
    assert_int_equal(input.len, 2000);
    assert_int_equal(strncmp(input.data, "1\n1\n1\n", 6), 0);
    assert_int_equal(cases.items[1].timeout_ms, CASE_STRESS_MS);
}

static void what_is_written_reads_the_same(void **state)
{
    cleanup_cases struct program_cases cases = { 0 };
    cleanup_cases struct program_cases again = { 0 };
    cleanup_buf struct buf text = BUF_INIT(CASES_TEXT_MAX);
    cleanup_buf struct buf second = BUF_INIT(CASES_TEXT_MAX);

    (void)state;
    assert_int_equal(parse(both, &cases, NULL), 0);
    assert_int_equal(cases_text(&cases, &text), 0);
    assert_int_equal(parse(text.data, &again, NULL), 0);
    assert_int_equal(cases_text(&again, &second), 0);
    assert_string_equal(text.data, second.data);
    assert_true(again.items[1].expect.tolerance == 0.01);
    assert_int_equal(again.items[1].times, 1000);
    assert_string_equal(again.items[2].expect.err_part, "number");
}

static void a_bare_list_and_a_fence_will_do(void **state)
{
    cleanup_cases struct program_cases cases = { 0 };

    (void)state;
    assert_int_equal(parse("Here:\n```json\n[{\"name\":\"a\",\"class\":\"edge\","
                           "\"expect\":{\"stdout\":\"\"}}]\n```\n",
                           &cases, NULL),
                     0);
    assert_int_equal(cases.n, 1);
    assert_int_equal(cases.items[0].expect.mode, CASE_TRIMMED);
}

static void expect_error(const char *json, const char *part)
{
    struct program_cases cases = { 0 };
    struct gb_err err = { 0 };

    assert_true(parse(json, &cases, &err) < 0);
    assert_int_equal(err.blame, GB_BLAME_PEER);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
    assert_null(cases.items);
}

#define CASE(rest)   "[{\"name\":\"a\",\"class\":\"normal\"," rest "}]"
#define FINE         "\"expect\":{\"stdout\":\"1\"}"
#define EXPECT(what) CASE("\"expect\":{" what "}")

static void a_mistake_is_named_with_its_case(void **state)
{
    (void)state;
    expect_error("", "not JSON");
    expect_error("[]", "no test cases");
    expect_error("{\"cases\":{}}", "must be an array");
    expect_error(CASE(FINE ",\"network\":true"), "case 1 (\"a\"): unknown key 'network'");
    expect_error("[{\"class\":\"edge\"," FINE "}]", "key 'name' is required");
    expect_error("[{\"name\":\"\",\"class\":\"edge\"," FINE "}]", "'name' is empty");
    expect_error("[{\"name\":\"a\\nb\",\"class\":\"edge\"," FINE "}]", "one line");
    expect_error("[{\"name\":\"b\",\"class\":\"huge\"," FINE "}]",
                 "case 1 (\"b\"): key 'class' must");
    expect_error("[{\"name\":\"a\",\"class\":\"edge\"," FINE
                 "},{\"name\":\"a\",\"class\":\"edge\"," FINE "}]",
                 "case 2 (\"a\"): there is another");
    expect_error(CASE("\"files\":{\"../x\":\"\"}," FINE), "key 'files': the path");
    expect_error(CASE("\"files\":{\"/etc/x\":\"\"}," FINE), "must be relative");
    expect_error(CASE("\"argv\":\"x\"," FINE), "array of strings");
    expect_error(CASE("\"stdin_repeat\":0," FINE), "from 1 to");
    expect_error(CASE("\"timeout\":-1," FINE), "timeout");
}

static void what_cannot_fail_is_no_test(void **state)
{
    (void)state;
    expect_error(EXPECT(""), "cannot fail");
    expect_error(EXPECT("\"stdout\":\".*\",\"mode\":\"pattern\""), "cannot fail");
    expect_error(EXPECT("\"stdout\":\"\",\"mode\":\"pattern\""), "cannot fail");
    expect_error(EXPECT("\"stdout\":\"(a|)\",\"mode\":\"pattern\""), "cannot fail");
    expect_error(EXPECT("\"stderr_contains\":\"\""), "is empty");
}

static void expectations_are_checked_before_anything_runs(void **state)
{
    (void)state;
    expect_error(EXPECT("\"mode\":\"json\",\"exit_code\":0"), "needs a key 'stdout'");
    expect_error(EXPECT("\"stdout\":\"1\",\"mode\":\"fuzzy\""), "must be exact, trimmed");
    expect_error(EXPECT("\"stdout\":\"{\",\"mode\":\"json\""), "in mode json: not JSON");
    expect_error(EXPECT("\"stdout\":\"(\",\"mode\":\"pattern\""), "not closed");
    expect_error(EXPECT("\"exit_code\":256"), "from 0 to 255");
    expect_error(EXPECT("\"exit_code\":-1"), "from 0 to 255");
    expect_error(EXPECT("\"exit_code\":1.5"), "from 0 to 255");
    expect_error(EXPECT("\"exit_code\":\"zero\""), "from 0 to 255");
    expect_error(EXPECT("\"stdout\":\"1\",\"tolerance\":-1"), "tolerance");
}

static void put_many(struct buf *json, size_t n, const char *piece)
{
    for (size_t i = 0; i < n; i++)
        (void)buf_puts(json, piece);
}

/* A case with n times a piece in one place. */
static void expect_too_much(const char *before, size_t n, const char *piece, const char *behind,
                            const char *part)
{
    cleanup_buf struct buf json = BUF_INIT(8 << 20);

    (void)buf_puts(&json, before);
    put_many(&json, n, piece);
    (void)buf_puts(&json, behind);
    expect_error(json.data, part);
}

#define HEAD "[{\"name\":\"a\",\"class\":\"normal\","

static void everything_is_bounded(void **state)
{
    cleanup_buf struct buf json = BUF_INIT(8 << 20);

    (void)state;
    expect_too_much("[{\"name\":\"", CASE_NAME_MAX + 1, "x", "\",\"class\":\"edge\"," FINE "}]",
                    "too long");
    expect_too_much(HEAD "\"stdin\":\"", CASE_INPUT_MAX + 1, "x", "\"," FINE "}]", "stdin_repeat");
    expect_too_much(HEAD "\"stdin_repeat\":1000000,\"stdin\":\"", 9, "x", "\"," FINE "}]", "8 MiB");
    expect_too_much(HEAD "\"argv\":[\"\"", CASE_ARGS_MAX, ",\"x\"", "]," FINE "}]", "too many");
    expect_too_much(HEAD "\"argv\":[\"", CASE_ARG_MAX + 1, "x", "\"]," FINE "}]", "too long");
    expect_too_much(HEAD "\"files\":{\"a\":\"", CASE_INPUT_MAX + 1, "x", "\"}," FINE "}]",
                    "a file is too long");
    expect_too_much(HEAD "\"expect\":{\"stdout\":\"", CASE_OUT_MAX + 1, "x", "\"}}]", "too long");
    expect_too_much("[{", CASES_MAX, "},{", "}]", "more than 128");
    expect_too_much("[\"", CASES_TEXT_MAX, "x", "\"]", "too long");
    (void)buf_puts(&json, HEAD "\"files\":{");
    for (int i = 0; i <= CASE_FILES_MAX; i++)
        (void)buf_printf(&json, "%s\"f%d\":\"\"", i ? "," : "", i);
    (void)buf_puts(&json, "}," FINE "}]");
    expect_error(json.data, "too many");
}

static void a_timeout_is_at_most_its_class_s(void **state)
{
    cleanup_cases struct program_cases cases = { 0 };

    (void)state;
    assert_int_equal(parse(CASE("\"timeout\":3000," FINE), &cases, NULL), 0);
    assert_int_equal(cases.items[0].timeout_ms, CASE_TIMEOUT_MS);
}

/* ---- comparing ---- */

static int compare(struct case_expect expect, const char *out, const char *err, int code, char *why)
{
    struct case_seen seen = { out, strlen(out), err, strlen(err), code };

    return case_compare(&expect, &seen, why);
}

static void expect_out(enum case_mode mode, double tolerance, const char *wanted, const char *out,
                       const char *why_part)
{
    cleanup_free char *copy = strdup(wanted);
    struct case_expect expect = { .out = copy, .mode = mode, .tolerance = tolerance };
    char why[CASE_WHY_SIZE];
    int r = compare(expect, out, "", 0, why);

    if (r != (why_part == NULL))
        fail_msg("'%s' and '%s': %d %s", wanted, out, r, why);
    if (why_part && !strstr(why, why_part))
        fail_msg("'%s' is not in '%s'", why_part, why);
    assert_int_equal(why[0] != '\0', why_part != NULL);
}

static void exact_is_every_byte(void **state)
{
    (void)state;
    expect_out(CASE_EXACT, 0, "a\nb\n", "a\nb\n", NULL);
    expect_out(CASE_EXACT, 0, "", "", NULL);
    expect_out(CASE_EXACT, 0, "5", "5\n", "line 1: expected \"5\", got \"5\\n\"");
    expect_out(CASE_EXACT, 0, "a\nb\n", "a\nc\n", "line 2: expected \"b\\n\", got \"c\\n\"");
    expect_out(CASE_EXACT, 0, "a\nb\n", "a\n", "ends before line 2: expected \"b\\n\"");
    expect_out(CASE_EXACT, 0, "a\n", "a\n\x1b[0m", "line 2: expected no more, got \"\\x1b[0m\"");
}

static void trimmed_forgives_blanks_at_the_ends(void **state)
{
    (void)state;
    expect_out(CASE_TRIMMED, 0, "a\nb", "a \t\r\nb\n\n \n", NULL);
    expect_out(CASE_TRIMMED, 0, "a  \n\n", "a", NULL);
    expect_out(CASE_TRIMMED, 0, "", "\n", NULL);
    expect_out(CASE_TRIMMED, 0, "a", " a", "expected \"a\", got \" a\"");
    expect_out(CASE_TRIMMED, 0, "a\n\nb", "a\nb", "line 2: expected \"\", got \"b\"");
    expect_out(CASE_TRIMMED, 0, "a b", "a  b", "line 1");
}

static void a_long_line_is_shown_where_it_differs(void **state)
{
    (void)state;
    expect_out(CASE_TRIMMED, 0,
               "0123456789012345678901234567890123456789012345678901234567890123456789X",
               "0123456789012345678901234567890123456789012345678901234567890123456789Y",
               "in it: expected \"678901234567890123456789X\", got \"678901234567890123456789Y\"");
}

static void json_is_the_same_value(void **state)
{
    (void)state;
    expect_out(CASE_JSON, 0, "{\"a\":1,\"b\":[1,2]}", " { \"b\": [1, 2], \"a\": 1.0 }\n", NULL);
    expect_out(CASE_JSON, 0, "[]", "[]", NULL);
    expect_out(CASE_JSON, 0, "{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}", NULL);
    expect_out(CASE_JSON, 0, "\"\\u00e9\"", "\"\xc3\xa9\"", NULL);
    expect_out(CASE_JSON, 0, "-5", "-5", NULL);
    expect_out(CASE_JSON, 0, "null", "null", NULL);
    expect_out(CASE_JSON, 0, "2.0", "3", "expected 2.0, got 3");
    expect_out(CASE_JSON, 0, "1e300", "1e299", "expected 1e+300, got 1e+299");
    expect_out(CASE_JSON, 0, "2432902008176640000", "2432902008176640001",
               "got 2432902008176640001");
    expect_out(CASE_JSON, 0, "{\"a\":[{\"b\":1}]}", "{\"a\":[{\"b\":2}]}",
               "at $.\"a\"[0].\"b\": expected 1, got 2");
    expect_out(CASE_JSON, 0, "{\"a\":1}", "{}", "at $.\"a\": expected 1, got nothing");
    expect_out(CASE_JSON, 0, "{\"a\":1}", "{\"a\":1,\"b\":2}", "expected 1 keys, got 2");
    expect_out(CASE_JSON, 0, "[1,2]", "[1]", "expected 2 items, got 1");
    expect_out(CASE_JSON, 0, "1", "\"1\"", "at $: expected 1, got \"1\"");
    expect_out(CASE_JSON, 0, "true", "false", "expected true, got false");
    expect_out(CASE_JSON, 0, "[1]", "{\"a\":1}", "expected an array, got an object");
    expect_out(CASE_JSON, 0, "1", "one", "stdout is not JSON");
    expect_out(CASE_JSON, 0, "1", "1\n2", "stdout is not JSON");
    expect_out(CASE_JSON, 0, "1", "", "stdout is not JSON");
    expect_out(CASE_JSON, 0, "0.3", "0.30000000000000004", "expected 0.3, got 0.30000000000000004");
    expect_out(CASE_JSON, 1e-9, "[0.3]", "[0.30000000000000004]", NULL);
}

static void json_may_be_deep(void **state)
{
    cleanup_buf struct buf json = BUF_INIT(4096);
    cleanup_buf struct buf other = BUF_INIT(4096);

    (void)state;
    put_many(&json, 64, "[");
    put_many(&json, 64, "]");
    put_many(&other, 63, "[");
    put_many(&other, 63, "]");
    expect_out(CASE_JSON, 0, json.data, json.data, NULL);
    expect_out(CASE_JSON, 0, json.data, other.data, "expected 1 items, got 0");
}

static void numbers_may_be_near(void **state)
{
    (void)state;
    expect_out(CASE_TOLERANCE, 0.01, "pi is 3.14", "pi  is 3.1416\n", NULL);
    expect_out(CASE_TOLERANCE, 0.01, "[1.0, -2e3]", "[1.001,-2001]", NULL);
    expect_out(CASE_TOLERANCE, 0.01, "1000000", "1009999", NULL);
    expect_out(CASE_TOLERANCE, 0.01, "0", "0.009", NULL);
    expect_out(CASE_TOLERANCE, 0.01, ".5", "0.5", NULL);
    expect_out(CASE_TOLERANCE, 0.01, "nan inf", "nan inf", NULL);
    expect_out(CASE_TOLERANCE, 1e-6, "1e-3 1e+3", "0.001 1000", NULL);
    expect_out(CASE_TOLERANCE, 0.01, "1 x", "1 2", "expected \" x\", got \" 2\"");
    expect_out(CASE_TOLERANCE, 0.01, "1 2 3", "1 2.5 3",
               "at number 2: expected \"2\", got \"2.5\"");
    expect_out(CASE_TOLERANCE, 0.01, "1", "-1", "expected \"1\", got \"-1\"");
    expect_out(CASE_TOLERANCE, 0.01, "1 2", "1", "got \"\"");
    expect_out(CASE_TOLERANCE, 0.01, "1", "1 2", "got \" 2\"");
    expect_out(CASE_TOLERANCE, 0.01, "pi 3", "po 3", "expected \"i 3\", got \"o 3\"");
    expect_out(CASE_TOLERANCE, 0.01, "1e999", "1e998", "expected");
}

static void very_long_numbers_are_compared_by_their_digits(void **state)
{
    cleanup_buf struct buf number = BUF_INIT(4096);
    cleanup_buf struct buf other = BUF_INIT(4096);

    (void)state;
    put_many(&number, 600, "7");
    put_many(&other, 599, "7");
    (void)buf_puts(&other, "8");
    expect_out(CASE_TOLERANCE, 0.01, number.data, number.data, NULL);
    expect_out(CASE_TOLERANCE, 0.01, number.data, other.data, "expected \"777");
}

static void a_pattern_is_found_in_the_output(void **state)
{
    (void)state;
    expect_out(CASE_PATTERN, 0, "^[0-9]+ files?$", "12 files\n", NULL);
    expect_out(CASE_PATTERN, 0, "done", "all\ndone\n", NULL);
    expect_out(CASE_PATTERN, 0, "^\\d+$", "x", "does not match \"^\\\\d+$\": got \"x\"");
}

static void output_over_the_bounds_fails_and_says_so(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(4 << 20);

    (void)state;
    put_many(&out, 3 << 20, "1");
    expect_out(CASE_PATTERN, 0, "2", out.data, "too long for a pattern");
    expect_out(CASE_JSON, 0, "2", out.data, "stdout is not JSON");
    expect_out(CASE_TOLERANCE, 0.1, "2", out.data, "expected \"2\"");
    expect_out(CASE_TRIMMED, 0, "2", out.data, "expected \"2\"");
}

static void exit_code_and_stderr_count_too(void **state)
{
    static char part[] = "no such";
    char why[CASE_WHY_SIZE];

    (void)state;
    assert_int_equal(compare((struct case_expect){ .exit_code = 2 }, "x", "y", 2, why), 1);
    assert_int_equal(compare((struct case_expect){ .is_failure = true }, "", "", 1, why), 1);
    assert_int_equal(compare((struct case_expect){ .is_failure = true }, "", "", 0, why), 0);
    assert_non_null(strstr(why, "expected other than 0, got 0"));
    assert_int_equal(compare((struct case_expect){ 0 }, "", "Traceback\nValueError: x\n\n", 1, why),
                     0);
    assert_string_equal(why, "exit code: expected 0, got 1; the last of stderr: \"ValueError: x\"");
    assert_int_equal(compare((struct case_expect){ .err_part = part }, "", "no such file", 0, why),
                     1);
    assert_int_equal(compare((struct case_expect){ .err_part = part }, "", "", 0, why), 0);
    assert_non_null(strstr(why, "stderr: expected \"no such\" in it"));
}

static void the_schema_is_json_and_names_what_is_read(void **state)
{
    cleanup_json struct json_value *schema = NULL;
    const struct json_value *item;

    (void)state;
    assert_int_equal(json_value_parse(cases_schema, strlen(cases_schema), 1 << 16, &schema, NULL),
                     0);
    item = json_path(schema, "properties/cases/items/properties");
    assert_int_equal(json_count(item), 8);
    assert_non_null(json_get(item, "stdin_repeat"));
    assert_int_equal(json_count(json_path(item, "expect/properties")), 5);
    assert_non_null(json_path(item, "expect/properties/stderr_contains"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_read),
        cmocka_unit_test(large_input_is_repeated),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(a_bare_list_and_a_fence_will_do),
        cmocka_unit_test(a_mistake_is_named_with_its_case),
        cmocka_unit_test(what_cannot_fail_is_no_test),
        cmocka_unit_test(expectations_are_checked_before_anything_runs),
        cmocka_unit_test(everything_is_bounded),
        cmocka_unit_test(a_timeout_is_at_most_its_class_s),
        cmocka_unit_test(exact_is_every_byte),
        cmocka_unit_test(trimmed_forgives_blanks_at_the_ends),
        cmocka_unit_test(a_long_line_is_shown_where_it_differs),
        cmocka_unit_test(json_is_the_same_value),
        cmocka_unit_test(json_may_be_deep),
        cmocka_unit_test(numbers_may_be_near),
        cmocka_unit_test(very_long_numbers_are_compared_by_their_digits),
        cmocka_unit_test(a_pattern_is_found_in_the_output),
        cmocka_unit_test(output_over_the_bounds_fails_and_says_so),
        cmocka_unit_test(exit_code_and_stderr_count_too),
        cmocka_unit_test(the_schema_is_json_and_names_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
