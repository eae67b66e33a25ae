/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_files.c - files into and out of a box whose glove lies about them.
 *
 * Row P02 of the test matrix: crates that are torn, too large or lead elsewhere, answers too early
 * or about something else.  The box is a link and a script in a thread.
 */
#include <stdio.h>

#include "box/box.h"
#include "evil_glove.h"
#include "wire/crate.h"

/* What files.c asks of a box, and nothing more: box.c is not linked in. */
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

/* ---- getting ------------------------------------------------------------------------------------
 */

struct heard {
    unsigned items;
    unsigned done;
    uint64_t bytes;
    int refuse;
};

static int hear_item(void *user, const struct crate_item *item)
{
    struct heard *heard = user;

    assert_true(item->path[0] != '/' && !strstr(item->path, ".."));
    heard->items++;
    return heard->refuse;
}

static int hear_data(void *user, const uint8_t *bytes, size_t len)
{
    struct heard *heard = user;

    (void)bytes;
    heard->bytes += len;
    return 0;
}

static int hear_done(void *user)
{
    struct heard *heard = user;

    heard->done++;
    return 0;
}

static const struct crate_ops hear_ops = { hear_item, hear_data, hear_done };

static int get(void (*script)(struct evil *evil), bool is_listing, struct heard *heard)
{
    struct box_get_spec spec = {
        .dir = "/d", .path = "", .is_listing = is_listing, .max_files = 3, .max_bytes = 1000
    };
    struct box box;
    uint64_t started_ns = clock_now_ns();
    int r;

    evil_up(&box.evil);
    evil_greet(&box.evil);
    evil_begin(&box.evil, script);
    r = box_get(&box, &spec, &hear_ops, heard, &box.evil.err);
    assert_true(clock_now_ns() - started_ns < 10 * NS_PER_S);
    evil_end(&box.evil);
    return r;
}

static void send_item(const struct evil *evil, const char *path, unsigned mode, uint64_t size)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX] = { 0 };
    size_t len = strlen(path);

    wire_put_u16(head, (uint16_t)len);
    wire_put_u16(head + 2, (uint16_t)mode);
    wire_put_u64(head + 4, size);
    memcpy(head + CRATE_HEAD_SIZE, path, len);
    evil_data(evil, evil->out, head, CRATE_HEAD_SIZE + len, false);
}

static void send_rest(const struct evil *evil)
{
    static const uint8_t mark[CRATE_HEAD_SIZE];

    evil_data(evil, evil->out, mark, sizeof(mark), true);
    evil_ok(evil, evil->run_seq, 1);
}

static void say_honest(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 3);
    evil_data(evil, evil->out, "abc", 3, false);
    send_rest(evil);
}

static void say_refusal(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    evil_data(evil, evil->out, "", 0, true);
    evil_error(evil, evil->run_seq, ENOENT, GLOVE_STEP_FILE);
}

static void say_ok_first(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    evil_ok(evil, evil->run_seq, 1);
    (void)evil_await(evil, MSG_HELLO);
}

static void say_no_mark(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 0);
    evil_data(evil, evil->out, "", 0, true);
    evil_ok(evil, evil->run_seq, 1);
}

static void say_torn(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 100);
    evil_data(evil, evil->out, "only this", 9, true);
    evil_ok(evil, evil->run_seq, 1);
}

static void say_way_out(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "../../etc/passwd", 0644, 0);
    send_rest(evil);
}

static void say_absolute(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "/etc/passwd", 0644, 0);
    send_rest(evil);
}

static void say_setuid(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 04755, 0);
    send_rest(evil);
}

static void say_large(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 1001);
    send_rest(evil);
}

static void say_huge(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, UINT64_MAX);
    send_rest(evil);
}

static void say_many(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    for (int i = 0; i < 4; i++)
        send_item(evil, "a", 0644, 0);
    send_rest(evil);
}

static void say_more_behind_the_mark(struct evil *evil)
{
    static const uint8_t mark[CRATE_HEAD_SIZE];

    if (!evil_await(evil, MSG_GET))
        return;
    evil_data(evil, evil->out, mark, sizeof(mark), false);
    evil_data(evil, evil->out, "x", 1, true);
    evil_ok(evil, evil->run_seq, 1);
}

static void say_hang_up(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 100);
    (void)shutdown(evil->fd, SHUT_RDWR);
}

static void say_error_after_all(struct evil *evil)
{
    static const uint8_t mark[CRATE_HEAD_SIZE];

    if (!evil_await(evil, MSG_GET))
        return;
    evil_data(evil, evil->out, mark, sizeof(mark), true);
    evil_error(evil, evil->run_seq, EIO, GLOVE_STEP_FILE);
}

/* More than any crate within the caps, without end. */
static void say_without_end(struct evil *evil)
{
    struct pollfd gone = { .fd = evil->fd, .events = POLLRDHUP };

    if (!evil_await(evil, MSG_GET))
        return;
    while (poll(&gone, 1, 0) == 0 || !(gone.revents & (POLLHUP | POLLRDHUP)))
        send_item(evil, "a", 0644, 0);
}

