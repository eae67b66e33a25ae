/* SPDX-License-Identifier: Apache-2.0 */
/* package/imports.c - which packages a program's own text asks for. */
#include "package/imports.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "package/npm_name.h"
#include "package/pip_command.h"

#define WORD_MAX 200
#define CALL_DEPTH_MAX \
    8 /* brackets in a call; without a bound each call would be read to the end */

/* What a byte of the program is part of. */
enum part {
    PART_CODE,
    PART_TEXT,
    PART_COMMENT,
};

struct scan {
    const char *code;
    size_t len;
    uint8_t *parts; /* enum part, by byte */
    imports_has *has;
    imports_found *found;
    void *user;
    bool is_commands; /* imports do not count */
};

static const char *const stdlib[] = {
#define MODULE(name) name,
#include "package/stdlib.def"
#undef MODULE
};

static const char *const node_own[] = {
#define MODULE(name) name,
#include "package/node_own.def"
#undef MODULE
};

static const struct {
    const char *module;
    const char *package;
} renamed[] = {
#define IMPORT(module, package) { module, package },
#include "package/imports.def"
#undef IMPORT
};

bool imports_is_standard(const char *module)
{
    for (size_t i = 0; i < N_ELEMENTS(stdlib); i++)
        if (strcmp(stdlib[i], module) == 0)
            return true;
    return module[0] == '_';
}

const char *imports_package_of(const char *module)
{
    for (size_t i = 0; i < N_ELEMENTS(renamed); i++)
        if (strcmp(renamed[i].module, module) == 0)
            return renamed[i].package;
    return module;
}

/* ---- what is code, text, comment ------------------------------------------------------------ */

static bool is_at(const struct scan *s, size_t at, const char *what)
{
    size_t len = strlen(what);

    return s->len - at >= len && memcmp(s->code + at, what, len) == 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 128;
}

static size_t mark(const struct scan *s, size_t at, size_t end, enum part part)
{
    for (; at < end && at < s->len; at++)
        s->parts[at] = (uint8_t)part;
    return at;
}

static size_t end_of(const struct scan *s, size_t at, const char *what)
{
    while (at < s->len && !is_at(s, at, what))
        at++;
    return at < s->len ? at + strlen(what) : at;
}

/* Behind the text that begins at `at` with this quote; one that is not closed ends with its line,
 * unless it may go on. */
static size_t text_end(const struct scan *s, size_t at, const char *quote, bool goes_on)
{
    for (at += strlen(quote); at < s->len; at++) {
        if (s->code[at] == '\\')
            at++;
        else if (is_at(s, at, quote))
            return at + strlen(quote);
        else if (s->code[at] == '\n' && !goes_on)
            return at;
    }
    return s->len;
}

static const struct opening {
    const char *begin;
    const char *end; /* of a comment; NULL: a text, which ends as it began */
    bool goes_on;
} openings[N_PACKAGE_KINDS][5] = {
    [PACKAGE_PYTHON] = { { "#", "\n", false },
                         { "\"\"\"", NULL, true },
                         { "'''", NULL, true },
                         { "\"", NULL, false },
                         { "'", NULL, false } },
    [PACKAGE_NODE] = { { "//", "\n", false },
                       { "/*", "*/", false },
                       { "\"", NULL, false },
                       { "'", NULL, false },
                       { "`", NULL, true } },
};

static void classify(const struct scan *s, enum package_kind kind)
{
    size_t at = 0;

    while (at < s->len) {
        const struct opening *open = NULL;

        for (size_t i = 0; !open && i < N_ELEMENTS(openings[kind]); i++)
            if (is_at(s, at, openings[kind][i].begin))
                open = &openings[kind][i];
        if (!open)
            s->parts[at++] = PART_CODE;
        else if (open->end)
            at = mark(s, at, end_of(s, at, open->end), PART_COMMENT);
        else
            at = mark(s, at, text_end(s, at, open->begin, open->goes_on), PART_TEXT);
    }
}

/* ---- python --------------------------------------------------------------------------------- */

static size_t skip_blanks(const struct scan *s, size_t at)
{
    while (at < s->len && (s->code[at] == ' ' || s->code[at] == '\t' || s->code[at] == '\\' ||
                           (s->code[at] == '\n' && at > 0 && s->code[at - 1] == '\\')))
        at++;
    return at;
}

