/* SPDX-License-Identifier: Apache-2.0 */
/* run/java_source.c - reads Java as tokens, as far as the names of its classes go.
 *
 * Comments, strings, text blocks and characters are skipped, so that a brace or a word in them
 * misleads nobody.  What is left is followed by depth: types are declared at 0, main at 1. */
#include "run/java_source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct lexer {
    const char *at;
    const char *end;
};

struct token {
    const char *text;
    size_t len; /* 0: the end */
};

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const struct lexer *lexer, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(lexer->end - lexer->at) >= len && memcmp(lexer->at, text, len) == 0;
}

/* To behind the closing mark, or to the end; a backslash takes the next character with it. */
static void skip_until(struct lexer *lexer, const char *close, bool has_escapes)
{
    while (lexer->at < lexer->end && !starts(lexer, close)) {
        if (has_escapes && *lexer->at == '\\' && lexer->end - lexer->at > 1)
            lexer->at++;
        lexer->at++;
    }
    if (lexer->at < lexer->end)
        lexer->at += strlen(close);
}

/* Skips one thing that is no token; false when a token or the end is next. */
static bool skip_one(struct lexer *lexer)
{
    static const struct {
        const char *open;
        const char *close;
        bool has_escapes;
    } marks[] = {
        { "//", "\n", false }, { "/*", "*/", false }, { "\"\"\"", "\"\"\"", true },
        { "\"", "\"", true },  { "'", "'", true },
    };

    if (lexer->at < lexer->end && isspace((unsigned char)*lexer->at)) {
        lexer->at++;
        return true;
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (!starts(lexer, marks[i].open))
            continue;
        lexer->at += strlen(marks[i].open);
        skip_until(lexer, marks[i].close, marks[i].has_escapes);
        return true;
    }
    return false;
}

static struct token next(struct lexer *lexer)
{
    struct token token;

    while (skip_one(lexer))
        ;
    token.text = lexer->at;
    while (lexer->at < lexer->end && is_word_char(*lexer->at))
        lexer->at++;
    if (lexer->at == token.text && lexer->at < lexer->end)
        lexer->at++;
    token.len = (size_t)(lexer->at - token.text);
    return token;
}

static bool is(struct token token, const char *text)
{
    return token.len == strlen(text) && memcmp(token.text, text, token.len) == 0;
}

static bool is_type_word(struct token token)
{
    return is(token, "class") || is(token, "interface") || is(token, "enum") || is(token, "record");
}

static bool is_name(struct token token)
{
    return token.len > 0 && token.len < JAVA_NAME_MAX && is_word_char(token.text[0]) &&
           !isdigit((unsigned char)token.text[0]);
}

/* Fills a name that is still empty. */
static void name_set(char name[static JAVA_NAME_MAX], struct token token)
{
    if (name[0])
        return;
    memcpy(name, token.text, token.len);
    name[token.len] = '\0';
}

struct names {
    char package[JAVA_NAME_MAX];
    char first[JAVA_NAME_MAX];
    char public_one[JAVA_NAME_MAX];
    char with_main[JAVA_NAME_MAX];
};

/* "package a.b.c;", the first word being read.  What is not a row of names is no package. */
static void read_package(struct lexer *lexer, char package[static JAVA_NAME_MAX])
{
    size_t used = 0;
    struct token token;

    for (token = next(lexer); token.len > 0 && !is(token, ";"); token = next(lexer)) {
        bool is_dot = is(token, ".");

        if (used + token.len >= JAVA_NAME_MAX || (!is_dot && !is_name(token)) ||
            (is_dot && used == 0)) {
            package[0] = '\0';
            return;
        }
        memcpy(package + used, token.text, token.len);
        used += token.len;
        package[used] = '\0';
    }
}

static void read_names(struct lexer *lexer, struct names *names)
{
    struct token before[2] = { { 0 } }; /* the two tokens before this one, latest first */
    struct token type = { 0 };          /* the type of depth 0 that was declared last */
    bool is_public = false;
    size_t depth = 0;

    for (struct token token = next(lexer); token.len > 0; token = next(lexer)) {
        if (is(token, "{"))
            depth++;
        else if (is(token, "}") && depth > 0)
            depth--;
        if (depth == 0 && is(token, "package")) {
            read_package(lexer, names->package);
        } else if (depth == 0 && is_type_word(before[0]) && is_name(token)) {
            type = token;
            name_set(names->first, token);
            if (is_public)
                name_set(names->public_one, token);
        } else if (depth == 1 && type.len > 0 && is(token, "(") && is(before[0], "main") &&
                   is(before[1], "void")) {
            name_set(names->with_main, type);
        }
        if (is(token, "public"))
            is_public = true;
        else if (is(token, "}") || is(token, ";"))
            is_public = false;
        before[1] = before[0];
        before[0] = token;
    }
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    if (a[0])
        return a;
    return b[0] ? b : c;
}

void java_source_read(const void *code, size_t len, struct java_source *ret)
{
    struct lexer lexer = { .at = code, .end = (const char *)code + len };
    struct names names = { 0 };
    const char *main_class;

    read_names(&lexer, &names);
    *ret = (struct java_source){ 0 };
    (void)snprintf(ret->file_class, sizeof(ret->file_class), "%s",
                   first_of(names.public_one, names.with_main, names.first));
    main_class = first_of(names.with_main, names.public_one, names.first);
    if (main_class[0])
        (void)snprintf(ret->main_class, sizeof(ret->main_class), "%s%s%s", names.package,
                       names.package[0] ? "." : "", main_class);
}
