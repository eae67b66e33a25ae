/* SPDX-License-Identifier: Apache-2.0 */
/* agent/case_compare.c - is it what was expected?  (agent/cases.h)
 *
 * One function for each mode.  Each goes through both texts once and stops at the first difference,
 * which it describes with its values.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/pattern.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/bind.h"
#include "json/value.h"

#define NUMBER_SIZE  512       /* of one as text; longer ones are words */
#define JSON_OUT_MAX (1 << 20) /* bytes of output that are read as JSON */
#define CONTEXT      24        /* bytes of a line that are shown before the difference */

struct text {
    const char *at;
    size_t len;
};

/* Both sides, and where the difference is told. */
struct comparison {
    struct text expected;
    struct text actual;
    double tolerance;
    char *why; /* CASE_WHY_SIZE */
};

static int differs(struct comparison *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int differs(struct comparison *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(c->why, CASE_WHY_SIZE, fmt, ap);
    va_end(ap);
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

static struct text trim_end(struct text text)
{
    while (text.len > 0 && is_blank(text.at[text.len - 1]))
        text.len--;
    return text;
}

/* Takes a line off the front; its newline is part of it. */
static bool next_line(struct text *text, struct text *ret)
{
    const char *end;

    if (text->len == 0)
        return false;
    end = memchr(text->at, '\n', text->len);
    *ret = (struct text){ text->at, end ? (size_t)(end - text->at) + 1 : text->len };
    text->at += ret->len;
    text->len -= ret->len;
    return true;
}

static bool same(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The part of a line around the difference. */
static struct text around(struct text line, size_t column)
{
    size_t from = column > CONTEXT ? column - CONTEXT : 0;

    return (struct text){ line.at + from, line.len - from };
}

static int lines_differ(struct comparison *c, size_t number, struct text expected,
                        struct text actual)
{
    char wanted[QUOTE_SIZE];
    char got[QUOTE_SIZE];
    size_t column = 0;

    while (column < expected.len && column < actual.len && expected.at[column] == actual.at[column])
        column++;
    expected = around(expected, column);
    actual = around(actual, column);
    return differs(
        c, "stdout, line %zu%s: expected %s, got %s", number, column > CONTEXT ? ", in it" : "",
        quote_bytes(expected.at, expected.len, wanted), quote_bytes(actual.at, actual.len, got));
}

/* To the first line that is not the same. */
static int compare_lines(struct comparison *c, bool is_trimmed)
{
    char quoted[QUOTE_SIZE];

    for (size_t number = 1;; number++) {
        struct text expected = { 0 };
        struct text actual = { 0 };
        bool is_wanted = next_line(&c->expected, &expected);
        bool is_there = next_line(&c->actual, &actual);

        if (!is_wanted && !is_there)
            return 1;
        if (is_trimmed) {
            expected = trim_end(expected);
            actual = trim_end(actual);
        }
        if (!is_there)
            return differs(c, "stdout ends before line %zu: expected %s", number,
                           quote_bytes(expected.at, expected.len, quoted));
        if (!is_wanted)
            return differs(c, "stdout, line %zu: expected no more, got %s", number,
                           quote_bytes(actual.at, actual.len, quoted));
        if (!same(expected, actual))
            return lines_differ(c, number, expected, actual);
    }
}

static int compare_exact(struct comparison *c)
{
    return compare_lines(c, false);
}

static int compare_trimmed(struct comparison *c)
{
    c->expected = trim_end(c->expected);
    c->actual = trim_end(c->actual);
    return compare_lines(c, true);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool is_near(double expected, double actual, double tolerance)
{
    double scale = __builtin_fabs(expected) > 1 ? __builtin_fabs(expected) : 1;

    return __builtin_fabs(expected - actual) <= tolerance * scale;
}

static size_t digits(struct text text, size_t at)
{
    size_t n = 0;

    while (at + n < text.len && text.at[at + n] >= '0' && text.at[at + n] <= '9')
        n++;
    return n;
}

/* The length of the number that the text begins with; 0: none. */
static size_t number_len(struct text text)
{
    size_t sign = text.len > 0 && (text.at[0] == '-' || text.at[0] == '+');
    size_t whole = digits(text, sign);
    size_t n = sign + whole;
    size_t part = 0;

    if (n < text.len && text.at[n] == '.')
        part = digits(text, n + 1);
    if (whole == 0 && part == 0)
        return 0;
    n += part > 0 ? part + 1 : 0;
    if (n < text.len && (text.at[n] == 'e' || text.at[n] == 'E')) {
        size_t mark = n + 1;

        mark += mark < text.len && (text.at[mark] == '-' || text.at[mark] == '+');
        n = digits(text, mark) > 0 ? mark + digits(text, mark) : n;
    }
    return n;
}

static double number_value(struct text text)
{
    char copy[NUMBER_SIZE];

    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return strtod(copy, NULL);
}

/* Takes a word off the front: a number, or one byte that belongs to none. */
static struct text next_word(struct text *text)
{
    struct text word;

    while (text->len > 0 && is_blank(*text->at)) {
        text->at++;
        text->len--;
    }
    word = (struct text){ text->at, number_len(*text) };
    if (word.len == 0 && text->len > 0)
        word.len = 1;
    text->at += word.len;
    text->len -= word.len;
    return word;
}

static bool words_match(struct text expected, struct text actual, double tolerance)
{
    if (same(expected, actual))
        return true;
    if (number_len(expected) == 0 || number_len(actual) == 0 || expected.len >= NUMBER_SIZE ||
        actual.len >= NUMBER_SIZE)
        return false;
    return is_near(number_value(expected), number_value(actual), tolerance);
}

static int compare_tolerance(struct comparison *c)
{
    size_t number = 0; /* of the numbers so far */

    for (;;) {
        struct text expected_rest = c->expected;
        struct text actual_rest = c->actual;
        struct text expected = next_word(&c->expected);
        struct text actual = next_word(&c->actual);
        char wanted[QUOTE_SIZE];
        char got[QUOTE_SIZE];

        number += number_len(expected) > 0;
        if (expected.len == 0 && actual.len == 0)
            return 1;
        if (words_match(expected, actual, c->tolerance))
            continue;
        if (number_len(expected) == 0 || number_len(actual) == 0) {
            expected = expected_rest;
            actual = actual_rest;
        }
        return differs(c, "stdout, at number %zu: expected %s, got %s (tolerance %g)",
                       number > 0 ? number : 1, quote_bytes(expected.at, expected.len, wanted),
                       quote_bytes(actual.at, actual.len, got), c->tolerance);
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* A container on the way to the value that is looked at. */
struct frame {
    const struct json_value *expected;
    const struct json_value *actual;
    size_t next;     /* which of its members or items comes next */
    const char *key; /* of the last one, in an object */
};

struct walk {
    struct frame frames[BIND_DEPTH_MAX + 1];
    size_t depth;
};

/* "$.items[3].name" */
static const char *place_text(const struct walk *walk, char text[static QUOTE_SIZE])
{
    size_t n = (size_t)snprintf(text, QUOTE_SIZE, "$");

    for (size_t i = 0; i < walk->depth && n < QUOTE_SIZE; i++) {
        const struct frame *frame = &walk->frames[i];
        char quoted[QUOTE_SIZE];

        if (json_kind(frame->expected) == JSON_ARRAY)
            n += (size_t)snprintf(text + n, QUOTE_SIZE - n, "[%zu]", frame->next - 1);
        else
            n += (size_t)snprintf(text + n, QUOTE_SIZE - n, ".%s", quote_str(frame->key, quoted));
    }
    return text;
}

/* With no more digits than it takes to read the same number again: 0.3, not 0.29999999999999999. */
static void shorten(double value, char text[static QUOTE_SIZE])
{
    static const int enough = 17;

    for (int digits_shown = 1; digits_shown <= enough; digits_shown++) {
        (void)snprintf(text, QUOTE_SIZE, "%.*g", digits_shown, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (!strpbrk(text, ".eE"))
        (void)snprintf(text, QUOTE_SIZE, "%.1f", value);
}

/* Numbers, true, false and null as they are. */
static const char *scalar_text(const struct json_value *value, char text[static QUOTE_SIZE])
{
    cleanup_buf struct buf json = BUF_INIT(QUOTE_SIZE - 1);

    if (json_value_text(value, &json) < 0)
        return "a value";
    memcpy(text, json.data, json.len + 1);
    if (json_kind(value) == JSON_NUMBER && strpbrk(text, ".eE"))
        shorten(strtod(text, NULL), text);
    return text;
}

static const char *value_text(const struct json_value *value, char text[static QUOTE_SIZE])
{
    const char *str;
    size_t len;

    switch (json_kind(value)) {
    case JSON_NONE:
        return "nothing";
    case JSON_ARRAY:
        return "an array";
    case JSON_OBJECT:
        return "an object";
    case JSON_STRING:
        str = json_str(value, &len);
        return quote_bytes(str, len, text);
    default:
        return scalar_text(value, text);
    }
}

static int values_differ(struct comparison *c, const struct walk *walk,
                         const struct json_value *expected, const struct json_value *actual)
{
    char place[QUOTE_SIZE];
    char wanted[QUOTE_SIZE];
    char got[QUOTE_SIZE];

    return differs(c, "stdout, JSON at %s: expected %s, got %s", place_text(walk, place),
                   value_text(expected, wanted), value_text(actual, got));
}

static bool same_numbers(const struct json_value *a, const struct json_value *b, double tolerance)
{
    char text_a[QUOTE_SIZE];
    char text_b[QUOTE_SIZE];
    const char *said_a = scalar_text(a, text_a);
    const char *said_b = scalar_text(b, text_b);
    double real_a = 0;
    double real_b = 0;

    (void)json_double(a, &real_a);
    (void)json_double(b, &real_b);
    if (tolerance > 0)
        return is_near(real_a, real_b, tolerance);
    /* Whole numbers by their digits: a double cannot tell all of them apart. */
    if (!strpbrk(said_a, ".eE") && !strpbrk(said_b, ".eE"))
        return strcmp(said_a, said_b) == 0;
    return real_a == real_b;
}

static bool same_scalars(const struct json_value *a, const struct json_value *b, double tolerance)
{
    struct text text_a = { 0 };
    struct text text_b = { 0 };
    bool is_a = false;
    bool is_b = false;

    switch (json_kind(a)) {
    case JSON_NUMBER:
        return same_numbers(a, b, tolerance);
    case JSON_BOOL:
        (void)json_bool(a, &is_a);
        (void)json_bool(b, &is_b);
        return is_a == is_b;
    case JSON_STRING:
        text_a.at = json_str(a, &text_a.len);
        text_b.at = json_str(b, &text_b.len);
        return same(text_a, text_b);
    default:
        return true;
    }
}

static bool is_container(const struct json_value *value)
{
    return json_kind(value) == JSON_ARRAY || json_kind(value) == JSON_OBJECT;
}

/* A pair of values: 1 and, for containers, one level deeper; or 0 and why. */
static int compare_pair(struct comparison *c, struct walk *walk, const struct json_value *expected,
                        const struct json_value *actual)
{
    char place[QUOTE_SIZE];

    if (json_kind(expected) != json_kind(actual))
        return values_differ(c, walk, expected, actual);
    if (!is_container(expected))
        return same_scalars(expected, actual, c->tolerance)
                   ? 1
                   : values_differ(c, walk, expected, actual);
    if (json_kind(expected) == JSON_ARRAY && json_count(expected) != json_count(actual))
        return differs(c, "stdout, JSON at %s: expected %zu items, got %zu",
                       place_text(walk, place), json_count(expected), json_count(actual));
    walk->frames[walk->depth++] = (struct frame){ .expected = expected, .actual = actual };
    return 1;
}

/* All that were expected are there: are there more? */
static int check_no_more(struct comparison *c, struct walk *walk)
{
    const struct frame *frame = &walk->frames[walk->depth - 1];
    char place[QUOTE_SIZE];

    walk->depth--;
    if (json_count(frame->expected) == json_count(frame->actual))
        return 1;
    return differs(c, "stdout, JSON at %s: expected %zu keys, got %zu", place_text(walk, place),
                   json_count(frame->expected), json_count(frame->actual));
}

static int compare_values(struct comparison *c, const struct json_value *expected,
                          const struct json_value *actual)
{
    struct walk walk = { 0 };
    int r = compare_pair(c, &walk, expected, actual);

    while (r == 1 && walk.depth > 0) {
        struct frame *frame = &walk.frames[walk.depth - 1];
        size_t i = frame->next;

        if (i == json_count(frame->expected)) {
            r = check_no_more(c, &walk);
            continue;
        }
        frame->next++;
        if (json_kind(frame->expected) == JSON_ARRAY) {
            r = compare_pair(c, &walk, json_at(frame->expected, i), json_at(frame->actual, i));
            continue;
        }
        expected = json_member(frame->expected, i, &frame->key);
        r = compare_pair(c, &walk, expected, json_get(frame->actual, frame->key));
    }
    return r;
}

static int compare_json(struct comparison *c)
{
    cleanup_json struct json_value *expected = NULL;
    cleanup_json struct json_value *actual = NULL;
    struct gb_err err = { 0 };
    int r = json_value_parse(c->expected.at, c->expected.len, CASE_OUT_MAX, &expected, &err);

    if (r == 0)
        r = json_value_parse(c->actual.at, c->actual.len, JSON_OUT_MAX, &actual, &err);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return differs(c, "stdout is not JSON: %s", err.msg);
    return compare_values(c, expected, actual);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static int compare_pattern(struct comparison *c)
{
    cleanup_pattern struct pattern *pattern = NULL;
    struct text actual = trim_end(c->actual);
    char wanted[QUOTE_SIZE];
    char got[QUOTE_SIZE];
    struct gb_err err = { 0 };
    int r = pattern_new(c->expected.at, &pattern, &err);

    if (r == 0)
        r = pattern_finds(pattern, actual.at, actual.len);
    if (r == 1 || r == -ENOMEM)
        return r;
    if (r == -EMSGSIZE)
        return differs(c, "stdout is too long for a pattern: %zu bytes", actual.len);
    if (r < 0)
        return differs(c, "%s", err.msg);
    return differs(c, "stdout does not match %s: got %s", quote_str(c->expected.at, wanted),
                   quote_bytes(actual.at, actual.len, got));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int (*const modes[N_CASE_MODES])(struct comparison *) = {
    [CASE_TRIMMED] = compare_trimmed, [CASE_EXACT] = compare_exact,
    [CASE_JSON] = compare_json,       [CASE_TOLERANCE] = compare_tolerance,
    [CASE_PATTERN] = compare_pattern,
};

/* The last line that a program says on stderr is mostly the one that tells. */
static struct text last_line(struct text text)
{
    const char *newline;

    text = trim_end(text);
    newline = text.len > 0 ? memrchr(text.at, '\n', text.len) : NULL;
    if (newline)
        text = (struct text){ newline + 1, (size_t)(text.at + text.len - newline - 1) };
    return text;
}

static int compare_exit_code(const struct case_expect *expect, const struct case_seen *seen,
                             struct comparison *c)
{
    struct text line = last_line((struct text){ seen->err, seen->err_len });
    char wanted[16] = "other than 0";
    char quoted[QUOTE_SIZE];

    if (expect->is_failure ? seen->exit_code != 0 : seen->exit_code == expect->exit_code)
        return 1;
    if (!expect->is_failure)
        (void)snprintf(wanted, sizeof(wanted), "%d", expect->exit_code);
    return differs(c, "exit code: expected %s, got %d; the last of stderr: %s", wanted,
                   seen->exit_code, quote_bytes(line.at, line.len, quoted));
}

static int compare_stderr(const struct case_expect *expect, const struct case_seen *seen,
                          struct comparison *c)
{
    struct text line = last_line((struct text){ seen->err, seen->err_len });
    char wanted[QUOTE_SIZE];
    char got[QUOTE_SIZE];

    if (!expect->err_part ||
        (seen->err_len > 0 &&
         memmem(seen->err, seen->err_len, expect->err_part, strlen(expect->err_part))))
        return 1;
    return differs(c, "stderr: expected %s in it, the last of it is %s",
                   quote_str(expect->err_part, wanted), quote_bytes(line.at, line.len, got));
}

int case_compare(const struct case_expect *expect, const struct case_seen *seen,
                 char why[static CASE_WHY_SIZE])
{
    struct comparison c = {
        .expected = { expect->out, expect->out ? strlen(expect->out) : 0 },
        .actual = { seen->out_len > 0 ? seen->out : "", seen->out_len },
        .tolerance = expect->tolerance,
        .why = why,
    };
    int r;

    why[0] = '\0';
    r = compare_exit_code(expect, seen, &c);
    if (r == 1 && expect->out)
        r = modes[expect->mode](&c);
    if (r == 1)
        r = compare_stderr(expect, seen, &c);
    return r;
}
