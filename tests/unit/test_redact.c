/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_redact.c - secrets in their usual disguises are found, and nothing else is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/redact.h"
#include "base/buf.h"
#include "json/writer.h"

#include <cmocka.h>

#define KEY "sk-Te+st/42 \"q\"~x"

static const char *const secrets[] = { KEY, "hunter2", "sk-Te+st", "another-secret-01", NULL };

static struct redactor *redactor;

static int set_up(void **state)
{
    (void)state;
    return redactor_new(secrets, &redactor);
}

static int tear_down(void **state)
{
    (void)state;
    redactor_free(&redactor);
    return 0;
}

static void expect(const char *text, const char *wanted)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);

    assert_int_equal(redact(redactor, text, strlen(text), &out), 0);
    assert_string_equal(out.data ? out.data : "", wanted);
    assert_int_equal(redact_finds(redactor, text, strlen(text)), strcmp(text, wanted) != 0);
}

static void a_secret_as_it_is(void **state)
{
    (void)state;
    expect("", "");
    expect(KEY, "[redacted]");
    expect("Authorization: Bearer " KEY "\n", "Authorization: Bearer [redacted]\n");
    expect("a" KEY KEY "b", "a[redacted][redacted]b");
    expect("another-secret-01 and " KEY, "[redacted] and [redacted]");
}

static void the_longest_of_two_is_meant(void **state)
{
    (void)state;
    expect("sk-Te+st", "[redacted]");
    expect("sk-Te+st/42", "[redacted]/42");
}

static void what_is_short_or_only_like_it_stays(void **state)
{
    (void)state;
    expect("hunter2", "hunter2");
    expect("sk-Te+s", "sk-Te+s");
    expect("another-secret-0", "another-secret-0");
    expect("Sk-te+st", "Sk-te+st");
    expect("%", "%");
    expect("\\u00", "\\u00");
    expect("73 6b", "73 6b");
    expect("sk-Te+s\\t", "sk-Te+s\\t");
    expect("sk-Te+s%7", "sk-Te+s%7");
}

static void url_encoding_in_whole_or_in_part(void **state)
{
    (void)state;
    expect("?k=sk-Te%2Bst%2F42%20%22q%22~x&", "?k=[redacted]&");
    expect("?k=sk-Te%2bst%2f42+%22q%22%7ex", "?k=[redacted]");
    expect("%61%6e%6F%74%68%65%72%2D%73%65%63%72%65%74%2d%30%31", "[redacted]");
}

static void escapes_of_json(void **state)
{
    cleanup_buf struct buf json = BUF_INIT(1000);
    struct json_writer w;

    (void)state;
    json_writer_init(&w, &json, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "key", KEY);
    json_object_end(&w);
    assert_int_equal(json_writer_end(&w), 0);
    expect(json.data, "{\"key\":\"[redacted]\"}");
    expect("sk-Te\\u002bst\\/42 \\\"q\\u0022~x", "[redacted]");
}

static void hex_of_many_shapes(void **state)
{
    static const char *const gaps[] = { "", " ", ":", ", ", "\\x", " 0x", "\n" };
    const char *secret = secrets[3];

    (void)state;
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
        for (int upper = 0; upper < 2; upper++) {
            cleanup_buf struct buf text = BUF_INIT(1000);

            (void)buf_puts(&text, "<");
            for (const char *c = secret; *c; c++) {
                (void)buf_puts(&text, c == secret ? "" : gaps[i]);
                (void)buf_printf(&text, upper ? "%02X" : "%02x", (unsigned)(unsigned char)*c);
            }
            (void)buf_puts(&text, ">");
            expect(text.data, "<[redacted]>");
        }
}

/* Base64 of the secret behind so many other bytes and before some more. */
static void encode(size_t before, size_t behind, size_t line, struct buf *ret)
{
    cleanup_buf struct buf plain = BUF_INIT(1000);
    cleanup_buf struct buf json = BUF_INIT(1000);
    struct json_writer w;

    for (size_t i = 0; i < before; i++)
        (void)buf_putc(&plain, 'A');
    (void)buf_puts(&plain, KEY);
    for (size_t i = 0; i < behind; i++)
        (void)buf_putc(&plain, 'Z');
    json_writer_init(&w, &json, false);
    json_put_base64(&w, NULL, plain.data, plain.len);
    assert_int_equal(json_writer_end(&w), 0);
    for (size_t i = 1; i + 1 < json.len; i++) {
        (void)buf_putc(ret, json.data[i]);
        if (line > 0 && i % line == 0)
            (void)buf_putc(ret, '\n');
    }
}

