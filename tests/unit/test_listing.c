/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_listing.c - what lies in a directory: the stream, and a glove that lies about it. */
#include <stdio.h>

#include "base/buf.h"
#include "box/box.h"
#include "evil_glove.h"
#include "wire/listing.h"

/* What listing.c asks of a box, and nothing more: box.c is not linked in. */
struct box {
    struct evil evil;
};

struct link *box_link(struct box *box)
{
    return box->evil.link;
}

int box_settle(struct box *box, struct gb_err *err)
{
    (void)box;
    (void)err;
    return 0;
}

/* ---- the stream ----------------------------------------------------------------------------- */

/* What is told, as one text: "[name kind mode size time]". */
static int hear(void *user, const struct listing_entry *entry)
{
    struct buf *text = user;

    (void)buf_printf(text, "[%s %s %o %llu %lld]", entry->name, listing_kind_name(entry->kind),
                     (unsigned)entry->mode, (unsigned long long)entry->size,
                     (long long)entry->changed_ns);
    return strcmp(entry->name, "refuse") == 0 ? -EIO : 0;
}

static void put(struct buf *stream, const char *name, enum listing_kind kind, unsigned mode)
{
    uint8_t bytes[LISTING_HEAD_SIZE + LISTING_NAME_MAX];
    struct listing_entry entry = {
        .kind = kind, .mode = (uint16_t)mode, .size = 7, .changed_ns = -5
    };
    int n;

    (void)snprintf(entry.name, sizeof(entry.name), "%s", name);
    n = listing_put(&entry, bytes);
    assert_true(n > 0);
    (void)buf_add(stream, bytes, (size_t)n);
}

static void put_end(struct buf *stream)
{
    uint8_t bytes[LISTING_HEAD_SIZE + LISTING_NAME_MAX];

    (void)buf_add(stream, bytes, (size_t)listing_put(NULL, bytes));
}

/* 0 for a listing that is complete, -EAGAIN for one that is not. */
static int feed(const struct buf *stream, size_t piece, bool is_self, struct buf *text)
{
    struct listing_reader reader = {
        .entry = hear, .user = text, .max_entries = 3, .is_self = is_self
    };

    for (size_t at = 0; at < stream->len; at += piece) {
        size_t len = stream->len - at < piece ? stream->len - at : piece;
        int r = listing_reader_feed(&reader, (const uint8_t *)stream->data + at, len);

        if (r < 0)
            return r;
    }
    return reader.is_complete ? 0 : -EAGAIN;
}

static void test_entries_arrive_whatever_the_pieces(void **state)
{
    struct buf stream = BUF_INIT(4096);

    (void)state;
    put(&stream, "a b", LISTING_FILE, 0644);
    put(&stream, "...", LISTING_LINK, 0777);
    put(&stream, "\xff", LISTING_BLOCK, 07777);
    put_end(&stream);
    for (size_t piece = 1; piece <= stream.len; piece++) {
        struct buf text = BUF_INIT(4096);

        assert_int_equal(feed(&stream, piece, false, &text), 0);
        assert_string_equal(text.data, "[a b file 644 7 -5][... link 777 7 -5]"
                                       "[\xff block device 7777 7 -5]");
        buf_clear(&text);
    }
    buf_clear(&stream);
}

static void test_a_torn_listing_is_not_complete(void **state)
{
    struct buf stream = BUF_INIT(4096);
    struct buf text = BUF_INIT(4096);

    (void)state;
    put(&stream, "a", LISTING_FILE, 0644);
    assert_int_equal(feed(&stream, 4096, false, &text), -EAGAIN);
    put_end(&stream);
    (void)buf_putc(&stream, 'x');
    assert_int_equal(feed(&stream, 4096, false, &text), -EPROTO);
    buf_clear(&stream);
    buf_clear(&text);
}

