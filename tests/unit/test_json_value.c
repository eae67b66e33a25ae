/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_json_value.c - looking around in a JSON text whose shape is somebody else's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"
#include "json/value.h"
#include "json/writer.h"

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

static struct json_value *parse(const char *text)
{
    struct json_value *value = NULL;
    struct gb_err err = { 0 };

    if (json_value_parse(text, strlen(text), 1 << 20, &value, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return value;
}

static void refuse_bytes(const char *text, size_t len, int code, const char *why)
{
    struct json_value *value = NULL;
    struct gb_err err = { 0 };

    if (json_value_parse(text, len, 1000, &value, &err) != code)
        fail_msg("'%s' gives %d: %s", text, err.code, err.msg);
    assert_null(value);
    assert_int_equal(err.code, code);
    assert_int_equal(err.blame, GB_BLAME_PEER);
    if (!strstr(err.msg, why))
        fail_msg("'%s' is not in: %s", why, err.msg);
}

static void refuse(const char *text, const char *why)
{
    refuse_bytes(text, strlen(text), -EINVAL, why);
}

/* ---- values ---- */

static void test_each_kind_is_told(void **state)
{
    cleanup_json struct json_value *all = parse("[null,true,false,1,2.5,\"s\",[],{}]");
    static const enum json_kind kinds[] = {
        JSON_NULL,   JSON_BOOL,   JSON_BOOL,  JSON_NUMBER,
        JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT,
    };

    (void)state;
    assert_int_equal(json_kind(all), JSON_ARRAY);
    assert_int_equal(json_count(all), N_ELEMENTS(kinds));
    for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
        assert_int_equal(json_kind(json_at(all, i)), kinds[i]);
    assert_int_equal(json_kind(json_at(all, N_ELEMENTS(kinds))), JSON_NONE);
}

static void test_any_value_may_stand_alone(void **state)
{
    static const char *const texts[] = { "null", " 1 ", "\"\"", "false", "\t[\r\n]\n", "{}" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        cleanup_json struct json_value *value = parse(texts[i]);

        assert_int_not_equal(json_kind(value), JSON_NONE);
    }
}

static void test_strings_are_decoded(void **state)
{
    cleanup_json struct json_value *all =
        parse("[\"\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u00e9\\u20ac\\ud83d\\ude00\", "
              "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"a\\u0000b\", \"\x7f\"]");
    const char *text;
    size_t len = 99;

    (void)state;
    assert_string_equal(json_str(json_at(all, 0), &len), "");
    assert_int_equal(len, 0);
    assert_string_equal(json_str(json_at(all, 1), NULL), "\"\\/\b\f\n\r\t");
    assert_string_equal(json_str(json_at(all, 2), NULL), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(json_str(json_at(all, 3), NULL), json_str(json_at(all, 2), NULL));
    text = json_str(json_at(all, 4), &len);
    assert_int_equal(len, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_string_equal(json_str(json_at(all, 5), NULL), "\x7f");
}

static void test_whole_numbers_fit_or_are_none(void **state)
{
    cleanup_json struct json_value *all =
        parse("[0, 9223372036854775807, -1, 1.0, 1e2, \"1\", true, -0]");
    uint64_t n = 7;

    (void)state;
    assert_true(json_u64(json_at(all, 0), &n) && n == 0);
    assert_true(json_u64(json_at(all, 1), &n) && n == INT64_MAX);
    assert_true(json_u64(json_at(all, 7), &n) && n == 0);
    n = 7;
    for (size_t i = 2; i < 7; i++)
        assert_false(json_u64(json_at(all, i), &n));
    assert_int_equal(n, 7);
}

static void test_numbers_are_read_as_doubles(void **state)
{
    cleanup_json struct json_value *all =
        parse("[-3, 0.25, 1e300, -2.5E-1, 9007199254740993, \"1\"]");
    static const double wanted[] = { -3, 0.25, 1e300, -0.25, 9007199254740992 };
    double d = 0;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wanted); i++)
        assert_true(json_double(json_at(all, i), &d) && d == wanted[i]);
    assert_false(json_double(json_at(all, 5), &d));
}

static void test_booleans_are_only_booleans(void **state)
{
    cleanup_json struct json_value *all = parse("[true, false, 1, \"true\", null]");
    bool b = false;

    (void)state;
    assert_true(json_bool(json_at(all, 0), &b) && b);
    assert_true(json_bool(json_at(all, 1), &b) && !b);
    for (size_t i = 2; i < 5; i++)
        assert_false(json_bool(json_at(all, i), &b));
}

/* ---- looking around ---- */

static const char answer[] =
    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\",\"\":{\"a/b\":1}}},"
    "{\"delta\":{\"content\":null}}],\"usage\":{\"total\":7},\"0\":{\"1\":\"digits\"}}";

static void test_paths_lead_through_keys_and_items(void **state)
{
    cleanup_json struct json_value *value = parse(answer);
    uint64_t total = 0;

    (void)state;
    assert_string_equal(json_str(json_path(value, "id"), NULL), "x");
    assert_string_equal(json_str(json_path(value, "choices/0/delta/content"), NULL), "hi");
    assert_int_equal(json_kind(json_path(value, "choices/1/delta/content")), JSON_NULL);
    assert_true(json_u64(json_path(value, "usage/total"), &total) && total == 7);
    assert_string_equal(json_str(json_path(value, "0/1"), NULL), "digits");
    assert_int_equal(json_count(json_path(value, "choices/0/delta/")), 1);
}

static void test_wrong_paths_lead_nowhere(void **state)
{
    static const char *const paths[] = {
        "",
        "/",
        "ids",
        "i",
        "choices/2",
        "choices/-1",
        "choices/",
        "choices/x",
        "choices/0x0",
        "choices/ 0",
        "choices/18446744073709551616",
        "choices/4294967296",
        "choices/00000000000",
        "id/0",
        "id/x",
        "usage/total/0",
        "choices/0/delta/content/0",
        "choices/0/delta/none/deep",
    };
    cleanup_json struct json_value *value = parse(answer);

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(paths); i++)
        if (json_path(value, paths[i]))
            fail_msg("'%s' leads somewhere", paths[i]);
}

static void test_members_keep_their_order(void **state)
{
    static const char *const keys[] = { "z", "a", "m", "", "b" };
    cleanup_json struct json_value *value = parse("{\"z\":0,\"a\":1,\"m\":2,\"\":3,\"b\":4}");
    const char *key = NULL;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(json_count(value), 5);
    for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
        const struct json_value *member = json_member(value, i, &key);

        assert_string_equal(key, keys[i]);
        assert_true(json_u64(member, &n) && n == i);
        assert_ptr_equal(json_get(value, key), member);
    }
    assert_null(json_member(value, 5, &key));
    assert_string_equal(key, "b");
}