static void base64_at_every_alignment(void **state)
{
    (void)state;
    for (size_t before = 0; before < 9; before++)
        for (size_t behind = 0; behind < 4; behind++)
            for (size_t line = 0; line < 6; line += 5) {
                cleanup_buf struct buf text = BUF_INIT(1000);
                cleanup_buf struct buf out = BUF_INIT(1000);

                encode(before, behind, line, &text);
                assert_int_equal(redact(redactor, text.data, text.len, &out), 0);
                if (!strstr(out.data, "[redacted]"))
                    fail_msg("%zu before, %zu behind: %s", before, behind, text.data);
                /* What stays of it are single digits at its two ends. */
                assert_true(strlen(out.data) <=
                            strlen("[redacted]") + (before + behind + 4) * 2 + 4);
            }
}

static void base64_for_urls(void **state)
{
    static const char *const one[] = { "\xfb\xff\xbe\xfb\xff\xbe\xfb\xff\xbe", NULL };
    cleanup_redactor struct redactor *other = NULL;

    (void)state;
    assert_int_equal(redactor_new(one, &other), 0);
    assert_true(redact_finds(other, "+/+++/+++/++", 12));
    assert_true(redact_finds(other, "-_---_---_--", 12));
    assert_true(redact_finds(other, "%2B%2F%2b%2B%2B%2F%2B%2B%2B%2F%2B%2B", 36));
    assert_false(redact_finds(other, "+/+++/++++++", 12));
    assert_false(redact_finds(other, "+/+++/+++/+%", 12));
    assert_false(redact_finds(other, "+-+++-+++-++", 12));
    assert_true(redact_finds(other, "FBFFBEFBFFBEFBFFBE", 18));
    assert_true(redact_finds(other, "fbffbefbffbefbffbe", 18));
}

static void bytes_of_any_kind_pass(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(1000);
    static const char text[] = "\0\xff" KEY "\0";

    (void)state;
    assert_int_equal(redact(redactor, text, sizeof(text) - 1, &out), 0);
    assert_int_equal(out.len, 13);
    assert_memory_equal(out.data, "\0\xff[redacted]\0", 14);
}

static void without_secrets_nothing_changes(void **state)
{
    cleanup_redactor struct redactor *none = NULL;
    cleanup_buf struct buf out = BUF_INIT(1000);

    (void)state;
    assert_int_equal(redactor_new(NULL, &none), 0);
    assert_int_equal(redact(none, KEY, strlen(KEY), &out), 0);
    assert_int_equal(redact(NULL, KEY, strlen(KEY), &out), 0);
    assert_string_equal(out.data, KEY KEY);
    assert_false(redact_finds(NULL, KEY, strlen(KEY)));
}

static void an_end_in_the_middle_is_no_trouble(void **state)
{
    (void)state;
    for (size_t len = 0; len < strlen(KEY); len++) {
        char *copy = strndup(KEY, len);

        assert_int_equal(redact_finds(redactor, copy, len), len >= strlen("sk-Te+st"));
        free(copy);
    }
}

static void a_full_buffer_is_told(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(12);

    (void)state;
    assert_int_equal(redact(redactor, "abc" KEY, strlen("abc" KEY), &out), -EMSGSIZE);
}

/* The worst text: every byte could begin one. */
static void much_text_is_fine(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4 << 20);
    cleanup_buf struct buf out = BUF_INIT(4 << 20);

    (void)state;
    while (text.len < 2 << 20)
        (void)buf_puts(&text, "sk-Te+s73%73c2stVG");
    assert_int_equal(redact(redactor, text.data, text.len, &out), 0);
    assert_int_equal(out.len, text.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_as_it_is),
        cmocka_unit_test(the_longest_of_two_is_meant),
        cmocka_unit_test(what_is_short_or_only_like_it_stays),
        cmocka_unit_test(url_encoding_in_whole_or_in_part),
        cmocka_unit_test(escapes_of_json),
        cmocka_unit_test(hex_of_many_shapes),
        cmocka_unit_test(base64_at_every_alignment),
        cmocka_unit_test(base64_for_urls),
        cmocka_unit_test(bytes_of_any_kind_pass),
        cmocka_unit_test(without_secrets_nothing_changes),
        cmocka_unit_test(an_end_in_the_middle_is_no_trouble),
        cmocka_unit_test(a_full_buffer_is_told),
        cmocka_unit_test(much_text_is_fine),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
