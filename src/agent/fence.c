/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fence.c - files in a model's answer.
 *
 * The text is read twice: which fence the fallback means is only known when all were seen, and what
 * is prose depends on it.  Both readings go forward only, so that time is linear whatever it is.
 */
#include "agent/fence.h"

#include <string.h>
#include <strings.h>

#include "agent/fence_name.h"
#include "agent/quote.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "json/utf8.h"
#include "run/language.h"

#define WIDTH_MIN  3
#define INDENT_MAX 3 /* that a closing line may have beyond the opening one's */

struct span {
    const char *at;
    size_t len;
};

struct line {
    struct span text; /* without its end */
    const char *next;
    bool is_crlf;
};

/* A line of backticks or tildes. */
struct marks {
    struct span indent;
    struct span info; /* what stands behind them */
    size_t width;
    char mark;
};

struct fence {
    const char *begin;  /* of its first line, or of the line that names it */
    const char *next;   /* behind its last line */
    struct marks marks; /* of its first line */
    struct span body;
    bool is_crlf;
    size_t number;              /* of its first line, from 1 */
    char path[FENCE_NAME_SIZE]; /* "" when it has none */
};

struct reader {
    const char *at;
    const char *end;
    size_t number; /* of the line at `at` */
};

/* ---- lines ---------------------------------------------------------------------------------- */

static bool read_line(struct reader *reader, struct line *ret)
{
    const char *at = reader->at;
    const char *end;
    size_t len;

    if (at == reader->end)
        return false;
    end = memchr(at, '\n', (size_t)(reader->end - at));
    len = (size_t)((end ? end : reader->end) - at);
    ret->next = end ? end + 1 : reader->end;
    ret->is_crlf = len > 0 && at[len - 1] == '\r';
    ret->text = (struct span){ at, len - ret->is_crlf };
    reader->at = ret->next;
    reader->number++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span trim(struct span text)
{
    while (text.len > 0 && is_blank(text.at[text.len - 1]))
        text.len--;
    while (text.len > 0 && is_blank(*text.at)) {
        text.at++;
        text.len--;
    }
    return text;
}

static struct span first_word(struct span text)
{
    size_t n = 0;

    while (n < text.len && !is_blank(text.at[n]) && text.at[n] != ':')
        n++;
    return (struct span){ text.at, n };
}

static bool span_is(struct span text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.at, word, text.len) == 0;
}

static const struct language *language_of(struct span word)
{
    char name[32];

    if (word.len >= sizeof(name))
        return NULL;
    memcpy(name, word.at, word.len);
    name[word.len] = '\0';
    return language_by_name(name);
}

/* ---- one fence ------------------------------------------------------------------------------ */

/* Any line of enough backticks or tildes, with whatever stands behind them. */
static bool parse_marks(struct span line, struct marks *ret)
{
    size_t n = 0;

    while (n < line.len && (line.at[n] == ' ' || line.at[n] == '\t'))
        n++;
    if (n == line.len || (line.at[n] != '`' && line.at[n] != '~'))
        return false;
    ret->mark = line.at[n];
    ret->indent = (struct span){ line.at, n };
    for (ret->width = 0; n < line.len && line.at[n] == ret->mark; n++)
        ret->width++;
    ret->info = trim((struct span){ line.at + n, line.len - n });
    return ret->width >= WIDTH_MIN;
}

/* "```x```" is code in a line of prose. */
static bool opens(struct span line, struct marks *ret)
{
    return parse_marks(line, ret) &&
           !(ret->mark == '`' && memchr(ret->info.at, '`', ret->info.len));
}

/* 1: an inner fence begins, -1: one ends, 0: neither. */
static int level_change(const struct marks *outer, struct span line)
{
    struct marks other;

    if (!opens(line, &other) || other.mark != outer->mark || other.width < outer->width ||
        other.indent.len > outer->indent.len + INDENT_MAX)
        return 0;
    return other.info.len > 0 ? 1 : -1;
}

static bool holds_markdown(const struct fence *fence)
{
    const char *ending = path_ending(fence->path);
    struct span word = first_word(fence->marks.info);

    if (fence->path[0])
        return strcasecmp(ending, "md") == 0 || strcasecmp(ending, "markdown") == 0;
    return span_is(word, "md") || span_is(word, "markdown");
}

static int read_body(struct reader *reader, struct fence *fence, struct gb_err *err)
{
    bool nests = holds_markdown(fence);
    size_t depth = 1;
    char text[QUOTE_SIZE];
    struct line line;

    fence->body = (struct span){ reader->at, 0 };
    while (read_line(reader, &line)) {
        int change = level_change(&fence->marks, line.text);

        if (change < 0)
            depth--;
        else if (change > 0 && nests)
            depth++;
        if (depth == 0) {
            fence->body.len = (size_t)(line.text.at - fence->body.at);
            fence->next = line.next;
            return 1;
        }
    }
    return gb_fail(err, -EBADMSG, GB_BLAME_PEER,
                   "the fence that begins at line %zu (%s) does not end: the answer is incomplete",
                   fence->number, quote_str(fence->path[0] ? fence->path : "no path", text));
}

