/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_path.c - paths as text. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

#include <cmocka.h>

static void paths_that_stay_below(void **state)
{
    static const char *const good[] = {
        "a", "a/b", "a/b/c.txt", "...", "..a", "a..", ".a", "a/.b", "a b", "a\nb", "-rf", "\xff",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(good); i++)
        assert_true(path_is_below(good[i]));
}

static void paths_that_do_not(void **state)
{
    static const char *const bad[] = {
        "",     "/",   "/a",   ".",     "..",  "./a",    "../a",      "a/",
        "a//b", "a/.", "a/..", "a/./b", "//a", "a/../b", "a/b/../..", "a/b/",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(bad); i++)
        assert_false(path_is_below(bad[i]));
}

static void components_and_paths_have_a_greatest_length(void **state)
{
    char path[PATH_MAX + 1];

    (void)state;
    memset(path, 'a', 256);
    path[255] = '\0';
    assert_true(path_is_below(path));
    path[255] = 'a';
    path[256] = '\0';
    assert_false(path_is_below(path));

    for (size_t i = 0; i < PATH_MAX; i++)
        path[i] = i % 2 ? '/' : 'a';
    path[PATH_MAX - 1] = '\0';
    assert_true(path_is_below(path));
    path[PATH_MAX - 1] = 'b';
    path[PATH_MAX] = '\0';
    assert_false(path_is_below(path));
}

static void base_and_ending(void **state)
{
    static const struct {
        const char *path;
        const char *base;
        const char *ending;
    } rows[] = {
        { "a", "a", "" },       { "a/b.py", "b.py", "py" }, { "/x/y.tar.gz", "y.tar.gz", "gz" },
        { ".env", ".env", "" }, { "a/.env", ".env", "" },   { "d.d/file", "file", "" },
        { "a.", "a.", "" },     { "..py", "..py", "py" },   { "x/", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        assert_string_equal(path_base(rows[i].path), rows[i].base);
        assert_string_equal(path_ending(rows[i].path), rows[i].ending);
    }
}

static void clean_absolute_paths(void **state)
{
    static const char *const good[] = { "/", "/a", "/a/b", "/workspace", "/..a" };
    static const char *const bad[] = {
        "", "a", "a/b", "//", "//a", "/a/", "/a//b", "/.", "/..", "/a/../b", "/a/./b", "./a",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(good); i++)
        assert_true(path_is_clean_absolute(good[i]));
    for (size_t i = 0; i < N_ELEMENTS(bad); i++)
        assert_false(path_is_clean_absolute(bad[i]));
}

static void a_path_is_in_a_directory_by_whole_components(void **state)
{
    (void)state;
    assert_true(path_is_in("/a/b", "/a"));
    assert_true(path_is_in("/a", "/a"));
    assert_true(path_is_in("/a", "/"));
    assert_true(path_is_in("/", "/"));
    assert_false(path_is_in("/ab", "/a"));
    assert_false(path_is_in("/", "/a"));
    assert_false(path_is_in("/b/a", "/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_stay_below),
        cmocka_unit_test(paths_that_do_not),
        cmocka_unit_test(components_and_paths_have_a_greatest_length),
        cmocka_unit_test(base_and_ending),
        cmocka_unit_test(clean_absolute_paths),
        cmocka_unit_test(a_path_is_in_a_directory_by_whole_components),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
