/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile.c - a Dockerfile as the instructions that it is made of.
 *
 * Physical lines are taken one by one; a logical line is what continuations join, without the
 * comments and empty lines in between, as docker does it.  An instruction is a logical line: word,
 * flags, text; bodies of heredocs follow it.
 */
#include "image/dockerfile.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "image/dockerfile_form.h"
#include "json/utf8.h"

enum op_trait {
    OP_JSON = 1 << 0,       /* may have the JSON form */
    OP_DOCS = 1 << 1,       /* may have heredocs */
    OP_NO_TRIGGER = 1 << 2, /* may not stand behind ONBUILD */
};

static const struct {
    const char *name;
    unsigned traits;
} ops[N_DOCKERFILE_OPS] = {
    [DOCKERFILE_ADD] = { "ADD", OP_JSON | OP_DOCS },
    [DOCKERFILE_ARG] = { "ARG", 0 },
    [DOCKERFILE_CMD] = { "CMD", OP_JSON },
    [DOCKERFILE_COPY] = { "COPY", OP_JSON | OP_DOCS },
    [DOCKERFILE_ENTRYPOINT] = { "ENTRYPOINT", OP_JSON },
    [DOCKERFILE_ENV] = { "ENV", 0 },
    [DOCKERFILE_EXPOSE] = { "EXPOSE", 0 },
    [DOCKERFILE_FROM] = { "FROM", OP_NO_TRIGGER },
    [DOCKERFILE_HEALTHCHECK] = { "HEALTHCHECK", 0 },
    [DOCKERFILE_LABEL] = { "LABEL", 0 },
    [DOCKERFILE_MAINTAINER] = { "MAINTAINER", OP_NO_TRIGGER },
    [DOCKERFILE_ONBUILD] = { "ONBUILD", OP_NO_TRIGGER },
    [DOCKERFILE_RUN] = { "RUN", OP_JSON | OP_DOCS },
    [DOCKERFILE_SHELL] = { "SHELL", OP_JSON },
    [DOCKERFILE_STOPSIGNAL] = { "STOPSIGNAL", 0 },
    [DOCKERFILE_USER] = { "USER", 0 },
    [DOCKERFILE_VOLUME] = { "VOLUME", OP_JSON },
    [DOCKERFILE_WORKDIR] = { "WORKDIR", 0 },
};

static const char blanks[] = " \t";

struct reader {
    const char *at;
    const char *end;
    unsigned line;          /* the number of the last line taken */
    struct dockerfile file; /* what there is of it */
    bool has_escape;        /* directive */
    struct gb_err *err;
};

static void item_clear(struct dockerfile_item *item)
{
    form_free_words(item->flags);
    form_free_words(item->words);
    free(item->text);
    for (size_t i = 0; i < item->n_docs; i++) {
        free(item->docs[i].name);
        free(item->docs[i].text);
    }
    free(item->docs);
}

void dockerfile_clear(struct dockerfile *dockerfile)
{
    for (size_t i = 0; i < dockerfile->n; i++)
        item_clear(&dockerfile->items[i]);
    free(dockerfile->items);
    free(dockerfile->syntax);
    *dockerfile = (struct dockerfile){ 0 };
}

/* ---- failures ------------------------------------------------------------------------------- */

static int bad(struct reader *reader, unsigned line, const char *what)
{
    return gb_fail(reader->err, -EINVAL, GB_BLAME_CALLER, "line %u of the Dockerfile: %s", line,
                   what);
}

