/* SPDX-License-Identifier: Apache-2.0 */
/* package/npm_name.c - a package of npm's as people and models name it. */
#include "package/npm_name.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A part of a name: begins plainly, goes on with '-', '.', '_' and '~' too. */
static bool is_part(const char *text, size_t len)
{
    if (len == 0 || !is_plain(text[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_plain(text[i]) && !(text[i] && strchr("-._~", text[i])))
            return false;
    return true;
}

static const char *why_no_name(const char *text, size_t len)
{
    const char *slash = memchr(text, '/', len);

    if (len == 0)
        return "it is empty";
    if (len > NPM_NAME_MAX)
        return "its name is too long";
    if (text[0] == '-')
        return "options of the installer are not taken";
    if (text[0] == '@' && slash) {
        if (!is_part(text + 1, (size_t)(slash - text) - 1) ||
            !is_part(slash + 1, len - (size_t)(slash - text) - 1))
            return "a name with a scope is @SCOPE/NAME, of small letters, digits, '-', '.', '_'";
        return NULL;
    }
    if (slash || memchr(text, ':', len))
        return "addresses and paths are not taken, only names of the registry";
    if (!is_part(text, len))
        return "a name is of small letters, digits, '-', '.' and '_'";
    return NULL;
}

static const char *why_no_range(const char *text, size_t len)
{
    bool has_any = false;

    if (len > NPM_RANGE_MAX)
        return "its range is too long";
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '/' || c == ':' || c == '@')
            return "addresses, aliases and paths are not taken, only versions of the registry";
        if (!is_plain(c) && !(c >= 'A' && c <= 'Z') && !(c && strchr(".*^~<>=|+- ", c)))
            return "its range has bytes that no range has";
        has_any |= c != ' ';
    }
    return has_any ? NULL : "its range is empty";
}

/* Bytes that a terminal would obey are not shown. */
static int refuse(const char *name, size_t len, const char *why, struct gb_err *err)
{
    char shown[101];
    size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

    memcpy(shown, name, n);
    shown[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)shown[i] < ' ' || shown[i] == 127)
            shown[i] = '?';
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' names no package: %s", shown, why);
}

int npm_name_of(const char *name, size_t name_len, const char *range, size_t range_len,
                struct npm_name *ret, struct gb_err *err)
{
    const char *why = why_no_name(name, name_len);

    if (!why)
        why = why_no_range(range, range_len);
    if (why)
        return refuse(name, name_len, why, err);
    memcpy(ret->name, name, name_len);
    ret->name[name_len] = '\0';
    memcpy(ret->range, range, range_len);
    ret->range[range_len] = '\0';
    return 0;
}

int npm_name_parse(const char *text, size_t len, struct npm_name *ret, struct gb_err *err)
{
    const char *at = len > 1 ? memchr(text + 1, '@', len - 1) : NULL;
    size_t name_len = at ? (size_t)(at - text) : len;

    return at ? npm_name_of(text, name_len, at + 1, len - name_len - 1, ret, err)
              : npm_name_of(text, len, "*", 1, ret, err);
}
