/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_toolchain.c - which trees of the host a box may be shown, and the PATH they make. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/native/toolchain.h"

#include <cmocka.h>

/* Trees must lie outside the box's own /tmp. */
static char top[64];

static int make_top(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof(top), "/opt/glovebox-trees-XXXXXX");
    if (!mkdtemp(top))
        (void)snprintf(top, sizeof(top), "%s", "");
    return 0;
}

static int remove_top(void **state)
{
    (void)state;
    return top[0] ? rmdir(top) : 0;
}

static int check(const char *tree, struct gb_err *err)
{
    const char *const trees[] = { "/usr", tree, NULL };

    *err = (struct gb_err){ 0 };
    return toolchains_check(trees, err);
}

static void places_of_the_box_are_refused(void **state)
{
    static const char *const trees[] = {
        "/",      "",      "usr",          "/usr/",      "/usr//bin",    "/usr/../etc",
        "/usr/.", "/proc", "/proc/1/root", "/sys",       "/dev/shm",     "/etc",
        "/etc/x", "/run",  "/run/user/0",  "/tmp",       "/tmp/x",       "/var/tmp/x",
        "/var",   "/home", "/home/box/x",  "/workspace", "/workspace/x",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
        struct gb_err err;

        if (check(trees[i], &err) != -EINVAL)
            fail_msg("'%s': %d %s", trees[i], err.code, err.msg);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
    }
}

static void no_list_and_an_empty_one_are_fine(void **state)
{
    static const char *const none[] = { NULL };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(toolchains_check(NULL, &err), 0);
    assert_int_equal(toolchains_check(none, &err), 0);
}

static void trees_that_others_cannot_read_are_refused_by_name(void **state)
{
    char inner[96];
    char hidden[96];
    char want[160];
    struct gb_err err;

    (void)state;
    if (!top[0])
        skip();
    assert_int_equal(check(top, &err), -EACCES); /* mkdtemp() makes 0700 */
    (void)snprintf(want, sizeof(want), "chmod o+rX '%s'", top);
    assert_non_null(strstr(err.msg, want));
    assert_int_equal(chmod(top, 0755), 0);
    assert_int_equal(check(top, &err), 0);
    (void)snprintf(inner, sizeof(inner), "%s/keys", top);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(check(top, &err), -EACCES);
    assert_non_null(strstr(err.msg, inner));
    assert_int_equal(chmod(inner, 0754), 0); /* readable, but not to be entered */
    assert_int_equal(check(top, &err), -EACCES);
    assert_int_equal(chmod(inner, 0755), 0);
    assert_int_equal(check(top, &err), 0);
    (void)snprintf(hidden, sizeof(hidden), "%s/.git", top);
    assert_int_equal(mkdir(hidden, 0700), 0);
    assert_int_equal(check(top, &err), 0);
    assert_int_equal(rmdir(hidden), 0);
    assert_int_equal(rmdir(inner), 0);
}

static void what_is_no_directory_is_refused(void **state)
{
    struct gb_err err;

    (void)state;
    assert_int_equal(check("/usr/bin/env", &err), -ENOTDIR);
    assert_int_equal(check("/no/such/tree", &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/no/such/tree"));
}

static void the_path_has_trees_first_and_the_usual_places_behind(void **state)
{
    const char *const plain[] = { "/no/tree", "/usr", NULL };
    char *path = toolchains_path(plain);

    (void)state;
    assert_non_null(path);
    assert_int_equal(strncmp(path, "/no/tree:/usr/bin:/usr/local/sbin:", 34), 0);
    assert_non_null(strstr(path, ":/usr/bin:/sbin:/bin"));
    free(path);
    path = toolchains_path(NULL);
    assert_int_equal(strncmp(path, "/usr/local/sbin:", 16), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_the_box_are_refused),
        cmocka_unit_test(no_list_and_an_empty_one_are_fine),
        cmocka_unit_test_setup_teardown(trees_that_others_cannot_read_are_refused_by_name, make_top,
                                        remove_top),
        cmocka_unit_test(what_is_no_directory_is_refused),
        cmocka_unit_test(the_path_has_trees_first_and_the_usual_places_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
