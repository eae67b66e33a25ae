/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tar.c - a tar stream has the bytes that POSIX says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/tar.h"

#include <cmocka.h>

static int keep(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    (void)err;
    return buf_add(user, bytes, len);
}

static void expect_sum(const char *header)
{
    unsigned sum = 0;

    for (int i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    assert_int_equal(strtoul(header + 148, NULL, 8), sum);
}

static void a_file_is_a_header_and_whole_blocks(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    struct tar tar = { .write = keep, .user = &out };
    struct tar_entry entry = { .kind = TAR_FILE, .path = "a/b", .mode = 0755, .size = 5 };

    (void)state;
    assert_int_equal(tar_begin(&tar, &entry, NULL), 0);
    assert_int_equal(tar_add(&tar, "he", 2, NULL), 0);
    assert_int_equal(tar_add(&tar, "llo", 3, NULL), 0);
    assert_int_equal(tar_end(&tar, NULL), 0);
    assert_int_equal(out.len, 4 * 512);
    assert_string_equal(out.data, "a/b");
    assert_string_equal(out.data + 100, "0000755");
    assert_string_equal(out.data + 108, "0000000");
    assert_string_equal(out.data + 124, "00000000005");
    assert_string_equal(out.data + 136, "02263773600");
    assert_int_equal(out.data[156], '0');
    assert_memory_equal(out.data + 257,
                        "ustar\0"
                        "00",
                        8);
    expect_sum(out.data);
    assert_string_equal(out.data + 512, "hello");
    for (size_t i = 1024; i < out.len; i++)
        assert_int_equal(out.data[i], 0);
}

static void a_file_of_whole_blocks_has_no_padding(void **state)
{
    static const char block[512] = "x";
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    struct tar tar = { .write = keep, .user = &out };
    struct tar_entry entry = { .kind = TAR_FILE, .path = "a", .mode = 0644, .size = 512 };

    (void)state;
    assert_int_equal(tar_begin(&tar, &entry, NULL), 0);
    assert_int_equal(tar_add(&tar, block, sizeof(block), NULL), 0);
    assert_int_equal(out.len, 2 * 512);
}

/* The number at the front of a record counts itself, also where it gains a digit. */
static void a_long_path_has_a_pax_header(void **state)
{
    (void)state;
    for (size_t len = 99; len < 1100; len++) {
        cleanup_buf struct buf out = BUF_INIT(1 << 20);
        struct tar tar = { .write = keep, .user = &out };
        struct tar_entry entry = { .kind = TAR_LINK, .mode = 0777, .target = "t" };
        char path[1200];
        char *end = NULL;
        unsigned long said;

        memset(path, 'p', sizeof(path));
        path[len] = '\0';
        entry.path = path;
        assert_int_equal(tar_begin(&tar, &entry, NULL), 0);
        if (len <= 100) {
            assert_int_equal(out.len, 512);
            assert_memory_equal(out.data, path, len);
            continue;
        }
        assert_int_equal(out.data[156], 'x');
        said = strtoul(out.data + 512, &end, 10);
        assert_int_equal(strtoul(out.data + 124, NULL, 8), said);
        assert_memory_equal(end, " path=pp", 8);
        assert_int_equal(out.data[512 + said - 1], '\n');
        assert_int_equal((size_t)(out.data + 512 + said - 1 - (end + 6)), len);
        assert_int_equal(out.len % 512, 0);
        expect_sum(out.data);
        expect_sum(out.data + out.len - 512);
    }
}

static int refuse(void *user, const void *bytes, size_t len, struct gb_err *err)
{
    int *left = user;

    (void)bytes;
    (void)len;
    return (*left)-- > 0 ? 0 : gb_fail(err, -EPIPE, GB_BLAME_PEER, "gone");
}

static void the_writers_failure_ends_it(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct tar_entry entry = { .kind = TAR_FILE, .path = "a", .mode = 0644, .size = 1 };
        struct gb_err err = { 0 };
        int left = allowed;
        struct tar tar = { .write = refuse, .user = &left };
        int r = tar_begin(&tar, &entry, &err);

        if (r == 0)
            r = tar_add(&tar, "x", 1, &err);
        assert_int_equal(r, -EPIPE);
        assert_string_equal(err.msg, "gone");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_header_and_whole_blocks),
        cmocka_unit_test(a_file_of_whole_blocks_has_no_padding),
        cmocka_unit_test(a_long_path_has_a_pax_header),
        cmocka_unit_test(the_writers_failure_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
