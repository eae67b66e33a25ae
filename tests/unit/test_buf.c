/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_buf.c - the growable byte string. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#include <cmocka.h>

static void starts_empty_and_clears_to_empty(void **state)
{
    struct buf buf = BUF_INIT(10);

    (void)state;
    assert_null(buf.data);
    assert_int_equal(buf_add(&buf, "abc", 3), 0);
    buf_clear(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.max, 10);
    buf_clear(&buf);
}

static void keeps_a_nul_behind_the_bytes(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(buf_putc(&buf, 'x'), 0);
        assert_int_equal(buf.len, i + 1);
        assert_int_equal(buf.data[buf.len], '\0');
        assert_true(buf.cap > buf.len);
    }
    buf_reset(&buf);
    assert_string_equal(buf.data, "");
    assert_int_equal(buf.len, 0);
}

static void adds_bytes_strings_and_formats(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);

    (void)state;
    assert_int_equal(buf_add(&buf, "a\0b", 3), 0);
    assert_int_equal(buf_puts(&buf, "cd"), 0);
    assert_int_equal(buf_printf(&buf, "%d-%s", 12, "ef"), 0);
    assert_int_equal(buf.len, 10);
    assert_memory_equal(buf.data, "a\0bcd12-ef", 11);
    assert_int_equal(buf_add(&buf, NULL, 0), 0);
    assert_int_equal(buf.len, 10);
}

static void an_append_over_the_maximum_adds_nothing_and_is_remembered(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(4);

    (void)state;
    assert_int_equal(buf_puts(&buf, "abcd"), 0);
    assert_int_equal(buf_error(&buf), 0);
    assert_int_equal(buf_putc(&buf, 'e'), -EMSGSIZE);
    assert_int_equal(buf_printf(&buf, "%d", 1), -EMSGSIZE);
    assert_string_equal(buf.data, "abcd");
    assert_int_equal(buf_error(&buf), -EMSGSIZE);
    buf_reset(&buf);
    assert_int_equal(buf_error(&buf), 0);
    assert_int_equal(buf_puts(&buf, "wxyz"), 0);
}

static void a_length_that_wraps_around_is_refused(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(100);

    (void)state;
    assert_int_equal(buf_puts(&buf, "abc"), 0);
    assert_int_equal(buf_reserve(&buf, SIZE_MAX), -EMSGSIZE);
    assert_int_equal(buf_reserve(&buf, SIZE_MAX - 2), -EMSGSIZE);
    assert_string_equal(buf.data, "abc");
}

static void reserved_room_can_be_filled_by_hand(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(5000);

    (void)state;
    assert_int_equal(buf_puts(&buf, "ab"), 0);
    assert_int_equal(buf_reserve(&buf, 4000), 0);
    assert_true(buf.cap - buf.len > 4000);
    memset(buf.data + buf.len, 'z', 4000);
    buf.len += 4000;
    assert_int_equal(buf_putc(&buf, '!'), 0);
    assert_int_equal(buf.data[4001], 'z');
    assert_int_equal(buf.data[4002], '!');
}

static void taking_hands_over_the_string(void **state)
{
    struct buf buf = BUF_INIT(100);
    char *text;

    (void)state;
    (void)buf_puts(&buf, "mine");
    text = buf_take(&buf);
    assert_string_equal(text, "mine");
    assert_null(buf.data);
    free(text);
    text = buf_take(&buf);
    assert_string_equal(text, "");
    free(text);
}

static void taking_after_a_failure_gives_nothing(void **state)
{
    struct buf buf = BUF_INIT(2);

    (void)state;
    (void)buf_puts(&buf, "too long");
    assert_null(buf_take(&buf));
    assert_int_equal(buf_error(&buf), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty_and_clears_to_empty),
        cmocka_unit_test(keeps_a_nul_behind_the_bytes),
        cmocka_unit_test(adds_bytes_strings_and_formats),
        cmocka_unit_test(an_append_over_the_maximum_adds_nothing_and_is_remembered),
        cmocka_unit_test(a_length_that_wraps_around_is_refused),
        cmocka_unit_test(reserved_room_can_be_filled_by_hand),
        cmocka_unit_test(taking_hands_over_the_string),
        cmocka_unit_test(taking_after_a_failure_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
