/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_memory.c - what happens when memory runs out, and how much is used.
 *
 * The linker sends every allocation of the program's own code here (-Wl,--wrap); jansson's own are
 * beyond reach.  Each scenario is repeated with its first, second, third … allocation failing,
 * until it gets through: it must report -ENOMEM each time, and the sanitizer build shows that
 * nothing leaks.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "box/limits.h"
#include "box/out_log.h"
#include "json/bind.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "run/language.h"
#include "run/result.h"

#include <cmocka.h>

/* The names that the linker makes of its option. */
#define REAL(function) __asm__("__real_" #function)
#define WRAP(function) __asm__("__wrap_" #function)

void *real_malloc(size_t size) REAL(malloc);
void *real_calloc(size_t n, size_t size) REAL(calloc);
void *real_realloc(void *block, size_t size) REAL(realloc);
void *real_reallocarray(void *block, size_t n, size_t size) REAL(reallocarray);
char *real_strdup(const char *text) REAL(strdup);
void *wrap_malloc(size_t size) WRAP(malloc);
void *wrap_calloc(size_t n, size_t size) WRAP(calloc);
void *wrap_realloc(void *block, size_t size) WRAP(realloc);
void *wrap_reallocarray(void *block, size_t n, size_t size) WRAP(reallocarray);
char *wrap_strdup(const char *text) WRAP(strdup);

static size_t left = SIZE_MAX; /* allocations until one fails */
static size_t asked;           /* bytes in all */

static bool may_have(size_t bytes)
{
    asked += bytes;
    if (left == 0) {
        errno = ENOMEM;
        return false;
    }
    left--;
    return true;
}

void *wrap_malloc(size_t size)
{
    return may_have(size) ? real_malloc(size) : NULL;
}

void *wrap_calloc(size_t n, size_t size)
{
    return may_have(n * size) ? real_calloc(n, size) : NULL;
}

void *wrap_realloc(void *block, size_t size)
{
    return may_have(size) ? real_realloc(block, size) : NULL;
}

void *wrap_reallocarray(void *block, size_t n, size_t size)
{
    return may_have(n * size) ? real_reallocarray(block, n, size) : NULL;
}

char *wrap_strdup(const char *text)
{
    return may_have(strlen(text)) ? real_strdup(text) : NULL;
}

/* Runs it with ever more memory; how many allocations it needs. */
static size_t torture(int (*scenario)(void))
{
    for (size_t n = 0; n < 1000; n++) {
        int r;

        left = n;
        r = scenario();
        left = SIZE_MAX;
        if (r == 0)
            return n;
        assert_int_equal(r, -ENOMEM);
    }
    fail_msg("it never gets through");
    return 0;
}

static int grow_a_buf(void)
{
    struct buf buf = BUF_INIT(100000);
    char *text;

    for (int i = 0; i < 1000; i++)
        (void)buf_puts(&buf, "some text ");
    text = buf_take(&buf);
    free(text);
    return text ? 0 : -ENOMEM;
}

static int write_json(void)
{
    cleanup_buf struct buf buf = BUF_INIT(100000);
    struct json_writer w;

    json_writer_init(&w, &buf, true);
    json_array_begin(&w, NULL);
    for (int i = 0; i < 100; i++)
        json_put_str(&w, NULL, "a text\n\xff");
    json_array_end(&w);
    return json_writer_end(&w);
}

static int repair(void)
{
    cleanup_buf struct buf buf = BUF_INIT(100000);
    char bytes[1000];

    memset(bytes, 0xff, sizeof(bytes));
    return utf8_repair(bytes, sizeof(bytes), &buf);
}

struct request {
    char *name;
    char **items;
    char **pairs;
    char **all;
};