static int too_much(struct reader *reader, unsigned line, const char *what)
{
    return gb_fail(reader->err, -EFBIG, GB_BLAME_CALLER, "line %u of the Dockerfile: %s", line,
                   what);
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct line {
    const char *text;
    size_t len; /* without its newline */
};

static bool take_line(struct reader *reader, struct line *ret)
{
    const char *newline;

    if (reader->at == reader->end)
        return false;
    newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    ret->text = reader->at;
    ret->len = (size_t)((newline ? newline : reader->end) - reader->at);
    reader->at += ret->len + (newline != NULL);
    if (ret->len > 0 && ret->text[ret->len - 1] == '\r')
        ret->len--;
    reader->line++;
    return true;
}

static void skip_blanks(struct line *line)
{
    while (line->len > 0 && (*line->text == ' ' || *line->text == '\t')) {
        line->text++;
        line->len--;
    }
}

static void trim_end(struct line *line)
{
    while (line->len > 0 && strchr(blanks, line->text[line->len - 1]))
        line->len--;
}

static bool is_comment(struct line line)
{
    skip_blanks(&line);
    return line.len > 0 && *line.text == '#';
}

static int check_characters(struct reader *reader, const struct line *line)
{
    for (size_t i = 0; i < line->len; i++) {
        unsigned char c = (unsigned char)line->text[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return bad(reader, reader->line, "a control character" GB_REMEDY "remove it");
        if (c >= 0x80 && form_wide_blank(line->text + i, line->len - i))
            return bad(reader, reader->line,
                       "a blank that is not ASCII, which builders read in different "
                       "ways" GB_REMEDY "write a plain space");
    }
    return 0;
}

/* 1 when the line goes on in the next one, and without its escape then. */
static int cut_continuation(struct reader *reader, struct line *line)
{
    struct line cut = *line;
    char escape = reader->file.escape;

    trim_end(&cut);
    if (cut.len == 0 || cut.text[cut.len - 1] != escape)
        return 0;
    cut.len--;
    if (cut.len > 0 && cut.text[cut.len - 1] == escape)
        return bad(reader, reader->line,
                   "two escapes at the end, which builders read in different ways" GB_REMEDY
                   "write one, or put something behind them");
    *line = cut;
    return 1;
}

/* Adds to the logical line; 1 when more of it follows. */
static int add_part(struct reader *reader, struct line line, struct buf *logical)
{
    int r = check_characters(reader, &line);
    int goes_on = r < 0 ? r : cut_continuation(reader, &line);

    if (goes_on < 0)
        return goes_on;
    r = buf_add(logical, line.text, line.len);
    if (r == -EMSGSIZE)
        return too_much(reader, reader->line, "the instruction is too long");
    return r < 0 ? gb_no_memory(reader->err) : goes_on;
}

/* The rest of a logical line whose beginning is there. */
static int add_rest(struct reader *reader, struct buf *logical)
{
    struct line line;
    int goes_on = 1;

    while (goes_on == 1 && take_line(reader, &line)) {
        struct line stripped = line;

        skip_blanks(&stripped);
        if (stripped.len == 0 || is_comment(line))
            continue;
        goes_on = add_part(reader, line, logical);
    }
    return goes_on < 0 ? goes_on : 0;
}

/* ---- directives ----------------------------------------------------------------------------- */

/* "# name = value": 1, and the parts of it. */
static int split_directive(struct line line, struct line *name, struct line *value)
{
    skip_blanks(&line);
    if (line.len == 0 || *line.text != '#')
        return 0;
    line.text++;
    line.len--;
    skip_blanks(&line);
    name->text = line.text;
    name->len = 0;
    while (name->len < line.len &&
           (((name->text[name->len] | 0x20) >= 'a' && (name->text[name->len] | 0x20) <= 'z') ||
            (name->len > 0 && name->text[name->len] >= '0' && name->text[name->len] <= '9')))
        name->len++;
    line.text += name->len;
    line.len -= name->len;
    skip_blanks(&line);
    if (name->len == 0 || line.len == 0 || *line.text != '=')
        return 0;
    line.text++;
    line.len--;
    skip_blanks(&line);
    trim_end(&line);
    *value = line;
    return line.len > 0;
}

static bool is_called(const struct line *name, const char *wanted)
{
    return name->len == strlen(wanted) && strncasecmp(name->text, wanted, name->len) == 0;
}

static int take_escape(struct reader *reader, const struct line *value)
{
    if (reader->has_escape)
        return bad(reader, reader->line, "a second escape directive");
    if (value->len != 1 || (*value->text != '\\' && *value->text != '`'))
        return bad(reader, reader->line, "the escape is '\\' or '`'");
    reader->has_escape = true;
    reader->file.escape = *value->text;
    return 0;
}

static int take_syntax(struct reader *reader, const struct line *value)
{
    if (reader->file.syntax)
        return bad(reader, reader->line, "a second syntax directive");
    reader->file.syntax = text_copy(value->text, value->len);
    reader->file.syntax_line = reader->line;
    return reader->file.syntax ? 0 : gb_no_memory(reader->err);
}

/* The directives at the top.  A "#!" line before them is passed over, as the part of BuildKit does
 * that looks for a syntax. */
static int take_directives(struct reader *reader)
{
    for (;;) {
        struct reader before = *reader;
        struct line line;
        struct line name;
        struct line value;
        int r;

        if (!take_line(reader, &line))
            return 0;
        if (before.line == 0 && line.len > 1 && memcmp(line.text, "#!", 2) == 0)
            continue;
        if (!split_directive(line, &name, &value)) {
            reader->at = before.at;
            reader->line = before.line;
            return 0;
        }
        r = check_characters(reader, &value);
        if (r == 0 && is_called(&name, "escape"))
            r = take_escape(reader, &value);
        else if (r == 0 && is_called(&name, "syntax"))
            r = take_syntax(reader, &value);
        if (r < 0)
            return r;
    }
}

/* ---- instructions --------------------------------------------------------------------------- */

static int find_op(const char *text, size_t len)
{
    for (int i = 0; i < N_DOCKERFILE_OPS; i++)
        if (strlen(ops[i].name) == len && strncasecmp(ops[i].name, text, len) == 0)
            return i;
    return -EINVAL;
}

/* Takes the word at *text that names an instruction. */
static int take_op(struct reader *reader, struct dockerfile_item *item, char **text)
{
    size_t len = strcspn(*text, blanks);
    int op = find_op(*text, len);

    if (op < 0)
        return gb_fail(reader->err, -EINVAL, GB_BLAME_CALLER,
                       "line %u of the Dockerfile: unknown instruction '%.*s'", item->line,
                       len > 40 ? 40 : (int)len, *text);
    if (item->is_trigger && ops[op].traits & OP_NO_TRIGGER)
        return bad(reader, item->line, "ONBUILD cannot have that instruction");
    item->op = (enum dockerfile_op)op;
    *text += len;
    *text += strspn(*text, blanks);
    return 0;
}

static int take_flags(struct reader *reader, struct dockerfile_item *item, char **text)
{
    size_t n = 0;

    item->flags = calloc(DOCKERFILE_FLAGS_MAX + 1, sizeof(*item->flags));
    if (!item->flags)
        return gb_no_memory(reader->err);
    while (strncmp(*text, "--", 2) == 0) {
        size_t len = strcspn(*text, blanks);

        if (n == DOCKERFILE_FLAGS_MAX)
            return too_much(reader, item->line, "too many flags");
        if (len == 2 || strcspn(*text, "\"'\\`") < len)
            return bad(reader, item->line,
                       "quotes, escapes or a bare '--' among the flags, which builders read in "
                       "different ways" GB_REMEDY "write the flag without them");
        item->flags[n] = strndup(*text, len);
        if (!item->flags[n])
            return gb_no_memory(reader->err);
        n++;
        *text += len;
        *text += strspn(*text, blanks);
    }
    return 0;
}

static int take_words(struct reader *reader, struct dockerfile_item *item)
{
    int r = FORM_PLAIN;

    if (ops[item->op].traits & OP_JSON)
        r = form_json(item->text, &item->words);
    if (r == FORM_AMBIGUOUS)
        return bad(reader, item->line,
                   "text behind a JSON list, or an escape in it that builders read in different "
                   "ways" GB_REMEDY "write the list alone, or a form that does not begin with '['");
    item->is_json = r == FORM_JSON;
    if (r == FORM_PLAIN)
        r = form_words(item->text, &item->words);
    if (r == -E2BIG)
        return too_much(reader, item->line, "too many words");
    return r < 0 ? gb_no_memory(reader->err) : 0;
}

static bool ends_doc(const struct dockerfile_doc *doc, struct line line)
{
    while (line.len > 0 && line.text[line.len - 1] == '\r')
        line.len--;
    while (doc->chomps && line.len > 0 && *line.text == '\t') {
        line.text++;
        line.len--;
    }
    return line.len == strlen(doc->name) && memcmp(line.text, doc->name, line.len) == 0;
}

static int take_doc(struct reader *reader, struct dockerfile_doc *doc, unsigned first)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);
    struct line line;

    while (take_line(reader, &line)) {
        if (ends_doc(doc, line)) {
            doc->text = buf_take(&text);
            return doc->text ? 0 : gb_no_memory(reader->err);
        }
        /* with its line end, whichever that is */
        buf_add(&text, line.text, (size_t)(reader->at - line.text));
    }
    return bad(reader, first, "a heredoc that does not end");
}

