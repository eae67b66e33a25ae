/* SPDX-License-Identifier: Apache-2.0 */
/* agent/edit.c - search/replace blocks.
 *
 * Old text and search text are brought into one form, "\n" before the first line and behind every
 * one, so that whole lines are found by looking for bytes.  memmem() is linear: nothing here is
 * slow on purpose.
 */
#include "agent/edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/fence.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"

#define SEARCH  "<<<<<<< SEARCH"
#define DIVIDER "======="
#define REPLACE ">>>>>>> REPLACE"

struct block {
    struct buf search;  /* "\n" and its lines, each with "\n" */
    struct buf replace; /* its lines, each with "\n" */
    size_t at;          /* where it was found: offset of its first line in the old text's form */
};

struct blocks {
    struct block *items;
    size_t n;
};

static void blocks_clear(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->n; i++) {
        buf_clear(&blocks->items[i].search);
        buf_clear(&blocks->items[i].replace);
    }
    free(blocks->items);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Takes a line off the front, without its end. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_len)
{
    const char *stop;

    if (*at == end)
        return false;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *ret = *at;
    *ret_len = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : end;
    if (*ret_len > 0 && (*ret)[*ret_len - 1] == '\r')
        --*ret_len;
    return true;
}

static size_t without_blanks(const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    return len;
}

static bool is_mark(const char *line, size_t len, const char *mark)
{
    len = without_blanks(line, len);
    return len == strlen(mark) && memcmp(line, mark, len) == 0;
}

bool edit_is_blocks(const char *text, size_t len)
{
    const char *end = text + len;
    const char *line = NULL;
    size_t n = 0;

    while (next_line(&text, end, &line, &n))
        if (without_blanks(line, n) > 0)
            return is_mark(line, n, SEARCH);
    return false;
}

static int wrong(struct gb_err *err, size_t number, const char *what)
{
    return gb_fail(err, -EINVAL, GB_BLAME_PEER, "search/replace block %zu %s", number, what);
}

static int add_block(struct blocks *blocks, struct gb_err *err)
{
    struct block *items;

    if (blocks->n == EDIT_BLOCKS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_PEER, "more than %d search/replace blocks",
                       EDIT_BLOCKS_MAX);
    items = reallocarray(blocks->items, blocks->n + 1, sizeof(*items));
    if (!items)
        return gb_no_memory(err);
    blocks->items = items;
    items[blocks->n] = (struct block){
        .search = BUF_INIT(FENCE_FILE_MAX + 2),
        .replace = BUF_INIT(FENCE_FILE_MAX + 1),
    };
    blocks->n++;
    return buf_putc(&items[blocks->n - 1].search, '\n') < 0 ? gb_no_memory(err) : 0;
}

/* Lines up to the mark; a mark that belongs elsewhere makes the block ambiguous. */
static int read_part(const char **at, const char *end, const char *mark, size_t number,
                     struct buf *ret, struct gb_err *err)
{
    const char *line = NULL;
    size_t len = 0;

    while (next_line(at, end, &line, &len)) {
        if (is_mark(line, len, mark))
            return buf_error(ret) == -ENOMEM ? gb_no_memory(err) : 0;
        if (is_mark(line, len, DIVIDER) || is_mark(line, len, SEARCH) ||
            is_mark(line, len, REPLACE))
            return wrong(err, number, "has a line of marks where none belongs");
        (void)buf_add(ret, line, len);
        (void)buf_putc(ret, '\n');
        if (buf_error(ret) == -EMSGSIZE)
            return gb_fail(err, -EFBIG, GB_BLAME_PEER, "search/replace block %zu is too long",
                           number);
    }
    return wrong(err, number, "does not end");
}

static int read_blocks(const char *at, const char *end, struct blocks *ret, struct gb_err *err)
{
    const char *line = NULL;
    size_t len = 0;
    int r = 0;

    while (r == 0 && next_line(&at, end, &line, &len)) {
        if (without_blanks(line, len) == 0)
            continue;
        if (!is_mark(line, len, SEARCH))
            return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                           "text outside of the search/replace blocks, behind block %zu", ret->n);
        r = add_block(ret, err);
        if (r == 0)
            r = read_part(&at, end, DIVIDER, ret->n, &ret->items[ret->n - 1].search, err);
        if (r == 0)
            r = read_part(&at, end, REPLACE, ret->n, &ret->items[ret->n - 1].replace, err);
    }
    if (r == 0 && ret->n == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_PEER, "there is no search/replace block");
    return r;
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_all_crlf(const char *text, size_t len)
{
    const char *end = text + len;
    const char *at = text;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if (at == text || at[-1] != '\r')
            return false;
        at++;
    }
    return memchr(text, '\n', len) != NULL;
}

static int check_made(const struct buf *made, struct gb_err *err)
{
    int r = buf_error(made);

    if (r == -EMSGSIZE)
        return gb_fail(err, -EFBIG, GB_BLAME_PEER, "the file is longer than %d KiB",
                       FENCE_FILE_MAX >> 10);
    return r < 0 ? gb_no_memory(err) : 0;
}

