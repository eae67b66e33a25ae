/* SPDX-License-Identifier: Apache-2.0 */
/* package/requirement.c - a Python package as people and models name it. */
#include "package/requirement.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

#define MARKER_DEPTH_MAX 16
#define SHOWN            100

static const char letters_digits[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

struct reader {
    const char *begin;
    const char *at;
    const char *end;
    struct requirement *out;
    size_t used; /* of out->text */
    const char *why;
};

/* ---- small parts ---------------------------------------------------------------------------- */

static bool fails(struct reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool is_at(const struct reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_word_byte(char c)
{
    return is_one_of(c, letters_digits);
}

static bool put(struct reader *r, const char *bytes, size_t len)
{
    if (len > REQUIREMENT_TEXT_MAX - r->used)
        return fails(r, "it is too long");
    memcpy(r->out->text + r->used, bytes, len);
    r->used += len;
    r->out->text[r->used] = '\0';
    return true;
}

/* How many bytes from here on are letters, digits or one of these. */
static size_t span(const struct reader *r, const char *also)
{
    const char *at = r->at;

    while (at < r->end && (is_word_byte(*at) || is_one_of(*at, also)))
        at++;
    return (size_t)(at - r->at);
}

/* A name of a package or of an extra, in the one spelling that all of its spellings mean. */
static bool take_name(struct reader *r, char ret[static REQUIREMENT_NAME_MAX + 1])
{
    size_t len = span(r, "-_.");
    size_t n = 0;

    if (len == 0 || len > REQUIREMENT_NAME_MAX)
        return fails(r, len ? "its name is too long" : "it does not begin with a name");
    if (!is_word_byte(r->at[0]) || !is_word_byte(r->at[len - 1]))
        return fails(r, "a name begins and ends with a letter or a digit");
    for (size_t i = 0; i < len; i++) {
        char c = r->at[i];

        if (is_word_byte(c))
            ret[n++] = (char)tolower((unsigned char)c);
        else if (ret[n - 1] != '-')
            ret[n++] = '-';
    }
    ret[n] = '\0';
    r->at += len;
    return true;
}

/* ---- extras and versions -------------------------------------------------------------------- */

static bool take_extras(struct reader *r)
{
    const char *before = "[";

    r->at++;
    skip_blanks(r);
    while (!is_at(r, ']')) {
        char name[REQUIREMENT_NAME_MAX + 1];

        if (!take_name(r, name) || !put(r, before, 1) || !put(r, name, strlen(name)))
            return fails(r, "its extras are no names");
        before = ",";
        skip_blanks(r);
        if (is_at(r, ']'))
            break;
        if (!is_at(r, ','))
            return fails(r, "its [extras] are not closed");
        r->at++;
        skip_blanks(r);
    }
    r->at++;
    return *before == '[' || put(r, "]", 1);
}

static size_t operator_len(const struct reader *r)
{
    static const char *const operators[] = { "===", "~=", "==", "!=", "<=", ">=", "<", ">" };

    for (size_t i = 0; i < N_ELEMENTS(operators); i++) {
        size_t len = strlen(operators[i]);

        if ((size_t)(r->end - r->at) >= len && strncmp(r->at, operators[i], len) == 0)
            return len;
    }
    return 0;
}

static bool take_version(struct reader *r)
{
    size_t len = operator_len(r);

    if (len == 0)
        return fails(r, "behind the name only ==, !=, <=, >=, <, >, ~= and a version may stand");
    if (!put(r, r->at, len))
        return false;
    r->at += len;
    skip_blanks(r);
    len = span(r, ".*+!-_");
    if (len == 0)
        return fails(r, "a version is missing");
    if (!put(r, r->at, len))
        return false;
    r->at += len;
    skip_blanks(r);
    return true;
}

/* ">=1,<2", perhaps in parentheses. */
static bool take_versions(struct reader *r)
{
    bool is_closed = is_at(r, '(');

    if (is_closed) {
        r->at++;
        skip_blanks(r);
    }
    while (take_version(r)) {
        if (!is_at(r, ',')) {
            if (is_closed && !is_at(r, ')'))
                return fails(r, "its versions are not closed by ')'");
            r->at += is_closed;
            return true;
        }
        r->at++;
        skip_blanks(r);
        if (!put(r, ",", 1))
            return false;
    }
    return false;
}

/* ---- markers -------------------------------------------------------------------------------- */

static bool is_marker_word(const char *word, size_t len)
{
    static const char *const words[] = {
        "python_version",      "python_full_version",    "os_name",
        "sys_platform",        "platform_release",       "platform_system",
        "platform_machine",    "platform_version",       "platform_python_implementation",
        "implementation_name", "implementation_version", "extra",
    };

    for (size_t i = 0; i < N_ELEMENTS(words); i++)
        if (strlen(words[i]) == len && strncmp(words[i], word, len) == 0)
            return true;
    return false;
}

/* A variable, or a text in quotes. */
static bool take_operand(struct reader *r)
{
    size_t len = 0;

    if (is_at(r, '"') || is_at(r, '\'')) {
        char quote = *r->at;
        struct reader inside = *r;

        inside.at++;
        len = span(&inside, ".*+!-_ ");
        if (r->at + len + 1 >= r->end || r->at[len + 1] != quote)
            return fails(r, "a text in its marker is not closed, or has bytes that none has");
        if (!put(r, "\"", 1) || !put(r, r->at + 1, len) || !put(r, "\"", 1))
            return false;
        r->at += len + 2;
    } else {
        len = span(r, "_");
        if (!is_marker_word(r->at, len))
            return fails(r, "its marker names something that there is not");
        if (!put(r, r->at, len))
            return false;
        r->at += len;
    }
    skip_blanks(r);
    return true;
}

static bool skip_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);

    if (span(r, "_") != len || strncmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    skip_blanks(r);
    return true;
}

static bool put_word(struct reader *r, const char *word)
{
    return put(r, " ", 1) && put(r, word, strlen(word)) && put(r, " ", 1);
}

static bool take_word(struct reader *r, const char *word)
{
    return skip_word(r, word) && put_word(r, word);
}

static bool take_comparison(struct reader *r)
{
    size_t len = operator_len(r);

    if (len > 0) {
        if (!put(r, " ", 1) || !put(r, r->at, len) || !put(r, " ", 1))
            return false;
        r->at += len;
        skip_blanks(r);
        return true;
    }
    if (take_word(r, "in"))
        return true;
    if (skip_word(r, "not") && skip_word(r, "in"))
        return put_word(r, "not in");
    return fails(r, "its marker compares nothing");
}

static bool take_marker(struct reader *r)
{
    unsigned depth = 0;

    r->at++;
    skip_blanks(r);
    if (!put(r, "; ", 2))
        return false;
    for (;;) {
        for (; is_at(r, '('); depth++, skip_blanks(r)) {
            if (depth == MARKER_DEPTH_MAX)
                return fails(r, "its marker is nested too deep");
            r->at++;
            if (!put(r, "(", 1))
                return false;
        }
        if (!take_operand(r) || !take_comparison(r) || !take_operand(r))
            return false;
        for (; depth > 0 && is_at(r, ')'); depth--, skip_blanks(r)) {
            r->at++;
            if (!put(r, ")", 1))
                return false;
        }
        if (r->at == r->end)
            return depth == 0 || fails(r, "its marker is not closed by ')'");
        if (!take_word(r, "and") && !take_word(r, "or"))
            return fails(r, "its marker goes on with neither 'and' nor 'or'");
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool contains(const struct reader *r, const char *what)
{
    return memmem(r->begin, (size_t)(r->end - r->begin), what, strlen(what));
}

/* What people try most, told by its name. */
static bool refuse_kind(struct reader *r)
{
    if (r->at == r->end)
        return fails(r, "it is empty");
    if (is_at(r, '-'))
        return fails(r, "options of the installer are not taken");
    if (contains(r, "://") || contains(r, "@"))
        return fails(r, "addresses are not taken, only names of the index");
    if (is_at(r, '.') || is_at(r, '/') || is_at(r, '~'))
        return fails(r, "paths are not taken, only names of the index");
    return true;
}

static bool take_all(struct reader *r)
{
    skip_blanks(r);
    if (!refuse_kind(r) || !take_name(r, r->out->name) ||
        !put(r, r->out->name, strlen(r->out->name)))
        return false;
    skip_blanks(r);
    if (is_at(r, '[') && !take_extras(r))
        return false;
    skip_blanks(r);
    if (r->at < r->end && !is_at(r, ';') && !take_versions(r))
        return false;
    skip_blanks(r);
    if (is_at(r, ';') && !take_marker(r))
        return false;
    return r->at == r->end || fails(r, "something stands behind it that has no meaning there");
}

/* Whoever wrote it sees it, and no terminal obeys it. */
static const char *shown(const char *text, size_t len, char ret[static SHOWN + 4])
{
    size_t n = len < SHOWN ? len : SHOWN;

    memcpy(ret, text, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)ret[i] < ' ' || ret[i] == 127)
            ret[i] = '?';
    memcpy(ret + n, len > n ? "..." : "", len > n ? 4 : 1);
    return ret;
}

int requirement_parse(const char *text, size_t len, struct requirement *ret, struct gb_err *err)
{
    struct requirement out = { .name = "" };
    struct reader r = { .begin = text, .at = text, .end = text + len, .out = &out };
    char room[SHOWN + 4];

    if (!take_all(&r))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' names no package: %s",
                       shown(text, len, room), r.why);
    *ret = out;
    return 0;
}
