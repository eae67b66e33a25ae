/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_touch.c - files that a tool runs by itself where they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "run/touch.h"

#include <cmocka.h>

static void what_git_obeys(void **state)
{
    static const char *const obeyed[] = {
        ".git",           ".git/config",    "a/.GIT/hooks/x",    "lib/.git",
        "HEAD",           "a.git/Head",     ".g\u200cit/config", ".g\U0001bca0it/config",
        "HE\U0001d173AD", "a/.git\ufeff/x", "\u2060HEAD"
    };
    static const char *const others[] = {
        "",      ".gitignore",  "a.git/x", "git",          ".git2/x",    "HEAD/x", "HEAD.py",
        "AHEAD", ".gi\u200c/x", ".gité/x", "проект.git/x", ".g\xffit/x", "\u200c", ".g/it"
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(obeyed); i++)
        assert_true(touch_is_git(obeyed[i]));
    for (size_t i = 0; i < N_ELEMENTS(others); i++)
        assert_false(touch_is_git(others[i]));
}

static void who_runs_what(void **state)
{
    static const struct {
        const char *path;
        const char *runner;
    } table[] = {
        { ".envrc", "direnv" },
        { "a/b/.envrc", "direnv" },
        { ".vscode/tasks.json", "VS Code" },
        { "a/.vscode/x/y.json", "VS Code" },
        { ".github/workflows/ci.yml", "GitHub" },
        { "conftest.py", "pytest" },
        { "a/evil.pth", "Python" },
        { "Makefile", "make" },
        { "a/package.json", "npm" },
        { "A/.ENVRC", "direnv" },
        { ".VSCode/tasks.json", "VS Code" },
        { "a/.GitHub/workflows/ci.yml", "GitHub" },
        { "evil.PTH", "Python" },
        { "makefile", "make" },
        { "gnuMakefile", "make" },
        { ".hus\u200dky/pre-commit", "husky" },
        { "ma\u212aefile", "make" },
        { ".v\u017fcode/tasks.json", "VS Code" },
    };
    static const char *const nobody[] = { "",      "main.py",    ".vscode",   "a.vscode/x",
                                          ".pth",  "my.envrc",   "Makefiles", "x/Makefile/y",
                                          "a/.b/", "my.github/x" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        assert_string_equal(touch_runner(table[i].path), table[i].runner);
    for (size_t i = 0; i < N_ELEMENTS(nobody); i++)
        assert_null(touch_runner(nobody[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_git_obeys),
        cmocka_unit_test(who_runs_what),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
