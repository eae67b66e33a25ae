/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_crate.c - files as a byte stream. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "wire/bytes.h"
#include "wire/crate.h"

#include <cmocka.h>

/* What the reader tells, as one text: "[path mode size]contents;". */
struct heard {
    struct buf text;
    int fail_item;
    int fail_data;
    int fail_done;
};

static int hear_item(void *user, const struct crate_item *item)
{
    struct heard *heard = user;

    static const char *const kinds[] = { "", "directory ", "link " };

    (void)buf_printf(&heard->text, "[%s%s %o %llu]", kinds[item->kind], item->path,
                     (unsigned)item->mode, (unsigned long long)item->size);
    return heard->fail_item;
}

static int hear_data(void *user, const uint8_t *bytes, size_t len)
{
    struct heard *heard = user;

    assert_true(len > 0);
    (void)buf_add(&heard->text, bytes, len);
    return heard->fail_data;
}

static int hear_done(void *user)
{
    struct heard *heard = user;

    (void)buf_putc(&heard->text, ';');
    return heard->fail_done;
}

static const struct crate_ops ops = { hear_item, hear_data, hear_done };
static const struct crate_caps wide = { 100, 10000, false };
static const struct crate_caps all_kinds = { 100, 10000, true };

static void put_item(struct buf *crate, const char *path, unsigned mode, const char *contents)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int len = crate_head_put(path, mode, strlen(contents), head);

    assert_true(len > 0);
    (void)buf_add(crate, head, (size_t)len);
    (void)buf_puts(crate, contents);
}

/* Feeds in pieces of that size; the first failure, or 0 for a crate that is complete and -EAGAIN
 * for one that is not. */
static int feed(const struct buf *crate, size_t piece, struct crate_caps caps, bool is_listing,
                struct heard *heard)
{
    static struct crate_reader reader;

    crate_reader_init(&reader, &ops, heard, caps, is_listing);
    for (size_t at = 0; at < crate->len; at += piece) {
        size_t len = crate->len - at < piece ? crate->len - at : piece;
        int r = crate_reader_feed(&reader, (const uint8_t *)crate->data + at, len);

        if (r < 0)
            return r;
    }
    return crate_reader_is_complete(&reader) ? 0 : -EAGAIN;
}

static void check(const struct buf *crate, struct crate_caps caps, bool is_listing, int result,
                  const char *text)
{
    for (size_t piece = 1; piece <= crate->len + 1; piece++) {
        struct heard heard = { .text = BUF_INIT(100000) };

        assert_int_equal(feed(crate, piece, caps, is_listing, &heard), result);
        if (text)
            assert_string_equal(heard.text.data ? heard.text.data : "", text);
        buf_clear(&heard.text);
    }
}

static void files_arrive_whole_whatever_the_pieces(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(10000);

    (void)state;
    put_item(&crate, "a/b.txt", 0644, "hello");
    put_item(&crate, "empty", 0600, "");
    put_item(&crate, "x", 0755, "#!");
    put_item(&crate, "", 0, "");
    check(&crate, wide, false, 0, "[a/b.txt 644 5]hello;[empty 600 0];[x 755 2]#!;");
}

static void an_empty_crate_is_complete(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(100);

    (void)state;
    put_item(&crate, "", 0, "");
    check(&crate, wide, false, 0, "");
}

static void a_listing_has_sizes_and_no_contents(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];

    (void)state;
    (void)buf_add(&crate, head, (size_t)crate_head_put("big", 0644, 1ull << 40, head));
    (void)buf_add(&crate, head, (size_t)crate_head_put("y", 0600, 7, head));
    (void)buf_add(&crate, head, (size_t)crate_head_put("", 0, 0, head));
    check(&crate, (struct crate_caps){ 2, 0 }, true, 0, "[big 644 1099511627776];[y 600 7];");
    check(&crate, (struct crate_caps){ 1, 0 }, true, -EFBIG, NULL);
}

