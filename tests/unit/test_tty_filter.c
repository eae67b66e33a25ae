/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_tty_filter.c - drawing passes, control strings do not, however they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/tty_filter.h"

#include <cmocka.h>

/* Whole, and byte by byte. */
static void expect_passed(const char *bytes, size_t len, const char *passed, size_t passed_len)
{
    for (size_t step = 1; step <= len; step = step == 1 && len > 1 ? len : len + 1) {
        cleanup_buf struct buf text = BUF_INIT(1 << 20);
        struct tty_filter filter = { 0 };

        for (size_t at = 0; at < len; at += step)
            assert_int_equal(tty_filter_add(&filter, bytes + at, step, &text), 0);
        assert_int_equal(text.len, passed_len);
        assert_memory_equal(text.data ? text.data : "", passed, passed_len);
    }
}

#define PASSES(bytes, passed) expect_passed(bytes, sizeof(bytes) - 1, passed, sizeof(passed) - 1)
#define SAME(bytes)           PASSES(bytes, bytes)

static void test_drawing_passes(void **state)
{
    (void)state;
    SAME("plain\r\n\ttext\b\a");
    SAME("\033[1;31mred\033[0m\033[2J\033[H\033[?1049h\033[?25l");
    SAME("\033(0lqk\033(B\0337\0338\033=\033>\033M");
    SAME("\303\244 \342\235\214 \360\237\230\200 \302\240");
    SAME("\016\017\013\014");
}

static void test_strings_do_not(void **state)
{
    (void)state;
    PASSES("a\033]52;c;aGk=\007b", "ab");
    PASSES("a\033]0;title\033\\b", "ab");
    PASSES("a\033P$q\"p\033\\b", "ab");
    PASSES("a\033_G\033\\b\033^x\033\\c\033Xy\033\\d", "abcd");
    PASSES("a\302\2350;t\302\234b", "ab");
    PASSES("a\2350;t\007b", "ab");
    PASSES("a\033]x\030b\033]y\032c", "abc");
    PASSES("a\033]x\033[31mb", "a\033[31mb");
    PASSES("a\033]never ends", "a");
}

static void test_no_way_round(void **state)
{
    (void)state;
    /* The ESC must not wait for what comes behind something dropped. */
    PASSES("\033\302\2350;x\007]52;c;eA==\007", "]52;c;eA==\007");
    PASSES("\033\2350;x\007]y", "]y");
    PASSES("\033\177]52;x\007z", "z");
    PASSES("\033\033]52;x\007z", "z");
    PASSES("\033\n]52;x\007z", "\nz");
    PASSES("\033\030]52;x", "]52;x");
    PASSES("\033%@\2350;x\007z", "z");
    PASSES("\033%G\303\244", "\303\244");
    /* A C1 control inside what looks like a character's beginning. */
    PASSES("\302\235x\007z", "z");
    PASSES("\303\033]52;x\007z", "\303z");
    PASSES("\033]x\302\234z", "z");
    PASSES("\033]x\302\302\234z", "z");
    PASSES("\220\033]52;x\007z", "z");
}

/* A program cannot make its user blind by beginning a string. */
static void test_a_string_has_an_end(void **state)
{
    static char bytes[70000];
    cleanup_buf struct buf text = BUF_INIT(1 << 20);
    struct tty_filter filter = { 0 };

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    bytes[0] = '\033';
    bytes[1] = ']';
    assert_int_equal(tty_filter_add(&filter, bytes, sizeof(bytes), &text), 0);
    assert_true(text.len > 0 && text.len < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawing_passes),
        cmocka_unit_test(test_strings_do_not),
        cmocka_unit_test(test_no_way_round),
        cmocka_unit_test(test_a_string_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