static void test_nothing_is_in_what_holds_nothing(void **state)
{
    static const char *const texts[] = { "null", "true", "3", "\"abc\"", "[]", "{}" };
    uint64_t n = 0;
    double d = 0;
    bool b = false;
    const char *key = NULL;

    (void)state;
    for (size_t i = 0; i <= N_ELEMENTS(texts); i++) {
        struct json_value *value = i > 0 ? parse(texts[i - 1]) : NULL;

        assert_null(json_get(value, "a"));
        assert_null(json_at(value, 0));
        assert_null(json_path(value, "a/0"));
        assert_null(json_member(value, 0, &key));
        assert_int_equal(json_count(value), 0);
        json_value_free(&value);
        assert_null(value);
    }
    assert_null(json_str(NULL, NULL));
    assert_false(json_u64(NULL, &n) || json_double(NULL, &d) || json_bool(NULL, &b));
    assert_int_equal(json_kind(NULL), JSON_NONE);
}

/* ---- refusals ---- */

static void test_what_is_no_json_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "x",
        "nul",
        "nullx",
        "tru",
        "{",
        "[",
        "\"",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{,}",
        "{\"a\":1,}",
        "[1}",
        "{\"a\":1]",
        "]",
        "}",
        "1 2",
        "{}{}",
        "[]x",
        "01",
        "-",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "0x10",
        "--1",
        "1.e1",
        "NaN",
        "Infinity",
        "'a'",
        "\"\n\"",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\\",
        "\"\\u",
        "// c\n1",
        "/* c */ 1",
        "[1]]",
        "\v1",
        "\xc2\xa0"
        "1",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++)
        refuse(texts[i], "not JSON");
    refuse_bytes(BYTES("1\0"), -EINVAL, "byte 1: a NUL");
    refuse_bytes(BYTES("[1\0,2]"), -EINVAL, "byte 2: a NUL");
    refuse_bytes(BYTES("true\0"), -EINVAL, "byte 4: a NUL");
    refuse_bytes(BYTES("\"a\0b\""), -EINVAL, "not JSON");
    refuse_bytes(BYTES("\0"), -EINVAL, "not JSON");
}