static size_t word_len(const struct scan *s, size_t at)
{
    size_t len = 0;

    while (at + len < s->len && is_word_byte(s->code[at + len]))
        len++;
    return len;
}

static bool is_word(const struct scan *s, size_t at, const char *word)
{
    return word_len(s, at) == strlen(word) && is_at(s, at, word);
}

/* Its first part decides: "a" of "a.b.c". */
static int tell_module(const struct scan *s, size_t at)
{
    size_t len = word_len(s, at);
    char module[WORD_MAX];
    const char *package;

    if (len == 0 || len >= sizeof(module))
        return 0;
    memcpy(module, s->code + at, len);
    module[len] = '\0';
    if (imports_is_standard(module) || (s->has && s->has(s->user, module)))
        return 0;
    package = imports_package_of(module);
    return s->found(s->user, package, strlen(package));
}

static size_t skip_dotted(const struct scan *s, size_t at)
{
    while (at < s->len && (is_word_byte(s->code[at]) || s->code[at] == '.'))
        at++;
    return at;
}

/* "import a.b as c, d" */
static int read_import(const struct scan *s, size_t at)
{
    for (;;) {
        int r;

        at = skip_blanks(s, at);
        r = tell_module(s, at);
        if (r < 0)
            return r;
        at = skip_blanks(s, skip_dotted(s, at));
        if (is_word(s, at, "as")) {
            at = skip_blanks(s, at + 2);
            at = skip_blanks(s, at + word_len(s, at));
        }
        if (at >= s->len || s->code[at] != ',')
            return 0;
        at++;
    }
}

static bool begins_statement(const struct scan *s, size_t at)
{
    while (at > 0 && (s->code[at - 1] == ' ' || s->code[at - 1] == '\t'))
        at--;
    return at == 0 || s->code[at - 1] == '\n' || s->code[at - 1] == ';' || s->code[at - 1] == ':';
}

static int read_statement(const struct scan *s, size_t at)
{
    if (is_word(s, at, "import"))
        return read_import(s, at + strlen("import"));
    if (!is_word(s, at, "from"))
        return 0;
    at = skip_blanks(s, at + strlen("from"));
    return is_word(s, skip_blanks(s, skip_dotted(s, at)), "import") ? tell_module(s, at) : 0;
}

/* ---- pip install ---------------------------------------------------------------------------- */

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* What the text that begins at `at` holds, from *ret_from to *ret_to; where the text ends. */
static size_t read_literal(const struct scan *s, size_t at, size_t *ret_from, size_t *ret_to)
{
    size_t n = is_at(s, at, "\"\"\"") || is_at(s, at, "'''") ? 3 : 1;
    char quote[4] = { 0 };
    size_t end;

    memset(quote, s->code[at], n);
    end = text_end(s, at, quote, n == 3);
    *ret_from = at + n < end ? at + n : end;
    *ret_to = end >= *ret_from + n && memcmp(s->code + end - n, quote, n) == 0 ? end - n : end;
    return end;
}

/* A list of words; a word with blanks is a line for a shell, as behind "-c". */
static int read_list_word(const struct scan *s, struct pip_command *command, size_t from, size_t to)
{
    if (memchr(s->code + from, ' ', to - from))
        return pip_command_line(s->code + from, to - from, s->found, s->user);
    return pip_command_word(command, s->code + from, to - from);
}

/* The first argument of a call that starts a program: "a line", or ["a", "list", of, "words"]. */
static int read_call(const struct scan *s, size_t at)
{
    struct pip_command command = { .found = s->found, .user = s->user };
    bool has_word = false;
    size_t depth = 0;
    int r = 0;

    while (r == 0 && at < s->len) {
        char c = s->code[at];
        size_t from;
        size_t to;

        if (s->parts[at] == PART_TEXT) {
            at = read_literal(s, at, &from, &to);
            r = depth ? read_list_word(s, &command, from, to)
                      : pip_command_line(s->code + from, to - from, s->found, s->user);
            has_word = true;
            continue;
        }
        at++;
        if (s->parts[at - 1] == PART_COMMENT)
            continue;
        if ((c == '[' || c == '(') && ++depth > CALL_DEPTH_MAX)
            return 0;
        if (c == ']' || c == ')')
            depth = depth ? depth - 1 : SIZE_MAX;
        if (depth == SIZE_MAX || (c == ',' && depth == 0))
            return 0;
        if (c == ',' && !has_word)
            r = pip_command_word(&command, NULL, 0);
        has_word &= c != ',';
    }
    return r;
}

