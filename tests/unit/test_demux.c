/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_demux.c - frames of an attached stream, whole and in every two and three pieces. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/demux.h"

#include <cmocka.h>

/* Each byte behind the digit of its stream, so that where pieces are cut does not show. */
static int feed(struct demux *demux, const char *bytes, size_t len, struct buf *seen)
{
    cleanup_free char *own = malloc(len + 1);
    const char *at = own;
    struct demux_piece piece;
    int r;

    assert_non_null(own);
    memcpy(own, bytes, len);
    while ((r = demux_next(demux, &at, &len, &piece)) > 0) {
        assert_true(piece.len > 0);
        for (size_t i = 0; i < piece.len; i++)
            assert_int_equal(buf_printf(seen, "%d%c", (int)piece.stream, piece.bytes[i]), 0);
    }
    if (r == 0)
        assert_int_equal(len, 0);
    return r;
}

static void check(const char *bytes, size_t len, int wanted_code, const char *wanted)
{
    for (size_t first = 0; first <= len; first++) {
        for (size_t second = first; second <= len; second++) {
            cleanup_buf struct buf seen = BUF_INIT(1 << 16);
            struct demux demux = { 0 };
            int r = feed(&demux, bytes, first, &seen);

            if (r == 0)
                r = feed(&demux, bytes + first, second - first, &seen);
            if (r == 0)
                r = feed(&demux, bytes + second, len - second, &seen);
            assert_int_equal(r, wanted_code);
            assert_string_equal(seen.data ? seen.data : "", wanted);
        }
    }
}

#define CHECK(bytes, code, wanted) check(bytes, sizeof(bytes) - 1, code, wanted)

static void test_frames_are_told_apart_wherever_they_are_cut(void **state)
{
    (void)state;
    CHECK("\1\0\0\0\0\0\0\2ab"
          "\2\0\0\0\0\0\0\1x"
          "\1\0\0\0\0\0\0\1c",
          0, "1a1b2x1c");
    CHECK("\0\0\0\0\0\0\0\1i"
          "\3\0\0\0\0\0\0\1e",
          0, "0i3e");
}

static void test_empty_frames_are_nothing(void **state)
{
    (void)state;
    CHECK("\1\0\0\0\0\0\0\0"
          "\2\0\0\0\0\0\0\0"
          "\1\0\0\0\0\0\0\1z",
          0, "1z");
}

static void test_a_frame_may_still_be_under_way(void **state)
{
    (void)state;
    CHECK("\1\0\0\0\xff\xff\xff\xffmore", 0, "1m1o1r1e");
    CHECK("\1\0\0\0\0", 0, "");
}

static void test_what_is_no_head_ends_it(void **state)
{
    (void)state;
    CHECK("\4\0\0\0\0\0\0\1x", -EPROTO, "");
    CHECK("\1\0\1\0\0\0\0\1x", -EPROTO, "");
    CHECK("\1\0\0\0\0\0\0\1xHTTP/1.1", -EPROTO, "1x");
}

static void test_a_length_is_read_as_big_endian(void **state)
{
    static char frame[8 + 0x10203] = "\1\0\0\0\0\1\2\3";
    struct demux demux = { 0 };
    struct demux_piece piece;
    const char *at = frame;
    size_t len = sizeof(frame);

    (void)state;
    assert_int_equal(demux_next(&demux, &at, &len, &piece), 1);
    assert_int_equal(piece.len, 0x10203);
    assert_int_equal(len, 0);
    assert_int_equal(demux.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_told_apart_wherever_they_are_cut),
        cmocka_unit_test(test_empty_frames_are_nothing),
        cmocka_unit_test(test_a_frame_may_still_be_under_way),
        cmocka_unit_test(test_what_is_no_head_ends_it),
        cmocka_unit_test(test_a_length_is_read_as_big_endian),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
