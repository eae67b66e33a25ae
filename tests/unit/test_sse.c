/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_sse.c - event streams, whole and in every two and three pieces. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "net/sse.h"

#include <cmocka.h>

#define MAX 64

/* Events as one text: "name=data;", where NULs show as '0' and line feeds as '|'. */
static int note(void *user, const struct sse_event *event)
{
    struct buf *seen = user;

    assert_int_equal(event->data[event->len], '\0');
    (void)buf_printf(seen, "%s=", event->name);
    for (size_t i = 0; i < event->len; i++)
        (void)buf_putc(seen, event->data[i] == '\n' ? '|' : event->data[i] ? event->data[i] : '0');
    return buf_putc(seen, ';');
}

/* A piece lies in memory of its own size, so that the sanitizer sees a byte read behind it. */
static int feed(struct sse *sse, const char *bytes, size_t len)
{
    cleanup_free char *piece = malloc(len);

    assert_non_null(piece);
    memcpy(piece, bytes, len);
    return sse_feed(sse, piece, len);
}

static int read_pieces(const char *text, size_t len, size_t first, size_t second, struct buf *seen)
{
    struct sse sse;
    int r;

    sse_init(&sse, MAX, note, seen);
    r = feed(&sse, text, first);
    if (r == 0)
        r = feed(&sse, text + first, second - first);
    if (r == 0)
        r = feed(&sse, text + second, len - second);
    if (r == 0)
        r = sse_end(&sse);
    sse_clear(&sse);
    return r;
}

static void check(const char *text, size_t len, const char *wanted)
{
    for (size_t first = 0; first <= len; first++) {
        for (size_t second = first; second <= len; second++) {
            cleanup_buf struct buf seen = BUF_INIT(1000);

            (void)buf_puts(&seen, "");
            assert_int_equal(read_pieces(text, len, first, second, &seen), 0);
            assert_string_equal(seen.data, wanted);
        }
    }
}

#define CHECK(text, wanted) check((text), sizeof(text) - 1, (wanted))

static void test_events_are_told_one_by_one(void **state)
{
    (void)state;
    CHECK("", "");
    CHECK("data: a\n\n", "message=a;");
    CHECK("data: {\"x\": 1}\n\ndata: [DONE]\n\n", "message={\"x\": 1};message=[DONE];");
    CHECK("event: ping\ndata: a\n\ndata: b\n\n", "ping=a;message=b;");
    CHECK("data: a\nevent: late\n\n", "late=a;");
    CHECK("event: one\nevent: two\ndata\n\n", "two=;");
    CHECK("event: one\nevent\ndata\n\nevent: \0x\ndata\n\n", "message=;message=;");
}

static void test_every_line_ending_ends_a_line(void **state)
{
    (void)state;
    CHECK("data: a\r\rdata: b\r\r", "message=a;message=b;");
    CHECK("data: a\r\n\r\ndata: b\r\n\r\n", "message=a;message=b;");
    CHECK("data: a\n\r\ndata: b\r\n\rdata: c\r\n\n", "message=a;message=b;message=c;");
    CHECK("data: a\r\ndata: b\n\n", "message=a|b;");
    CHECK("data: a\rdata: b\ndata: c\n\n", "message=a|b|c;");
    CHECK("\n\r\n\r\r\ndata: a\n\n", "message=a;");
}

static void test_a_byte_order_mark_is_skipped_once(void **state)
{
    (void)state;
    CHECK("\xef\xbb\xbf"
          "data: a\n\n",
          "message=a;");
    CHECK("\xef\xbb\xbf\n"
          "data: a\n\n",
          "message=a;");
    CHECK("data: a\n\n\xef\xbb\xbf"
          "data: b\n\n",
          "message=a;");
    CHECK("\xef\xbb\xbf\xef\xbb\xbf"
          "data: b\n\n",
          "");
    CHECK("\xef\xbb"
          "data: b\n\n",
          "");
    CHECK("\xef\xbb\xbf", "");
}

static void test_comments_and_other_fields_are_skipped(void **state)
{
    (void)state;
    CHECK(": OPENROUTER PROCESSING\n\n: \n:\ndata: a\n:x\n\n", "message=a;");
    CHECK("id: 7\nretry: 10\ndata: a\nDATA: b\ndatax: c\ndat: d\n data: e\n\n", "message=a;");
    CHECK("event: lonely\n\ndata: a\n\n",
          "message=a;"); /* no data: no event, and its name is gone */
}

