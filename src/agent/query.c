/* SPDX-License-Identifier: Apache-2.0 */
/* agent/query.c - what a search server is told. */
#include "agent/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/task.h"
#include "base/buf.h"
#include "json/value.h"

#define WORD_MAX      40
#define DIGITS_MAX    3 /* more in a row are somebody's number, not a version */
#define VERSION_MAX   20
#define LIBRARIES_MAX 4
#define PACKAGES_MAX  (4 << 20) /* bytes of what is told of them */

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

/* Letters, digits and what names and versions are made of. */
static bool may_leave(const char *word, size_t len)
{
    size_t digits = 0;
    bool has_letter = false;

    if (len == 0 || len > WORD_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_word_byte(word[i]))
            return false;
        digits = isdigit((unsigned char)word[i]) ? digits + 1 : 0;
        has_letter |= isalpha((unsigned char)word[i]) != 0;
        if (digits > DIGITS_MAX)
            return false;
    }
    return has_letter || memchr(word, '.', len);
}

static void put_word(const char *word, size_t len, struct buf *ret)
{
    while (len > 0 && strchr(",;:!?().", word[len - 1])) /* of the sentence */
        len--;
    while (len > 0 && *word == '(') {
        word++;
        len--;
    }
    if (!may_leave(word, len) || ret->len + len + 1 > ret->max)
        return;
    if (ret->len > 0)
        (void)buf_putc(ret, ' ');
    (void)buf_add(ret, word, len);
}

void query_clean(const char *text, size_t len, struct buf *ret)
{
    size_t i = 0;

    while (i < len) {
        const char *at = text + i;
        size_t n = 0;

        if (strchr("'\"`", *at) && *at) {
            const char *end = memchr(at + 1, *at, len - i - 1);

            i = end ? (size_t)(end - text) + 1 : len;
            continue;
        }
        while (i + n < len && !isspace((unsigned char)at[n]) && !strchr("'\"`", at[n]))
            n++;
        put_word(at, n, ret);
        i += n > 0 ? n : 1;
    }
}

static const char *failure(const struct agent_outcome *outcome)
{
    const struct judge_report *report = &outcome->report;

    for (size_t i = 0; i < outcome->tests.n; i++) {
        const struct judge_test *test = &outcome->tests.items[i];
        const struct judge_row *row = judge_report_row(report, test->id);

        if (row && row->result != TEST_PASSED && row->message && test->origin != ORIGIN_HELD_BACK)
            return row->message;
    }
    return report->summary;
}

/* What a program said last is quoted in the message; it is not a value there. */
static const char *said(const char *message)
{
    static const char words[] = "stderr: \"";
    const char *at = message ? strstr(message, words) : NULL;

    return at ? at + sizeof(words) - 1 : message;
}

/* An error by its name tells the web more than two values that differ. */
static bool is_error(const char *text)
{
    return text && (strstr(text, "Error") || strstr(text, "Exception") || strstr(text, "error:"));
}

/* ---- libraries ------------------------------------------------------------------------------ */

/* The same package, however it is spelt: "ruamel.yaml", "Ruamel_YAML". */
static bool is_named(const char *name, const char *other, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char a = (char)tolower((unsigned char)name[i]);
        char b = (char)tolower((unsigned char)other[i]);

        if (a == '\0' || (a != b && !(strchr("-_.", a) && b != '\0' && strchr("-_.", b))))
            return false;
    }
    return name[len] == '\0';
}

static void put_version(const char *version, struct buf *ret)
{
    size_t len = strspn(version, "0123456789.abcr");

    if (len == 0 || len > VERSION_MAX || !isdigit((unsigned char)*version) ||
        ret->len + len + 1 > ret->max)
        return;
    (void)buf_putc(ret, ' ');
    (void)buf_add(ret, version, len);
}

/* Of the package that was installed under that name; NULL: it was not. */
static const char *installed_version(const struct json_value *installed, const char *name,
                                     size_t len)
{
    for (size_t i = 0; i < json_count(installed); i++) {
        const char *other = json_str(json_get(json_at(installed, i), "name"), NULL);

        if (other && is_named(other, name, len))
            return json_str(json_get(json_at(installed, i), "version"), NULL);
    }
    return NULL;
}

/* "numpy>=1.26": with the version that the boxes have, or else the one that is wished for. */
static void put_wish(const char *wish, const struct json_value *installed, struct buf *ret)
{
    size_t len = strcspn(wish, "<>=!~ [(;@");
    const char *version = installed_version(installed, wish, len);
    size_t before = ret->len;

    put_word(wish, len, ret);
    if (!version)
        version = wish + len + strspn(wish + len, "<>=!~ (");
    if (ret->len > before)
        put_version(version, ret);
}

static bool is_wished(const struct contract *contract, const char *name)
{
    for (size_t i = 0; contract->packages[i]; i++)
        if (is_named(name, contract->packages[i], strcspn(contract->packages[i], "<>=!~ [(;@")))
            return true;
    return false;
}

/* Does the text speak of it, as "numpy.linalg.LinAlgError" does? */
static bool speaks_of(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; len > 0 && *at; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && strnlen(at, len) == len &&
            is_named(name, at, len) && !isalnum((unsigned char)at[len]) && at[len] != '_')
            return true;
    return false;
}

/* The contract's, and what the code came to import and the failure is about. */
static void put_libraries(const struct agent_outcome *outcome, const char *text, struct buf *ret)
{
    const char *json = outcome->packages ? outcome->packages : "";
    cleanup_json struct json_value *told = NULL;
    const struct json_value *installed;
    size_t n = 0;

    (void)json_value_parse(json, strlen(json), PACKAGES_MAX, &told, NULL);
    installed = json_get(told, "packages");
    for (; outcome->contract.packages[n] && n < LIBRARIES_MAX; n++)
        put_wish(outcome->contract.packages[n], installed, ret);
    for (size_t i = 0; i < json_count(installed) && n < LIBRARIES_MAX; i++) {
        const char *name = json_str(json_get(json_at(installed, i), "name"), NULL);

        if (!name || !text || is_wished(&outcome->contract, name) || !speaks_of(text, name))
            continue;
        put_wish(name, installed, ret);
        n++;
    }
}

int query_make(const struct agent_outcome *outcome, const char *wanted, struct buf *ret)
{
    const struct contract *contract = &outcome->contract;
    const char *text = wanted ? wanted : said(failure(outcome));
    size_t before;

    /* Two values that differ tell the web nothing, and the task's own words are the user's. */
    if (!wanted && (!is_error(text) || strstr(text, "AssertionError")))
        return -ENOENT;
    query_clean(contract->language, strlen(contract->language), ret);
    put_libraries(outcome, text, ret);
    before = ret->len;
    if (text)
        query_clean(text, strcspn(text, "\n"), ret);
    return ret->len > before ? 0 : -ENOENT;
}
