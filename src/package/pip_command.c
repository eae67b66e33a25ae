/* SPDX-License-Identifier: Apache-2.0 */
/* package/pip_command.c - which packages a command would have pip install. */
#include "package/pip_command.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "package/requirement.h"

static const char *const options[] = {
#define OPTION(name) name,
#include "package/pip_options.def"
#undef OPTION
};

static bool is(const char *word, size_t len, const char *what)
{
    return len == strlen(what) && memcmp(word, what, len) == 0;
}

/* "pip", "pip3", "pip3.11", also behind a path. */
static bool is_pip(const char *word, size_t len)
{
    const char *slash = memrchr(word, '/', len);

    if (slash) {
        len -= (size_t)(slash + 1 - word);
        word = slash + 1;
    }
    if (len < 3 || memcmp(word, "pip", 3) != 0)
        return false;
    for (size_t i = 3; i < len; i++)
        if (word[i] != '.' && (word[i] < '0' || word[i] > '9'))
            return false;
    return true;
}

static bool takes_value(const char *word, size_t len)
{
    for (size_t i = 0; i < N_ELEMENTS(options); i++)
        if (is(word, len, options[i]))
            return true;
    return false;
}

/* What may stand before the name of a program: "sudo", "A=b". */
static bool is_before(const char *word, size_t len)
{
    return is(word, len, "sudo") || is(word, len, "env") || memchr(word, '=', len);
}

int pip_command_word(struct pip_command *command, const char *word, size_t len)
{
    bool is_option = word && len && word[0] == '-';

    switch (command->state) {
    case PIP_BEGIN:
        if (word && is(word, len, "-m"))
            command->state = PIP_MODULE;
        else if (word && is_pip(word, len))
            command->state = PIP_NAMED;
        else if (!word || !is_before(word, len))
            command->state = PIP_SOMETHING;
        return 0;
    case PIP_SOMETHING:
        if (word && is(word, len, "-m"))
            command->state = PIP_MODULE;
        return 0;
    case PIP_MODULE:
        command->state = word && is(word, len, "pip") ? PIP_NAMED : PIP_SOMETHING;
        return 0;
    case PIP_NAMED:
        if (!is_option)
            command->state = word && is(word, len, "install") ? PIP_INSTALL : PIP_SOMETHING;
        return 0;
    case PIP_VALUE:
        command->state = PIP_INSTALL;
        return 0;
    case PIP_INSTALL:
        if (is_option && takes_value(word, len))
            command->state = PIP_VALUE;
        return word && len && !is_option ? command->found(command->user, word, len) : 0;
    }
    return 0;
}

/* ---- a line --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool ends_command(char c)
{
    return c == '\n' || c == ';' || c == '&' || c == '|';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* One word without its quotes; where it ends.  Unquoted '<' and '>' lead files for a shell, and
 * versions for whoever forgot the quotes: they are taken for the latter.  A quote behind a
 * backslash is one that the program's own text had to be written so, and no name has any. */
static size_t read_word(const char *text, size_t len, size_t at, struct buf *ret)
{
    char quote = '\0';

    for (; at < len; at++) {
        char c = text[at];

        if (quote && c == quote)
            quote = '\0';
        else if (!quote && is_quote(c))
            quote = c;
        else if (!quote && (is_blank(c) || ends_command(c)))
            break;
        else if (c != '\\' || at + 1 == len)
            (void)buf_putc(ret, c);
        else if (!is_quote(text[at + 1]))
            (void)buf_putc(ret, text[++at]);
    }
    return at;
}

int pip_command_line(const char *text, size_t len, imports_found *found, void *user)
{
    struct pip_command command = { .found = found, .user = user };
    size_t at = 0;
    int r = 0;

    while (r == 0 && at < len) {
        cleanup_buf struct buf word = BUF_INIT(REQUIREMENT_TEXT_MAX);

        if (ends_command(text[at])) {
            command.state = PIP_BEGIN;
            at++;
        } else if (is_blank(text[at])) {
            at++;
        } else if (text[at] == '#') {
            while (at < len && text[at] != '\n')
                at++;
        } else {
            at = read_word(text, len, at, &word);
            /* What is too long is no package, and a word all the same. */
            r = pip_command_word(
                &command, buf_error(&word) < 0 ? NULL : (word.data ? word.data : ""), word.len);
        }
    }
    return r;
}