static void test_bad_unicode_is_refused(void **state)
{
    static const char *const texts[] = {
        "\"\xff\"",           "\"\xc0\x80\"",         "\"\xe0\x80\x80\"",
        "\"\xed\xa0\x80\"",   "\"\xf4\x90\x80\x80\"", "\"\xc3\"",
        "\"\xe2\x82\"",       "\"\\ud800\"",          "\"\\ud800x\"",
        "\"\\ud800\\n\"",     "\"\\ud800\\u0041\"",   "\"\\udc00\"",
        "\"\\ud800\\ud800\"", "\xef\xbb\xbf{}",       "{\"\xff\":1}",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++)
        refuse(texts[i], "not JSON");
}

static void test_a_key_given_twice_is_refused(void **state)
{
    (void)state;
    refuse("{\"a\":1,\"a\":1}", "duplicate");
    refuse("{\"a\":1,\"\\u0061\":1}", "duplicate");
    refuse("[{\"b\":{\"x\":1,\"y\":2,\"x\":3}}]", "duplicate");
    refuse("{\"\":1,\"\":2}", "duplicate");
}

static void test_a_nul_in_a_key_is_refused(void **state)
{
    (void)state;
    refuse("{\"a\\u0000\":1}", "not JSON");
}

static void test_numbers_that_nothing_holds_are_refused(void **state)
{
    (void)state;
    refuse("9223372036854775808", "not JSON");
    refuse("-9223372036854775809", "not JSON");
    refuse("[1e999]", "not JSON");
    refuse("-1e999", "not JSON");
}

static void test_length_and_depth_are_bounded(void **state)
{
    char text[1002];
    struct json_value *value = NULL;

    (void)state;
    memset(text, ' ', sizeof(text));
    text[0] = '1';
    assert_int_equal(json_value_parse(text, 1000, 1000, &value, NULL), 0);
    json_value_free(&value);
    refuse_bytes(text, 1001, -EMSGSIZE, "at most 1000");

    memset(text, '[', BIND_DEPTH_MAX);
    memset(text + BIND_DEPTH_MAX, ']', BIND_DEPTH_MAX);
    assert_int_equal(json_value_parse(text, 2 * BIND_DEPTH_MAX, 1000, &value, NULL), 0);
    json_value_free(&value);
    memset(text, '[', BIND_DEPTH_MAX + 1);
    memset(text + BIND_DEPTH_MAX + 1, ']', BIND_DEPTH_MAX + 1);
    refuse_bytes(text, 2 * BIND_DEPTH_MAX + 2, -EINVAL, "deeper than 64");
    refuse_bytes(text, BIND_DEPTH_MAX + 1, -EINVAL, "deeper than 64");
}

