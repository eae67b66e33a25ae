/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_verdict.c - lines of the verdict channel.
 *
 * The channel is the stderr of the tests' box.  An interpreter may write there too, and in a box
 * that holds tests and code together everybody: so only lines that begin with the run's nonce
 * count, and of those only what a runner writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "json/value.h"

#define LINE_MAX_BYTES (128 << 10)
#define TESTS_MAX      ((size_t)2 * JUDGE_TESTS_MAX)
#define RESULTS_MAX    (JUDGE_TESTS_MAX + 1)

static const char *const outcomes[N_GUEST_OUTCOMES] = {
    [GUEST_PASSED] = "passed",           [GUEST_FAILED] = "failed",
    [GUEST_TIMEOUT] = "timeout",         [GUEST_ERROR] = "error",
    [GUEST_SKIPPED] = "skipped",         [GUEST_NEEDS_TOGETHER] = "needs_together",
    [GUEST_SERVER_LOST] = "server_lost",
};

/* Others are of no consequence. */
static const struct {
    const char *name;
    enum guest_flag flag;
} flags[] = {
    { "import", GUEST_FLAG_IMPORT },       { "too_large", GUEST_FLAG_TOO_LARGE },
    { "violation", GUEST_FLAG_VIOLATION }, { "handle_equality", GUEST_FLAG_EQUALITY },
    { "handle_order", GUEST_FLAG_ORDER },  { "unnamed_type", GUEST_FLAG_UNNAMED },
    { "refused", GUEST_FLAG_REFUSED },     { "xpassed", GUEST_FLAG_XPASSED },
    { "swallowed", GUEST_FLAG_SWALLOWED },
};

/* ---- text ----------------------------------------------------------------------------------- */

static bool is_surrogate(const char *at, size_t len, char low, char high)
{
    return len >= 6 && at[0] == '\\' && at[1] == 'u' && (at[2] == 'd' || at[2] == 'D') &&
           (at[3] | 0x20) >= low && (at[3] | 0x20) <= high;
}

static bool is_high(const char *at, size_t len)
{
    return is_surrogate(at, len, 'a', 'b') ||
           (len >= 6 && memcmp(at, "\\u", 2) == 0 && (at[2] | 0x20) == 'd' &&
            (at[3] == '8' || at[3] == '9'));
}

static bool is_low(const char *at, size_t len)
{
    return is_surrogate(at, len, 'c', 'f');
}

/* Python's strings may hold half a pair, which is no JSON for others: it becomes U+FFFD. */
static void mend_surrogates(char *line, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t left = len - i;

        if (line[i] != '\\') {
            i++;
        } else if (is_high(line + i, left) && is_low(line + i + 6, left - 6)) {
            i += 12;
        } else if (is_high(line + i, left) || is_low(line + i, left)) {
            memcpy(line + i + 2, "fffd", 4);
            i += 6;
        } else {
            i += 2;
        }
    }
}

