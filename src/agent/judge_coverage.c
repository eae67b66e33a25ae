/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_coverage.c - which statements of the tested code ran.
 *
 * The server of each test tells, on a stream that the code can write to as well: for people, never
 * for the verdict.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "json/value.h"

#define LINE_MAX_BYTES (1 << 20)
#define FILES_MAX      64
#define LINES_MAX      20000 /* of a file, that are looked at */

struct covered {
    char *name;
    bool *ran; /* by line; of LINES_MAX + 1 */
    bool *is_statement;
};

struct coverage {
    struct covered files[FILES_MAX];
    size_t n;
};

static struct covered *file_of(struct coverage *all, const char *name)
{
    struct covered *file;

    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->files[i].name, name) == 0)
            return &all->files[i];
    if (all->n == FILES_MAX)
        return NULL;
    file = &all->files[all->n];
    file->name = strdup(name);
    file->ran = calloc(LINES_MAX + 1, sizeof(bool));
    file->is_statement = calloc(LINES_MAX + 1, sizeof(bool));
    all->n++;
    return file->name && file->ran && file->is_statement ? file : NULL;
}

static void mark(const struct json_value *list, bool *ret)
{
    for (size_t i = 0; i < json_count(list) && i < LINES_MAX; i++) {
        uint64_t line;

        if (json_u64(json_at(list, i), &line) && line <= LINES_MAX)
            ret[line] = true;
    }
}

static void add_line(struct coverage *all, const char *text, size_t len)
{
    cleanup_json struct json_value *line = NULL;
    const struct json_value *files;

    if (json_value_parse(text, len, LINE_MAX_BYTES, &line, NULL) < 0)
        return;
    files = json_get(line, "cover");
    for (size_t i = 0; i < json_count(files) && i < FILES_MAX; i++) {
        const char *name;
        const struct json_value *told = json_member(files, i, &name);
        struct covered *file = file_of(all, name);

        if (!file)
            return;
        mark(json_get(told, "statements"), file->is_statement);
        mark(json_get(told, "ran"), file->ran);
    }
}

static double share(const struct coverage *all)
{
    size_t n = 0;
    size_t ran = 0;

    for (size_t i = 0; i < all->n; i++) {
        for (size_t line = 0; line <= LINES_MAX; line++) {
            n += all->files[i].is_statement[line];
            ran += all->files[i].is_statement[line] && all->files[i].ran[line];
        }
    }
    return n > 0 ? (double)ran / (double)n : -1;
}

double coverage_read(const char *text, size_t len, const char *nonce)
{
    struct coverage all = { 0 };
    size_t mark_len = strlen(nonce);
    bool is_whole = true;
    double found;

    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t)(newline - text) : len;

        if (newline && n > mark_len && memcmp(text, nonce, mark_len) == 0 && text[mark_len] == ' ')
            add_line(&all, text + mark_len + 1, n - mark_len - 1);
        n += newline ? 1 : 0;
        text += n;
        len -= n;
    }
    for (size_t i = 0; i < all.n; i++)
        is_whole = is_whole && all.files[i].name && all.files[i].ran && all.files[i].is_statement;
    found = is_whole ? share(&all) : -1;
    for (size_t i = 0; i < all.n; i++) {
        free(all.files[i].name);
        free(all.files[i].ran);
        free(all.files[i].is_statement);
    }
    return found;
}
