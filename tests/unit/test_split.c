/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_split.c - streams of JSON objects, whole and in every two and three pieces. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/split.h"

#include <cmocka.h>

#define MAX 32

static int note(void *user, const char *text, size_t len)
{
    struct buf *seen = user;

    assert_int_equal(strlen(text), len);
    if (strcmp(text, "{\"stop\":1}") == 0)
        return -ECANCELED;
    assert_int_equal(buf_puts(seen, text), 0);
    return buf_putc(seen, ';');
}

static int feed(struct split *split, const char *bytes, size_t len)
{
    cleanup_free char *own = malloc(len + 1);

    assert_non_null(own);
    memcpy(own, bytes, len);
    return split_feed(split, own, len);
}

static void check(const char *text, int wanted_code, const char *wanted)
{
    size_t len = strlen(text);

    for (size_t first = 0; first <= len; first++) {
        for (size_t second = first; second <= len; second++) {
            cleanup_buf struct buf seen = BUF_INIT(1 << 16);
            struct split split;
            int r;

            split_init(&split, MAX, note, &seen);
            r = feed(&split, text, first);
            if (r == 0)
                r = feed(&split, text + first, second - first);
            if (r == 0)
                r = feed(&split, text + second, len - second);
            if (r == 0)
                r = split_end(&split);
            split_clear(&split);
            assert_int_equal(r, wanted_code);
            assert_string_equal(seen.data ? seen.data : "", wanted);
        }
    }
}

static void test_objects_come_one_by_one_however_they_are_joined(void **state)
{
    (void)state;
    check("", 0, "");
    check(" \r\n\t", 0, "");
    check("{}{\"a\":1}\r\n{\"b\":{\"c\":[{}]}} ", 0, "{};{\"a\":1};{\"b\":{\"c\":[{}]}};");
}

static void test_braces_in_strings_do_not_count(void **state)
{
    (void)state;
    check("{\"a\":\"}{\"}{\"b\":\"\\\"}\"}", 0, "{\"a\":\"}{\"};{\"b\":\"\\\"}\"};");
    check("{\"a\":\"\\\\\"}{}", 0, "{\"a\":\"\\\\\"};{};");
}

static void test_a_stream_that_is_cut_off_is_an_error(void **state)
{
    (void)state;
    check("{\"a\":1}{\"b\"", -EBADMSG, "{\"a\":1};");
    check("{\"a\":\"}", -EBADMSG, "");
}

static void test_what_is_no_object_is_an_error(void **state)
{
    (void)state;
    check("{}[1]", -EBADMSG, "{};");
    check("{}}", -EBADMSG, "{};");
    check("<html>", -EBADMSG, "");
    check("\"{}\"", -EBADMSG, "");
}

static void test_an_object_has_a_maximum(void **state)
{
    (void)state;
    check("{\"a\":\"012345678901234567890123\"}", 0, "{\"a\":\"012345678901234567890123\"};");
    check("{\"a\":\"0123456789012345678901234\"}", -EMSGSIZE, "");
}

static void test_the_reader_may_end_it(void **state)
{
    (void)state;
    check("{\"a\":1}{\"stop\":1}{\"b\":1}", -ECANCELED, "{\"a\":1};");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_come_one_by_one_however_they_are_joined),
        cmocka_unit_test(test_braces_in_strings_do_not_count),
        cmocka_unit_test(test_a_stream_that_is_cut_off_is_an_error),
        cmocka_unit_test(test_what_is_no_object_is_an_error),
        cmocka_unit_test(test_an_object_has_a_maximum),
        cmocka_unit_test(test_the_reader_may_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
