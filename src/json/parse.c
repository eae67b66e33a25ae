/* SPDX-License-Identifier: Apache-2.0 */
/* json/parse.c - hostile text to jansson's tree.
 *
 * jansson does the parsing.  It is told to refuse a key given twice.  Its own depth limit is fixed
 * at its build and far higher than ours, and it overlooks a NUL behind a number: both are checked
 * before it sees the text. */
#include "json/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "json/bind.h"

const char *parse_shown(const char *said, char text[static PARSE_SHOWN_MAX])
{
    size_t n = 0;

    for (; said[n] && n + 1 < PARSE_SHOWN_MAX; n++) {
        text[n] = said[n];
        if ((unsigned char)said[n] < ' ' || said[n] == 0x7f)
            text[n] = '?';
    }
    text[n] = '\0';
    return text;
}

/* Does the text stay within the depth limit?  Wrong text may be misjudged only behind its first
 * mistake, where the parser has stopped. */
static bool depth_is_fine(const char *text, size_t len)
{
    bool is_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (is_string && c == '\\')
            i++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '[' || c == '{') && ++depth > BIND_DEPTH_MAX)
            return false;
        else if (!is_string && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return true;
}

int parse_text(const struct parse_rules *rules, const char *text, size_t len, json_t **ret,
               struct gb_err *err)
{
    char text_shown[PARSE_SHOWN_MAX];
    const char *nul;
    json_error_t where;
    json_t *json;

    if (len > rules->text_max)
        return gb_fail(err, -EMSGSIZE, rules->blame, "JSON of %zu bytes; at most %zu are read", len,
                       rules->text_max);
    if (!depth_is_fine(text, len))
        return gb_fail(err, -EINVAL, rules->blame, "JSON is nested deeper than %d levels",
                       BIND_DEPTH_MAX);
    nul = len > 0 ? memchr(text, '\0', len) : NULL;
    if (nul)
        return gb_fail(err, -EINVAL, rules->blame, "not JSON at byte %zu: a NUL",
                       (size_t)(nul - text));
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | rules->flags, &where);
    if (!json && json_error_code(&where) == json_error_out_of_memory)
        return gb_no_memory(err);
    if (!json)
        return gb_fail(err, -EINVAL, rules->blame, "not JSON at line %d, column %d: %s", where.line,
                       where.column, parse_shown(where.text, text_shown));
    *ret = json;
    return 0;
}