static void test_more_entries_than_the_cap_are_refused(void **state)
{
    struct buf stream = BUF_INIT(4096);
    struct buf text = BUF_INIT(4096);

    (void)state;
    for (int i = 0; i < 4; i++)
        put(&stream, "a", LISTING_FILE, 0644);
    assert_int_equal(feed(&stream, 1, false, &text), -EFBIG);
    buf_clear(&stream);
    buf_clear(&text);
}

static void test_what_the_owner_says_ends_it(void **state)
{
    struct buf stream = BUF_INIT(4096);
    struct buf text = BUF_INIT(4096);

    (void)state;
    put(&stream, "refuse", LISTING_FILE, 0644);
    assert_int_equal(feed(&stream, 4096, false, &text), -EIO);
    buf_clear(&stream);
    buf_clear(&text);
}

/* An entry head with any values, and a name of any bytes. */
static int feed_raw(const char *name, size_t len, unsigned mode, unsigned kind, bool is_self)
{
    uint8_t bytes[LISTING_HEAD_SIZE + 400] = { 0 };
    struct buf stream = BUF_INIT(4096);
    struct buf text = BUF_INIT(4096);
    int r;

    wire_put_u16(bytes, (uint16_t)len);
    wire_put_u16(bytes + 2, (uint16_t)mode);
    wire_put_u16(bytes + 4, (uint16_t)kind);
    memcpy(bytes + LISTING_HEAD_SIZE, name, len);
    (void)buf_add(&stream, bytes, LISTING_HEAD_SIZE + len);
    put_end(&stream);
    r = feed(&stream, 4096, is_self, &text);
    buf_clear(&stream);
    buf_clear(&text);
    return r;
}

