/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_dl.c - libraries that are opened on first use. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dl.h"
#include "base/err.h"

#include <cmocka.h>

static struct {
    double (*cos)(double);
    double (*sqrt)(double);
    void (*absent)(void);
} fn;

static void test_functions_are_filled_in_once(void **state)
{
    static const struct dl_symbol symbols[] = {
        DL_SYMBOL(fn.cos, "cos"),
        DL_SYMBOL(fn.sqrt, "sqrt"),
        { 0 },
    };
    struct dl library = DL_INIT("libm.so.6", "libc6", symbols);
    struct gb_err err = { 0 };
    void *handle;

    (void)state;
    assert_int_equal(dl_open(&library, &err), 0);
    assert_true(fn.sqrt(9.0) == 3.0 && fn.cos(0.0) == 1.0);
    handle = library.handle;
    fn.cos = NULL;
    assert_int_equal(dl_open(&library, &err), 0);
    assert_ptr_equal(library.handle, handle);
    assert_null(fn.cos);
    assert_int_equal(err.code, 0);
}

static void test_a_missing_library_is_named_with_its_package(void **state)
{
    static const struct dl_symbol symbols[] = { { 0 } };
    struct dl library = DL_INIT("libno-such-thing.so.9", "libno9", symbols);

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct gb_err err = { 0 };

        assert_int_equal(dl_open(&library, &err), -ELIBACC);
        assert_int_equal(err.blame, GB_BLAME_HOST);
        assert_non_null(strstr(err.msg, "libno-such-thing.so.9 (apt-get install libno9)"));
        assert_null(library.handle);
    }
}

static void test_a_missing_function_is_named(void **state)
{
    static const struct dl_symbol symbols[] = {
        DL_SYMBOL(fn.absent, "no_such_function"),
        { 0 },
    };
    struct dl library = DL_INIT("libm.so.6", "libc6", symbols);
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(dl_open(&library, &err), -ELIBBAD);
    assert_non_null(strstr(err.msg, "no_such_function"));
    assert_non_null(strstr(err.msg, "apt-get install libc6"));
    assert_null(library.handle);
    assert_null(fn.absent);
}

static void *open_and_call(void *user)
{
    return dl_open(user, NULL) == 0 && fn.sqrt(4.0) == 2.0 ? user : NULL;
}

static void test_threads_may_open_it_at_once(void **state)
{
    static const struct dl_symbol symbols[] = { DL_SYMBOL(fn.sqrt, "sqrt"), { 0 } };
    struct dl library = DL_INIT("libm.so.6", "libc6", symbols);
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_call, &library), 0);
    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        void *result = NULL;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_filled_in_once),
        cmocka_unit_test(test_a_missing_library_is_named_with_its_package),
        cmocka_unit_test(test_a_missing_function_is_named),
        cmocka_unit_test(test_threads_may_open_it_at_once),
    };

    return cmocka_run_group_tests_name("dl", tests, NULL, NULL);
}
