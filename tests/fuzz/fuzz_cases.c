/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_cases.c - a model's contract and test cases, its patterns, and what programs print.
 *
 * The first byte chooses: 'k' a contract, 'p' a pattern, a NUL and a text, '0' to '4' an expected
 * output, a NUL and the real one in that mode; anything else is a list of cases.  What is read is
 * written again and reads the same.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/contract.h"
#include "agent/fence.h"
#include "agent/pattern.h"
#include "base/buf.h"
#include "base/err.h"
#include "must.h"

static void check_text(const char *text)
{
    for (; *text; text++)
        must((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_contract(const char *text, size_t len)
{
    cleanup_contract struct contract contract = { 0 };
    cleanup_contract struct contract again = { 0 };
    cleanup_buf struct buf json = BUF_INIT(8 << 20);
    cleanup_buf struct buf second = BUF_INIT(8 << 20);
    struct gb_err err = { 0 };
    int r = contract_parse(text, len, &contract, &err);

    check_text(err.msg);
    must((r < 0) == (err.msg[0] != '\0') && (r < 0) == !contract.files);
    if (r < 0)
        return;
    must(contract.language && contract.summary && contract.files[0]);
    for (char **file = contract.files; *file; file++)
        must(agent_path_check(*file, NULL) == 0);
    must(contract_text(&contract, &json) == 0);
    if (json.len > CONTRACT_TEXT_MAX)
        return;
    must(contract_parse(json.data, json.len, &again, NULL) == 0);
    must(contract_text(&again, &second) == 0 && strcmp(json.data, second.data) == 0);
}

static void check_cases(const char *text, size_t len)
{
    cleanup_cases struct program_cases cases = { 0 };
    cleanup_cases struct program_cases again = { 0 };
    cleanup_buf struct buf json = BUF_INIT(64 << 20);
    cleanup_buf struct buf second = BUF_INIT(64 << 20);
    struct gb_err err = { 0 };
    int r = cases_parse(text, len, &cases, &err);

    check_text(err.msg);
    must((r < 0) == (err.msg[0] != '\0') && (r < 0) == (cases.n == 0));
    if (r < 0)
        return;
    for (size_t i = 0; i < cases.n; i++)
        must(cases_find(&cases, cases.items[i].name) == &cases.items[i]);
    must(cases_text(&cases, &json) == 0);
    if (json.len > CASES_TEXT_MAX)
        return;
    must(cases_parse(json.data, json.len, &again, NULL) == 0);
    must(cases_text(&again, &second) == 0 && strcmp(json.data, second.data) == 0);
}

static void check_pattern(const char *pattern_text, const char *text, size_t len)
{
    cleanup_pattern struct pattern *pattern = NULL;
    struct gb_err err = { 0 };
    int r = pattern_new(pattern_text, &pattern, &err);

    check_text(err.msg);
    must((r < 0) == !pattern);
    if (r < 0)
        return;
    r = pattern_finds(pattern, text, len);
    must(r == 0 || r == 1 || r == -EMSGSIZE);
}

static void check_compare(enum case_mode mode, char *expected, const char *text, size_t len)
{
    struct case_expect expect = { .out = expected, .mode = mode, .tolerance = 0.5 };
    struct case_seen seen = { .out = text, .out_len = len, .err = text, .err_len = len };
    char why[CASE_WHY_SIZE];
    int r = case_compare(&expect, &seen, why);

    must(r == 0 || r == 1);
    must((r == 0) == (why[0] != '\0'));
    check_text(why);
    if (mode == CASE_EXACT)
        must(r == (strlen(expected) == len && memcmp(expected, text, len) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *nul;
    char *first;

    if (size == 0)
        return 0;
    nul = memchr(text, '\0', size);
    if (*text == 'k') {
        check_contract(text + 1, size - 1);
    } else if (nul && (*text == 'p' || (*text >= '0' && *text < '0' + N_CASE_MODES))) {
        first = strdup(text + 1);
        if (*text == 'p')
            check_pattern(first, nul + 1, (size_t)(text + size - nul - 1));
        else
            check_compare((enum case_mode)(*text - '0'), first, nul + 1,
                          (size_t)(text + size - nul - 1));
        free(first);
    } else {
        check_cases(text + 1, size - 1);
    }
    return 0;
}