static int bind_json(void)
{
    static const struct bind_field fields[] = {
        { "name", BIND_STR, offsetof(struct request, name), 0, 0, 0 },
        { "items", BIND_STRS, offsetof(struct request, items), 0, 0, 0 },
        { "pairs", BIND_PAIRS, offsetof(struct request, pairs), 0, 0, 0 },
        { "all", BIND_JSONS, offsetof(struct request, all), 0, 0, 0 },
        { 0 },
    };
    static const struct bind bind = { fields, 1000, 0 };
    static const char text[] = "{\"name\":\"n\",\"items\":[\"a\",\"b\"],"
                               "\"pairs\":{\"c\":\"d\",\"e\":\"f\"},\"all\":[1,[2]]}";
    struct request request = { 0 };
    struct gb_err err = { 0 };
    int r = bind_text(&bind, text, strlen(text), &request, &err);

    assert_int_equal(err.code, r);
    if (r < 0)
        assert_true(!request.name && !request.items && !request.pairs && !request.all);
    bind_clear(&bind, &request);
    return r;
}

static int make_log(void)
{
    struct out_log *log = out_log_new(100);

    out_log_free(log);
    return log ? 0 : -ENOMEM;
}

static int make_steps(void)
{
    const struct language_source source = { .path = "/w/A.java", .out = "/tmp/o" };
    const struct limits limits = limits_default();
    struct language_step steps[2];
    struct gb_err err = { 0 };
    size_t n;
    int r = language_steps(language_by_name("java"), &source, &limits, steps, &n, &err);

    assert_int_equal(err.code, r);
    language_steps_clear(steps);
    return r;
}

static int show_result(void)
{
    struct run_result result = { .n_steps = 1, .log = out_log_new(1000) };
    cleanup_buf struct buf buf = BUF_INIT(100000);
    int r = result.log ? 0 : -ENOMEM;

    result.steps[0].verdict = VERDICT_OK;
    if (r == 0)
        out_log_add(result.log, OUT_STDOUT, "text", 4);
    if (r == 0)
        result.steps[0].end = out_log_mark(result.log);
    for (int i = 0; i < 3 && r == 0; i++)
        r = run_result_add_file(&result, "a/path", 1);
    if (r == 0)
        r = run_result_json(&result, true, &buf);
    run_result_clear(&result);
    return r;
}

static void every_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    assert_true(torture(grow_a_buf) >= 5);
    assert_true(torture(write_json) >= 3);
    assert_true(torture(repair) >= 3);
    assert_true(torture(bind_json) >= 9);
    assert_int_equal(torture(make_log), 3);
    assert_true(torture(make_steps) >= 19);
    assert_true(torture(show_result) >= 10);
}

static void a_log_uses_no_more_than_it_keeps_and_an_eighth(void **state)
{
    const size_t keep = 1 << 20;
    size_t before = asked;
    struct out_log *log = out_log_new(keep);

    (void)state;
    for (size_t i = 0; i < 4 * keep; i++)
        out_log_add(log, i % 2 ? OUT_STDERR : OUT_STDOUT, "x", 1);
    assert_true(asked - before <= keep + keep / 8 + 1024);
    assert_int_equal(out_log_mark(log).err, 2 * keep);
    out_log_free(log);
}

/* What people print is not copied again and again on the way into JSON. */
static void a_document_of_a_mebibyte_costs_a_few(void **state)
{
    struct run_result result = { .n_steps = 1, .log = out_log_new(1 << 20) };
    cleanup_buf struct buf buf = BUF_INIT(16 << 20);
    char text[4096];
    size_t before;

    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < 256; i++)
        out_log_add(result.log, OUT_STDOUT, text, sizeof(text));
    result.steps[0].end = out_log_mark(result.log);
    before = asked;
    assert_int_equal(run_result_json(&result, false, &buf), 0);
    assert_true(buf.len > 1 << 20);
    assert_true(asked - before < 10 << 20);
    run_result_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_reported_and_nothing_leaks),
        cmocka_unit_test(a_log_uses_no_more_than_it_keeps_and_an_eighth),
        cmocka_unit_test(a_document_of_a_mebibyte_costs_a_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
