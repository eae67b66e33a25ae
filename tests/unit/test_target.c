/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_target.c - paths and queries of requests to the engine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "engine/target.h"

#include <cmocka.h>

static void test_names_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const bad[] = { "",    ".",    "..",     "a/b",  "/",    "a?b",
                                       "a#b", "a%2e", "a b",    "a\nb", "\xff", "a\\b",
                                       "a:b", "../x", "a/../b", "é" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        cleanup_target struct target target = { 0 };
        struct gb_err err = { 0 };

        assert_int_equal(target_of_id(&target, "/containers/", bad[i], "/json", &err), -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
    }
}

static void test_names_of_images_have_parts(void **state)
{
    static const struct {
        const char *name;
        int code;
    } table[] = {
        { "busybox", 0 },
        { "registry.example:5000/a/b-c_d:1.0+x", 0 },
        { "a@sha256:0123", 0 },
        { "...", 0 },
        { "..", -EINVAL },
        { "a/..", -EINVAL },
        { "../containers/x", -EINVAL },
        { "a//b", -EINVAL },
        { "/a", -EINVAL },
        { "a/", -EINVAL },
        { "a/./b", -EINVAL },
        { "a?force=1", -EINVAL },
        { "", -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        cleanup_target struct target target = { 0 };

        assert_int_equal(target_of_image(&target, "/images/", table[i].name, "/json", NULL),
                         table[i].code);
    }
}

static void test_a_name_may_not_be_endless(void **state)
{
    cleanup_target struct target target = { 0 };
    char name[1024];

    (void)state;
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(target_of_id(&target, "/", name, "", NULL), -EINVAL);
    name[400] = '\0';
    target_clear(&target);
    assert_int_equal(target_of_id(&target, "/", name, "", NULL), 0);
}

static void test_values_of_a_query_are_encoded(void **state)
{
    static const char *const labels[] = { "a=\"1\"", "b", NULL };
    static const char *const none[] = { NULL };
    const struct target_filter filters[] = { { "label", labels }, { "x", NULL }, { "y", none } };
    cleanup_target struct target target = { 0 };

    (void)state;
    assert_int_equal(target_of_id(&target, "/c/", "x-1", "/s", NULL), 0);
    target_add(&target, "n", NULL);
    target_add(&target, "path", "/a b/&=?#%\xc3\xa9~");
    target_add_flag(&target, "f", true);
    target_add_flag(&target, "g", false);
    target_add_u64(&target, "u", UINT64_MAX);
    target_add_filters(&target, filters, N_ELEMENTS(filters));
    target_add_filters(&target, filters + 1, 2);
    assert_int_equal(buf_error(&target.text), 0);
    assert_string_equal(target.text.data,
                        "/c/x-1/s?path=%2Fa%20b%2F%26%3D%3F%23%25%C3%A9~&f=1"
                        "&u=18446744073709551615"
                        "&filters=%7B%22label%22%3A%5B%22a%3D%5C%221%5C%22%22%2C%22b%22%5D%7D");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(test_names_of_images_have_parts),
        cmocka_unit_test(test_a_name_may_not_be_endless),
        cmocka_unit_test(test_values_of_a_query_are_encoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
