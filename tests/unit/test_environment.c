/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_environment.c - the variables that a program in a box finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/environment.h"

#include <cmocka.h>

static const char *value_of(const struct run_env *env, const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);

    for (size_t i = 0; env->list[i]; i++) {
        if (strncmp(env->list[i], name, len) != 0 || env->list[i][len] != '=')
            continue;
        assert_null(found); /* each name once */
        found = env->list[i] + len + 1;
    }
    return found;
}

static size_t count(const struct run_env *env)
{
    size_t n = 0;

    while (env->list[n])
        n++;
    return n;
}

static const struct run_env_places usual = { "/p", "", "/w" };

static void a_run_has_the_fixed_variables_and_nothing_of_the_host(void **state)
{
    static const struct run_env_places places = { "/p/bin", "", "/work" };
    struct run_env env;

    (void)state;
    assert_int_equal(setenv("GLOVEBOX_UNIT_CANARY", "seen", 1), 0);
    assert_int_equal(run_env_make(&env, &places, NULL, NULL), 0);
    assert_string_equal(value_of(&env, "PATH"), "/p/bin");
    assert_string_equal(value_of(&env, "PWD"), "/work");
    assert_string_equal(value_of(&env, "PYTHONPATH"), "/work");
    assert_string_equal(value_of(&env, "PYTHONUNBUFFERED"), "1");
    assert_string_equal(value_of(&env, "HOME"), "/home/box");
    assert_string_equal(value_of(&env, "USER"), "box");
    assert_null(value_of(&env, "GLOVEBOX_UNIT_CANARY"));
    assert_int_equal(count(&env), 10);
    run_env_clear(&env);
    run_env_clear(&env);
}

static void later_lists_win(void **state)
{
    char lang[] = "LANG=language";
    char extra[] = "EXTRA=language";
    char *const language[] = { lang, extra, NULL };
    static const char *const caller[] = { "EXTRA=caller", "PATH=/mine", "X=", "X=2", NULL };
    struct run_env env;

    (void)state;
    assert_int_equal(run_env_make(&env, &usual, language, caller), 0);
    assert_string_equal(value_of(&env, "LANG"), "language");
    assert_string_equal(value_of(&env, "EXTRA"), "caller");
    assert_string_equal(value_of(&env, "PATH"), "/mine");
    assert_string_equal(value_of(&env, "X"), "2");
    assert_int_equal(count(&env), 12);
    run_env_clear(&env);
}

static void names_are_compared_whole(void **state)
{
    static const char *const caller[] = { "PATHS=1", "PAT=2", "=odd", "HOMEWORK=3", NULL };
    struct run_env env;

    (void)state;
    assert_int_equal(run_env_make(&env, &usual, NULL, caller), 0);
    assert_string_equal(value_of(&env, "PATH"), "/p");
    assert_string_equal(value_of(&env, "PATHS"), "1");
    assert_string_equal(value_of(&env, "PAT"), "2");
    assert_string_equal(value_of(&env, "HOME"), "/home/box");
    run_env_clear(&env);
}

static void python_looks_in_layers_behind_the_working_directory(void **state)
{
    static const struct run_env_places places = { "/p", "/opt/x:/opt/y", "/w" };
    struct run_env env;

    (void)state;
    assert_int_equal(run_env_make(&env, &places, NULL, NULL), 0);
    assert_string_equal(value_of(&env, "PYTHONPATH"), "/w:/opt/x:/opt/y");
    run_env_clear(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_the_fixed_variables_and_nothing_of_the_host),
        cmocka_unit_test(later_lists_win),
        cmocka_unit_test(names_are_compared_whole),
        cmocka_unit_test(python_looks_in_layers_behind_the_working_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