/* The old text in the form that is searched. */
static int to_form(const char *old, size_t len, bool is_crlf, struct buf *ret, struct gb_err *err)
{
    const char *end = old + len;

    (void)buf_putc(ret, '\n');
    while (old < end) {
        const char *stop = memchr(old, '\n', (size_t)(end - old));
        size_t n = (size_t)((stop ? stop : end) - old);

        (void)buf_add(ret, old, stop && is_crlf ? n - 1 : n);
        (void)buf_putc(ret, '\n');
        old = stop ? stop + 1 : end;
    }
    return check_made(ret, err);
}

static int find_block(const struct buf *form, struct block *block, size_t number,
                      struct gb_err *err)
{
    const char *first_line = block->search.data + 1;
    size_t line_len = strcspn(first_line, "\n");
    char text[QUOTE_SIZE];
    const char *found;
    const char *again;

    if (block->search.len == 1 && form->len > 1)
        return wrong(err, number, "searches for nothing");
    found = memmem(form->data, form->len, block->search.data, block->search.len);
    if (!found)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "search/replace block %zu was not found: no such lines, the first is %s",
                       number, quote_bytes(first_line, line_len, text));
    block->at = (size_t)(found - form->data) + 1;
    again = memmem(found + 1, form->len - block->at, block->search.data, block->search.len);
    if (again)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "search/replace block %zu was found more than once: add lines around %s",
                       number, quote_bytes(first_line, line_len, text));
    return 0;
}

/* How many bytes of the form it stands for. */
static size_t block_len(const struct block *block)
{
    return block->search.len - 1;
}

static int by_place(const void *a, const void *b)
{
    const struct block *one = a;
    const struct block *other = b;

    return (one->at > other->at) - (one->at < other->at);
}

static int place_blocks(const struct buf *form, struct blocks *blocks, struct gb_err *err)
{
    for (size_t i = 0; i < blocks->n; i++) {
        int r = find_block(form, &blocks->items[i], i + 1, err);

        if (r < 0)
            return r;
    }
    if (blocks->n > 1)
        qsort(blocks->items, blocks->n, sizeof(*blocks->items), by_place);
    for (size_t i = 1; i < blocks->n; i++) {
        const struct block *before = &blocks->items[i - 1];

        if (blocks->items[i].at == before->at ||
            blocks->items[i].at < before->at + block_len(before))
            return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                           "two search/replace blocks change the same lines");
    }
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void add_lines(struct buf *ret, const char *text, size_t len, bool is_crlf)
{
    const char *end = text + len;

    while (is_crlf && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        (void)buf_add(ret, text, (size_t)(stop - text));
        (void)buf_puts(ret, "\r\n");
        text = stop + 1;
    }
    (void)buf_add(ret, text, (size_t)(end - text));
}

static int write_new(const struct buf *form, const struct blocks *blocks, bool is_crlf,
                     struct buf *ret, struct gb_err *err)
{
    size_t at = 1; /* the form begins with a newline that is not the text's */

    for (size_t i = 0; i < blocks->n; i++) {
        const struct block *block = &blocks->items[i];

        add_lines(ret, form->data + at, block->at - at, is_crlf);
        add_lines(ret, block->replace.data ? block->replace.data : "", block->replace.len, is_crlf);
        at = block->at + block_len(block);
    }
    add_lines(ret, form->data + at, form->len - at, is_crlf);
    return check_made(ret, err);
}

/* A last line that had no newline has none afterwards. */
static void drop_last_newline(struct buf *made, bool is_crlf)
{
    if (made->len == 0)
        return;
    made->len -= is_crlf ? 2 : 1;
    made->data[made->len] = '\0';
}

int edit_apply(const char *old, size_t old_len, const char *blocks, size_t len, char **ret,
               size_t *ret_len, struct gb_err *err)
{
    cleanup_with(blocks_clear) struct blocks list = { 0 };
    cleanup_buf struct buf form = BUF_INIT(FENCE_FILE_MAX + 2);
    cleanup_buf struct buf made = BUF_INIT(FENCE_FILE_MAX);
    bool is_crlf = old_len > 0 && is_all_crlf(old, old_len);
    size_t made_len;
    char *text;
    int r = read_blocks(blocks, blocks + len, &list, err);

    if (r == 0)
        r = to_form(old, old_len, is_crlf, &form, err);
    if (r == 0)
        r = place_blocks(&form, &list, err);
    if (r == 0)
        r = write_new(&form, &list, is_crlf, &made, err);
    if (r < 0)
        return r;
    if (old_len > 0 && old[old_len - 1] != '\n')
        drop_last_newline(&made, is_crlf);
    made_len = made.len;
    text = buf_take(&made);
    if (!text)
        return gb_no_memory(err);
    *ret_len = made_len;
    *ret = text;
    return 0;
}