static void a_crate_without_its_end_is_not_complete(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);

    (void)state;
    put_item(&crate, "a", 0644, "hello");
    check(&crate, wide, false, -EAGAIN, "[a 644 5]hello;");
    crate.len -= 2;
    check(&crate, wide, false, -EAGAIN, "[a 644 5]hel");
}

static void bytes_behind_the_end_are_refused(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);

    (void)state;
    put_item(&crate, "", 0, "");
    (void)buf_putc(&crate, 'x');
    check(&crate, wide, false, -EPROTO, NULL);
}

static void an_end_mark_with_mode_or_size_is_refused(void **state)
{
    static const uint8_t wrong[][CRATE_HEAD_SIZE] = {
        { 0, 0, 1 },
        { 0, 0, 0, 0, 1 },
        { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        cleanup_buf struct buf crate = BUF_INIT(100);

        (void)buf_add(&crate, wrong[i], CRATE_HEAD_SIZE);
        check(&crate, wide, false, -EPROTO, "");
    }
}

/* As a box could send it: crate_head_put() would refuse. */
static void put_raw(struct buf *crate, const char *path, size_t len, unsigned mode, uint64_t size)
{
    uint8_t head[CRATE_HEAD_SIZE];

    wire_put_u16(head, (uint16_t)len);
    wire_put_u16(head + 2, (uint16_t)mode);
    wire_put_u64(head + 4, size);
    (void)buf_add(crate, head, sizeof(head));
    (void)buf_add(crate, path, len);
}

static void paths_that_leave_are_refused_before_anybody_hears_of_them(void **state)
{
    static const char *const wrong[] = { "/etc/passwd", "..", "../x", "a/../../x",
                                         "a//b",        "a/", ".",    "./a" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        cleanup_buf struct buf crate = BUF_INIT(1000);

        put_raw(&crate, wrong[i], strlen(wrong[i]), 0644, 0);
        check(&crate, wide, false, -EPROTO, "");
    }
}

static void a_nul_in_a_path_is_refused(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);

    (void)state;
    put_raw(&crate, "a\0b", 3, 0644, 0);
    check(&crate, wide, false, -EPROTO, "");
}

static void modes_and_path_lengths_have_bounds(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(10000);
    static const char path[CRATE_PATH_MAX + 1];

    (void)state;
    put_raw(&crate, "a", 1, 01000, 0);
    check(&crate, wide, false, -EPROTO, "");
    buf_reset(&crate);
    put_raw(&crate, "a", 1, 04755, 0);
    check(&crate, wide, false, -EPROTO, "");
    buf_reset(&crate);
    put_raw(&crate, path, CRATE_PATH_MAX + 1, 0644, 0);
    crate.len = CRATE_HEAD_SIZE;
    check(&crate, wide, false, -EPROTO, "");
}

static void caps_are_checked_before_the_contents_come(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);

    (void)state;
    put_item(&crate, "a", 0644, "12345");
    put_item(&crate, "b", 0644, "67890");
    put_item(&crate, "", 0, "");
    check(&crate, (struct crate_caps){ 2, 10, false }, false, 0, "[a 644 5]12345;[b 644 5]67890;");
    check(&crate, (struct crate_caps){ 2, 9, false }, false, -EFBIG, "[a 644 5]12345;");
    check(&crate, (struct crate_caps){ 1, 10, false }, false, -EFBIG, "[a 644 5]12345;");
    buf_reset(&crate);
    put_raw(&crate, "a", 1, 0644, UINT64_MAX);
    check(&crate, wide, false, -EFBIG, "");
}

static void put_kind(struct buf *crate, enum crate_kind kind, const char *path, unsigned mode,
                     const char *contents)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int len = crate_kind_put(kind, path, mode, strlen(contents), head);

    assert_true(len > 0);
    (void)buf_add(crate, head, (size_t)len);
    (void)buf_puts(crate, contents);
}

