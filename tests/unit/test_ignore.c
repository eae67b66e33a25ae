/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_ignore.c - the patterns of a .dockerignore mean what they mean to docker. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "image/ignore.h"

#include <cmocka.h>

struct row {
    const char *text;
    const char *path;
    int is_out;
};

static void check(const struct row *row)
{
    cleanup_ignore struct ignore *ignore = NULL;
    struct gb_err err = { 0 };

    assert_int_equal(ignore_new(row->text, strlen(row->text), &ignore, &err), 0);
    if (ignore_matches(ignore, row->path, NULL) != row->is_out)
        fail_msg("'%s' on '%s' is not %d", row->text, row->path, row->is_out);
}

static void one_pattern(void **state)
{
    static const struct row rows[] = {
        { "a", "a", 1 },
        { "a", "b", 0 },
        { "a", "ab", 0 },
        { "a", "a/b/c", 1 },
        { "a", "b/a", 0 },
        { "/a", "a", 1 },
        { "a/", "a", 1 },
        { "/a/", "a/b", 1 },
        { "./a", "a", 1 },
        { "a//b", "a/b", 1 },
        { "a/../b", "b", 1 },
        { "a/../b", "a", 0 },
        { "../a", "a", 0 },
        { "/../a", "a", 1 },
        { ".", "a", 0 },
        { "/", "a", 0 },
        { "*", "a", 1 },
        { "*", "a/b", 1 },
        { "*.c", "a.c", 1 },
        { "*.c", "d/a.c", 0 },
        { "*/a", "d/a", 1 },
        { "*/a", "d/e/a", 0 },
        { "a?", "ab", 1 },
        { "a?", "a", 0 },
        { "a?", "abc", 0 },
        { "a?b", "a/b", 0 },
        { "a?b",
          "a\xc3\xa9"
          "b",
          1 },
        { "a*", "a", 1 },
        { "a*b*c", "aXbYc", 1 },
        { "a*b*c", "aXbY", 0 },
        { "a.c", "abc", 0 },
        { "a+(b)|{c}$^", "a+(b)|{c}$^", 1 },
        { "\\*", "*", 1 },
        { "\\*", "a", 0 },
        { "a\\b", "ab", 1 },
        { "[a-c]x", "bx", 1 },
        { "[a-c]x", "dx", 0 },
        { "[^a-c]x", "dx", 1 },
        { "[^a-c]x", "ax", 0 },
        { "[a\\]]", "]", 1 },
        { "[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", 1 },
        { "a b", "a b", 1 },
        { "  a  ", "a", 1 },
        { "/ a /", "a", 1 },
        { "./ a", "a", 1 },
        { "a\r\n", "a", 1 },
        { "\xff", "\xff", 1 },
        { "\xff", "\xfe", 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        check(&rows[i]);
}

static void two_stars_cross_directories(void **state)
{
    static const struct row rows[] = {
        { "**", "a", 1 },
        { "**", "a/b", 1 },
        { "**/", "a/b", 1 },
        { "**/a", "a", 1 },
        { "**/a", "d/e/a", 1 },
        { "**/a", "xa", 0 },
        { "**/a", "d/xa", 0 },
        { "**/a", "d/a/b", 1 },
        { "**a", "xa", 1 },
        { "**a", "d/xa", 1 },
        { "**/*.c", "a.c", 1 },
        { "**/*.c", "d/e/a.c", 1 },
        { "**/*.c", "a.h", 0 },
        { "**/**", "a/b", 1 },
        { "a/**", "a", 0 },
        { "a/**", "a/b", 1 },
        { "a/**", "a/b/c", 1 },
        { "a/**", "ab/c", 0 },
        { "a**", "abc", 1 },
        { "a**", "abc/d", 1 },
        { "a/**/b", "a/b", 1 },
        { "a/**/b", "a/x/y/b", 1 },
        { "a/**/b", "ab", 0 },
        { "a/**/b", "a/xb", 0 },
        { "a**b", "ab", 1 },
        { "a**b", "axb", 0 },
        { "a**/b", "ax/b", 1 },
        { "**/.git", "m/.git/config", 1 },
        { "**/x/**/y", "a/x/b/c/y", 1 },
        { "**/x/**/y", "x/y", 1 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        check(&rows[i]);
}

static void the_last_line_that_says_something_decides(void **state)
{
    static const struct row rows[] = {
        { "*.md\n!README.md", "README.md", 0 },
        { "*.md\n!README.md", "a.md", 1 },
        { "!README.md\n*.md", "README.md", 1 },
        { "*.md\n!README*.md\nREADME-secret.md", "README-secret.md", 1 },
        { "*.md\nREADME-secret.md\n!README*.md", "README-secret.md", 0 },
        { "d\n!d/keep", "d/keep", 0 },
        { "d\n!d/keep", "d/x", 1 },
        { "d\n!d/keep", "d/keep/below", 0 },
        { "*\n!**/*.py", "a/b.py", 0 },
        { "*\n!**/*.py", "a/b.c", 1 },
        { "*\n!src", "src/x", 0 },
        { "**\n! a ", "a", 0 },
        { "a\n!/a/", "a", 0 },
        { "# a\n#b\nc", "c", 1 },
        { "#b", "#b", 0 },
        { " #b", "#b", 1 },
        { "\\#b", "#b", 1 },
        { "\xef\xbb\xbf# a\nb", "b", 1 },
        { "\xef\xbb\xbf"
          "b",
          "b", 1 },
        { "\n\n  \nb\n", "b", 1 },
        { "", "b", 0 },
        { "\\!a", "!a", 1 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        check(&rows[i]);
}

static void what_docker_refuses_is_refused_with_its_line(void **state)
{
    static const char *const rows[] = {
        "a\n!", "a\n! ", "a\n!/", "x\n[a", "x\n[]a]", "x\n[-a]", "x\n[a-]", "x\na\\", "x\n[a\\",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct ignore *ignore = NULL;
        struct gb_err err = { 0 };

        assert_int_equal(ignore_new(rows[i], strlen(rows[i]), &ignore, &err), -EINVAL);
        assert_null(ignore);
        assert_non_null(strstr(err.msg, "line 2 "));
    }
}

static void patterns_are_bounded(void **state)
{
    static char text[IGNORE_TEXT_MAX + 1];
    struct ignore *ignore = NULL;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(ignore_new(text, sizeof(text), &ignore, NULL), -EFBIG);
    assert_int_equal(ignore_new(text, IGNORE_PATTERN_MAX + 1, &ignore, NULL), -EINVAL);
    assert_int_equal(ignore_new("a\0b", 3, &ignore, NULL), -EINVAL);
    memset(text, '\n', sizeof(text));
    assert_int_equal(ignore_new(text, IGNORE_TEXT_MAX, &ignore, NULL), 0);
    ignore_free(ignore);
}

static void a_pattern_made_to_be_slow_is_not(void **state)
{
    cleanup_ignore struct ignore *ignore = NULL;
    char text[2 * 200 + 2];
    char path[2001];

    (void)state;
    for (size_t i = 0; i < 200; i++)
        memcpy(text + 2 * i, "*a", 2);
    text[400] = 'b';
    memset(path, 'a', sizeof(path));
    path[2000] = '\0';
    assert_int_equal(ignore_new(text, 401, &ignore, NULL), 0);
    assert_int_equal(ignore_matches(ignore, path, NULL), 0);
}

static void a_line_that_takes_back_is_known(void **state)
{
    struct ignore *ignore = NULL;

    (void)state;
    assert_int_equal(ignore_new("a\nb", 3, &ignore, NULL), 0);
    assert_int_equal(ignore_may_return(ignore), 0);
    ignore_free(ignore);
    assert_int_equal(ignore_new("a\n!b", 4, &ignore, NULL), 0);
    assert_int_equal(ignore_may_return(ignore), 1);
    ignore_free(ignore);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pattern),
        cmocka_unit_test(two_stars_cross_directories),
        cmocka_unit_test(the_last_line_that_says_something_decides),
        cmocka_unit_test(what_docker_refuses_is_refused_with_its_line),
        cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(a_pattern_made_to_be_slow_is_not),
        cmocka_unit_test(a_line_that_takes_back_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
