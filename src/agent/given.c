/* SPDX-License-Identifier: Apache-2.0 */
/* agent/given.c - tests from the examples that the task itself gives. */
#include "agent/given.h"

#include <string.h>

#include "agent/contract.h"
#include "base/buf.h"
#include "base/path.h"

static bool is_line(const char *text)
{
    return text && text[strspn(text, " \t")] && !strpbrk(text, "\r\n");
}

/* "duration" of "src/duration.py" lies in that folder, which is on the path. */
static void put_import(const struct contract *contract, struct buf *ret)
{
    const char *file = path_base(contract->module);

    (void)buf_printf(ret, "import pytest\n\nfrom %.*s import ", (int)strcspn(file, "."), file);
    for (size_t i = 0, n = 0; i < contract->n_names; i++)
        if (!strchr(contract->names[i].name, '.'))
            (void)buf_printf(ret, "%s%s", n++ ? ", " : "", contract->names[i].name);
    (void)buf_putc(ret, '\n');
}

/* The name behind "raises "; NULL. */
static const char *raised(const char *output)
{
    static const char word[] = "raises ";

    return strncmp(output, word, sizeof(word) - 1) == 0 ? output + sizeof(word) - 1 : NULL;
}

static void put_test(const struct contract_example *example, unsigned number, struct buf *ret)
{
    const char *error = raised(example->output);

    (void)buf_printf(ret, "\n\n@pytest.mark.normal\ndef " GIVEN_PREFIX "%u():\n", number);
    if (error)
        (void)buf_printf(ret, "    with pytest.raises(%s):\n        %s\n", error, example->input);
    else
        (void)buf_printf(ret, "    assert (%s) == (%s)\n", example->input, example->output);
}

int given_library(const struct contract *contract, struct buf *ret)
{
    unsigned n = 0;

    (void)buf_puts(ret, "\"\"\"The examples that the task gives.\"\"\"\n");
    put_import(contract, ret);
    for (size_t i = 0; i < contract->n_examples; i++)
        if (is_line(contract->examples[i].input) && is_line(contract->examples[i].output))
            put_test(&contract->examples[i], ++n, ret);
    return buf_error(ret) < 0 ? buf_error(ret) : (int)n;
}