/* Functions that start programs, and the modules that they are called through; the names of some
 * say enough by themselves. */
static const struct {
    const char *module;
    const char *name;
} starters[] = {
    { "os", "system" },
    { "os", "popen" },
    { "subprocess", "run" },
    { "subprocess", "call" },
    { "subprocess", "check_call" },
    { "subprocess", "check_output" },
    { "subprocess", "getoutput" },
    { "subprocess", "getstatusoutput" },
    { "subprocess", "Popen" },
    { "asyncio", "create_subprocess_shell" },
};

/* "subprocess" before the dot; also as what it was imported as. */
static bool is_called_through(const struct scan *s, size_t at, const char *module)
{
    size_t end;
    size_t begin;

    if (at == 0 || s->code[at - 1] != '.')
        return true;
    end = begin = at - 1;
    while (begin > 0 && is_word_byte(s->code[begin - 1]))
        begin--;
    if (end - begin == strlen(module) && memcmp(s->code + begin, module, end - begin) == 0)
        return true;
    return end - begin == 2 && memcmp(s->code + begin, "sp", 2) == 0;
}

static int read_starter(const struct scan *s, size_t at)
{
    for (size_t i = 0; i < N_ELEMENTS(starters); i++) {
        size_t open;

        if (!is_word(s, at, starters[i].name) || !is_called_through(s, at, starters[i].module))
            continue;
        open = skip_blanks(s, at + strlen(starters[i].name));
        return open < s->len && s->code[open] == '(' ? read_call(s, open + 1) : 0;
    }
    return 0;
}

/* "!pip install x", "%pip install x", "!python -m pip install x" */
static int read_magic(const struct scan *s, size_t at)
{
    size_t end = at;

    while (end < s->len && s->code[end] != '\n' && s->parts[end] != PART_COMMENT)
        end++;
    return pip_command_line(s->code + at + 1, end - at - 1, s->found, s->user);
}

static bool begins_line(const struct scan *s, size_t at)
{
    while (at > 0 && (s->code[at - 1] == ' ' || s->code[at - 1] == '\t'))
        at--;
    return at == 0 || s->code[at - 1] == '\n';
}

static int find_python(const struct scan *s)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < s->len; at++) {
        char c = s->code[at];

        if (s->parts[at] != PART_CODE)
            continue;
        if ((c == '!' || c == '%') && begins_line(s, at))
            r = read_magic(s, at);
        if (!is_word_byte(c) || (at > 0 && is_word_byte(s->code[at - 1])))
            continue;
        if (!s->is_commands && begins_statement(s, at))
            r = read_statement(s, at);
        if (r == 0)
            r = read_starter(s, at);
    }
    return r;
}

/* ---- javascript ----------------------------------------------------------------------------- */

static bool is_node_own(const char *name, size_t len)
{
    for (size_t i = 0; i < N_ELEMENTS(node_own); i++)
        if (strlen(node_own[i]) == len && memcmp(node_own[i], name, len) == 0)
            return true;
    return false;
}

/* "@scope/name/file" is @scope/name, "name/file" is name; what is no name is none. */
static int tell_specifier(const struct scan *s, const char *text, size_t len)
{
    struct npm_name found;
    size_t n = 0;
    bool is_scoped = len && text[0] == '@';

    for (; n < len && (text[n] != '/' || is_scoped); n++)
        is_scoped &= text[n] != '/';
    if (is_node_own(text, n) || npm_name_parse(text, n, &found, NULL) < 0 ||
        memchr(text + (n > 0), '@', n - (n > 0)) || (s->has && s->has(s->user, found.name)))
        return 0;
    return s->found(s->user, text, n);
}

/* Does the text that begins at `at` name a module? */
static bool is_specifier(const struct scan *s, size_t at)
{
    static const char *const callers[] = { "require", "import" };
    static const char *const words[] = { "from", "import" };
    const char *const *list = words;
    bool is_call = false;

    while (at > 0 && strchr(" \t\n", s->code[at - 1]) && s->code[at - 1])
        at--;
    if (at > 0 && s->code[at - 1] == '(') {
        is_call = true;
        at--;
        list = callers;
    }
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(list[i]);

        if (at >= len && memcmp(s->code + at - len, list[i], len) == 0 &&
            s->parts[at - 1] == PART_CODE && (at == len || !is_word_byte(s->code[at - len - 1])) &&
            (at == len || s->code[at - len - 1] != '.' || !is_call))
            return true;
    }
    return false;
}