static void test_an_error_shows_no_control_bytes(void **state)
{
    struct json_value *value = NULL;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(json_value_parse("\x1b[31m\x07", 6, 100, &value, &err), -EINVAL);
    for (const char *c = err.msg; *c; c++)
        assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void test_an_error_tells_the_place(void **state)
{
    (void)state;
    refuse("{\n  \"a\": 1,\n  \"b\": x\n}", "line 3");
}

/* ---- back to text ---- */

static void check_text(const char *text, const char *wanted)
{
    cleanup_json struct json_value *value = parse(text);
    cleanup_buf struct buf buf = BUF_INIT(1000);

    assert_int_equal(json_value_text(value, &buf), 0);
    assert_string_equal(buf.data, wanted);
}

static void test_a_value_is_written_as_compact_text(void **state)
{
    (void)state;
    check_text(" { \"b\" : [ 1 , -2.5 , null , true , false ] , \"a\" : { } , \"c\" : [ ] } ",
               "{\"b\":[1,-2.5,null,true,false],\"a\":{},\"c\":[]}");
    check_text("\"\\u00e9\\n\\\"\\\\\\u0001\\u0000/\"", "\"\xc3\xa9\\n\\\"\\\\\\u0001\\u0000/\"");
    check_text("9223372036854775807", "9223372036854775807");
    check_text("-9223372036854775808", "-9223372036854775808");
}

static void test_text_is_appended_up_to_the_maximum(void **state)
{
    cleanup_json struct json_value *value = parse("{\"key\":[1,2,3]}");
    cleanup_buf struct buf buf = BUF_INIT(17);

    (void)state;
    assert_int_equal(buf_puts(&buf, "> "), 0);
    assert_int_equal(json_value_text(json_get(value, "key"), &buf), 0);
    assert_string_equal(buf.data, "> [1,2,3]");
    assert_int_equal(json_value_text(value, &buf), -EMSGSIZE);
    assert_int_equal(json_value_text(NULL, &buf), -EINVAL);
}

static void test_raw_json_stands_where_a_value_does(void **state)
{
    cleanup_buf struct buf buf = BUF_INIT(1000);
    struct json_writer w;

    (void)state;
    json_writer_init(&w, &buf, false);
    json_object_begin(&w, NULL);
    json_put_raw(&w, "schema", "{\"type\":\"object\"}");
    json_array_begin(&w, "all");
    json_put_raw(&w, NULL, "1");
    json_put_raw(&w, NULL, "null");
    json_array_end(&w);
    json_object_end(&w);
    assert_int_equal(json_writer_end(&w), 0);
    assert_string_equal(buf.data, "{\"schema\":{\"type\":\"object\"},\"all\":[1,null]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_is_told),
        cmocka_unit_test(test_any_value_may_stand_alone),
        cmocka_unit_test(test_strings_are_decoded),
        cmocka_unit_test(test_whole_numbers_fit_or_are_none),
        cmocka_unit_test(test_numbers_are_read_as_doubles),
        cmocka_unit_test(test_booleans_are_only_booleans),
        cmocka_unit_test(test_paths_lead_through_keys_and_items),
        cmocka_unit_test(test_wrong_paths_lead_nowhere),
        cmocka_unit_test(test_members_keep_their_order),
        cmocka_unit_test(test_nothing_is_in_what_holds_nothing),
        cmocka_unit_test(test_what_is_no_json_is_refused),
        cmocka_unit_test(test_bad_unicode_is_refused),
        cmocka_unit_test(test_a_key_given_twice_is_refused),
        cmocka_unit_test(test_a_nul_in_a_key_is_refused),
        cmocka_unit_test(test_numbers_that_nothing_holds_are_refused),
        cmocka_unit_test(test_length_and_depth_are_bounded),
        cmocka_unit_test(test_an_error_shows_no_control_bytes),
        cmocka_unit_test(test_an_error_tells_the_place),
        cmocka_unit_test(test_a_value_is_written_as_compact_text),
        cmocka_unit_test(test_text_is_appended_up_to_the_maximum),
        cmocka_unit_test(test_raw_json_stands_where_a_value_does),
    };

    return cmocka_run_group_tests_name("json_value", tests, NULL, NULL);
}
