/* SPDX-License-Identifier: Apache-2.0 */
/* package/config_text.c - the text of a pip.conf or an .npmrc, as rows of key and value. */
#include "package/config_text.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

#define KEY_MAX 512

struct reader {
    bool is_pip;
    config_row *row;
    void *user;
    char section[64];
    struct buf key;
    struct buf value;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t trim(const char **text, size_t len)
{
    while (len && is_blank((*text)[len - 1]))
        len--;
    while (len && is_blank(**text)) {
        (*text)++;
        len--;
    }
    return len;
}

static void add_key(struct reader *r, const char *text, size_t len)
{
    buf_reset(&r->key);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (r->is_pip && c == '_')
            c = '-';
        else if (r->is_pip)
            c = (char)tolower((unsigned char)c);
        (void)buf_putc(&r->key, c);
    }
}

/* npm knows quotes around values, and "[]" behind the keys of lists. */
static void add_value(struct reader *r, const char *text, size_t len)
{
    if (!r->is_pip && len >= 2 && (text[0] == '"' || text[0] == '\'') && text[len - 1] == text[0]) {
        text++;
        len -= 2;
    }
    if (r->value.len && len)
        (void)buf_putc(&r->value, '\n');
    (void)buf_add(&r->value, text, len);
}

/* A row is told when the next one begins: its value may go on. */
static int flush(struct reader *r)
{
    bool is_usable = r->key.len && !r->key.error && !r->value.error &&
                     !memchr(r->key.data, '\0', r->key.len) &&
                     !(r->value.len && memchr(r->value.data, '\0', r->value.len));
    int result = is_usable
                     ? r->row(r->user, r->section, r->key.data, r->value.data ? r->value.data : "")
                     : 0;

    buf_reset(&r->key);
    buf_reset(&r->value);
    r->key.error = 0;
    r->value.error = 0;
    return result;
}

static void take_section(struct reader *r, const char *text, size_t len)
{
    const char *end = memchr(text, ']', len);
    size_t n = end ? (size_t)(end - text) - 1 : 0;

    if (n >= sizeof(r->section))
        n = 0;
    memcpy(r->section, text + 1, n);
    r->section[n] = '\0';
}

static size_t separator(const struct reader *r, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '=' || (r->is_pip && text[i] == ':'))
            return i;
    return len;
}

static int take_line(struct reader *r, const char *line, size_t len)
{
    bool goes_on = r->is_pip && len && is_blank(line[0]) && r->key.len;
    const char *text = line;
    const char *value;
    size_t at;
    int result;

    len = trim(&text, len);
    if (len == 0 || text[0] == '#' || text[0] == ';')
        return 0;
    if (goes_on) {
        add_value(r, text, len);
        return 0;
    }
    result = flush(r);
    if (result < 0)
        return result;
    if (text[0] == '[') {
        take_section(r, text, len);
        return 0;
    }
    at = separator(r, text, len);
    value = text + at + (at < len);
    len -= at + (at < len);
    at = trim(&text, at);
    add_key(r, text, at);
    len = trim(&value, len);
    add_value(r, value, len);
    return 0;
}

static int read_text(struct reader *r, const char *text, size_t len)
{
    const char *end = text + len;
    int result = 0;

    while (result == 0 && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;

        result = take_line(r, text, (size_t)(stop - text));
        text = newline ? newline + 1 : end;
    }
    if (result == 0)
        result = flush(r);
    buf_clear(&r->key);
    buf_clear(&r->value);
    return result;
}

int config_text_pip(const char *text, size_t len, config_row *row, void *user)
{
    struct reader r = { .is_pip = true,
                        .row = row,
                        .user = user,
                        .key = BUF_INIT(KEY_MAX),
                        .value = BUF_INIT(CONFIG_VALUE_MAX) };

    return read_text(&r, text, len);
}

int config_text_npm(const char *text, size_t len, config_row *row, void *user)
{
    struct reader r = {
        .row = row, .user = user, .key = BUF_INIT(KEY_MAX), .value = BUF_INIT(CONFIG_VALUE_MAX)
    };

    return read_text(&r, text, len);
}