static void lies_about_files_are_found_out(void **state)
{
    static const struct {
        const char *name;
        void (*script)(struct evil *evil);
        bool is_listing;
        int code;
    } cases[] = {
        { "honest", say_honest, false, 0 },
        { "refused", say_refusal, false, -ENOENT },
        { "an answer before the files", say_ok_first, false, -EPROTO },
        { "no end mark", say_no_mark, false, -EPROTO },
        { "a file cut short", say_torn, false, -EPROTO },
        { "a path that leads out", say_way_out, false, -EPROTO },
        { "an absolute path", say_absolute, false, -EPROTO },
        { "a mode over 0777", say_setuid, false, -EPROTO },
        { "a file over the cap", say_large, false, -EFBIG },
        { "a file of 16 EiB", say_huge, false, -EFBIG },
        { "more files than the cap", say_many, false, -EFBIG },
        { "bytes behind the mark", say_more_behind_the_mark, false, -EPROTO },
        { "the link ends", say_hang_up, false, -EPIPE },
        { "an error after all", say_error_after_all, false, -EIO },
        { "files without end", say_without_end, false, -EFBIG },
        { "a listing without end", say_without_end, true, -EFBIG },
        { "a listing with contents", say_honest, true, -EPROTO },
        { "a listing of too many", say_many, true, -EFBIG },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        struct heard heard = { 0 };
        int r = get(cases[i].script, cases[i].is_listing, &heard);

        if (r != cases[i].code)
            fail_msg("%s: %d", cases[i].name, r);
        assert_true(heard.items <= 3);
    }
}

/* A listing may tell of files larger than what may be fetched. */
static void say_large_listing(struct evil *evil)
{
    if (!evil_await(evil, MSG_GET))
        return;
    send_item(evil, "a", 0644, 1ULL << 40);
    send_rest(evil);
}

static void a_listing_has_sizes_and_no_bytes(void **state)
{
    struct heard heard = { 0 };

    (void)state;
    assert_int_equal(get(say_large_listing, true, &heard), 0);
    assert_int_equal(heard.items, 1);
    assert_int_equal(heard.done, 1);
    assert_int_equal(heard.bytes, 0);
}

static void a_taker_that_refuses_gets_its_own_error_back(void **state)
{
    struct heard heard = { .refuse = -EROFS };

    (void)state;
    assert_int_equal(get(say_honest, false, &heard), -EROFS);
    assert_int_equal(heard.items, 1);
    assert_int_equal(heard.bytes, 0);
}

/* ---- putting
 * ------------------------------------------------------------------------------------- */

static int put(void (*script)(struct evil *evil), size_t size)
{
    static const char bytes[1 << 20];
    struct box_file file = { .path = "x", .mode = 0644, .bytes = bytes, .fd = -1, .size = size };
    struct box box;
    uint64_t started_ns = clock_now_ns();
    uint64_t mark = 0;
    int r;

    evil_up(&box.evil);
    evil_greet(&box.evil);
    evil_begin(&box.evil, script);
    r = box_put(&box, "/d", &file, 1, &mark, &box.evil.err);
    assert_true(clock_now_ns() - started_ns < 10 * NS_PER_S);
    if (r == 0)
        assert_int_equal(mark, 99);
    evil_end(&box.evil);
    return r;
}

/* Reads DATA to its end, giving credit back. */
static bool take_all(struct evil *evil)
{
    static _Thread_local uint8_t payload[WIRE_PAYLOAD_MAX];
    struct wire_head head = { 0 };

    do {
        uint8_t credit[4];
        uint8_t type = evil_read(evil, &head, payload);

        if (!type)
            return false;
        wire_put_u32(credit, head.size);
        if (type == MSG_DATA && !(head.flags & WIRE_FLAG_FIN))
            evil_frame(evil, MSG_CREDIT, 0, evil->out, credit, sizeof(credit));
    } while (!(head.type == MSG_DATA && head.flags & WIRE_FLAG_FIN));
    return true;
}

static void take_honestly(struct evil *evil)
{
    if (evil_await(evil, MSG_PUT) && take_all(evil))
        evil_ok(evil, evil->run_seq, 99);
}

static void take_and_refuse(struct evil *evil)
{
    if (evil_await(evil, MSG_PUT) && take_all(evil))
        evil_error(evil, evil->run_seq, EROFS, GLOVE_STEP_FILE);
}

static void refuse_at_once(struct evil *evil)
{
    if (!evil_await(evil, MSG_PUT))
        return;
    evil_error(evil, evil->run_seq, ENOSPC, GLOVE_STEP_FILE);
    (void)evil_await(evil, MSG_HELLO);
}

static void answer_at_once(struct evil *evil)
{
    if (!evil_await(evil, MSG_PUT))
        return;
    evil_ok(evil, evil->run_seq, 99);
    (void)take_all(evil);
}

static void hang_up(struct evil *evil)
{
    if (evil_await(evil, MSG_PUT))
        (void)shutdown(evil->fd, SHUT_RDWR);
}

static void answers_to_a_put_are_judged(void **state)
{
    (void)state;
    assert_int_equal(put(take_honestly, 1 << 20), 0);
    assert_int_equal(put(take_honestly, 0), 0);
    assert_int_equal(put(take_and_refuse, 1 << 20), -EROFS);
    assert_int_equal(put(refuse_at_once, 1 << 20), -ENOSPC);
    assert_true(put(answer_at_once, 1 << 20) < 0); /* before it had all of it */
    assert_true(put(hang_up, 1 << 20) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_about_files_are_found_out),
        cmocka_unit_test(a_listing_has_sizes_and_no_bytes),
        cmocka_unit_test(a_taker_that_refuses_gets_its_own_error_back),
        cmocka_unit_test(answers_to_a_put_are_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