static int take_docs(struct reader *reader, struct dockerfile_item *item)
{
    int n;
    int r = 0;

    if (item->is_json || !(ops[item->op].traits & OP_DOCS))
        return 0;
    item->docs = calloc(DOCKERFILE_DOCS_MAX, sizeof(*item->docs));
    n = item->docs ? form_docs(item->text, item->docs, DOCKERFILE_DOCS_MAX) : -ENOMEM;
    if (n == -EINVAL)
        return bad(reader, item->line,
                   "'<<' that builders might read in different ways" GB_REMEDY
                   "name a heredoc with letters, digits and '_', and close all quotes");
    if (n == -E2BIG)
        return too_much(reader, item->line, "too many heredocs");
    if (n < 0)
        return gb_no_memory(reader->err);
    item->n_docs = (size_t)n;
    for (int i = 0; i < n && r == 0; i++)
        r = take_doc(reader, &item->docs[i], item->line);
    return r;
}

/* The logical line, which is changed, as an instruction. */
static int take_item(struct reader *reader, struct dockerfile_item *item, struct buf *logical)
{
    struct line line = { .text = logical->data, .len = logical->len };
    char *text;
    int r;

    trim_end(&line);
    logical->data[line.len] = '\0';
    text = logical->data + strspn(logical->data, blanks);
    r = take_op(reader, item, &text);
    if (r == 0 && item->op == DOCKERFILE_ONBUILD) {
        item->is_trigger = true;
        r = take_op(reader, item, &text);
    }
    if (r == 0)
        r = take_flags(reader, item, &text);
    if (r < 0)
        return r;
    if (text[0] && text[strlen(text) - 1] == reader->file.escape)
        return bad(reader, item->line, "an escape at the end of the instruction");
    item->text = strdup(text);
    if (!item->text)
        return gb_no_memory(reader->err);
    r = take_words(reader, item);
    if (r == 0 && !item->words[0] && !item->is_json)
        r = bad(reader, item->line, "an instruction without anything behind it");
    return r < 0 ? r : take_docs(reader, item);
}

