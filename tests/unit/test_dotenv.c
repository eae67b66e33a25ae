/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_dotenv.c - what a .env file says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/dotenv.h"

#include <cmocka.h>

static char home[] = "HOME=/home/me";
static char empty[] = "EMPTY=";
static char *const env[] = { home, empty, NULL };

static int parse(struct dotenv *dotenv, const char *text, struct gb_err *err)
{
    return dotenv_parse(dotenv, ".env", text, strlen(text), env, err);
}

static void expect_read(const char *text, const char *value)
{
    struct dotenv dotenv = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(parse(&dotenv, text, &err), 0);
    assert_true(dotenv.n_lines > 0);
    assert_string_equal(dotenv.lines[dotenv.n_lines - 1].value, value);
    dotenv_clear(&dotenv);
}

static void expect_error(const char *text, const char *part)
{
    struct dotenv dotenv = { 0 };
    struct gb_err err = { 0 };

    assert_true(parse(&dotenv, text, &err) < 0);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
    dotenv_clear(&dotenv);
}

static void test_values_are_read_as_they_are_written(void **state)
{
    static const struct {
        const char *text;
        const char *value;
    } rows[] = {
        { "A=1", "1" },
        { "A=1\n", "1" },
        { "A=1\r\n", "1" },
        { "\xef\xbb\xbf"
          "A=1",
          "1" },
        { "  A = 1  ", "1" },
        { "export A=1", "1" },
        { "export\tA=1", "1" },
        { "export=1", "1" },
        { "A=", "" },
        { "A=\nB=", "" },
        { "A=one two # three", "one two" },
        { "A=one#two", "one#two" },
        { "A=#two", "" },
        { "A=a=b", "a=b" },
        { "A='one # two'", "one # two" },
        { "A='$\\n ${HOME}' # x", "$\\n ${HOME}" },
        { "A='two\nlines'", "two\nlines" },
        { "A=\"two\nlines\"", "two\nlines" },
        { "A=\"\\n\\t\\\"\\\\\\$\\q\"", "\n\t\"\\$\\q" },
        { "A=it's", "it's" },
        { "A=\"\"", "" },
        { "# c\n\n \nA=1 # d\n# e", "1" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_read(rows[i].text, rows[i].value);
}

static void test_variables_are_put_in(void **state)
{
    expect_read("A=${HOME}/x", "/home/me/x");
    expect_read("A=\"${HOME}/x y\"", "/home/me/x y");
    expect_read("A=1\nB=${A}${A}", "11");
    expect_read("HOME=other\nB=${HOME}", "/home/me"); /* the real environment stays */
    expect_read("A=${NOWHERE}.", ".");
    expect_read("A=${NOWHERE:-x y}", "x y");
    expect_read("A=${EMPTY:-x}", "x");
    expect_read("A=${HOME:-x}", "/home/me");
    expect_read("A=$HOME", "$HOME");
    expect_read("A=\"\\${HOME}\"", "${HOME}");
    expect_read("A=${HOME} # c", "/home/me");
}

static void test_mistakes_name_the_line(void **state)
{
    expect_error("A=1\n\nGLOVEBOX_B C=2", ".env:3: expected NAME=value");
    expect_error("export GLOVEBOX_A 1", ".env:1: expected NAME=value");
    expect_error("GLOVEBOX_A='x", ".env:1: ' is never closed");
    expect_error("B='\n\n'\nGLOVEBOX_A=\"x\n\n", ".env:4: \" is never closed");
    expect_error("GLOVEBOX_A='x' y", ".env:1: text behind the closing quote");
    expect_error("GLOVEBOX_A=${B", ".env:1: ${ without }");
    expect_error("GLOVEBOX_A=${B\n}", ".env:1: ${ without }");
    expect_error("GLOVEBOX_A=${}", ".env:1: expected NAME=value");
    expect_error("GLOVEBOX_A=\"x\n${B C}\"", ".env:2: ${ without }");
}

/* The file is other programs' as well: what they make of it is their affair. */
static void test_lines_of_others_are_passed_over(void **state)
{
    static const char *const lines[] = {
        "=2",
        "B C=2",
        "if [ -f x ]; then",
        "A='x",
        "A=\"x",
        "A='x' y",
        "A=${B",
        "A=${}",
        "A=\"${B C}\"",
        "- a list",
        "{\"a\":",
        "\xff\xfe=\x80",
        "\xc3\xa4=1",
        "A=$(cat /etc/passwd",
        "export 'A'=1",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        cleanup_buf struct buf text = BUF_INIT(4096);

        buf_printf(&text, "FIRST=1\n%s\nGLOVEBOX_MEMORY=5\n", lines[i]);
        expect_read(text.data, "5");
    }
    expect_read("A='never\nclosed\nB=it is\n", "it is");
}

static void test_lines_are_numbered_where_they_begin(void **state)
{
    struct dotenv dotenv = { 0 };

    assert_int_equal(parse(&dotenv, "A='1\n2\n3'\nJUST_A_NAME\nexport B\nC=3", NULL), 0);
    assert_int_equal(dotenv.n_lines, 2);
    assert_string_equal(dotenv.lines[0].name, "A");
    assert_int_equal(dotenv.lines[0].line, 1);
    assert_string_equal(dotenv.lines[1].name, "C");
    assert_int_equal(dotenv.lines[1].line, 6);
    dotenv_clear(&dotenv);
}

static void test_a_nul_byte_is_refused(void **state)
{
    static const char ours[] = "A=1\nGLOVEBOX_A=1\0B";
    static const char others[] = "A=1\0B\nGLOVEBOX_A=1\n\0\0\nB=\"\0\"";
    struct dotenv dotenv = { 0 };
    struct gb_err err = { 0 };

    assert_true(dotenv_parse(&dotenv, ".env", ours, sizeof(ours) - 1, env, &err) < 0);
    assert_non_null(strstr(err.msg, ".env:2: has a NUL"));
    dotenv_clear(&dotenv);
    assert_int_equal(dotenv_parse(&dotenv, ".env", others, sizeof(others) - 1, env, &err), 0);
    assert_int_equal(dotenv.n_lines, 1);
    assert_string_equal(dotenv.lines[0].name, "GLOVEBOX_A");
    dotenv_clear(&dotenv);
}

/* Each line doubles the one before: without a bound thirty lines would be a gigabyte. */
static void test_a_file_cannot_double_itself_for_ever(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(65536);

    buf_puts(&text, "GLOVEBOX_0=0123456789abcdef\n");
    for (unsigned i = 1; i <= 30; i++)
        buf_printf(&text, "GLOVEBOX_%u=${GLOVEBOX_%u}${GLOVEBOX_%u}\n", i, i - 1, i - 1);
    expect_error(text.data, ".env:14: the value is longer than 64 KiB");
}

static void test_total_expansion_and_count_are_bounded(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    buf_puts(&text, "A=");
    for (unsigned i = 0; i < 60000; i++)
        buf_putc(&text, 'x');
    buf_putc(&text, '\n');
    for (unsigned i = 0; i < 40; i++)
        buf_printf(&text, "GLOVEBOX_%u=${A}\n", i);
    expect_error(text.data, "too much of ${...}");

    buf_reset(&text);
    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&text, "%s${N:-}", i % 1000 ? "" : "\nGLOVEBOX_A=");
    expect_error(text.data, ".env:18: too much of ${...}");

    buf_reset(&text);
    for (unsigned i = 0; i <= DOTENV_LINES_MAX; i++)
        buf_puts(&text, "GLOVEBOX_A=1\n");
    expect_error(text.data, "more than 4096 assignments");

    buf_reset(&text);
    for (unsigned i = 0; i <= DOTENV_LINES_MAX; i++)
        buf_puts(&text, "A=1\n");
    buf_puts(&text, "GLOVEBOX_A=2\n");
    expect_read(text.data, "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_read_as_they_are_written),
        cmocka_unit_test(test_variables_are_put_in),
        cmocka_unit_test(test_mistakes_name_the_line),
        cmocka_unit_test(test_lines_of_others_are_passed_over),
        cmocka_unit_test(test_lines_are_numbered_where_they_begin),
        cmocka_unit_test(test_a_nul_byte_is_refused),
        cmocka_unit_test(test_a_file_cannot_double_itself_for_ever),
        cmocka_unit_test(test_total_expansion_and_count_are_bounded),
    };

    return cmocka_run_group_tests_name("dotenv", tests, NULL, NULL);
}