static void name_by_first_line(struct fence *fence)
{
    struct reader reader = { fence->body.at, fence->body.at + fence->body.len, 0 };
    struct line line;

    if (!read_line(&reader, &line) ||
        !fence_name_of_comment(line.text.at, line.text.len, fence->path))
        fence->path[0] = '\0';
}

/* Does the line name the very file? */
static bool names_same(struct span line, const char *path)
{
    char named[FENCE_NAME_SIZE];

    return fence_name_of_line(line.at, line.len, named) && strcmp(named, path) == 0;
}

/* The fence's own path wins over the line before; that line belongs to it if it says the same. */
static void name_fence(struct fence *fence, struct span before)
{
    if (fence->marks.info.len > 0 &&
        fence_name_of_info(fence->marks.info.at, fence->marks.info.len, fence->path)) {
        if (before.len > 0 && names_same(before, fence->path))
            fence->begin = before.at;
        return;
    }
    if (before.len > 0 && fence_name_of_line(before.at, before.len, fence->path))
        fence->begin = before.at;
    else
        fence->path[0] = '\0';
}

/* 1 and the next fence, 0 when there is none. */
static int read_fence(struct reader *reader, struct fence *ret, struct gb_err *err)
{
    struct span before = { 0 }; /* the last line that was not empty */
    struct line line;
    int r;

    while (read_line(reader, &line)) {
        if (!opens(line.text, &ret->marks)) {
            if (trim(line.text).len > 0)
                before = line.text;
            continue;
        }
        ret->begin = line.text.at;
        ret->number = reader->number - 1;
        ret->is_crlf = line.is_crlf;
        name_fence(ret, before);
        r = read_body(reader, ret, err);
        if (r > 0 && !ret->path[0])
            name_by_first_line(ret);
        return r;
    }
    return 0;
}

/* ---- which one the fallback means ----------------------------------------------------------- */

struct survey {
    size_t n_named;
    size_t n_free;    /* without a path, and not plainly in another language */
    size_t n_fit;     /* of these, in the very language */
    size_t last_free; /* line number; 0: none */
    size_t last_fit;
};

static void survey_fence(const struct fence *fence, const struct language *wanted,
                         struct survey *survey)
{
    const struct language *is = language_of(first_word(fence->marks.info));

    if (fence->path[0]) {
        survey->n_named++;
        return;
    }
    if (is && wanted && is != wanted)
        return;
    survey->n_free++;
    survey->last_free = fence->number;
    if (is && is == wanted) {
        survey->n_fit++;
        survey->last_fit = fence->number;
    }
}

/* The line number of the fence that is the fallback's file; 0: none is. */
static int find_fallback(const char *text, size_t len, const char *fallback, size_t *ret,
                         struct gb_err *err)
{
    struct reader reader = { text, text + len, 1 };
    const struct language *wanted = fallback ? language_by_path(fallback) : NULL;
    struct survey survey = { 0 };
    struct fence fence;
    int r;

    while ((r = read_fence(&reader, &fence, err)) > 0)
        survey_fence(&fence, wanted, &survey);
    *ret = 0;
    if (r < 0 || !fallback || survey.n_named > 0)
        return r;
    if (survey.n_free == 1)
        *ret = survey.last_free;
    else if (survey.n_fit == 1)
        *ret = survey.last_fit;
    return 0;
}

/* ---- taking --------------------------------------------------------------------------------- */

/* Does one of the two lie below the other? */
static bool clashes(const char *a, const char *b)
{
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, n) == 0 && (a[n] == '/' || b[n] == '/');
}

static int check_path(const struct agent_files *files, const struct fence *fence,
                      struct gb_err *err)
{
    int r = agent_path_check(fence->path, err);

    if (r < 0)
        return gb_wrap(err, r, "line %zu", fence->number);
    if (agent_files_find(files, fence->path))
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "line %zu: the file %s is given twice",
                       fence->number, fence->path);
    for (size_t i = 0; i < files->n; i++)
        if (clashes(files->items[i].path, fence->path))
            return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                           "line %zu: %s cannot be a file and %s another", fence->number,
                           files->items[i].path, fence->path);
    return 0;
}

/* The body without the fence's own indent and line ends. */
static void add_body(const struct fence *fence, struct buf *ret)
{
    struct reader reader = { fence->body.at, fence->body.at + fence->body.len, 0 };
    struct line line;

    while (read_line(&reader, &line)) {
        const char *end = fence->is_crlf && line.is_crlf ? line.text.at + line.text.len : line.next;
        const char *at = line.text.at;

        for (size_t i = 0;
             i < fence->marks.indent.len && at < end && *at == fence->marks.indent.at[i]; i++)
            at++;
        (void)buf_add(ret, at, (size_t)(end - at));
        if (end != line.next)
            (void)buf_putc(ret, '\n');
    }
}

