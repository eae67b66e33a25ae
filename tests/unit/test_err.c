/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_err.c - errors that travel up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

#include <cmocka.h>

static void failing_sets_code_blame_and_text(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(gb_fail(&err, -EINVAL, GB_BLAME_CALLER, "no %s", "way"), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_string_equal(err.msg, "no way");
}

static void a_system_failure_spells_errno_out(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    errno = ENOENT;
    assert_int_equal(gb_fail_sys(&err, "opening '%s'", "/x"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_int_equal(err.blame, GB_BLAME_HOST);
    assert_string_equal(err.msg, "opening '/x': No such file or directory");
}

static void a_system_failure_without_errno_is_still_a_failure(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    errno = 0;
    assert_int_equal(gb_fail_sys(&err, "x"), -EIO);
    assert_int_equal(err.code, -EIO);
}

static void context_goes_before_the_cause(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    (void)gb_fail(&err, -EIO, GB_BLAME_PEER, "cause");
    assert_int_equal(gb_wrap(&err, -EIO, "inner %d", 1), -EIO);
    assert_int_equal(gb_wrap(&err, -EIO, "outer"), -EIO);
    assert_string_equal(err.msg, "outer: inner 1: cause");
    assert_int_equal(err.blame, GB_BLAME_PEER);
}

static void a_long_context_is_cut_and_the_cause_stays(void **state)
{
    struct gb_err err = { 0 };
    char context[600];

    (void)state;
    memset(context, 'c', sizeof(context) - 1);
    context[sizeof(context) - 1] = '\0';
    (void)gb_fail(&err, -EIO, GB_BLAME_HOST, "the cause");
    (void)gb_wrap(&err, -EIO, "%s", context);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_string_equal(err.msg + strlen(err.msg) - strlen("c: the cause"), "c: the cause");
}

static void a_text_that_fills_the_room_takes_no_context(void **state)
{
    struct gb_err err = { 0 };
    char cause[600];

    (void)state;
    memset(cause, 'x', sizeof(cause) - 1);
    cause[sizeof(cause) - 1] = '\0';
    (void)gb_fail(&err, -EIO, GB_BLAME_HOST, "%s", cause);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    assert_int_equal(gb_wrap(&err, -EIO, "context"), -EIO);
    assert_int_equal(err.msg[0], 'x');
}

static void without_an_err_only_the_code_travels(void **state)
{
    (void)state;
    assert_int_equal(gb_fail(NULL, -EPERM, GB_BLAME_BUG, "x"), -EPERM);
    errno = EACCES;
    assert_int_equal(gb_fail_sys(NULL, "x"), -EACCES);
    assert_int_equal(gb_wrap(NULL, -EPERM, "x"), -EPERM);
}

static void a_remedy_is_the_texts_or_the_codes(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    (void)gb_fail(&err, -EIO, GB_BLAME_HOST, "wrong" GB_REMEDY "do this");
    assert_int_equal(gb_err_len(&err), 5);
    assert_string_equal(gb_err_remedy(&err), "do this");
    (void)gb_fail(&err, -EIO, GB_BLAME_HOST, "wrong");
    assert_int_equal(gb_err_len(&err), 5);
    assert_null(gb_err_remedy(&err));
    errno = EMFILE;
    (void)gb_fail_sys(&err, "opening");
    assert_non_null(strstr(gb_err_remedy(&err), "ulimit -n"));
    (void)gb_fail(&err, -EMFILE, GB_BLAME_HOST, "opening" GB_REMEDY "do this");
    assert_string_equal(gb_err_remedy(&err), "do this");
    (void)gb_fail(&err, -EMFILE, GB_BLAME_CALLER, "the caller's own");
    assert_null(gb_err_remedy(&err));
    gb_add_remedy(&err, "first");
    gb_add_remedy(&err, "second");
    assert_string_equal(err.msg, "the caller's own" GB_REMEDY "first");
    memset(err.msg, 'x', sizeof(err.msg) - 10);
    err.msg[sizeof(err.msg) - 10] = '\0';
    gb_add_remedy(&err, "no room");
    assert_null(strchr(err.msg, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_sets_code_blame_and_text),
        cmocka_unit_test(a_system_failure_spells_errno_out),
        cmocka_unit_test(a_system_failure_without_errno_is_still_a_failure),
        cmocka_unit_test(context_goes_before_the_cause),
        cmocka_unit_test(a_long_context_is_cut_and_the_cause_stays),
        cmocka_unit_test(a_text_that_fills_the_room_takes_no_context),
        cmocka_unit_test(without_an_err_only_the_code_travels),
        cmocka_unit_test(a_remedy_is_the_texts_or_the_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
