/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_out_log.c - the output log against a plain model that keeps everything. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "box/out_log.h"

#include <cmocka.h>

#define MODEL_MAX 20000

/* Every byte ever added, with its stream. */
struct model {
    size_t keep;
    size_t total;
    uint8_t bytes[MODEL_MAX];
    uint8_t streams[MODEL_MAX];
};

static void model_add(struct model *model, enum out_stream stream, const uint8_t *bytes, size_t len)
{
    memcpy(model->bytes + model->total, bytes, len);
    memset(model->streams + model->total, stream, len);
    model->total += len;
}

static bool model_has(const struct model *model, size_t position)
{
    size_t tail = model->keep - model->keep / 2;

    return position < model->total &&
           (position < model->keep / 2 || position + tail >= model->total);
}

static void model_text(const struct model *model, enum out_stream stream, bool mark,
                       struct buf *ret)
{
    size_t total = 0;
    size_t kept = 0;
    bool is_marked = false;

    for (size_t i = 0; i < model->total; i++) {
        total += model->streams[i] == (uint8_t)stream;
        kept += model->streams[i] == (uint8_t)stream && model_has(model, i);
    }
    for (size_t i = 0; i < model->total; i++) {
        if (!model_has(model, i) && mark && kept < total && !is_marked) {
            (void)buf_printf(ret, "\n[... %zu bytes dropped ...]\n", total - kept);
            is_marked = true;
        }
        if (model_has(model, i) && model->streams[i] == (uint8_t)stream)
            (void)buf_putc(ret, (char)model->bytes[i]);
    }
}

static void compare_text(struct out_log *log, const struct model *model, enum out_stream stream,
                         bool mark)
{
    cleanup_buf struct buf text = BUF_INIT(100000);
    cleanup_buf struct buf wanted = BUF_INIT(100000);

    assert_int_equal(out_log_text(log, stream, mark, &text), 0);
    model_text(model, stream, mark, &wanted);
    assert_int_equal(text.len, wanted.len);
    if (text.len > 0)
        assert_memory_equal(text.data, wanted.data, text.len);
}

static void compare_all(struct out_log *log, const struct model *model)
{
    const struct out_mark mark = out_log_mark(log);

    for (enum out_stream stream = OUT_STDOUT; stream <= OUT_STDERR; stream++) {
        size_t total = 0;

        for (size_t i = 0; i < model->total; i++)
            total += model->streams[i] == (uint8_t)stream;
        assert_int_equal(stream == OUT_STDOUT ? mark.out : mark.err, total);
        compare_text(log, model, stream, false);
        compare_text(log, model, stream, true);
    }
    assert_int_equal(out_log_is_truncated(log), model->total > model->keep);
}

/* Adds to both. */
static void add(struct out_log *log, struct model *model, enum out_stream stream, size_t len)
{
    uint8_t bytes[MODEL_MAX];

    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(model->total + i + (size_t)stream * 101);
    out_log_add(log, stream, bytes, len);
    model_add(model, stream, bytes, len);
}

static const size_t keeps[] = { 0, 1, 2, 3, 7, 8, 64, 100, 1000, 4096 };
static struct model model;

static void start(size_t keep, struct out_log **ret)
{
    *ret = out_log_new(keep);
    assert_non_null(*ret);
    model.keep = keep;
    model.total = 0;
}

/* ---- what is kept ---- */

static void an_empty_log_has_nothing(void **state)
{
    struct out_log *log;

    (void)state;
    start(100, &log);
    compare_all(log, &model);
    out_log_free(log);
    out_log_free(NULL);
}

static void one_byte_writes_that_alternate_are_kept_exactly(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_ELEMENTS(keeps); k++) {
        struct out_log *log;

        start(keeps[k], &log);
        for (size_t i = 0; i < 3 * keeps[k] + 20; i++)
            add(log, &model, i % 2 ? OUT_STDERR : OUT_STDOUT, 1);
        compare_all(log, &model);
        out_log_free(log);
    }
}

static void one_write_of_any_length_is_cut_in_the_middle(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_ELEMENTS(keeps); k++) {
        for (size_t len = 0; len < 2 * keeps[k] + 10; len += keeps[k] / 5 + 1) {
            struct out_log *log;

            start(keeps[k], &log);
            add(log, &model, OUT_STDERR, len);
            compare_all(log, &model);
            out_log_free(log);
        }
    }
}

static void random_writes_are_kept_as_the_model_keeps_them(void **state)
{
    (void)state;
    srandom(20240607);
    for (int round = 0; round < 60; round++) {
        size_t keep = keeps[(size_t)random() % N_ELEMENTS(keeps)];
        struct out_log *log;

        start(keep, &log);
        while (model.total < 3 * keep + 50) {
            size_t len = (size_t)random() % (random() % 8 ? 9 : keep + 30);

            add(log, &model, random() % 3 ? OUT_STDOUT : OUT_STDERR, len);
        }
        compare_all(log, &model);
        out_log_free(log);
    }
}

