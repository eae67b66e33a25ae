/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_coverage.c - which statements of the tested code ran, as the boxes tell it.
 *
 * They tell on a stream that the code can write to as well: for people, never for the verdict.
 * Only lines that the code's own files have are taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge_inside.h"
#include "json/value.h"

#define LINE_MAX_BYTES (1 << 20)
#define FILES_MAX      64
#define LINES_MAX      20000 /* of a file, that are looked at */

struct covered {
    const struct agent_file *file;
    size_t n_lines;
    bool *ran; /* by line, from 1 */
    bool *is_statement;
};

struct coverage {
    const struct agent_files *code;
    const char *dir;
    struct covered files[FILES_MAX];
    size_t n;
};

static size_t count_lines(const struct agent_file *file)
{
    size_t n = 1;

    for (size_t i = 0; i < file->len && n < LINES_MAX; i++)
        n += file->text[i] == '\n';
    return n;
}

/* NULL: it is none of the code's, or there is no memory. */
static struct covered *file_of(struct coverage *all, const char *name)
{
    char path[AGENT_PATH_MAX + 1];
    const struct agent_file *file;
    struct covered *added;

    if ((size_t)snprintf(path, sizeof(path), "%s%s", all->dir, name) >= sizeof(path))
        return NULL;
    file = agent_files_find(all->code, path);
    for (size_t i = 0; file && i < all->n; i++)
        if (all->files[i].file == file)
            return &all->files[i];
    if (!file || all->n == FILES_MAX)
        return NULL;
    added = &all->files[all->n++];
    added->file = file;
    added->n_lines = count_lines(file);
    added->ran = calloc(added->n_lines + 1, sizeof(bool));
    added->is_statement = calloc(added->n_lines + 1, sizeof(bool));
    return added->ran && added->is_statement ? added : NULL;
}

static void mark(const struct json_value *list, size_t n_lines, bool *ret)
{
    for (size_t i = 0; i < json_count(list) && i < LINES_MAX; i++) {
        uint64_t line;

        if (json_u64(json_at(list, i), &line) && line > 0 && line <= n_lines)
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

        if (!file || !file->ran || !file->is_statement)
            continue;
        mark(json_get(told, "statements"), file->n_lines, file->is_statement);
        mark(json_get(told, "ran"), file->n_lines, file->ran);
    }
}

static double share(const struct coverage *all)
{
    size_t n = 0;
    size_t ran = 0;

    for (size_t i = 0; i < all->n; i++) {
        const struct covered *file = &all->files[i];

        for (size_t line = 1; line <= file->n_lines; line++) {
            n += file->is_statement[line];
            ran += file->is_statement[line] && file->ran[line];
        }
    }
    return n > 0 ? (double)ran / (double)n : -1;
}

double coverage_read(const char *text, size_t len, const char *nonce,
                     const struct agent_files *code, const char *dir)
{
    struct coverage all = { .code = code, .dir = dir };
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
        is_whole = is_whole && all.files[i].ran && all.files[i].is_statement;
    found = is_whole ? share(&all) : -1;
    for (size_t i = 0; i < all.n; i++) {
        free(all.files[i].ran);
        free(all.files[i].is_statement);
    }
    return found;
}
