/* SPDX-License-Identifier: Apache-2.0 */
/* agent/files.c - a small set of text files, by path (agent/fence.h). */
#include <string.h>

#include "agent/fence.h"
#include "agent/quote.h"
#include "base/err.h"
#include "base/path.h"
#include "json/utf8.h"
#include "json/writer.h"
#include "run/touch.h"

static int refuse(const char *path, const char *why, struct gb_err *err)
{
    char text[QUOTE_SIZE];

    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the path %s is refused: %s", quote_str(path, text),
                   why);
}

static bool has_option(const char *path)
{
    return path[0] == '-' || strstr(path, "/-") != NULL;
}

static bool is_plain_text(const char *path)
{
    size_t len = strlen(path);
    uint32_t point;

    for (size_t i = 0, n; i < len; i += n) {
        n = utf8_decode((const uint8_t *)path + i, len - i, &point);
        if (n == 0 || point <= ' ' || (point >= 0x7f && point <= 0xa0))
            return false;
    }
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len > strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

bool agent_path_is_collected(const char *path)
{
    const char *name = path_base(path);

    return (strncmp(name, "test_", 5) == 0 && ends_with(name, ".py") && strlen(name) > 8) ||
           ends_with(name, "_test.py");
}

bool agent_path_is_testing(const char *path)
{
    const char *name = path_base(path);

    return agent_path_is_collected(path) || strncmp(name, "test_", 5) == 0 ||
           strncmp(path, "tests/", 6) == 0 || strcmp(name, "conftest.py") == 0 ||
           strcmp(name, "pytest.ini") == 0;
}

int agent_path_check(const char *path, struct gb_err *err)
{
    if (strlen(path) > AGENT_PATH_MAX)
        return refuse(path, "it is too long", err);
    if (strchr(path, '\\'))
        return refuse(path, "directories are separated by '/'", err);
    if (path[0] == '/' || path[0] == '~')
        return refuse(path, "it must be relative", err);
    if (!path_is_below(path))
        return refuse(path, "it must be relative, without '.', '..' or empty parts", err);
    if (!is_plain_text(path) || strpbrk(path, ":*?\"'`<>|"))
        return refuse(path, "blanks, control bytes, quotes and : * ? < > | do not belong there",
                      err);
    if (has_option(path))
        return refuse(path, "no part of it may begin with '-'", err);
    if (touch_is_git(path))
        return refuse(path, "git would obey what lies there", err);
    return 0;
}

const struct agent_file *agent_files_find(const struct agent_files *files, const char *path)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->items[i].path, path) == 0)
            return &files->items[i];
    return NULL;
}

static size_t total(const struct agent_files *files, const struct agent_file *but)
{
    size_t sum = 0;

    for (size_t i = 0; i < files->n; i++)
        if (&files->items[i] != but)
            sum += files->items[i].len;
    return sum;
}

static char *copy(const char *text, size_t len)
{
    char *made = malloc(len + 1);

    if (!made)
        return NULL;
    if (len > 0)
        memcpy(made, text, len);
    made[len] = '\0';
    return made;
}

/* A file of that path, without a text so far. */
static struct agent_file *append(struct agent_files *files, const char *path)
{
    struct agent_file *items = reallocarray(files->items, files->n + 1, sizeof(*items));

    if (!items)
        return NULL;
    files->items = items;
    items[files->n] = (struct agent_file){ .path = strdup(path) };
    return items[files->n].path ? &items[files->n++] : NULL;
}

int agent_files_put(struct agent_files *files, const char *path, const char *text, size_t len)
{
    const struct agent_file *there = agent_files_find(files, path);
    struct agent_file *file;
    char *made;
    int r = agent_path_check(path, NULL);

    if (r < 0)
        return r;
    if (!there && files->n == FENCE_FILES_MAX)
        return -E2BIG;
    if (len > FENCE_FILE_MAX || total(files, there) > FENCE_TOTAL_MAX - len)
        return -EFBIG;
    made = copy(text, len);
    file = !made ? NULL : there ? &files->items[there - files->items] : append(files, path);
    if (!file) {
        free(made);
        return -ENOMEM;
    }
    free(file->text);
    file->text = made;
    file->len = len;
    return 0;
}

void agent_files_clear(struct agent_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->items[i].path);
        free(files->items[i].text);
    }
    free(files->items);
    free(files->prose);
    *files = (struct agent_files){ 0 };
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static void put_files(struct json_writer *w, const char *key, const struct agent_files *files,
                      const char *path_key, const char *text_key)
{
    json_array_begin(w, key);
    for (size_t i = 0; i < files->n; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, path_key, files->items[i].path);
        json_put_bytes(w, text_key, files->items[i].text, files->items[i].len);
        json_object_end(w);
    }
    json_array_end(w);
}

void agent_files_list(struct json_writer *w, const char *key, const struct agent_files *files)
{
    put_files(w, key, files, "path", "text");
}

void agent_files_artifact(struct json_writer *w, const char *key, const struct agent_files *files)
{
    json_object_begin(w, key);
    put_files(w, "files", files, "relative_path", "content");
    json_put_str(w, "reasoning", files->prose ? files->prose : "");
    json_object_end(w);
}