static void the_cut_is_marked_with_the_bytes_of_its_own_stream(void **state)
{
    struct out_log *log = out_log_new(10);
    cleanup_buf struct buf out = BUF_INIT(1000);
    cleanup_buf struct buf err = BUF_INIT(1000);

    (void)state;
    out_log_add(log, OUT_STDOUT, "abcde", 5);
    out_log_add(log, OUT_STDERR, "12", 2);
    out_log_add(log, OUT_STDOUT, "fgh", 3);
    out_log_add(log, OUT_STDOUT, "vwxyz", 5);
    assert_int_equal(out_log_text(log, OUT_STDOUT, true, &out), 0);
    assert_string_equal(out.data, "abcde\n[... 3 bytes dropped ...]\nvwxyz");
    assert_int_equal(out_log_text(log, OUT_STDERR, true, &err), 0);
    assert_string_equal(err.data, "\n[... 2 bytes dropped ...]\n");
    out_log_free(log);
}

/* ---- parts ---- */

static void a_part_is_what_was_added_between_two_moments(void **state)
{
    struct out_log *log = out_log_new(1000);
    cleanup_buf struct buf text = BUF_INIT(1000);
    struct out_mark begin, end;

    (void)state;
    out_log_add(log, OUT_STDERR, "warning", 7);
    begin = out_log_mark(log);
    out_log_add(log, OUT_STDOUT, "hello", 5);
    out_log_add(log, OUT_STDERR, "oops", 4);
    end = out_log_mark(log);
    out_log_add(log, OUT_STDOUT, "later", 5);
    assert_int_equal(end.out - begin.out, 5);
    assert_int_equal(end.err - begin.err, 4);
    assert_int_equal(out_log_part(log, OUT_STDOUT, begin, end, true, &text), 0);
    assert_string_equal(text.data, "hello");
    buf_reset(&text);
    assert_int_equal(out_log_part(log, OUT_STDERR, begin, end, true, &text), 0);
    assert_string_equal(text.data, "oops");
    buf_reset(&text);
    assert_int_equal(out_log_part(log, OUT_STDERR, (struct out_mark){ 0 }, begin, true, &text), 0);
    assert_string_equal(text.data, "warning");
    out_log_free(log);
}

static void parts_are_cut_where_the_log_is(void **state)
{
    struct out_log *log = out_log_new(8);
    cleanup_buf struct buf first = BUF_INIT(1000);
    cleanup_buf struct buf second = BUF_INIT(1000);
    struct out_mark middle;

    (void)state;
    out_log_add(log, OUT_STDOUT, "abcdef", 6); /* "abcd" stays */
    middle = out_log_mark(log);
    out_log_add(log, OUT_STDOUT, "ghijklm", 7); /* "jklm" stays */
    assert_int_equal(out_log_part(log, OUT_STDOUT, (struct out_mark){ 0 }, middle, true, &first),
                     0);
    assert_string_equal(first.data, "abcd\n[... 2 bytes dropped ...]\n");
    assert_int_equal(out_log_part(log, OUT_STDOUT, middle, out_log_mark(log), true, &second), 0);
    assert_string_equal(second.data, "\n[... 3 bytes dropped ...]\njklm");
    out_log_free(log);
}

static void a_buf_that_is_too_small_is_an_error(void **state)
{
    struct out_log *log = out_log_new(100);
    cleanup_buf struct buf text = BUF_INIT(3);

    (void)state;
    out_log_add(log, OUT_STDOUT, "abcd", 4);
    assert_int_equal(out_log_text(log, OUT_STDOUT, false, &text), -EMSGSIZE);
    out_log_free(log);
}

/* ---- threads ---- */

#define FLOOD 3000000u

/* Byte i of the flood, in pieces whose length and stream vary. */
static void *write_flood(void *arg)
{
    struct out_log *log = arg;
    uint8_t bytes[64];

    for (unsigned i = 0, n = 1; i < FLOOD; i += n, n = n % 61 + 1) {
        if (n > FLOOD - i)
            n = FLOOD - i;
        for (unsigned j = 0; j < n; j++)
            bytes[j] = (uint8_t)((i + j) * 7);
        out_log_add(log, n % 2 ? OUT_STDOUT : OUT_STDERR, bytes, n);
    }
    return NULL;
}

/* Looks until all is there; what is kept and what was dropped make up all there was. */
static void *read_flood(void *arg)
{
    struct out_log *log = arg;
    struct out_mark mark;

    do {
        cleanup_buf struct buf text = BUF_INIT(100000);

        mark = out_log_mark(log);
        if (out_log_part(log, OUT_STDOUT, (struct out_mark){ 0 }, mark, false, &text) < 0 ||
            text.len > 10000 || text.len > mark.out)
            return log;
    } while (mark.out + mark.err < FLOOD);
    return NULL;
}

static void readers_follow_a_writer_in_other_threads(void **state)
{
    struct out_log *log = out_log_new(10000);
    pthread_t threads[4];
    void *failed = log;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i == 3 ? write_flood : read_flood, log),
                         0);
    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(out_log_mark(log).out + out_log_mark(log).err, FLOOD);
    assert_true(out_log_is_truncated(log));
    out_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_log_has_nothing),
        cmocka_unit_test(one_byte_writes_that_alternate_are_kept_exactly),
        cmocka_unit_test(one_write_of_any_length_is_cut_in_the_middle),
        cmocka_unit_test(random_writes_are_kept_as_the_model_keeps_them),
        cmocka_unit_test(the_cut_is_marked_with_the_bytes_of_its_own_stream),
        cmocka_unit_test(a_part_is_what_was_added_between_two_moments),
        cmocka_unit_test(parts_are_cut_where_the_log_is),
        cmocka_unit_test(a_buf_that_is_too_small_is_an_error),
        cmocka_unit_test(readers_follow_a_writer_in_other_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
