/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_pattern.c - regular expressions: what they mean, what is refused, how long they take.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pattern.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

static void expect(const char *text, const char *subject, int found)
{
    cleanup_pattern struct pattern *pattern = NULL;
    struct gb_err err = { 0 };

    if (pattern_new(text, &pattern, &err) < 0)
        fail_msg("%s", err.msg);
    if (pattern_finds(pattern, subject, strlen(subject)) != found)
        fail_msg("%s in '%s' is not %d", text, subject, found);
}

static void expect_error(const char *text, const char *part)
{
    struct pattern *pattern = NULL;
    struct gb_err err = { 0 };

    assert_int_equal(pattern_new(text, &pattern, &err), -EINVAL);
    assert_null(pattern);
    if (!strstr(err.msg, part))
        fail_msg("'%s' is not in '%s'", part, err.msg);
}

static void patterns_mean_what_they_mean_elsewhere(void **state)
{
    static const struct {
        const char *pattern;
        const char *yes; /* found in it */
        const char *no;  /* not in this */
    } rows[] = {
        { "abc", "xabcx", "xacbx" },
        { "^abc$", "abc", "abcd" },
        { "\\Aabc\\Z", "abc", "xabc" },
        { "a.c", "a-c", "a\nc" },
        { "^.$", "\xe2\x82\xac", "ab" },
        { "^\xc3\xa9+$", "\xc3\xa9\xc3\xa9", "\xc3\xa9\xa9" },
        { "^[^a]$", "\xe2\x82\xac", "a" },
        { "a|b", "b", "c" },
        { "^(a|b|)$", "", "c" },
        { "^(?:ab)+$", "abab", "aba" },
        { "^a*$", "", "b" },
        { "^a+$", "aaa", "" },
        { "^ab?c$", "ac", "abbc" },
        { "^a{3}$", "aaa", "aaaa" },
        { "^a{2,3}$", "aa", "aaaa" },
        { "^a{2,}$", "aaaaa", "a" },
        { "^a{,2}$", "", "aaa" },
        { "^a{0}b$", "b", "ab" },
        { "^(ab){2}$", "abab", "ab" },
        { "^(a{2}|b){2}$", "baa", "aba" },
        { "^(a*)*$", "aaa", "b" },
        { "^a+?b*?$", "ab", "b" },
        { "^\\d+\\.\\d{2}$", "12.34", "12.345" },
        { "^\\w+\\s\\S+$", "ab c!", "ab" },
        { "^\\D\\W$", "a!", "1!" },
        { "^[a-c_]+$", "ab_", "d" },
        { "^[]a]$", "]", "b" },
        { "^[a-]$", "-", "b" },
        { "^[\\d\\-x]+$", "1-x", "a" },
        { "^[[:digit:][:upper:]]+$", "A1", "a" },
        { "^[\\]\\\\]+$", "]\\", "a" },
        { "\\bcat\\b", "a cat.", "concat" },
        { "^\\(\\*\\)\\/\\n\\t$", "(*)/\n\t", "x" },
        { "^{\"a\": 1}$", "{\"a\": 1}", "{\"a\": 2}" },
        { "^a{x}$", "a{x}", "a" },
        { "^a{1$", "a{1", "a" },
        { "x$", "ax", "x\n" },
        { "Error: .*not found", "Error: 'q' not found", "Error:\nnot found" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect(rows[i].pattern, rows[i].yes, 1);
        expect(rows[i].pattern, rows[i].no, 0);
    }
    expect("", "", 1);
}

static void what_cannot_be_is_refused_with_its_reason(void **state)
{
    (void)state;
    expect_error("(a", "not closed");
    expect_error("a)", "too many");
    expect_error("[a", "not closed");
    expect_error("[]", "not closed");
    expect_error("*a", "cannot be repeated");
    expect_error("a**", "cannot be repeated");
    expect_error("^*", "cannot be repeated");
    expect_error("(|*)", "cannot be repeated");
    expect_error("a\\", "ends with a backslash");
    expect_error("(a)\\1", "refers back");
    expect_error("(?=a)", "looks ahead");
    expect_error("(?i)a", "looks ahead or sets a flag");
    expect_error("\\q", "not known");
    expect_error("[z-a]", "no range");
    expect_error("[\xc3\xa9]", "no range");
    expect_error("a{5,2}", "too often");
    expect_error("a{300}", "too often");
    expect_error("\xff", "UTF-8");
}

static void large_patterns_are_refused(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 20);

    (void)state;
    expect_error("((((a{10}){10}){10}){10}){10}", "too large");
    expect_error("(.{200}){2}", "too large");
    for (int i = 0; i < 100; i++)
        (void)buf_puts(&text, "(");
    expect_error(text.data, "nested too deeply");
    buf_reset(&text);
    for (int i = 0; i < PATTERN_MAX + 1; i++)
        (void)buf_puts(&text, "|");
    expect_error(text.data, "longer than");
    buf_reset(&text);
    for (int i = 0; i < 1000; i++)
        (void)buf_puts(&text, "b");
    expect_error(text.data, "too large");
    buf_reset(&text);
    for (int i = 0; i < 200; i++)
        (void)buf_puts(&text, "[ab]");
    expect_error(text.data, "too large");
}

/* Each takes regexec(3) from many seconds to for ever. */
static void no_pattern_is_slow(void **state)
{
    static const char *const patterns[] = { "(a|b)*a(a|b){60}c", "(a*)*(a*)*(a*)*(a*)*c",
                                            "(.*a.*)*c",         "([ab]?){100}c",
                                            "(x+x+)+y",          "((a|b)?)*c$" };
    const size_t len = PATTERN_TEXT_MAX;
    cleanup_free char *text = malloc(len + 1);

    (void)state;
    for (size_t i = 0; i < len; i++)
        text[i] = i * i % 7 < 3 ? 'a' : 'b';
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        cleanup_pattern struct pattern *pattern = NULL;

        assert_int_equal(pattern_new(patterns[i], &pattern, NULL), 0);
        assert_int_equal(pattern_finds(pattern, text, len), 0);
        assert_int_equal(pattern_finds(pattern, text, len + 1), -EMSGSIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_mean_what_they_mean_elsewhere),
        cmocka_unit_test(what_cannot_be_is_refused_with_its_reason),
        cmocka_unit_test(large_patterns_are_refused),
        cmocka_unit_test(no_pattern_is_slow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
