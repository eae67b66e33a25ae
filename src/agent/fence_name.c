/* SPDX-License-Identifier: Apache-2.0 */
/* agent/fence_name.c - which file a line names. */
#include "agent/fence_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"

#define ENDING_MAX 10

/* A line on its way to a path: both ends move towards each other. */
struct name {
    char *text;     /* NUL-terminated */
    bool is_marked; /* something around it says that a name is meant */
    bool is_said;   /* "File:" stands before it */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *skip_blanks(char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

static void trim_end(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && is_blank(text[len - 1]))
        text[--len] = '\0';
}

/* ---- what looks like a path ----------------------------------------------------------------- */

static bool has_ending(const char *text)
{
    const char *base = path_base(text);
    const char *dot = strrchr(base, '.');
    size_t len = dot ? strlen(dot + 1) : 0;

    if (len == 0 || len > ENDING_MAX || !isalpha((unsigned char)dot[1]))
        return false;
    for (const char *c = dot + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return true;
}

static bool is_bare_name(const char *text)
{
    static const char *const names[] = {
        "Makefile", "Dockerfile",  "Containerfile", "Procfile", "Gemfile",
        "Rakefile", "Vagrantfile", "Jenkinsfile",   "LICENSE",  "README",
    };
    const char *base = path_base(text);

    for (size_t i = 0; i < N_ELEMENTS(names); i++)
        if (strcmp(base, names[i]) == 0)
            return true;
    return false;
}

/* Whatever would leave the workspace. */
static bool is_escape(const char *text)
{
    if (text[0] == '/' && (isalnum((unsigned char)text[1]) || text[1] == '.' || text[1] == '_'))
        return true;
    if (strncmp(text, "~/", 2) == 0)
        return true;
    if (isalpha((unsigned char)text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/'))
        return true;
    for (const char *at = text;; at += strcspn(at, "/") + 1) {
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
        if (!strchr(at, '/'))
            return false;
    }
}

static bool is_path(const struct name *name)
{
    if (!name->text[0] || strstr(name->text, "://") || strpbrk(name->text, " \t\r\v\f"))
        return false;
    if (is_escape(name->text) || has_ending(name->text) || is_bare_name(name->text))
        return true;
    return name->is_said || (name->is_marked && strchr(name->text, '/'));
}

static bool give(const struct name *name, char path[static FENCE_NAME_SIZE])
{
    const char *text = name->text;

    if (!is_path(name))
        return false;
    if (strncmp(text, "./", 2) == 0)
        text += 2;
    memmove(path, text, strlen(text) + 1);
    return true;
}

/* ---- the line before a fence ---------------------------------------------------------------- */

/* Without the stars and backticks that make words bold or code; false when it is too long. */
static bool copy_plain(const char *line, size_t len, char text[static FENCE_NAME_SIZE],
                       bool *ret_marked)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (line[i] == '*' || line[i] == '`') {
            *ret_marked = true;
            continue;
        }
        if (line[i] == '\0' || n + 1 == FENCE_NAME_SIZE)
            return false;
        text[n++] = line[i];
    }
    text[n] = '\0';
    return true;
}

/* How long a "###", "2.", "//" or "-" is that begins the text and is followed by a blank. */
static size_t marker_len(const char *text)
{
    size_t n = strspn(text, "#");
    size_t digits = strspn(text, "0123456789");

    if (digits > 0 && (text[digits] == '.' || text[digits] == ')'))
        n = digits + 1;
    else if (strncmp(text, "//", 2) == 0)
        n = 2;
    else if (*text == '-' || *text == '+' || *text == '>')
        n = 1;
    return n > 0 && is_blank(text[n]) ? n : 0;
}

static void skip_markers(struct name *name)
{
    for (size_t n = 1; n > 0;) {
        name->text = skip_blanks(name->text);
        n = marker_len(name->text);
        name->text += n;
        name->is_marked |= n > 0;
    }
}

/* "File: ", "New file 2: ". */
static void skip_label(struct name *name)
{
    static const char *const labels[] = {
        "file",     "filename", "file name",    "path",        "file path",
        "filepath", "new file", "updated file", "create file",
    };

    for (size_t i = 0; i < N_ELEMENTS(labels); i++) {
        size_t len = strlen(labels[i]);
        char *at = name->text + len;

        if (strncasecmp(name->text, labels[i], len) != 0)
            continue;
        at = skip_blanks(at);
        at = skip_blanks(at + strspn(at, "0123456789"));
        if (*at != ':')
            continue;
        name->text = skip_blanks(at + 1);
        name->is_marked = true;
        name->is_said = true;
        return;
    }
}

/* Does a remark begin here?  "(new)", "- the parser", or one of the longer dashes. */
static bool is_remark(const char *text)
{
    return *text == '(' || *text == '-' || strncmp(text, "\xe2\x80\x93", 3) == 0 ||
           strncmp(text, "\xe2\x80\x94", 3) == 0;
}

/* Leaves the first word, if what stands behind it is nothing or a remark. */
static bool cut_remark(struct name *name)
{
    char *end = name->text + strcspn(name->text, " \t");
    bool has_colon = end > name->text && end[-1] == ':';
    const char *rest = skip_blanks(end);

    if (*rest && !(name->is_marked && (has_colon || is_remark(rest))))
        return false;
    end[has_colon ? -1 : 0] = '\0';
    return true;
}

static void strip_quotes(struct name *name)
{
    size_t len = strlen(name->text);

    if (len < 2 || (name->text[0] != '"' && name->text[0] != '\'') ||
        name->text[len - 1] != name->text[0])
        return;
    name->text[len - 1] = '\0';
    name->text++;
    name->is_marked = true;
}

bool fence_name_of_line(const char *line, size_t len, char path[static FENCE_NAME_SIZE])
{
    struct name name = { .text = path };

    if (!copy_plain(line, len, path, &name.is_marked))
        return false;
    trim_end(path);
    skip_markers(&name);
    skip_label(&name);
    if (!cut_remark(&name))
        return false;
    strip_quotes(&name);
    return give(&name, path);
}

/* ---- behind the backticks ------------------------------------------------------------------- */

/* title="src/a.py" */
static void skip_title(struct name *word)
{
    static const char *const keys[] = { "title=", "filename=", "file=", "path=", "name=" };

    for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
        size_t len = strlen(keys[i]);

        if (strncasecmp(word->text, keys[i], len) != 0)
            continue;
        word->text += len;
        strip_quotes(word);
        return;
    }
}

/* The n-th word of an info string: the first one is a language, "language:path" or a path. */
static bool word_names(char *text, size_t n, char path[static FENCE_NAME_SIZE])
{
    struct name word = { .text = text, .is_marked = n > 0 };
    char *colon = strchr(text, ':');

    if (n == 0 && colon && colon != text) {
        word.text = colon + 1;
        word.is_marked = true;
    } else if (n > 0) {
        skip_title(&word);
    }
    return give(&word, path);
}

bool fence_name_of_info(const char *info, size_t len, char path[static FENCE_NAME_SIZE])
{
    char *at = path;

    if (len >= FENCE_NAME_SIZE || memchr(info, '\0', len))
        return false;
    memcpy(path, info, len);
    path[len] = '\0';
    for (size_t n = 0; at; n++) {
        char *word = strsep(&at, " \t");

        if (*word && word_names(word, n, path))
            return true;
    }
    return false;
}

/* ---- the first line inside ------------------------------------------------------------------ */

bool fence_name_of_comment(const char *line, size_t len, char path[static FENCE_NAME_SIZE])
{
    static const char *const marks[] = { "#", "//", "--", "/*" };
    static const char key[] = "filename:";
    struct name name = { .text = path, .is_said = true };
    bool is_comment = false;

    if (len >= FENCE_NAME_SIZE || memchr(line, '\0', len))
        return false;
    memcpy(path, line, len);
    path[len] = '\0';
    for (size_t i = 0; i < N_ELEMENTS(marks) && !is_comment; i++) {
        is_comment = strncmp(path, marks[i], strlen(marks[i])) == 0;
        name.text = path + strlen(marks[i]);
    }
    name.text = skip_blanks(name.text);
    if (!is_comment || strncasecmp(name.text, key, strlen(key)) != 0)
        return false;
    name.text = skip_blanks(name.text + strlen(key));
    name.text[strcspn(name.text, " \t\r*")] = '\0';
    return give(&name, path);
}
