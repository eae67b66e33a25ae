/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_edit.c - search/replace blocks: once, whole lines, nothing fuzzy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/edit.h"
#include "agent/fence.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

#define BLOCK(search, replace) "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"

static void expect_new(const char *old, const char *blocks, const char *text)
{
    cleanup_free char *made = NULL;
    struct gb_err err = { 0 };
    size_t len = 0;

    if (edit_apply(old, strlen(old), blocks, strlen(blocks), &made, &len, &err) != 0)
        fail_msg("%s: %s", blocks, err.msg);
    assert_string_equal(made, text);
    assert_int_equal(len, strlen(text));
}

static void expect_error(const char *old, const char *blocks, int code, const char *part)
{
    char *made = NULL;
    struct gb_err err = { 0 };
    size_t len = 0;

    assert_int_equal(edit_apply(old, strlen(old), blocks, strlen(blocks), &made, &len, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
    assert_null(made);
}

static void lines_are_replaced_added_and_removed(void **state)
{
    (void)state;
    expect_new("a\nb\nc\n", BLOCK("b\n", "B\n"), "a\nB\nc\n");
    expect_new("a\nb\nc\n", BLOCK("a\n", "A\n"), "A\nb\nc\n");
    expect_new("a\nb\nc\n", BLOCK("c\n", "C\n"), "a\nb\nC\n");
    expect_new("a\nb\nc\n", BLOCK("a\nb\nc\n", "x\n"), "x\n");
    expect_new("a\nb\nc\n", BLOCK("b\n", ""), "a\nc\n");
    expect_new("a\n", BLOCK("a\n", ""), "");
    expect_new("a\nc\n", BLOCK("a\n", "a\nb\n"), "a\nb\nc\n");
    expect_new("", BLOCK("", "a\nb\n"), "a\nb\n");
    expect_new("a\n\nb\n", BLOCK("a\n\n", "a\n"), "a\nb\n");
}

static void several_blocks_apply_to_the_old_text_in_any_order(void **state)
{
    (void)state;
    expect_new("a\nb\nc\n", BLOCK("c\n", "C\n") "\n" BLOCK("a\n", "A\n"), "A\nb\nC\n");
    expect_new("a\nb\n", BLOCK("a\n", "b\n") BLOCK("b\n", "a\n"), "b\na\n");
}

static void whole_lines_are_meant(void **state)
{
    (void)state;
    expect_new("ab\na\n", BLOCK("a\n", "x\n"), "ab\nx\n");
    expect_new("xa\na\nay\n", BLOCK("a\n", ""), "xa\nay\n");
    expect_error("ab\n", BLOCK("a\n", "x\n"), -EINVAL, "not found");
    expect_error("  a\n", BLOCK("a\n", "x\n"), -EINVAL, "not found");
    expect_error("a \n", BLOCK("a\n", "x\n"), -EINVAL, "not found");
}

static void a_block_must_match_exactly_once(void **state)
{
    (void)state;
    expect_error("a\nb\n", BLOCK("a\n", "A\n") BLOCK("q\n", ""), -EINVAL,
                 "block 2 was not found: no such lines, the first is \"q\"");
    expect_error("a\nb\na\n", BLOCK("a\n", "A\n"), -EINVAL, "block 1 was found more than once");
    expect_error("a\na\na\n", BLOCK("a\na\n", "A\n"), -EINVAL, "more than once");
    expect_error("a\n", BLOCK("", "A\n"), -EINVAL, "searches for nothing");
    expect_error("a\nb\nc\n", BLOCK("a\nb\n", "") BLOCK("b\nc\n", ""), -EINVAL, "same lines");
    expect_error("a\n", BLOCK("a\n", "x\n") BLOCK("a\n", "y\n"), -EINVAL, "same lines");
    expect_error("", BLOCK("", "x\n") BLOCK("", "y\n"), -EINVAL, "same lines");
}

static void a_last_line_without_newline_stays_so(void **state)
{
    (void)state;
    expect_new("a\nb", BLOCK("b\n", "B\n"), "a\nB");
    expect_new("a\nb", BLOCK("a\n", "A\n"), "A\nb");
    expect_new("b", BLOCK("b\n", ""), "");
}

static void a_file_with_windows_newlines_keeps_them(void **state)
{
    (void)state;
    expect_new("a\r\nb\r\nc\r\n", BLOCK("b\n", "B\nbb\n"), "a\r\nB\r\nbb\r\nc\r\n");
    expect_new("a\r\nb", BLOCK("b\n", "B\n"), "a\r\nB");
    expect_new("a\nb\n", "<<<<<<< SEARCH\r\na\r\n=======\r\nA\r\n>>>>>>> REPLACE\r\n", "A\nb\n");
    /* Mixed ones are bytes like others. */
    expect_new("a\r\nb\n", BLOCK("b\n", "B\n"), "a\r\nB\n");
    expect_error("a\r\nb\n", BLOCK("a\n", "A\n"), -EINVAL, "not found");
}

static void marks_stand_where_they_belong(void **state)
{
    (void)state;
    expect_error("a\n", "", -EINVAL, "no search/replace block");
    expect_error("a\n", "text\n" BLOCK("a\n", ""), -EINVAL, "behind block 0");
    expect_error("a\n", BLOCK("a\n", "") "text\n", -EINVAL, "behind block 1");
    expect_error("a\n", "<<<<<<< SEARCH\na\n", -EINVAL, "block 1 does not end");
    expect_error("a\n", "<<<<<<< SEARCH\na\n=======\nb\n", -EINVAL, "block 1 does not end");
    expect_error("a\n", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", -EINVAL, "marks");
    expect_error("a\n", BLOCK("a\n=======\nb\n", ""), -EINVAL, "marks");
    expect_error("a\n", "<<<<<<< SEARCH\na\n" BLOCK("a\n", ""), -EINVAL, "marks");
    expect_new("========\n", BLOCK("========\n", "<<<<<<<< SEARCH\n"), "<<<<<<<< SEARCH\n");
}

static void blocks_are_told_from_files(void **state)
{
    static const char *const yes[] = { BLOCK("a\n", "b\n"), "\n \n<<<<<<< SEARCH",
                                       "<<<<<<< SEARCH\r\n" };
    static const char *const no[] = { "", "\n", "x\n<<<<<<< SEARCH\n", "<<<<<<< HEAD\n",
                                      " <<<<<<< SEARCH\n" };

    (void)state;
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(edit_is_blocks(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(edit_is_blocks(no[i], strlen(no[i])));
}

static void bytes_of_any_kind_are_carried_over(void **state)
{
    static const char old[] = "a\0b\n\xff\nc\n";
    static const char blocks[] = BLOCK("c\n", "\0\n");
    cleanup_free char *made = NULL;
    size_t len = 0;

    (void)state;
    assert_int_equal(
        edit_apply(old, sizeof(old) - 1, blocks, sizeof(blocks) - 1, &made, &len, NULL), 0);
    assert_int_equal(len, 8);
    assert_memory_equal(made, "a\0b\n\xff\n\0\n", 9);
}

/* A mebibyte of empty lines and half of one to look for: quadratic would be minutes. */
static void what_repeats_itself_is_not_slow(void **state)
{
    cleanup_buf struct buf old = BUF_INIT(2 << 20);
    cleanup_buf struct buf blocks = BUF_INIT(2 << 20);
    char *made = NULL;
    size_t len = 0;

    (void)state;
    for (int i = 0; i < FENCE_FILE_MAX; i++)
        (void)buf_putc(&old, '\n');
    (void)buf_puts(&blocks, "<<<<<<< SEARCH\n");
    for (int i = 0; i < FENCE_FILE_MAX / 2; i++)
        (void)buf_putc(&blocks, '\n');
    (void)buf_puts(&blocks, "x\n=======\n>>>>>>> REPLACE\n");
    assert_int_equal(edit_apply(old.data, old.len, blocks.data, blocks.len, &made, &len, NULL),
                     -EINVAL);
}

static void sizes_and_numbers_are_bounded(void **state)
{
    cleanup_buf struct buf old = BUF_INIT(2 << 20);
    cleanup_buf struct buf blocks = BUF_INIT(4 << 20);
    char *made = NULL;
    size_t len = 0;

    (void)state;
    for (int i = 0; i <= EDIT_BLOCKS_MAX; i++)
        (void)buf_puts(&blocks, BLOCK("a\n", ""));
    assert_int_equal(edit_apply("a\n", 2, blocks.data, blocks.len, &made, &len, NULL), -E2BIG);
    for (int i = 0; i < FENCE_FILE_MAX - 2; i++)
        (void)buf_putc(&old, 'x');
    (void)buf_puts(&old, "\na");
    expect_error(old.data, BLOCK("a\n", "bb\n"), -EFBIG, "longer than");
    buf_reset(&blocks);
    (void)buf_printf(&blocks, BLOCK("a\n", "%s%s\n"), old.data, old.data);
    expect_error("a\n", blocks.data, -EFBIG, "too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_replaced_added_and_removed),
        cmocka_unit_test(several_blocks_apply_to_the_old_text_in_any_order),
        cmocka_unit_test(whole_lines_are_meant),
        cmocka_unit_test(a_block_must_match_exactly_once),
        cmocka_unit_test(a_last_line_without_newline_stays_so),
        cmocka_unit_test(a_file_with_windows_newlines_keeps_them),
        cmocka_unit_test(marks_stand_where_they_belong),
        cmocka_unit_test(blocks_are_told_from_files),
        cmocka_unit_test(bytes_of_any_kind_are_carried_over),
        cmocka_unit_test(what_repeats_itself_is_not_slow),
        cmocka_unit_test(sizes_and_numbers_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
