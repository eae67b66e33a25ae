/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_lines.c - how to run and to test what a task has delivered. */
#include "cli/run_lines.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/cases.h"
#include "agent/task.h"
#include "base/buf.h"

/* A case with more is no example that people read. */
#define EXAMPLE_MAX 400

int shell_word(const char *text, struct buf *ret)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=@%+,";

    if (*text && strspn(text, plain) == strlen(text))
        return buf_puts(ret, text);
    (void)buf_putc(ret, '\'');
    for (; *text; text++)
        (void)(*text == '\'' ? buf_puts(ret, "'\\''") : buf_putc(ret, *text));
    return buf_putc(ret, '\'');
}

static int add_word(const char *text, struct buf *ret)
{
    (void)buf_putc(ret, ' ');
    return shell_word(text, ret);
}

/* ---- the case that is shown ----------------------------------------------------------------- */

/* Control bytes that are not in allowed, as UTF-8 or alone, are nothing to paste. */
static bool is_printable(const char *text, const char *allowed)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' || *text == '\x7f') && !strchr(allowed, *text))
            return false;
    return true;
}

static bool is_withdrawn(const struct judge_tests *tests, const char *name)
{
    for (size_t i = 0; i < tests->n; i++)
        if (strcmp(tests->items[i].id, name) == 0)
            return tests->items[i].is_withdrawn;
    return false;
}

/* Files of its own are not in what was delivered. */
static bool is_example(const struct program_case *item)
{
    size_t len = strlen(item->input);

    if (item->class != CLASS_NORMAL || item->files[0] || item->times != 1 ||
        !is_printable(item->input, "\n\t"))
        return false;
    for (char **word = item->argv; *word; word++) {
        len += strlen(*word);
        if (!is_printable(*word, ""))
            return false;
    }
    return len <= EXAMPLE_MAX;
}

static const struct program_case *find_example(const struct program_cases *cases,
                                               const struct judge_tests *tests)
{
    for (size_t i = 0; i < cases->n; i++)
        if (is_example(&cases->items[i]) && !is_withdrawn(tests, cases->items[i].name))
            return &cases->items[i];
    return NULL;
}

static bool have_input(const struct program_cases *cases)
{
    for (size_t i = 0; i < cases->n; i++)
        if (cases->items[i].input[0])
            return true;
    return false;
}

/* printf 'a\nb\n' | */
static void put_input(const char *text, struct buf *ret)
{
    (void)buf_puts(ret, "printf '");
    for (; *text; text++) {
        switch (*text) {
        case '\n':
            (void)buf_puts(ret, "\\n");
            break;
        case '\t':
            (void)buf_puts(ret, "\\t");
            break;
        case '\\':
            (void)buf_puts(ret, "\\\\");
            break;
        case '%':
            (void)buf_puts(ret, "%%");
            break;
        case '\'':
            (void)buf_puts(ret, "'\\''");
            break;
        default:
            (void)buf_putc(ret, *text);
        }
    }
    (void)buf_puts(ret, "' | ");
}

/* ---- the lines ------------------------------------------------------------------------------ */

static void put_words(char *const *words, struct buf *ret)
{
    for (; words && *words; words++)
        (void)add_word(*words, ret);
}

/* A lone file runs as it is; what has several, or a command of its own, in a copy of its
 * directory. */
static void put_program(const struct agent_outcome *outcome, const char *dir, char *const *argv,
                        struct buf *ret)
{
    const struct contract *contract = &outcome->contract;
    char path[PATH_MAX];

    if (outcome->code.n > 1 || contract->command[0]) {
        (void)buf_puts(ret, " --workspace");
        (void)add_word(dir, ret);
    }
    if (contract->command[0]) {
        (void)buf_puts(ret, " --");
        put_words(contract->command, ret);
    } else {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, contract->files[0]);
        (void)add_word(path, ret);
        if (argv && *argv)
            (void)buf_puts(ret, " --");
    }
    put_words(argv, ret);
}

int line_to_run(const struct agent_outcome *outcome, const char *dir, char *const *files,
                struct buf *ret)
{
    const char *json = outcome->tests.cases;
    cleanup_cases struct program_cases cases = { 0 };
    const struct program_case *example;

    if (!outcome->has_contract || outcome->code.n == 0 ||
        outcome->contract.kind == CONTRACT_LIBRARY)
        return 0;
    if (json)
        (void)cases_parse(json, strlen(json), &cases, NULL); /* without them there is no example */
    example = find_example(&cases, &outcome->tests);
    if (example && example->input[0])
        put_input(example->input, ret);
    (void)buf_puts(ret, "glovebox exec");
    if (example ? example->input[0] : have_input(&cases))
        (void)buf_puts(ret, " --stdin");
    for (; files && *files; files++) {
        (void)buf_puts(ret, " --file");
        (void)add_word(*files, ret);
    }
    put_program(outcome, dir, example ? example->argv : NULL, ret);
    return buf_error(ret);
}

int line_to_test(const struct agent_outcome *outcome, const char *dir, struct buf *ret)
{
    if (outcome->code.n == 0 || (outcome->tests.files.n == 0 && !outcome->tests.cases))
        return 0;
    (void)buf_puts(ret, "cd ");
    (void)shell_word(dir, ret);
    return buf_puts(ret, " && python3 -m pytest");
}
