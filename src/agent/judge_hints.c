/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_hints.c - which hints that the check of Python code gives make a pass suspect.
 *
 * Constants for inputs are special cases when they are the inputs of tests and the constants what
 * these expect.  The check has read the code and no test; the tests are here.  Code that answers
 * many more inputs so than tests ask for has not looked at them: it is a table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "agent/tokens.h"
#include "json/value.h"

#define CASES_MIN   3
#define TABLE_PART  4   /* one in so many, or fewer, may be in no test */
#define HINTS_MAX   8   /* of special cases that are looked at */
#define NEAR        120 /* bytes of a test between an input and what is expected */
#define TOKENS_USED 12
/* The code decides how much there is to look for, and whoever wrote the tests where. */
#define INPUTS_MAX  4     /* parts of one input */
#define TOKENS_MAX  50000 /* of a file of tests */

/* ---- what tests have ------------------------------------------------------------------------ */

static void texts_free(struct tokens *texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++)
        tokens_clear(&texts[i]);
    free(texts);
}

/* A library's files and then a program's cases; NULL: no memory. */
static struct tokens *texts_of(const struct judge_tests *tests)
{
    const char *cases = tests->cases ? tests->cases : "";
    size_t n = tests->files.n + 1;
    struct tokens *texts = calloc(n, sizeof(*texts));
    int r = texts ? tokens_of(cases, strlen(cases), true, TOKENS_MAX, &texts[n - 1]) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < tests->files.n; i++)
        r = tokens_of(tests->files.items[i].text, tests->files.items[i].len, true, TOKENS_MAX,
                      &texts[i]);
    if (r == 0)
        return texts;
    texts_free(texts, n);
    return NULL;
}

static bool is_in(const struct tokens *text, const struct tokens *input,
                  const struct tokens *answer)
{
    for (size_t i = 0; i < text->n; i++)
        if (tokens_have(text, i, input, answer, NEAR))
            return true;
    return false;
}

static int tokens_of_value(const struct json_value *value, struct tokens *ret)
{
    size_t len = 0;
    const char *text = json_str(value, &len);

    return text ? tokens_of(text, len, false, TOKENS_USED, ret) : 0;
}

/* 1: some test has one of its inputs, and the answer beside it. */
static int is_tested(const struct json_value *item, const struct tokens *texts, size_t n)
{
    const struct json_value *inputs = json_get(item, "inputs");
    struct tokens answer = { 0 };
    int r = tokens_of_value(json_get(item, "answer"), &answer);

    for (size_t i = 0; r == 0 && i < json_count(inputs) && i < INPUTS_MAX; i++) {
        struct tokens input = { 0 };

        r = tokens_of_value(json_at(inputs, i), &input);
        for (size_t k = 0; r == 0 && k < n; k++)
            r = is_in(&texts[k], &input, &answer);
        tokens_clear(&input);
    }
    tokens_clear(&answer);
    return r;
}

/* 1: they are the tests' own. */
static int are_special(const struct json_value *cases, const struct judge_tests *tests)
{
    size_t n = tests->files.n + 1;
    struct tokens *texts = texts_of(tests);
    size_t tested = 0;
    int r = texts ? 0 : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < json_count(cases); i++) {
        r = is_tested(json_at(cases, i), texts, n);
        tested += r == 1;
    }
    texts_free(texts, n);
    if (r < 0)
        return r;
    return tested >= CASES_MIN && (json_count(cases) - tested) * TABLE_PART <= json_count(cases);
}

/* ---- hints ---------------------------------------------------------------------------------- */

/* 1: it makes a pass suspect; others are for people. */
static int is_suspicious(const struct json_value *hint, const struct judge_tests *tests,
                         unsigned *looks)
{
    const char *kind = json_str(json_get(hint, "kind"), NULL);

    if (kind && strcmp(kind, "constant_equality") == 0)
        return 1;
    if (!kind || strcmp(kind, "special_cases") != 0 || !tests || *looks == 0)
        return 0;
    (*looks)--;
    return are_special(json_get(hint, "cases"), tests);
}

int hints_find(const struct json_value *list, const struct judge_tests *tests,
               const struct json_value **ret)
{
    unsigned looks = HINTS_MAX;
    int r = 0;

    *ret = NULL;
    for (size_t i = 0; r == 0 && i < json_count(list); i++) {
        r = is_suspicious(json_at(list, i), tests, &looks);
        if (r == 1)
            *ret = json_at(list, i);
    }
    return r < 0 ? r : 0;
}
