/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_fence.c - a model's answer: its files, its JSON, and edits of a file.
 *
 * A first byte 'e' makes the rest an edit: old text, a NUL, blocks.  Anything else is an answer,
 * scanned with and without a fallback; what comes of it is written again and read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/edit.h"
#include "agent/fence.h"
#include "base/buf.h"
#include "base/err.h"
#include "must.h"

static void check_error(int r, const struct gb_err *err)
{
    must(err->code == r && err->msg[0]);
    for (const char *c = err->msg; *c; c++)
        must((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_again(const struct agent_files *files)
{
    cleanup_buf struct buf text = BUF_INIT(16 << 20);
    cleanup_files struct agent_files again = { 0 };

    for (size_t i = 0; i < files->n; i++)
        must(fence_write(files->items[i].path, files->items[i].text, files->items[i].len, &text) ==
             0);
    if (files->n == 0)
        return;
    must(fence_scan(text.data, text.len, NULL, &again, NULL) == 0);
    must(again.n == files->n);
    for (size_t i = 0; i < files->n; i++) {
        const struct agent_file *a = &files->items[i];
        const struct agent_file *b = &again.items[i];

        must(strcmp(a->path, b->path) == 0);
        must(b->len >= a->len && b->len <= a->len + 1 && memcmp(a->text, b->text, a->len) == 0);
    }
}

static void check_scan(const char *text, size_t len, const char *fallback)
{
    cleanup_files struct agent_files files = { 0 };
    struct gb_err err = { 0 };
    int r = fence_scan(text, len, fallback, &files, &err);

    if (r < 0) {
        check_error(r, &err);
        must(!files.items && !files.prose && files.n == 0);
        return;
    }
    must(files.n <= FENCE_FILES_MAX && files.prose);
    for (size_t i = 0; i < files.n; i++) {
        must(agent_path_check(files.items[i].path, NULL) == 0);
        must(files.items[i].text[files.items[i].len] == '\0');
        must(agent_files_find(&files, files.items[i].path) == &files.items[i]);
    }
    check_again(&files);
}

static void check_json(const char *text, size_t len)
{
    const char *at = NULL;
    size_t n = 0;

    fence_json(text, len, &at, &n);
    must(at >= text && at + n <= text + len);
}

static void check_edit(const char *text, size_t len)
{
    const char *nul = memchr(text, '\0', len);
    size_t old_len = nul ? (size_t)(nul - text) : 0;
    const char *blocks = nul ? nul + 1 : text;
    size_t blocks_len = (size_t)(text + len - blocks);
    struct gb_err err = { 0 };
    char *made = NULL;
    size_t made_len = 0;
    int r = edit_apply(text, old_len, blocks, blocks_len, &made, &made_len, &err);

    if (r == 0)
        must(edit_is_blocks(blocks, blocks_len) && made[made_len] == '\0');
    else
        check_error(r, &err);
    must(!made == (r < 0));
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    if (size == 0)
        return 0;
    if (*text == 'e') {
        check_edit(text + 1, size - 1);
        return 0;
    }
    check_scan(text + 1, size - 1, NULL);
    check_scan(text + 1, size - 1, "main.py");
    check_json(text + 1, size - 1);
    return 0;
}
