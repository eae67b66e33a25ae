/* SPDX-License-Identifier: Apache-2.0 */
/* conf/dotenv.c - reading a .env file: a cursor over the text, one function a construct. */
#include "conf/dotenv.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "conf/environment.h"

#define VALUE_MAX    65536
#define EXPANDED_MAX (1 << 20)

/* Counted for each ${VAR} besides its bytes: looking it up takes time even when it is empty. */
#define EXPANSION_COST 64
#define NAME_MAX_LEN   255

/* Lines that are kept for names of ours, however many others there are. */
#define OURS_MAX 1024

struct cursor {
    struct dotenv *dotenv;
    const char *path;
    const char *at;
    const char *end;
    unsigned line;
    char *const *env;
    struct gb_err *err;
};

static int fail(const struct cursor *c, const char *what)
{
    return gb_fail(c->err, -EINVAL, GB_BLAME_CALLER, "%s:%u: %s", c->path, c->line, what);
}

static bool is_at(const struct cursor *c, char wanted)
{
    return c->at < c->end && *c->at == wanted;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && is_blank(*c->at))
        c->at++;
}

static void skip_line(struct cursor *c)
{
    while (c->at < c->end && *c->at != '\n')
        c->at++;
}

static bool is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* The name at the cursor as a heap string, or NULL with err set. */
static char *take_name(struct cursor *c)
{
    const char *start = c->at;
    char *name;

    while (c->at < c->end && is_name_char(*c->at))
        c->at++;
    if (c->at == start || c->at - start > NAME_MAX_LEN) {
        (void)fail(c, "expected NAME=value");
        return NULL;
    }
    /* Not strndup(): the text need not end with a NUL. */
    name = calloc(1, (size_t)(c->at - start) + 1);
    if (!name)
        (void)gb_no_memory(c->err);
    else
        memcpy(name, start, (size_t)(c->at - start));
    return name;
}

static const char *lookup(const struct cursor *c, const char *name)
{
    const char *value = environment_get(c->env, name);

    for (size_t i = c->dotenv->n_lines; !value && i-- > 0;)
        if (strcmp(c->dotenv->lines[i].name, name) == 0)
            value = c->dotenv->lines[i].value;
    return value;
}

/* The cursor is at "${". */
static int expand(struct cursor *c, struct buf *value)
{
    cleanup_free char *name = NULL;
    const char *found;
    const char *otherwise = NULL;
    size_t otherwise_len = 0;

    c->at += 2;
    name = take_name(c);
    if (!name)
        return -EINVAL;
    if (c->end - c->at >= 2 && memcmp(c->at, ":-", 2) == 0) {
        otherwise = c->at += 2;
        while (c->at < c->end && *c->at != '}' && *c->at != '\n')
            c->at++;
        otherwise_len = (size_t)(c->at - otherwise);
    }
    if (!is_at(c, '}'))
        return fail(c, "${ without }");
    c->at++;
    /* Before it is looked up: a foreign line that fails is followed by others. */
    c->dotenv->expanded += EXPANSION_COST;
    found = c->dotenv->expanded > EXPANDED_MAX ? NULL : lookup(c, name);
    c->dotenv->expanded += found ? strlen(found) : 0;
    if (c->dotenv->expanded > EXPANDED_MAX)
        return fail(c, "too much of ${...}: more than 1 MiB or 16384 of them");
    if (otherwise && (!found || !*found))
        return buf_add(value, otherwise, otherwise_len);
    return found ? buf_puts(value, found) : 0;
}

static bool is_at_expansion(const struct cursor *c)
{
    return c->end - c->at >= 2 && c->at[0] == '$' && c->at[1] == '{';
}

/* The cursor is behind the opening quote; ends behind the closing one. */
static int take_single(struct cursor *c, struct buf *value)
{
    const char *start = c->at;
    const char *close = memchr(c->at, '\'', (size_t)(c->end - c->at));

    if (!close)
        return fail(c, "' is never closed");
    for (; c->at < close; c->at++)
        c->line += *c->at == '\n';
    c->at++;
    return buf_add(value, start, (size_t)(close - start));
}

/* A backslash before another character is an ordinary one. */
static int take_escape(struct cursor *c, struct buf *value)
{
    static const char from[] = "nrt\"\\$";
    static const char to[] = "\n\r\t\"\\$";
    const char *known = c->end - c->at >= 2 ? memchr(from, c->at[1], sizeof(from) - 1) : NULL;

    if (!known) {
        c->at++;
        return buf_putc(value, '\\');
    }
    c->at += 2;
    return buf_putc(value, to[known - from]);
}

static int take_double(struct cursor *c, struct buf *value)
{
    unsigned opened = c->line;
    int r = 0;

    while (r == 0 && c->at < c->end && *c->at != '"') {
        if (*c->at == '\\') {
            r = take_escape(c, value);
        } else if (is_at_expansion(c)) {
            r = expand(c, value);
        } else {
            c->line += *c->at == '\n';
            r = buf_putc(value, *c->at++);
        }
    }
    if (r == 0 && c->at == c->end) {
        c->line = opened;
        return fail(c, "\" is never closed");
    }
    c->at++;
    return r;
}