static void test_hostile_entries_are_refused(void **state)
{
    char name[300];

    (void)state;
    memset(name, 'n', sizeof(name));
    assert_int_equal(feed_raw("a", 1, 0644, LISTING_FILE, false), 0);
    assert_int_equal(feed_raw(name, 255, 0644, LISTING_FILE, false), 0);
    assert_int_equal(feed_raw(name, 256, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("", 0, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw(".", 1, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("..", 2, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("a/b", 3, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("/", 1, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("a\0b", 3, 0644, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("a", 1, 010000, LISTING_FILE, false), -EPROTO);
    assert_int_equal(feed_raw("a", 1, 0644, 0, false), -EPROTO);
    assert_int_equal(feed_raw("a", 1, 0644, LISTING_BLOCK + 1, false), -EPROTO);
    assert_int_equal(feed_raw(".", 1, 0644, LISTING_DIRECTORY, true), 0);
    assert_int_equal(feed_raw("a", 1, 0644, LISTING_DIRECTORY, true), -EPROTO);
}

static void test_a_name_that_leads_elsewhere_is_not_written(void **state)
{
    uint8_t bytes[LISTING_HEAD_SIZE + LISTING_NAME_MAX];
    struct listing_entry entry = { .kind = LISTING_FILE, .mode = 0644, .name = "a/b" };

    (void)state;
    assert_int_equal(listing_put(&entry, bytes), -EINVAL);
    (void)snprintf(entry.name, sizeof(entry.name), "..");
    assert_int_equal(listing_put(&entry, bytes), -EINVAL);
    (void)snprintf(entry.name, sizeof(entry.name), "a");
    entry.mode = 010000;
    assert_int_equal(listing_put(&entry, bytes), -EINVAL);
}

/* ---- a glove that lies ---------------------------------------------------------------------- */

static struct buf evil_stream = BUF_INIT(1 << 20);

static int list(void (*script)(struct evil *evil), struct gb_err *ret_err)
{
    const struct box_list_spec spec = { .dir = "/", .path = "p", .max_entries = 3 };
    struct buf text = BUF_INIT(4096);
    struct box box;
    int r;

    evil_up(&box.evil);
    evil_greet(&box.evil);
    evil_begin(&box.evil, script);
    r = box_list(&box, &spec, hear, &text, &box.evil.err);
    *ret_err = box.evil.err;
    evil_end(&box.evil);
    buf_clear(&text);
    buf_clear(&evil_stream);
    evil_stream = (struct buf)BUF_INIT(1 << 20);
    return r;
}

static void say_stream(struct evil *evil)
{
    if (!evil_await(evil, MSG_LIST))
        return;
    evil_data(evil, evil->out, evil_stream.data, evil_stream.len, true);
    evil_ok(evil, evil->run_seq, 1);
}

static void say_enoent(struct evil *evil)
{
    if (!evil_await(evil, MSG_LIST))
        return;
    evil_data(evil, evil->out, "", 0, true);
    evil_error(evil, evil->run_seq, ENOENT, GLOVE_STEP_FILE);
}

static void say_ok_first(struct evil *evil)
{
    if (!evil_await(evil, MSG_LIST))
        return;
    evil_ok(evil, evil->run_seq, 1);
    (void)evil_await(evil, MSG_HELLO);
}

static void test_a_listing_of_a_hostile_box_is_checked(void **state)
{
    struct gb_err err;

    (void)state;
    put(&evil_stream, "a", LISTING_FILE, 0644);
    put_end(&evil_stream);
    assert_int_equal(list(say_stream, &err), 0);
    put(&evil_stream, "a", LISTING_FILE, 0644);
    assert_int_equal(list(say_stream, &err), -EPROTO);
    for (int i = 0; i < 4; i++)
        put(&evil_stream, "a", LISTING_FILE, 0644);
    put_end(&evil_stream);
    assert_int_equal(list(say_stream, &err), -EFBIG);
    assert_non_null(strstr(err.msg, "more than 3 entries"));
    assert_int_equal(list(say_enoent, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "'/p' is not there"));
    assert_int_equal(list(say_ok_first, &err), -EPROTO);
}

/* Bytes without end: no more are taken than such a listing can have. */
static void say_flood(struct evil *evil)
{
    static const uint8_t junk[30000];

    if (!evil_await(evil, MSG_LIST))
        return;
    evil_data(evil, evil->out, junk, sizeof(junk), false);
    (void)evil_await(evil, MSG_HELLO);
}

static void test_a_flood_instead_of_a_listing_is_cut(void **state)
{
    struct gb_err err;

    (void)state;
    assert_int_equal(list(say_flood, &err), -EFBIG);
}

static void say_removed(struct evil *evil)
{
    if (evil_await(evil, MSG_REMOVE))
        evil_ok(evil, evil->run_seq, 3);
}

static void say_not_removed(struct evil *evil)
{
    if (evil_await(evil, MSG_REMOVE))
        evil_error(evil, evil->run_seq, ENOTEMPTY, GLOVE_STEP_FILE);
}

static int remove_it(void (*script)(struct evil *evil), uint64_t *ret_n, struct gb_err *ret_err)
{
    struct box box;
    int r;

    evil_up(&box.evil);
    evil_greet(&box.evil);
    evil_begin(&box.evil, script);
    r = box_remove(&box, "/workspace", "p", false, ret_n, &box.evil.err);
    *ret_err = box.evil.err;
    evil_end(&box.evil);
    return r;
}

static void test_a_removal_is_told(void **state)
{
    struct gb_err err;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(remove_it(say_removed, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(remove_it(say_not_removed, &n, &err), -ENOTEMPTY);
    assert_non_null(strstr(err.msg, "'p' is a directory in the box that is not empty"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_arrive_whatever_the_pieces),
        cmocka_unit_test(test_a_torn_listing_is_not_complete),
        cmocka_unit_test(test_more_entries_than_the_cap_are_refused),
        cmocka_unit_test(test_what_the_owner_says_ends_it),
        cmocka_unit_test(test_hostile_entries_are_refused),
        cmocka_unit_test(test_a_name_that_leads_elsewhere_is_not_written),
        cmocka_unit_test(test_a_listing_of_a_hostile_box_is_checked),
        cmocka_unit_test(test_a_flood_instead_of_a_listing_is_cut),
        cmocka_unit_test(test_a_removal_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