static void test_lines_of_data_are_joined(void **state)
{
    (void)state;
    CHECK("data: a\ndata:  b\ndata:c\ndata\ndata:\ndata: d:e\n\n", "message=a| b|c|||d:e;");
    CHECK("data\n\n", "message=;");
    CHECK("data:\n\ndata: \n\n", "message=;message=;");
    CHECK("data: \0x\0\n\n", "message=0x0;");
}

static void test_the_last_event_may_lack_its_end(void **state)
{
    (void)state;
    CHECK("data: a\n\ndata: b\n", "message=a;message=b;");
    CHECK("data: a\n\nevent: x\ndata: b", "message=a;x=b;");
    CHECK("data: a\r", "message=a;");
    CHECK("data", "message=;");
    CHECK("event: x\n", "");
}

static void test_a_line_of_the_maximum_is_read(void **state)
{
    struct buf text = BUF_INIT(1000);
    struct buf seen = BUF_INIT(1000);

    (void)state;
    for (size_t over = 0; over < 2; over++) {
        buf_reset(&text);
        (void)buf_puts(&text, ":");
        while (text.len < MAX + over)
            (void)buf_putc(&text, 'x');
        (void)buf_puts(&text, "\ndata: a\n\n");
        for (size_t first = 0; first <= text.len; first++) {
            buf_reset(&seen);
            assert_int_equal(read_pieces(text.data, text.len, first, first, &seen),
                             over ? -EMSGSIZE : 0);
        }
    }
    buf_clear(&text);
    buf_clear(&seen);
}

static void test_an_event_over_the_maximum_is_refused(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1000);
    cleanup_buf struct buf seen = BUF_INIT(1000);

    (void)state;
    for (int i = 0; i < 32; i++)
        (void)buf_puts(&text, "data: x\n"); /* 32 bytes and 31 joints */
    for (size_t first = 0; first <= text.len; first++) {
        buf_reset(&seen);
        assert_int_equal(read_pieces(text.data, text.len, first, first, &seen), 0);
    }
    (void)buf_puts(&text, "data:xx\n");
    for (size_t first = 0; first <= text.len; first++)
        assert_int_equal(read_pieces(text.data, text.len, first, first, &seen), -EMSGSIZE);
}

/* The stream goes on for ever; what is kept of it does not. */
static void test_many_events_need_no_more_memory_than_one(void **state)
{
    cleanup_buf struct buf seen = BUF_INIT(1 << 20);
    struct sse sse;

    (void)state;
    sse_init(&sse, MAX, note, &seen);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(feed(&sse, "event: e\r\ndata: 12345678\r\n\r", 27), 0);
    assert_true(sse.data.cap <= 2 * MAX && sse.name.cap <= 2 * MAX && sse.line.cap <= 2 * MAX);
    assert_int_equal(seen.len, 1000 * strlen("e=12345678;"));
    sse_clear(&sse);
}

static int refuse_the_second(void *user, const struct sse_event *event)
{
    int *count = user;

    (void)event;
    return ++*count == 2 ? -EBADMSG : 1;
}

static void test_the_reader_may_end_it(void **state)
{
    int count = 0;
    struct sse sse;

    (void)state;
    sse_init(&sse, MAX, refuse_the_second, &count);
    assert_int_equal(sse_feed(&sse, "data\n\n", 6), 0);
    assert_int_equal(sse_feed(&sse, "data\n\ndata\n\n", 12), -EBADMSG);
    assert_int_equal(count, 2);
    sse_clear(&sse);

    count = 1;
    sse_init(&sse, MAX, refuse_the_second, &count);
    assert_int_equal(sse_feed(&sse, "data", 4), 0);
    assert_int_equal(sse_end(&sse), -EBADMSG);
    sse_clear(&sse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_told_one_by_one),
        cmocka_unit_test(test_every_line_ending_ends_a_line),
        cmocka_unit_test(test_a_byte_order_mark_is_skipped_once),
        cmocka_unit_test(test_comments_and_other_fields_are_skipped),
        cmocka_unit_test(test_lines_of_data_are_joined),
        cmocka_unit_test(test_the_last_event_may_lack_its_end),
        cmocka_unit_test(test_a_line_of_the_maximum_is_read),
        cmocka_unit_test(test_an_event_over_the_maximum_is_refused),
        cmocka_unit_test(test_many_events_need_no_more_memory_than_one),
        cmocka_unit_test(test_the_reader_may_end_it),
    };

    return cmocka_run_group_tests_name("sse", tests, NULL, NULL);
}