/* NULL and no error when there is none. */
static int copy(const struct json_value *object, const char *key, char **ret)
{
    size_t len;
    const char *text = json_str(json_get(object, key), &len);

    if (!text)
        return 0;
    *ret = malloc(len + 1);
    if (!*ret)
        return -ENOMEM;
    memcpy(*ret, text, len + 1);
    for (size_t i = 0; i < len; i++)
        if (!(*ret)[i])
            (*ret)[i] = ' ';
    return 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void result_clear(struct guest_result *result)
{
    free(result->id);
    free(result->phase);
    free(result->exception);
    free(result->message);
    free(result->expected);
    free(result->actual);
    free(result->source);
    free(result->where);
    free(result->output);
}

static bool read_outcome(const struct json_value *line, enum guest_outcome *ret)
{
    const char *text = json_str(json_get(line, "outcome"), NULL);

    for (size_t i = 0; text && i < N_GUEST_OUTCOMES; i++) {
        if (strcmp(text, outcomes[i]) == 0) {
            *ret = (enum guest_outcome)i;
            return true;
        }
    }
    return false;
}

static unsigned read_flags(const struct json_value *list)
{
    unsigned found = 0;

    for (size_t i = 0; i < json_count(list); i++) {
        const char *text = json_str(json_at(list, i), NULL);

        for (size_t k = 0; text && k < N_ELEMENTS(flags); k++)
            if (strcmp(text, flags[k].name) == 0)
                found |= flags[k].flag;
    }
    return found;
}

static int read_strings(const struct json_value *line, struct guest_result *ret)
{
    const struct {
        const char *key;
        char **value;
    } fields[] = {
        { "id", &ret->id },
        { "phase", &ret->phase },
        { "exception", &ret->exception },
        { "message", &ret->message },
        { "expected", &ret->expected },
        { "actual", &ret->actual },
        { "source", &ret->source },
        { "where", &ret->where },
        { "output", &ret->output },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_ELEMENTS(fields); i++)
        r = copy(line, fields[i].key, fields[i].value);
    return r;
}

/* A line that is not as a runner writes it: 0, and the channel is broken. */
static int broken(struct guest_verdicts *verdicts)
{
    verdicts->is_broken = true;
    return 0;
}

static int take_result(struct guest_verdicts *verdicts, const struct json_value *line)
{
    struct guest_result result = { .ms = -1 };
    struct guest_result *grown;
    bool counts = false;
    int r = read_strings(line, &result);

    if (r == 0 && (!result.id || !read_outcome(line, &result.outcome) ||
                   verdicts->n_results == RESULTS_MAX)) {
        result_clear(&result);
        return broken(verdicts);
    }
    result.flags = read_flags(json_get(line, "flags"));
    if (!json_bool(json_get(line, "counts"), &counts) || !counts)
        result.flags |= GUEST_FLAG_UNCOUNTED;
    (void)json_double(json_get(line, "duration_ms"), &result.ms);
    grown = r < 0 ? NULL : reallocarray(verdicts->results, verdicts->n_results + 1, sizeof(*grown));
    if (!grown) {
        result_clear(&result);
        return -ENOMEM;
    }
    verdicts->results = grown;
    grown[verdicts->n_results++] = result;
    return 0;
}

static int take_test(struct guest_verdicts *verdicts, const struct json_value *line)
{
    const char *class = json_str(json_get(line, "class"), NULL);
    struct guest_test test = { 0 };
    struct guest_test *grown;
    int r = copy(line, "id", &test.id);

    if (r < 0)
        return r;
    if (!test.id || verdicts->n_tests == TESTS_MAX) {
        free(test.id);
        return broken(verdicts);
    }
    for (size_t i = 0; class && i < N_CLASSES; i++) {
        if (strcmp(class, test_class_name((enum test_class)i)) == 0) {
            test.has_class = true;
            test.class = (enum test_class)i;
        }
    }
    grown = reallocarray(verdicts->tests, verdicts->n_tests + 1, sizeof(*grown));
    if (!grown) {
        free(test.id);
        return -ENOMEM;
    }
    verdicts->tests = grown;
    grown[verdicts->n_tests++] = test;
    return 0;
}

static int take_problem(struct guest_verdicts *verdicts, const struct json_value *line)
{
    return verdicts->problem ? 0 : copy(line, "message", &verdicts->problem);
}

static int take_end(struct guest_verdicts *verdicts, const struct json_value *line)
{
    (void)line;
    if (verdicts->has_end)
        return broken(verdicts);
    verdicts->has_end = true;
    return 0;
}

static const struct {
    const char *kind;
    int (*take)(struct guest_verdicts *verdicts, const struct json_value *line);
} kinds[] = {
    { "test", take_test },
    { "result", take_result },
    { "problem", take_problem },
    { "end", take_end },
};

static int take_line(struct guest_verdicts *verdicts, const char *text, size_t len)
{
    cleanup_json struct json_value *line = NULL;
    cleanup_free char *mended = NULL;
    const char *kind;

    if (len > LINE_MAX_BYTES || verdicts->has_end)
        return broken(verdicts);
    mended = malloc(len + 1);
    if (!mended)
        return -ENOMEM;
    memcpy(mended, text, len);
    mended[len] = '\0';
    mend_surrogates(mended, len);
    if (json_value_parse(mended, len, LINE_MAX_BYTES, &line, NULL) < 0)
        return broken(verdicts);
    kind = json_str(json_get(line, "kind"), NULL);
    for (size_t i = 0; kind && i < N_ELEMENTS(kinds); i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            return kinds[i].take(verdicts, line);
    return broken(verdicts);
}

int guest_verdicts_read(const char *text, size_t len, const char *nonce, struct guest_verdicts *ret)
{
    size_t mark = strlen(nonce);
    int r = 0;

    *ret = (struct guest_verdicts){ 0 };
    while (r == 0 && len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t)(newline - text) : len;

        if (n > mark && memcmp(text, nonce, mark) == 0 && text[mark] == ' ')
            r = newline ? take_line(ret, text + mark + 1, n - mark - 1) : broken(ret);
        n += newline ? 1 : 0;
        text += n;
        len -= n;
    }
    return r;
}

void guest_verdicts_clear(struct guest_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n_tests; i++)
        free(verdicts->tests[i].id);
    for (size_t i = 0; i < verdicts->n_results; i++)
        result_clear(&verdicts->results[i]);
    free(verdicts->tests);
    free(verdicts->results);
    free(verdicts->problem);
    *verdicts = (struct guest_verdicts){ 0 };
}
