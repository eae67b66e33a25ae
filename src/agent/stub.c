/* SPDX-License-Identifier: Apache-2.0 */
/* agent/stub.c - a solution that does nothing. */
#include "agent/stub.h"

#include <errno.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/contract.h"
#include "base/buf.h"

#define STUB_MAX (256 << 10)

static const char *signature_of(const struct contract_name *name, const char *usual)
{
    return name->signature && name->signature[0] == '(' ? name->signature : usual;
}

static void put_methods(const struct contract *contract, const char *class, struct buf *ret)
{
    size_t len = strlen(class);

    for (size_t i = 0; i < contract->n_names; i++) {
        const char *name = contract->names[i].name;

        if (strncmp(name, class, len) == 0 && name[len] == '.')
            (void)buf_printf(ret, "\n    def %s%s:\n        return None\n", name + len + 1,
                             signature_of(&contract->names[i], "(self, *args, **kwargs)"));
    }
}

static bool is_class(const struct contract *contract, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < contract->n_names; i++)
        if (strncmp(contract->names[i].name, name, len) == 0 && contract->names[i].name[len] == '.')
            return true;
    return false;
}

static void put_name(const struct contract *contract, const struct contract_name *name,
                     struct buf *ret)
{
    if (is_class(contract, name->name)) {
        (void)buf_printf(ret, "\n\nclass %s:\n    \"\"\"Nothing.\"\"\"\n", name->name);
        put_methods(contract, name->name, ret);
    } else {
        (void)buf_printf(ret, "\n\ndef %s%s:\n    return None\n", name->name,
                         signature_of(name, "(*args, **kwargs)"));
    }
}

int stub_library(const struct contract *contract, struct agent_files *ret)
{
    cleanup_buf struct buf text = BUF_INIT(STUB_MAX);

    (void)buf_puts(&text, "from __future__ import annotations\n");
    for (size_t i = 0; i < contract->n_names; i++)
        if (!strchr(contract->names[i].name, '.'))
            put_name(contract, &contract->names[i], &text);
    if (buf_error(&text) < 0)
        return buf_error(&text);
    return agent_files_put(ret, contract->module, text.data, text.len);
}

bool stub_passes(const struct judge_tests *tests, const char *id)
{
    const struct case_seen nothing = { .out = "", .err = "" };
    cleanup_cases struct program_cases cases = { 0 };
    const struct program_case *item;
    char why[CASE_WHY_SIZE];

    if (!tests->cases || cases_parse(tests->cases, strlen(tests->cases), &cases, NULL) < 0)
        return false;
    item = cases_find(&cases, id);
    return item && case_compare(&item->expect, &nothing, why) == 1;
}