static int take_file(struct agent_files *files, const struct fence *fence, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(FENCE_FILE_MAX);
    int r = check_path(files, fence, err);

    if (r < 0)
        return r;
    if (fence->body.len > FENCE_FILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_PEER, "%s is longer than %d KiB", fence->path,
                       FENCE_FILE_MAX >> 10);
    add_body(fence, &text);
    r = buf_error(&text);
    if (r == 0)
        r = agent_files_put(files, fence->path, text.data, text.len);
    if (r == -E2BIG)
        return gb_fail(err, r, GB_BLAME_PEER, "more than %d files", FENCE_FILES_MAX);
    if (r == -EFBIG)
        return gb_fail(err, r, GB_BLAME_PEER, "the files are longer than %d MiB together",
                       FENCE_TOTAL_MAX >> 20);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for the files of an answer") : 0;
}

/* As much as there is room for, in whole characters. */
static void add_prose(struct buf *prose, const char *at, const char *end)
{
    size_t len = (size_t)(end - at);
    size_t room = prose->max - prose->len;

    if (len > room)
        for (len = room; len > 0 && ((unsigned char)at[len] & 0xc0) == 0x80;)
            len--;
    (void)buf_add(prose, at, len);
}

static int take_prose(const struct buf *prose, struct agent_files *ret, struct gb_err *err)
{
    struct span text = trim((struct span){ prose->data, prose->len });

    ret->prose = buf_error(prose) == 0 ? strndup(text.len > 0 ? text.at : "", text.len) : NULL;
    if (!ret->prose)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for an answer");
    return 0;
}

static int take_all(const char *text, size_t len, const char *fallback, size_t fallback_line,
                    struct agent_files *ret, struct gb_err *err)
{
    cleanup_buf struct buf prose = BUF_INIT(FENCE_PROSE_MAX);
    struct reader reader = { text, text + len, 1 };
    const char *rest = text; /* from here on it is prose */
    struct fence fence;
    int r;

    while ((r = read_fence(&reader, &fence, err)) > 0) {
        if (fence.number == fallback_line && strlen(fallback) < sizeof(fence.path))
            memcpy(fence.path, fallback, strlen(fallback) + 1);
        if (!fence.path[0])
            continue;
        r = take_file(ret, &fence, err);
        if (r < 0)
            return r;
        add_prose(&prose, rest, fence.begin);
        rest = fence.next;
    }
    add_prose(&prose, rest, text + len);
    return r < 0 ? r : take_prose(&prose, ret, err);
}

int fence_scan(const char *text, size_t len, const char *fallback, struct agent_files *ret,
               struct gb_err *err)
{
    cleanup_files struct agent_files files = { 0 };
    size_t fallback_line = 0;
    int r;

    if (len > 0 && memchr(text, '\0', len))
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "the answer holds a NUL byte");
    r = find_fallback(text, len, fallback, &fallback_line, err);
    if (r == 0)
        r = take_all(text, len, fallback, fallback_line, &files, err);
    if (r < 0)
        return r;
    *ret = files;
    files = (struct agent_files){ 0 };
    return 0;
}

/* ---- the other way, and JSON ---------------------------------------------------------------- */

static size_t longest_run(const char *text, size_t len, char mark)
{
    size_t most = 0;

    for (size_t i = 0, run = 0; i < len; i++) {
        run = text[i] == mark ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

int fence_write(const char *path, const char *text, size_t len, struct buf *ret)
{
    const struct language *language = language_by_path(path);
    size_t width = longest_run(text, len, '`') + 1;

    if (width < WIDTH_MIN)
        width = WIDTH_MIN;
    (void)buf_printf(ret, "File: %s\n", path);
    for (size_t i = 0; i < width; i++)
        (void)buf_putc(ret, '`');
    (void)buf_printf(ret, "%s\n", language ? language->name : "");
    (void)buf_add(ret, text, len);
    if (len > 0 && text[len - 1] != '\n')
        (void)buf_putc(ret, '\n');
    for (size_t i = 0; i < width; i++)
        (void)buf_putc(ret, '`');
    (void)buf_putc(ret, '\n');
    return buf_error(ret);
}

static bool find_json_fence(struct span text, struct span *ret)
{
    struct reader reader = { text.at, text.at + text.len, 1 };
    struct fence fence;

    while (read_fence(&reader, &fence, NULL) > 0)
        if (span_is(first_word(fence.marks.info), "json")) {
            *ret = fence.body;
            return true;
        }
    return false;
}

static struct span cut_to_braces(struct span text)
{
    const char *first = NULL;
    const char *last;

    for (size_t i = 0; i < text.len && !first; i++)
        if (text.at[i] == '{' || text.at[i] == '[')
            first = text.at + i;
    last = first ? memrchr(first, *first == '{' ? '}' : ']', (size_t)(text.at + text.len - first))
                 : NULL;
    return last ? (struct span){ first, (size_t)(last - first) + 1 } : text;
}

void fence_json(const char *text, size_t len, const char **ret, size_t *ret_len)
{
    struct span json = trim((struct span){ text, len });
    struct span inner;

    if (json.len > 0 && *json.at != '{' && *json.at != '[' && find_json_fence(json, &inner))
        json = trim(inner);
    json = cut_to_braces(json);
    *ret = json.at;
    *ret_len = json.len;
}
