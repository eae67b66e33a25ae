/* SPDX-License-Identifier: Apache-2.0 */
/* agent/given.c - tests from the examples that the task itself gives. */
#include "agent/given.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge.h"
#include "base/buf.h"
#include "base/path.h"
#include "json/writer.h"

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

/* One word of a command line: quotes and backslashes as in a shell, and nothing else of it.  False
 * at the end. */
static bool next_word(const char **at, struct buf *ret)
{
    char quote = '\0';

    *at += strspn(*at, " \t");
    if (!**at)
        return false;
    for (; **at && (quote || !strchr(" \t", **at)); (*at)++) {
        if (quote && **at == quote)
            quote = '\0';
        else if (!quote && (**at == '\'' || **at == '"'))
            quote = **at;
        else if (**at == '\\' && quote != '\'' && (*at)[1])
            (void)buf_putc(ret, *++*at);
        else
            (void)buf_putc(ret, **at);
    }
    return true;
}

static void put_words(struct json_writer *w, const char *line)
{
    cleanup_buf struct buf word = BUF_INIT(CONTRACT_STRING_MAX);

    json_array_begin(w, "argv");
    while (next_word(&line, &word)) {
        json_put_str(w, NULL, word.data ? word.data : "");
        buf_reset(&word);
    }
    json_array_end(w);
}

static void put_case(struct json_writer *w, const struct contract_example *example, size_t number)
{
    char name[32];

    (void)snprintf(name, sizeof(name), GIVEN_CASE "%zu", number);
    json_object_begin(w, NULL);
    json_put_str(w, "name", name);
    json_put_str(w, "class", test_class_name(CLASS_NORMAL));
    if (strncmp(example->input, "$ ", 2) == 0)
        put_words(w, example->input + 2);
    else
        json_put_str(w, "stdin", example->input);
    json_object_begin(w, "expect");
    json_put_str(w, "stdout", example->output);
    json_object_end(w);
    json_object_end(w);
}

int given_program(const struct contract *contract, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "cases");
    for (size_t i = 0; i < contract->n_examples; i++)
        put_case(&w, &contract->examples[i], i + 1);
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}
