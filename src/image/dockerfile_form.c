/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_form.c - the forms that the text of an instruction may have. */
#include "image/dockerfile_form.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "image/dockerfile.h"
#include "json/utf8.h"

static const char blanks[] = " \t";

/* ---- words ---------------------------------------------------------------------------------- */

void form_free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

DEFINE_CLEANUP(char **, form_free_words)
#define cleanup_words cleanup_with(form_free_wordsp)

int form_words(const char *text, char ***ret_words)
{
    cleanup_words char **words = calloc(DOCKERFILE_WORDS_MAX + 1, sizeof(*words));
    size_t n = 0;

    if (!words)
        return -ENOMEM;
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        size_t len = strcspn(text, blanks);

        if (n == DOCKERFILE_WORDS_MAX)
            return -E2BIG;
        words[n] = strndup(text, len);
        if (!words[n])
            return -ENOMEM;
        n++;
        text += len;
    }
    *ret_words = take_ptr(words);
    return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void put_utf8(uint32_t point, struct buf *out)
{
    if (point < 0x80) {
        buf_putc(out, (char)point);
        return;
    }
    if (point < 0x800) {
        buf_putc(out, (char)(0xc0 | point >> 6));
    } else {
        buf_putc(out, (char)(0xe0 | point >> 12));
        buf_putc(out, (char)(0x80 | (point >> 6 & 0x3f)));
    }
    buf_putc(out, (char)(0x80 | (point & 0x3f)));
}

/* The four digits of \uXXXX.  A NUL and halves of a pair have no meaning that builders share; whole
 * pairs are written as themselves and need no escape. */
static int take_unicode(const char **at, struct buf *out, bool *is_odd)
{
    uint32_t point = 0;

    for (int i = 0; i < 4; i++) {
        int value = hex_value((*at)[i]);

        if (value < 0)
            return -EINVAL;
        point = point << 4 | (uint32_t)value;
    }
    *at += 4;
    if (point < ' ' || (point >= 0xd800 && point <= 0xdfff))
        *is_odd = true;
    else
        put_utf8(point, out);
    return 0;
}

/* The string behind a quote; *at goes behind its other one. */
static int take_string(const char **at, struct buf *out, bool *is_odd)
{
    static const char escaped[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";

    while (**at != '"') {
        char c = *(*at)++;
        const char *found;

        if ((unsigned char)c < ' ')
            return -EINVAL; /* the end, or what no string may hold as it is */
        if (c != '\\') {
            buf_putc(out, c);
            continue;
        }
        c = *(*at)++;
        found = c ? strchr(escaped, c) : NULL;
        if (found)
            buf_putc(out, meant[found - escaped]);
        else if (c != 'u' || take_unicode(at, out, is_odd) < 0)
            return -EINVAL;
    }
    (*at)++;
    return 0;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, blanks);
}

/* The list behind '['.  *at goes behind ']'; -EINVAL when it is none. */
static int take_list(const char **at, char **words, bool *is_odd)
{
    size_t n = 0;

    *at = skip_blanks(*at);
    if (**at == ']') {
        (*at)++;
        return 0;
    }
    for (;;) {
        cleanup_buf struct buf word = BUF_INIT(DOCKERFILE_LINE_MAX);

        if (*(*at)++ != '"' || take_string(at, &word, is_odd) < 0)
            return -EINVAL;
        if (n == DOCKERFILE_WORDS_MAX)
            return -E2BIG;
        words[n] = buf_take(&word);
        if (!words[n++])
            return -ENOMEM;
        *at = skip_blanks(*at);
        if (**at == ']') {
            (*at)++;
            return 0;
        }
        if (*(*at)++ != ',')
            return -EINVAL;
        *at = skip_blanks(*at);
    }
}

int form_json(const char *text, char ***ret_words)
{
    cleanup_words char **words = NULL;
    const char *at = text + 1;
    bool is_odd = false;
    int r;

    if (text[0] != '[')
        return FORM_PLAIN;
    words = calloc(DOCKERFILE_WORDS_MAX + 1, sizeof(*words));
    if (!words)
        return -ENOMEM;
    r = take_list(&at, words, &is_odd);
    if (r == -EINVAL)
        return FORM_PLAIN; /* "[ -f x ] && y", to all of them */
    if (r < 0)
        return r;
    if (*skip_blanks(at) || is_odd)
        return FORM_AMBIGUOUS;
    *ret_words = take_ptr(words);
    return FORM_JSON;
}

/* ---- heredocs ------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int form_word_length(const char *text)
{
    char quote = '\0';
    int i;

    for (i = 0; text[i] && (quote || !strchr(blanks, text[i])); i++) {
        if (text[i] == '\\' && quote != '\'' && text[i + 1])
            i++;
        else if (quote && text[i] == quote)
            quote = '\0';
        else if (!quote && (text[i] == '"' || text[i] == '\''))
            quote = text[i];
    }
    return quote ? -EINVAL : i;
}

/* 1 when the word announces a heredoc, 0 when it cannot, -EINVAL when some builder might think
 * so. */
static int take_doc(const char *word, size_t len, struct dockerfile_doc *doc)
{
    size_t at = strspn(word, "0123456789");
    size_t from;
    char quote = '\0';

    if (at + 2 > len || word[at] != '<' || word[at + 1] != '<')
        return 0;
    at += 2;
    doc->chomps = at < len && word[at] == '-';
    at += doc->chomps;
    if (at == len || word[at] == '<')
        return 0; /* "<<" alone, "<<<" */
    if (word[at] == '"' || word[at] == '\'')
        quote = word[at++];
    from = at;
    while (at < len && is_name_char(word[at]))
        at++;
    if (at == from || (quote && (at == len || word[at] != quote)) || at + (quote != 0) != len)
        return -EINVAL;
    doc->name = strndup(word + from, at - from);
    return doc->name ? 1 : -ENOMEM;
}

static int release_docs(struct dockerfile_doc *docs, size_t n, int r)
{
    for (size_t i = 0; i < n; i++)
        free(take_ptr(docs[i].name));
    return r;
}

int form_docs(const char *text, struct dockerfile_doc *docs, size_t max)
{
    size_t n = 0;

    if (!strstr(text, "<<"))
        return 0;
    for (text = skip_blanks(text); *text; text = skip_blanks(text)) {
        struct dockerfile_doc doc = { 0 };
        int len = form_word_length(text);
        int r = len < 0 ? len : take_doc(text, (size_t)len, &doc);

        if (r > 0 && n == max) {
            free(doc.name);
            r = -E2BIG;
        }
        if (r < 0)
            return release_docs(docs, n, r);
        if (r > 0)
            docs[n++] = doc;
        text += len;
    }
    return (int)n;
}

size_t form_wide_blank(const char *text, size_t len)
{
    uint32_t point = 0;
    size_t n = utf8_decode((const uint8_t *)text, len, &point);

    if (point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
        point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000)
        return n;
    return 0;
}