static int add_item(struct reader *reader, struct buf *logical, unsigned line)
{
    struct dockerfile *file = &reader->file;
    struct dockerfile_item *grown;

    if (file->n == DOCKERFILE_ITEMS_MAX)
        return too_much(reader, line, "too many instructions");
    grown = reallocarray(file->items, file->n + 1, sizeof(*grown));
    if (!grown)
        return gb_no_memory(reader->err);
    file->items = grown;
    file->items[file->n] = (struct dockerfile_item){ .line = line };
    return take_item(reader, &file->items[file->n++], logical);
}

static int take_items(struct reader *reader)
{
    cleanup_buf struct buf logical = BUF_INIT(DOCKERFILE_LINE_MAX);
    struct line line;

    while (take_line(reader, &line)) {
        unsigned first = reader->line;
        int r;

        skip_blanks(&line);
        if (line.len == 0 || *line.text == '#')
            continue;
        buf_reset(&logical);
        r = add_part(reader, line, &logical);
        if (r == 1)
            r = add_rest(reader, &logical);
        if (r == 0 && logical.len == 0)
            r = bad(reader, first, "an escape that continues nothing");
        if (r == 0)
            r = add_item(reader, &logical, first);
        if (r < 0)
            return r;
    }
    return reader->file.n ? 0 : bad(reader, 1, "there is no instruction in it");
}

int dockerfile_parse(const char *text, size_t len, struct dockerfile *ret, struct gb_err *err)
{
    struct reader reader = { .at = text, .end = text + len, .err = err };
    int r;

    if (len > DOCKERFILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "the Dockerfile has more than %d bytes",
                       DOCKERFILE_MAX);
    if (len == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the Dockerfile is empty");
    if (memchr(text, '\0', len) || !utf8_is_valid(text, len))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "the Dockerfile is not UTF-8 text");
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader.at += 3;
    reader.file.escape = '\\';
    r = take_directives(&reader);
    if (r == 0)
        r = take_items(&reader);
    if (r < 0) {
        dockerfile_clear(&reader.file);
        return r;
    }
    *ret = reader.file;
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

const char *dockerfile_op_name(enum dockerfile_op op)
{
    return ops[op].name;
}

bool dockerfile_item_is_new(const struct dockerfile_item *item)
{
    static const char *const old_flags[] = { "--platform=", "--from=", "--chown=" };

    if (item->n_docs > 0)
        return true;
    if (item->op == DOCKERFILE_HEALTHCHECK)
        return false;
    for (char **flag = item->flags; *flag; flag++) {
        bool is_old = false;

        for (size_t i = 0; i < N_ELEMENTS(old_flags); i++)
            is_old |= strncmp(*flag, old_flags[i], strlen(old_flags[i])) == 0;
        if (!is_old)
            return true;
    }
    return false;
}

int dockerfile_write_item(const struct dockerfile_item *item, struct buf *ret)
{
    if (item->is_trigger)
        buf_puts(ret, "ONBUILD ");
    buf_puts(ret, ops[item->op].name);
    for (char **flag = item->flags; *flag; flag++)
        buf_printf(ret, " %s", *flag);
    buf_printf(ret, " %s", item->text);
    return buf_error(ret);
}

int dockerfile_write(const struct dockerfile *dockerfile, struct buf *ret)
{
    if (dockerfile->escape != '\\')
        buf_printf(ret, "# escape=%c\n", dockerfile->escape);
    for (size_t i = 0; i < dockerfile->n; i++) {
        const struct dockerfile_item *item = &dockerfile->items[i];

        dockerfile_write_item(item, ret);
        buf_putc(ret, '\n');
        for (size_t n = 0; n < item->n_docs; n++)
            buf_printf(ret, "%s%s\n", item->docs[n].text, item->docs[n].name);
    }
    return buf_error(ret);
}