static int find_node(const struct scan *s)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < s->len; at++) {
        size_t end = at + 1;

        if (s->parts[at] != PART_TEXT || !is_quote(s->code[at]) ||
            (at > 0 && s->parts[at - 1] == PART_TEXT))
            continue;
        while (end < s->len && s->code[end] != s->code[at] && s->parts[end] == PART_TEXT)
            end++;
        if (is_specifier(s, at))
            r = tell_specifier(s, s->code + at + 1, end - at - 1);
        at = end;
    }
    return r;
}

int imports_find(enum package_kind kind, const char *code, size_t len, imports_has *has,
                 imports_found *found, void *user)
{
    cleanup_free uint8_t *parts = malloc(len ? len : 1);
    struct scan s = {
        .code = code, .len = len, .parts = parts, .has = has, .found = found, .user = user
    };

    if (!parts)
        return -ENOMEM;
    if (len == 0)
        return 0;
    classify(&s, kind);
    return kind == PACKAGE_PYTHON ? find_python(&s) : find_node(&s);
}

int imports_find_commands(const char *code, size_t len, imports_found *found, void *user)
{
    cleanup_free uint8_t *parts = malloc(len ? len : 1);
    struct scan s = {
        .code = code, .len = len, .parts = parts, .found = found, .user = user, .is_commands = true
    };

    if (!parts)
        return -ENOMEM;
    classify(&s, PACKAGE_PYTHON);
    return find_python(&s);
}

/* ---- lines of notebooks --------------------------------------------------------------------- */

/* A line of a longer expression may begin with "% pip", too: no value is followed by these. */
static bool is_pip_verb(const struct scan *s, size_t at)
{
    static const char *const verbs[] = { "install", "uninstall", "list", "show", "freeze" };

    for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
        if (is_word(s, at, verbs[i]))
            return true;
    return false;
}

/* Does the line's first word, behind its mark, lead to pip? */
static bool is_magic(const struct scan *s, size_t at, size_t end)
{
    static const char executable[] = "{sys.executable}";
    size_t begin = skip_blanks(s, at + 1);
    size_t len = is_at(s, begin, executable) ? strlen(executable) : word_len(s, begin);

    if (begin + len >= end || s->code[begin + len] != ' ')
        return false;
    if (is_word(s, begin, "pip") || is_word(s, begin, "pip3"))
        return s->code[at] == '!' || is_pip_verb(s, skip_blanks(s, begin + len));
    begin = s->code[at] == '!' ? skip_blanks(s, begin + len) : s->len;
    return is_at(s, begin, "-m pip ");
}

/* The line as a text of Python's; a notebook would put sys.executable in. */
static void put_magic(const struct scan *s, size_t at, size_t end, struct buf *ret)
{
    static const char executable[] = "{sys.executable}";

    (void)buf_puts(ret, "__import__('subprocess').run('");
    (void)buf_puts(ret, s->code[at] == '%' ? "python3 -m " : "");
    for (at = skip_blanks(s, at + 1); at < end; at++) {
        if (is_at(s, at, executable)) {
            (void)buf_puts(ret, "python3");
            at += strlen(executable) - 1;
        } else {
            (void)buf_puts(ret, s->code[at] == '\'' || s->code[at] == '\\' ? "\\" : "");
            (void)buf_putc(ret, s->code[at]);
        }
    }
    (void)buf_puts(ret, "', shell=True)");
}

int imports_plain_python(const char *code, size_t len, struct buf *ret)
{
    cleanup_free uint8_t *parts = malloc(len ? len : 1);
    struct scan s = { .code = code, .len = len, .parts = parts };
    size_t done = 0;

    if (!parts)
        return -ENOMEM;
    classify(&s, PACKAGE_PYTHON);
    for (size_t at = 0; at < len; at++) {
        size_t end = at;

        if ((code[at] != '!' && code[at] != '%') || parts[at] != PART_CODE || !begins_line(&s, at))
            continue;
        while (end < len && code[end] != '\n' && code[end] != '\r')
            end++;
        if (!is_magic(&s, at, end))
            continue;
        (void)buf_add(ret, code + done, at - done);
        put_magic(&s, at, end, ret);
        done = at = end;
    }
    if (done == 0)
        return 0;
    (void)buf_add(ret, code + done, len - done);
    return buf_error(ret) < 0 ? buf_error(ret) : 1;
}
