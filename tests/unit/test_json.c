/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_json.c - UTF-8 repair, the JSON writer, and tables that bind JSON. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"
#include "json/utf8.h"
#include "json/writer.h"

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1
#define BAD         "\xef\xbf\xbd"

/* ---- UTF-8 ---- */

static void check_repair(const char *bytes, size_t len, const char *wanted)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    bool is_same = strlen(wanted) == len && memcmp(bytes, wanted, len) == 0;

    assert_int_equal(utf8_repair(bytes, len, &buf), 0);
    assert_string_equal(buf.data, wanted);
    assert_int_equal(utf8_is_valid(bytes, len), is_same);
    assert_true(utf8_is_valid(buf.data, buf.len));
}

static void well_formed_text_is_left_alone(void **state)
{
    (void)state;
    check_repair(BYTES(""), "");
    check_repair(BYTES("plain"), "plain");
    check_repair(BYTES("\xc2\x80 \xdf\xbf"), "\xc2\x80 \xdf\xbf");
    check_repair(BYTES("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf"),
                 "\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf");
    check_repair(BYTES("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"), "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf");
}

static void each_bad_byte_becomes_one_replacement(void **state)
{
    (void)state;
    check_repair(BYTES("a\xff"
                       "b"),
                 "a" BAD "b");
    check_repair(BYTES("\x80\xbf"), BAD BAD);
    check_repair(BYTES("\xc0\x80"), BAD BAD);         /* overlong NUL */
    check_repair(BYTES("\xe0\x9f\xbf"), BAD BAD BAD); /* overlong */
    check_repair(BYTES("\xf0\x8f\xbf\xbf"), BAD BAD BAD BAD);
    check_repair(BYTES("\xed\xa0\x80"), BAD BAD BAD);         /* lone surrogate */
    check_repair(BYTES("\xf4\x90\x80\x80"), BAD BAD BAD BAD); /* above U+10FFFF */
    check_repair(BYTES("\xf8\x88\x80\x80\x80"), BAD BAD BAD BAD BAD);
}

static void a_sequence_that_is_cut_off_is_bad(void **state)
{
    (void)state;
    check_repair(BYTES("x\xc3"), "x" BAD);
    check_repair(BYTES("x\xe2\x82"), "x" BAD BAD);
    check_repair(BYTES("x\xf0\x9f\x98"), "x" BAD BAD BAD);
    check_repair(BYTES("\xe2\x82"
                       "A"),
                 BAD BAD "A");
    check_repair(BYTES("\xe2\x82\xe2\x82\xac"), BAD BAD "\xe2\x82\xac");
}

static void every_code_point_is_read_as_it_is_written(void **state)
{
    (void)state;
    for (uint32_t point = 0x80; point < 0x110000; point++) {
        uint8_t bytes[4];
        uint32_t back = 0;
        size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

        for (size_t i = len - 1; i > 0; i--)
            bytes[i] = (uint8_t)(0x80 | (point >> (6 * (len - 1 - i)) & 0x3f));
        bytes[0] = (uint8_t)((0xf00 >> len) | point >> (6 * (len - 1)));
        if (point >= 0xd800 && point < 0xe000) {
            assert_int_equal(utf8_decode(bytes, len, &back), 0);
        } else {
            assert_int_equal(utf8_decode(bytes, len, &back), len);
            assert_int_equal(back, point);
        }
    }
}

/* ---- the writer ---- */

static void check_string(const char *bytes, size_t len, const char *wanted)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_put_bytes(&w, NULL, bytes, len);
    assert_int_equal(json_writer_end(&w), 0);
    assert_string_equal(buf.data, wanted);
}