static int take_plain(struct cursor *c, struct buf *value)
{
    size_t kept = 0; /* up to the last character that is no blank */
    int r = 0;

    while (r == 0 && c->at < c->end && *c->at != '\n') {
        if (*c->at == '#' && (value->len == 0 || value->len > kept))
            break;
        if (is_at_expansion(c)) {
            r = expand(c, value);
            kept = value->len;
        } else {
            r = buf_putc(value, *c->at);
            if (!is_blank(*c->at))
                kept = value->len;
            c->at++;
        }
    }
    if (value->data) {
        value->len = kept;
        value->data[kept] = '\0';
    }
    skip_line(c);
    return r;
}

static int take_value(struct cursor *c, struct buf *value)
{
    int r;

    skip_blanks(c);
    if (!is_at(c, '\'') && !is_at(c, '"'))
        return take_plain(c, value);
    r = *c->at++ == '"' ? take_double(c, value) : take_single(c, value);
    if (r < 0)
        return r;
    skip_blanks(c);
    if (is_at(c, '#'))
        skip_line(c);
    return c->at < c->end && *c->at != '\n' ? fail(c, "text behind the closing quote") : 0;
}

/* Takes name over, whatever happens. */
static int add_line(struct cursor *c, char *name, unsigned line, struct buf *value)
{
    struct dotenv *dotenv = c->dotenv;
    struct dotenv_line *lines;

    if (dotenv->n_lines % 64 == 0) {
        lines = realloc(dotenv->lines, (dotenv->n_lines + 64) * sizeof(*lines));
        if (!lines) {
            free(name);
            return gb_no_memory(c->err);
        }
        dotenv->lines = lines;
    }
    buf_puts(value, "");
    dotenv->lines[dotenv->n_lines++] = (struct dotenv_line){
        .name = name,
        .value = buf_take(value),
        .line = line,
    };
    if (dotenv->lines[dotenv->n_lines - 1].value)
        return 0;
    return gb_no_memory(c->err);
}

static bool is_ours(const char *name)
{
    return strncmp(name, DOTENV_PREFIX, strlen(DOTENV_PREFIX)) == 0;
}

/* *ret_is_ours: the line sets a name of ours. */
static int take_assignment(struct cursor *c, bool *ret_is_ours)
{
    cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
    const char *start = c->at;
    cleanup_free char *name = take_name(c);
    unsigned line = c->line;
    int r;

    if (!name)
        return -EINVAL;
    skip_blanks(c);
    if (strcmp(name, "export") == 0 && c->at < c->end && is_name_char(*c->at)) {
        free(name);
        name = take_name(c);
        if (!name)
            return -EINVAL;
        skip_blanks(c);
    }
    if (c->at == c->end || *c->at == '\n' || *c->at == '#') {
        skip_line(c);
        return 0;
    }
    *ret_is_ours = is_ours(name);
    if (!is_at(c, '='))
        return fail(c, "expected NAME=value");
    c->at++;
    r = take_value(c, &value);
    if (buf_error(&value))
        return fail(c, "the value is longer than 64 KiB");
    if (r == 0 && memchr(start, '\0', (size_t)(c->at - start)))
        return fail(c, "has a NUL byte in it");
    if (r == 0 && c->dotenv->n_lines == DOTENV_LINES_MAX - (*ret_is_ours ? 0 : OURS_MAX))
        return fail(c, "more than 4096 assignments");
    return r < 0 ? r : add_line(c, take_ptr(name), line, &value);
}

/* An assignment, or somebody else's line: whatever is wrong with that, the next one is read. */
static int take_line(struct cursor *c)
{
    struct cursor begin = *c;
    struct gb_err err = { 0 };
    bool is_own = false;
    int r;

    c->err = &err;
    r = take_assignment(c, &is_own);
    c->err = begin.err;
    if (r == 0)
        return 0;
    if (is_own || err.blame == GB_BLAME_HOST) {
        if (c->err)
            *c->err = err;
        return r;
    }
    *c = begin;
    skip_line(c);
    return 0;
}

int dotenv_parse(struct dotenv *dotenv, const char *path, const char *text, size_t len,
                 char *const *env, struct gb_err *err)
{
    struct cursor c = {
        .dotenv = dotenv,
        .path = path,
        .at = text,
        .end = text + len,
        .line = 1,
        .env = env,
        .err = err,
    };
    int r = 0;

    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        c.at += 3;
    while (r == 0 && c.at < c.end) {
        skip_blanks(&c);
        if (is_at(&c, '#'))
            skip_line(&c);
        if (is_at(&c, '\n')) {
            c.at++;
            c.line++;
        } else if (c.at < c.end) {
            r = take_line(&c);
        }
    }
    return r;
}

void dotenv_clear(struct dotenv *dotenv)
{
    for (size_t i = 0; i < dotenv->n_lines; i++) {
        free(dotenv->lines[i].name);
        free(dotenv->lines[i].value);
    }
    free(dotenv->lines);
    *dotenv = (struct dotenv){ 0 };
}
