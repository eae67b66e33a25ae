/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_backends.c - the table of ways to make boxes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"

#include <cmocka.h>

static void every_row_is_found_by_its_name(void **state)
{
    const struct box_ops *const *all = box_backends();
    struct gb_err err = { 0 };
    size_t n = 0;

    (void)state;
    for (; all[n]; n++) {
        assert_ptr_equal(box_backend(all[n]->name, &err), all[n]);
        assert_non_null(all[n]->probe);
        assert_non_null(all[n]->start);
        assert_non_null(all[n]->destroy);
        for (size_t k = 0; k < n; k++)
            assert_string_not_equal(all[n]->name, all[k]->name);
    }
    assert_true(n >= 2);
    assert_int_equal(err.code, 0);
}

static void an_unknown_name_is_told_the_known_ones(void **state)
{
    static const char *const names[] = { "", "Native", "nativ", "native ", "docker/x" };
    const struct box_ops *const *all = box_backends();

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        struct gb_err err = { 0 };

        assert_null(box_backend(names[i], &err));
        assert_int_equal(err.code, -EINVAL);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        for (size_t k = 0; all[k]; k++)
            assert_non_null(strstr(err.msg, all[k]->name));
    }
    assert_null(box_backend("none", NULL));
}

static void disabled_refuses_everything(void **state)
{
    struct box_spec spec = { .backend = "disabled", .limits = limits_default() };
    struct gb_err err = { 0 };
    struct box *box = NULL;

    (void)state;
    assert_int_equal(box_disabled.probe(&spec, &err), -EPERM);
    err = (struct gb_err){ 0 };
    assert_int_equal(box_open(&spec, &box, &err), -EPERM);
    assert_null(box);
    assert_non_null(strstr(err.msg, "disabled"));
    err = (struct gb_err){ 0 };
    spec.may_miss = WALLS_ALL;
    assert_int_equal(box_open(&spec, &box, &err), -EPERM);
    assert_null(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_name),
        cmocka_unit_test(an_unknown_name_is_told_the_known_ones),
        cmocka_unit_test(disabled_refuses_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