static void links_and_directories_come_to_who_wants_them(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];

    (void)state;
    put_kind(&crate, CRATE_LINK, "d/soft", 0777, "../../etc/passwd");
    put_kind(&crate, CRATE_DIR, "d", 0700, "");
    put_item(&crate, "x", 0644, "y");
    (void)buf_add(&crate, head, (size_t)crate_kind_put(CRATE_FILE, "", 0, 7, head));
    check(&crate, all_kinds, false, 0,
          "[link d/soft 777 16]../../etc/passwd;[directory d 700 0];[x 644 1]y;");
    check(&crate, wide, false, -EPROTO, "");
}

static void links_that_lead_nowhere_and_directories_with_contents_are_refused(void **state)
{
    static const struct {
        unsigned mode;
        uint64_t size;
    } wrong[] = { { 0x2000 | 0777, 0 }, { 0x2000 | 0777, CRATE_PATH_MAX + 1 },
                  { 0x1000 | 0755, 1 }, { 0x3000 | 0644, 0 },
                  { 0xf000 | 0644, 0 }, { 0x1000 | 01755, 0 } };
    cleanup_buf struct buf crate = BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
        buf_reset(&crate);
        put_raw(&crate, "a", 1, wrong[i].mode, wrong[i].size);
        check(&crate, all_kinds, false, -EPROTO, "");
    }
    buf_reset(&crate);
    put_raw(&crate, "a", 1, 0x2000 | 0777, 3);
    (void)buf_add(&crate, "x\0y", 3);
    check(&crate, all_kinds, false, -EPROTO, NULL);
    buf_reset(&crate);
    put_raw(&crate, "../a", 4, 0x1000 | 0755, 0);
    check(&crate, all_kinds, false, -EPROTO, "");
}

static void what_the_owner_returns_ends_the_reading(void **state)
{
    cleanup_buf struct buf crate = BUF_INIT(1000);
    struct heard heard[] = { { .text = BUF_INIT(100), .fail_item = -ENOSPC },
                             { .text = BUF_INIT(100), .fail_data = -ENOSPC },
                             { .text = BUF_INIT(100), .fail_done = -ENOSPC } };
    static const char *const texts[] = { "[a 644 1]", "[a 644 1]x", "[a 644 1]x;" };

    (void)state;
    put_item(&crate, "a", 0644, "x");
    put_item(&crate, "b", 0644, "y");
    for (size_t i = 0; i < N_ELEMENTS(heard); i++) {
        assert_int_equal(feed(&crate, 1000, wide, false, &heard[i]), -ENOSPC);
        assert_string_equal(heard[i].text.data, texts[i]);
        buf_clear(&heard[i].text);
    }
}

static void heads_that_may_not_travel_are_not_written(void **state)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];

    (void)state;
    assert_int_equal(crate_head_put("../x", 0644, 0, head), -EINVAL);
    assert_int_equal(crate_head_put("/x", 0644, 0, head), -EINVAL);
    assert_int_equal(crate_head_put("x", 01000, 0, head), -EINVAL);
    assert_int_equal(crate_head_put("x", 0777, UINT64_MAX, head), CRATE_HEAD_SIZE + 1);
    assert_int_equal(crate_kind_put(CRATE_LINK, "x", 0777, 0, head), -EINVAL);
    assert_int_equal(crate_kind_put(CRATE_DIR, "x", 0755, 1, head), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_arrive_whole_whatever_the_pieces),
        cmocka_unit_test(an_empty_crate_is_complete),
        cmocka_unit_test(a_listing_has_sizes_and_no_contents),
        cmocka_unit_test(a_crate_without_its_end_is_not_complete),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(an_end_mark_with_mode_or_size_is_refused),
        cmocka_unit_test(paths_that_leave_are_refused_before_anybody_hears_of_them),
        cmocka_unit_test(a_nul_in_a_path_is_refused),
        cmocka_unit_test(modes_and_path_lengths_have_bounds),
        cmocka_unit_test(caps_are_checked_before_the_contents_come),
        cmocka_unit_test(links_and_directories_come_to_who_wants_them),
        cmocka_unit_test(links_that_lead_nowhere_and_directories_with_contents_are_refused),
        cmocka_unit_test(what_the_owner_returns_ends_the_reading),
        cmocka_unit_test(heads_that_may_not_travel_are_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