static void strings_are_escaped(void **state)
{
    (void)state;
    check_string(BYTES(""), "\"\"");
    check_string(BYTES("a /b<>&'"), "\"a /b<>&'\"");
    check_string(BYTES("\"\\"), "\"\\\"\\\\\"");
    check_string(BYTES("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
    check_string(BYTES("\0\x01\x1b\x1f"), "\"\\u0000\\u0001\\u001b\\u001f\"");
    check_string(BYTES("\x7f\xc2\x80\xc2\x9f\xc2\xa0"), "\"\\u007f\\u0080\\u009f\xc2\xa0\"");
    check_string(BYTES("\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u2028\\u2029\"");
    check_string(BYTES("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");
    check_string(BYTES("a\xff\n\xed\xa0\x80z"), "\"a" BAD "\\n" BAD BAD BAD "z\"");
}

static void write_everything(struct json_writer *w)
{
    json_object_begin(w, NULL);
    json_put_str(w, "s", "x");
    json_put_str(w, "none", NULL);
    json_array_begin(w, "list");
    json_put_u64(w, NULL, UINT64_MAX);
    json_put_i64(w, NULL, INT64_MIN);
    json_object_begin(w, NULL);
    json_object_end(w);
    json_array_begin(w, NULL);
    json_array_end(w);
    json_array_end(w);
    json_object_begin(w, "o\"");
    json_put_bool(w, "t", true);
    json_put_bool(w, "f", false);
    json_object_end(w);
    json_put_null(w, "n");
    json_object_end(w);
}

static void documents_are_compact(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_writer w;

    (void)state;
    json_writer_init(&w, &buf, false);
    write_everything(&w);
    assert_int_equal(json_writer_end(&w), 0);
    assert_string_equal(buf.data, "{\"s\":\"x\",\"none\":null,\"list\":[18446744073709551615,"
                                  "-9223372036854775808,{},[]],\"o\\\"\":{\"t\":true,\"f\":false},"
                                  "\"n\":null}");
}

static void documents_for_people_are_indented(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_writer w;

    (void)state;
    json_writer_init(&w, &buf, true);
    write_everything(&w);
    assert_int_equal(json_writer_end(&w), 0);
    assert_string_equal(buf.data, "{\n"
                                  "  \"s\": \"x\",\n"
                                  "  \"none\": null,\n"
                                  "  \"list\": [\n"
                                  "    18446744073709551615,\n"
                                  "    -9223372036854775808,\n"
                                  "    {},\n"
                                  "    []\n"
                                  "  ],\n"
                                  "  \"o\\\"\": {\n"
                                  "    \"t\": true,\n"
                                  "    \"f\": false\n"
                                  "  },\n"
                                  "  \"n\": null\n"
                                  "}\n");
}

static void numbers_have_fixed_decimals(void **state)
{
    static const struct {
        double value;
        unsigned decimals;
        const char *text;
    } rows[] = {
        { 0, 0, "0" },
        { 0, 3, "0.000" },
        { 12.4, 1, "12.4" },
        { 12.46, 1, "12.5" },
        { 0.999, 2, "1.00" },
        { 0.05, 3, "0.050" },
        { -1.5, 1, "-1.5" },
        { -0.5, 0, "-1" },
        { -0.01, 1, "0.0" },
        { -0.0, 1, "0.0" },
        { 123456789.125, 9, "123456789.125000000" },
        { 9223372036854775808.0, 3, "9223372036854775808" },
        { -1e18, 3, "-1000000000000000000" },
        { NAN, 1, "null" },
        { INFINITY, 1, "null" },
        { -INFINITY, 1, "null" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf buf = BUF_INIT(1000);
        struct json_writer w;

        json_writer_init(&w, &buf, false);
        json_put_double(&w, NULL, rows[i].value, rows[i].decimals);
        assert_int_equal(json_writer_end(&w), 0);
        assert_string_equal(buf.data, rows[i].text);
    }
}

static void base64_is_rfc_4648s(void **state)
{
    static const char *const rows[][2] = {
        { "", "\"\"" },
        { "f", "\"Zg==\"" },
        { "fo", "\"Zm8=\"" },
        { "foo", "\"Zm9v\"" },
        { "foob", "\"Zm9vYg==\"" },
        { "fooba", "\"Zm9vYmE=\"" },
        { "foobar", "\"Zm9vYmFy\"" },
        { "\xff\xfe\xfd", "\"//79\"" },
        { "\xfb\xef\xbe", "\"++++\"" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf buf = BUF_INIT(100);
        struct json_writer w;

        json_writer_init(&w, &buf, false);
        json_put_base64(&w, NULL, rows[i][0], strlen(rows[i][0]));
        assert_int_equal(json_writer_end(&w), 0);
        assert_string_equal(buf.data, rows[i][1]);
    }
}

static size_t length_within(size_t max, int *ret)
{
    cleanup_buf struct buf buf = BUF_INIT(max);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    write_everything(&w);
    *ret = json_writer_end(&w);
    return buf.len;
}

static void a_document_over_the_maximum_is_an_error_at_its_end(void **state)
{
    int r;
    size_t whole = length_within(1000, &r);

    (void)state;
    assert_int_equal(r, 0);
    for (size_t max = 0; max < whole; max++) {
        (void)length_within(max, &r);
        assert_int_equal(r, -EMSGSIZE);
    }
    assert_int_equal(length_within(whole, &r), whole);
    assert_int_equal(r, 0);
}

static void misuse_key_in_array(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_array_begin(&w, NULL);
    json_put_u64(&w, "key", 1);
}

static void misuse_no_key_in_object(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_object_begin(&w, NULL);
    json_put_u64(&w, NULL, 1);
}

static void misuse_wrong_end(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_object_begin(&w, NULL);
    json_array_end(&w);
}

static void misuse_open_at_the_end(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_object_begin(&w, NULL);
    (void)json_writer_end(&w);
}

static void misuse_nothing_written(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    (void)json_writer_end(&w);
}

static void misuse_two_documents(void)
{
    struct buf buf = BUF_INIT(100);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    json_put_u64(&w, NULL, 1);
    json_put_u64(&w, NULL, 2);
}

static void misuse_too_deep(void)
{
    struct buf buf = BUF_INIT(1000);
    struct json_writer w;

    json_writer_init(&w, &buf, false);
    for (int i = 0; i <= JSON_WRITER_DEPTH_MAX; i++)
        json_array_begin(&w, NULL);
}

/* In a child, silently. */
static int status_of(void (*misuse)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit none = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        misuse();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void our_own_mistakes_abort(void **state)
{
    static void (*const misuses[])(void) = {
        misuse_key_in_array,    misuse_no_key_in_object, misuse_wrong_end,
        misuse_open_at_the_end, misuse_two_documents,    misuse_too_deep,
        misuse_nothing_written,
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(misuses); i++) {
        int status = status_of(misuses[i]);

        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* ---- binding ---- */

struct request {
    char *name;
    uint64_t count;
    uint64_t free;
    int64_t offset;
    double ratio;
    bool is_on;
    char **items;
    char **pairs;
    char *any;
    char **all;
};

#define AT(field) offsetof(struct request, field)
static const struct bind_field fields[] = {
    { "name", BIND_STR, AT(name), BIND_REQUIRED, 0, 0 },
    { "count", BIND_U64, AT(count), 0, 1, 600 },
    { "free", BIND_U64, AT(free), 0, 0, 0 },
    { "offset", BIND_I64, AT(offset), 0, 0, 0 },
    { "ratio", BIND_DOUBLE, AT(ratio), 0, 0, 10 },
    { "on", BIND_BOOL, AT(is_on), 0, 0, 0 },
    { "items", BIND_STRS, AT(items), 0, 0, 0 },
    { "pairs", BIND_PAIRS, AT(pairs), 0, 0, 0 },
    { "any", BIND_JSON, AT(any), 0, 0, 0 },
    { "all", BIND_JSONS, AT(all), 0, 0, 0 },
    { 0 },
};
static const struct bind strict = { .fields = fields, .text_max = 100000 };
static const struct bind lenient = { .fields = fields,
                                     .text_max = 100000,
                                     .flags = BIND_IGNORE_UNKNOWN };

static void every_type_is_bound(void **state)
{
    static const char text[] =
        " {\"name\":\"n\\u00e9\\ud83d\\ude00\",\"count\":600,\"offset\":-9223372036854775808,"
        "\"ratio\":2.5,\"on\":true,\"items\":[\"a\",\"\"],\"pairs\":{\"k\":\"v\",\"l\":\"w\"},"
        "\"any\":{\"b\":[1,2.5,null]},\"all\":[1,\"x\",{\"y\":[]}]}\n";
    struct request request = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(bind_text(&strict, BYTES(text), &request, &err), 0);
    assert_string_equal(request.name, "n\xc3\xa9\xf0\x9f\x98\x80");
    assert_int_equal(request.count, 600);
    assert_true(request.offset == INT64_MIN);
    assert_true(request.ratio == 2.5);
    assert_true(request.is_on);
    assert_string_equal(request.items[0], "a");
    assert_string_equal(request.items[1], "");
    assert_null(request.items[2]);
    assert_string_equal(request.pairs[0], "k");
    assert_string_equal(request.pairs[1], "v");
    assert_string_equal(request.pairs[2], "l");
    assert_string_equal(request.pairs[3], "w");
    assert_null(request.pairs[4]);
    assert_string_equal(request.any, "{\"b\":[1,2.5,null]}");
    assert_string_equal(request.all[0], "1");
    assert_string_equal(request.all[1], "\"x\"");
    assert_string_equal(request.all[2], "{\"y\":[]}");
    assert_null(request.all[3]);
    bind_clear(&strict, &request);
    assert_null(request.name);
    assert_null(request.items);
    bind_clear(&strict, &request);
}

static void what_is_absent_or_null_keeps_its_default(void **state)
{
    struct request request = { .count = 30, .is_on = true };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(bind_text(&strict, BYTES("{\"name\":\"x\",\"on\":null}"), &request, &err), 0);
    assert_int_equal(request.count, 30);
    assert_true(request.is_on);
    assert_null(request.items);
    bind_clear(&strict, &request);
}

static void empty_lists_are_lists(void **state)
{
    struct request request = { 0 };

    (void)state;
    assert_int_equal(
        bind_text(&strict, BYTES("{\"name\":\"\",\"items\":[],\"pairs\":{}}"), &request, NULL), 0);
    assert_string_equal(request.name, "");
    assert_non_null(request.items);
    assert_null(request.items[0]);
    assert_null(request.pairs[0]);
    bind_clear(&strict, &request);
}

static void refused(const struct bind *bind, const char *text, size_t len, int code,
                    const char *says)
{
    struct request request = { 0 };
    const struct request empty = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(bind_text(bind, text, len, &request, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    if (!strstr(err.msg, says))
        fail_msg("'%s' does not say '%s'", err.msg, says);
    for (const char *c = err.msg; *c; c++)
        assert_false((unsigned char)*c < ' ' || *c == 0x7f);
    assert_ptr_equal(request.name, empty.name);
    assert_null(request.items);
    assert_null(request.pairs);
    assert_null(request.any);
    assert_null(request.all);
}

static void an_error_names_the_key_and_what_it_must_be(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } rows[] = {
        { "{}", -EINVAL, "key 'name' is required" },
        { "{\"name\":null}", -EINVAL, "key 'name' is required" },
        { "{\"name\":1}", -EINVAL, "key 'name' must be a string" },
        { "{\"name\":\"x\",\"count\":\"3\"}", -EINVAL, "key 'count' must be a whole number" },
        { "{\"name\":\"x\",\"count\":3.0}", -EINVAL, "key 'count' must be a whole number" },
        { "{\"name\":\"x\",\"count\":true}", -EINVAL, "key 'count' must be a whole number" },
        { "{\"name\":\"x\",\"count\":0}", -ERANGE, "key 'count' must be from 1 to 600" },
        { "{\"name\":\"x\",\"count\":601}", -ERANGE, "key 'count' must be from 1 to 600" },
        { "{\"name\":\"x\",\"count\":-1}", -ERANGE, "key 'count' must be from 1 to 600" },
        { "{\"name\":\"x\",\"count\":-0}", -ERANGE, "key 'count' must be from 1 to 600" },
        { "{\"name\":\"x\",\"free\":-1}", -ERANGE, "key 'free' must be at least 0" },
        { "{\"name\":\"x\",\"a b\":1}", -EINVAL, "unknown key 'a b'" },
        { "{\"name\":\"x\",\"ratio\":-0.1}", -ERANGE, "key 'ratio' must be from 0 to 10" },
        { "{\"name\":\"x\",\"ratio\":10.1}", -ERANGE, "key 'ratio'" },
        { "{\"name\":\"x\",\"ratio\":\"1\"}", -EINVAL, "key 'ratio' must be a number" },
        { "{\"name\":\"x\",\"on\":1}", -EINVAL, "key 'on' must be true or false" },
        { "{\"name\":\"x\",\"items\":\"a\"}", -EINVAL, "key 'items' must be an array of strings" },
        { "{\"name\":\"x\",\"items\":[\"a\",1]}", -EINVAL, "key 'items' must be an array" },
        { "{\"name\":\"x\",\"pairs\":[]}", -EINVAL, "key 'pairs' must be an object of strings" },
        { "{\"name\":\"x\",\"pairs\":{\"a\":\"b\",\"c\":1}}", -EINVAL, "key 'pairs'" },
        { "{\"name\":\"x\",\"all\":{}}", -EINVAL, "key 'all' must be an array" },
        { "{\"name\":\"x\",\"nmae\":1}", -EINVAL, "unknown key 'nmae'" },
        { "{\"name\":\"x\",\"\\u001b[31m\":1}", -EINVAL, "unknown key '?[31m'" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        refused(&strict, rows[i].text, strlen(rows[i].text), rows[i].code, rows[i].says);
}

static void bounds_are_included(void **state)
{
    static const char *const texts[] = {
        "{\"name\":\"x\",\"count\":1,\"free\":0,\"ratio\":0,\"offset\":0}",
        "{\"name\":\"x\",\"count\":600,\"free\":9223372036854775807,\"ratio\":10}",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        struct request request = { .free = 7, .ratio = 7 };

        assert_int_equal(bind_text(&strict, texts[i], strlen(texts[i]), &request, NULL), 0);
        assert_int_equal(request.count, i ? 600 : 1);
        assert_true(request.free == (i ? INT64_MAX : 0));
        assert_true(request.ratio == (i ? 10 : 0));
        bind_clear(&strict, &request);
    }
}

static void unknown_keys_may_be_ignored(void **state)
{
    struct request request = { 0 };

    (void)state;
    assert_int_equal(bind_text(&lenient, BYTES("{\"name\":\"x\",\"other\":[{}]}"), &request, NULL),
                     0);
    assert_string_equal(request.name, "x");
    bind_clear(&lenient, &request);
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    refused(&lenient, BYTES(""), -EINVAL, "not JSON");
    refused(&lenient, BYTES("  "), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\"} x"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\"}{}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{'name':'x'}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\n\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("\xef\xbb\xbf{\"name\":\"x\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"\xff\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"\xed\xa0\x80\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"\\ud800\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"\\u0000\"}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\"\0}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",\"count\":1\0}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",\"ratio\":1e999}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",\"ratio\":NaN}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",\"ratio\":01}"), -EINVAL, "not JSON");
    refused(&lenient, BYTES("{\"name\":\"x\",\"count\":18446744073709551616}"), -EINVAL,
            "not JSON");
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    refused(&lenient, BYTES("[]"), -EINVAL, "must be an object");
    refused(&lenient, BYTES("[{\"name\":\"x\"}]"), -EINVAL, "must be an object");
    refused(&lenient, BYTES("3"), -EINVAL, "must be an object");
    refused(&lenient, BYTES("null"), -EINVAL, "must be an object");
    refused(&lenient, BYTES("\"name\""), -EINVAL, "must be an object");
}

static void a_key_given_twice_is_refused_at_any_depth(void **state)
{
    (void)state;
    refused(&lenient, BYTES("{\"name\":\"a\",\"name\":\"b\"}"), -EINVAL, "duplicate");
    refused(&lenient, BYTES("{\"name\":\"a\",\"n\\u0061me\":\"b\"}"), -EINVAL, "duplicate");
    refused(&lenient, BYTES("{\"name\":\"a\",\"any\":[{\"x\":1,\"x\":1}]}"), -EINVAL, "duplicate");
}

static void nested(struct buf *buf, size_t depth)
{
    (void)buf_puts(buf, "{\"name\":\"[[[[{{{{\\\"[[[[\",\"any\":");
    for (size_t i = 0; i < depth; i++)
        (void)buf_puts(buf, i % 2 ? "{\"k\":" : "[");
    (void)buf_puts(buf, "1");
    for (size_t i = depth; i-- > 0;)
        (void)buf_puts(buf, i % 2 ? "}" : "]");
    (void)buf_puts(buf, "}");
}

static void nesting_ends_at_64(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct request request = { 0 };

    (void)state;
    nested(&buf, BIND_DEPTH_MAX - 1);
    assert_int_equal(bind_text(&strict, buf.data, buf.len, &request, NULL), 0);
    bind_clear(&strict, &request);
    buf_reset(&buf);
    nested(&buf, BIND_DEPTH_MAX);
    refused(&strict, buf.data, buf.len, -EINVAL, "nested deeper than 64");
}

static void what_lies_side_by_side_is_not_nested(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(10000);
    struct request request = { 0 };

    (void)state;
    (void)buf_puts(&buf, "{\"name\":\"x\",\"any\":[0");
    for (int i = 0; i < 200; i++)
        (void)buf_puts(&buf, i % 2 ? ",[]" : ",{}");
    (void)buf_puts(&buf, "]}");
    assert_int_equal(bind_text(&strict, buf.data, buf.len, &request, NULL), 0);
    bind_clear(&strict, &request);
}

static void a_text_over_its_cap_is_refused_unread(void **state)
{
    static char deep[100001];

    (void)state;
    memset(deep, '[', sizeof(deep));
    refused(&strict, deep, sizeof(deep), -EMSGSIZE, "at most 100000");
    refused(&strict, deep, sizeof(deep) - 1, -EINVAL, "nested deeper than 64");
}

/* What the writer makes of any byte, the binder reads back, repaired. */
static void every_byte_survives_the_way_there_and_back(void **state)
{
    for (unsigned byte = 1; byte < 256; byte++) {
        cleanup_buf struct buf text = BUF_INIT(1000);
        cleanup_buf struct buf repaired = BUF_INIT(1000);
        struct request request = { 0 };
        char bytes[3] = { 'a', (char)byte, 'b' };
        struct json_writer w;

        (void)state;
        json_writer_init(&w, &text, byte % 2);
        json_object_begin(&w, NULL);
        json_put_bytes(&w, "name", bytes, sizeof(bytes));
        json_object_end(&w);
        assert_int_equal(json_writer_end(&w), 0);
        assert_int_equal(bind_text(&strict, text.data, text.len, &request, NULL), 0);
        assert_int_equal(utf8_repair(bytes, sizeof(bytes), &repaired), 0);
        assert_string_equal(request.name, repaired.data);
        bind_clear(&strict, &request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_text_is_left_alone),
        cmocka_unit_test(each_bad_byte_becomes_one_replacement),
        cmocka_unit_test(a_sequence_that_is_cut_off_is_bad),
        cmocka_unit_test(every_code_point_is_read_as_it_is_written),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(documents_are_compact),
        cmocka_unit_test(documents_for_people_are_indented),
        cmocka_unit_test(numbers_have_fixed_decimals),
        cmocka_unit_test(base64_is_rfc_4648s),
        cmocka_unit_test(a_document_over_the_maximum_is_an_error_at_its_end),
        cmocka_unit_test(our_own_mistakes_abort),
        cmocka_unit_test(every_type_is_bound),
        cmocka_unit_test(what_is_absent_or_null_keeps_its_default),
        cmocka_unit_test(empty_lists_are_lists),
        cmocka_unit_test(an_error_names_the_key_and_what_it_must_be),
        cmocka_unit_test(bounds_are_included),
        cmocka_unit_test(unknown_keys_may_be_ignored),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(a_key_given_twice_is_refused_at_any_depth),
        cmocka_unit_test(nesting_ends_at_64),
        cmocka_unit_test(what_lies_side_by_side_is_not_nested),
        cmocka_unit_test(a_text_over_its_cap_is_refused_unread),
        cmocka_unit_test(every_byte_survives_the_way_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
