/* SPDX-License-Identifier: Apache-2.0 */
/* agent/query.c - what a search server is told. */
#include "agent/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/task.h"
#include "base/buf.h"

#define WORD_MAX   40
#define DIGITS_MAX 3 /* more in a row are somebody's number, not a version */

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

int query_make(const struct agent_outcome *outcome, const char *wanted, struct buf *ret)
{
    const struct contract *contract = &outcome->contract;
    const char *text = wanted ? wanted : said(failure(outcome));
    size_t before;

    /* Two values that differ tell the web nothing, and the task's own words are the user's. */
    if (!wanted && (!is_error(text) || strstr(text, "AssertionError")))
        return -ENOENT;
    query_clean(contract->language, strlen(contract->language), ret);
    for (size_t i = 0; contract->packages[i]; i++)
        query_clean(contract->packages[i], strlen(contract->packages[i]), ret);
    before = ret->len;
    if (text)
        query_clean(text, strcspn(text, "\n"), ret);
    return ret->len > before ? 0 : -ENOENT;
}
