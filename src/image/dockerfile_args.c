/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_args.c - the base images of a Dockerfile, after substitution. */
#include "image/dockerfile_args.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "image/dockerfile.h"
#include "image/dockerfile_form.h"

#define VARIABLES_MAX 128
#define VALUE_MAX     4096

struct variable {
    char *name;
    char *value; /* NULL: it has none, or none that is known */
};

struct variables {
    struct variable items[VARIABLES_MAX];
    size_t n;
};

static void variables_clear(struct variables *variables)
{
    for (size_t i = 0; i < variables->n; i++) {
        free(variables->items[i].name);
        free(variables->items[i].value);
    }
}

#define cleanup_variables cleanup_with(variables_clear)

static size_t name_length(const char *text)
{
    size_t len = 0;

    while (text[len] == '_' || ((text[len] | 0x20) >= 'a' && (text[len] | 0x20) <= 'z') ||
           (len > 0 && text[len] >= '0' && text[len] <= '9'))
        len++;
    return len;
}

/* The last one counts; NULL when there is none of that name. */
static const struct variable *find(const struct variables *variables, const char *name, size_t len)
{
    for (size_t i = variables->n; i > 0; i--) {
        const struct variable *variable = &variables->items[i - 1];

        if (strlen(variable->name) == len && memcmp(variable->name, name, len) == 0)
            return variable;
    }
    return NULL;
}

/* ---- substitution --------------------------------------------------------------------------- */

/* What stands in ${} behind the name: "", ":-word", "-word", ":+word", "+word".  Words with
 * anything special in them are left to nobody. */
static int put_modified(const char *value, const char *modifier, size_t len, struct buf *out)
{
    bool wants_text = len > 0 && modifier[0] == ':';
    bool is_set = value && !(wants_text && !value[0]);
    char kind = '\0';

    if (len == 0)
        return value ? buf_puts(out, value) : -ENOKEY;
    modifier += wants_text;
    len -= wants_text;
    if (len > 0)
        kind = *modifier;
    if (kind != '-' && kind != '+')
        return -EINVAL;
    for (size_t i = 1; i < len; i++)
        if (strchr("$\"'\\`{", modifier[i]))
            return -EINVAL;
    if (kind == '-' && is_set)
        return buf_puts(out, value);
    if (kind == '+' && !is_set)
        return 0;
    return buf_add(out, modifier + 1, len - 1);
}

/* The variable at '$'; the bytes it takes. */
static int put_variable(const struct variables *variables, const char *text, struct buf *out)
{
    bool has_braces = text[1] == '{';
    const char *name = text + 1 + has_braces;
    size_t len = name_length(name);
    const struct variable *variable = find(variables, name, len);
    const char *value = variable ? variable->value : NULL;
    const char *end = has_braces ? strchr(name, '}') : name + len;
    int r;

    if (len == 0 || !end)
        return -EINVAL;
    r = put_modified(value, name + len, (size_t)(end - name) - len, out);
    return r < 0 ? r : (int)(end - text) + has_braces;
}

/* The text without quotes and with its variables replaced.  -ENOKEY: one has no value.  -EINVAL:
 * a form that not every builder reads alike. */
static int expand(const struct variables *variables, const char *text, struct buf *out)
{
    char quote = '\0';

    while (*text) {
        int r = 1;

        if (*text == '\\' || *text == '`')
            return -EINVAL;
        if (*text == quote)
            quote = '\0';
        else if (!quote && (*text == '"' || *text == '\''))
            quote = *text;
        else if (*text == '$' && quote != '\'')
            r = put_variable(variables, text, out);
        else
            buf_putc(out, *text);
        if (r < 0)
            return r;
        text += r;
    }
    return quote ? -EINVAL : buf_error(out);
}

/* ---- ARG ------------------------------------------------------------------------------------ */

static const char *given_for(const struct dockerfile_arg *given, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(given[i].name, name) == 0)
            return given[i].value;
    return NULL;
}

/* "name" or "name=default".  A default that cannot be told is none: it matters only where it is
 * used. */
static int add_variable(struct variables *variables, const char *word,
                        const struct dockerfile_arg *given, size_t n_given)
{
    cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
    struct variable *variable = &variables->items[variables->n];
    size_t len = strcspn(word, "=");
    const char *set;

    if (variables->n == VARIABLES_MAX)
        return -E2BIG;
    variable->name = strndup(word, len);
    if (!variable->name)
        return -ENOMEM;
    set = given_for(given, n_given, variable->name);
    if (set) {
        variable->value = strdup(set);
    } else if (word[len] == '=' && expand(variables, word + len + 1, &value) == 0) {
        variable->value = buf_take(&value);
    } else {
        const struct variable *earlier = find(variables, word, len);

        /* "ARG x" again leaves what it had */
        variable->value =
            word[len] != '=' && earlier && earlier->value ? strdup(earlier->value) : NULL;
    }
    variables->n++;
    return 0;
}

static int add_arg(struct variables *variables, const char *text,
                   const struct dockerfile_arg *given, size_t n_given)
{
    while (*text) {
        int len = form_word_length(text);
        cleanup_free char *word = NULL;
        int r;

        if (len < 0)
            return len;
        word = strndup(text, (size_t)len);
        if (!word)
            return -ENOMEM;
        r = add_variable(variables, word, given, n_given);
        if (r < 0)
            return r;
        text += len;
        text += strspn(text, " \t");
    }
    return 0;
}

/* ---- FROM ----------------------------------------------------------------------------------- */

static int rewrite(struct dockerfile_item *item, const char *image)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_LINE_MAX);
    char **words = NULL;
    int r;

    buf_puts(&text, image);
    for (char **word = item->words + 1; *word; word++)
        buf_printf(&text, " %s", *word);
    r = buf_error(&text);
    if (r == 0)
        r = form_words(text.data, &words);
    if (r < 0)
        return r;
    form_free_words(item->words);
    free(item->text);
    item->words = words;
    item->text = buf_take(&text);
    return item->text ? 0 : -ENOMEM;
}

static int resolve_from(const struct variables *variables, struct dockerfile_item *item)
{
    cleanup_buf struct buf image = BUF_INIT(VALUE_MAX);
    int r = expand(variables, item->words[0], &image);

    if (r < 0)
        return r;
    /* what a value brought in stays one word, and no flag */
    if (image.len == 0 || strpbrk(image.data, " \t\r\n") || image.data[0] == '-')
        return -EINVAL;
    return rewrite(item, image.data);
}

static int failed(const struct dockerfile_item *item, int r, struct gb_err *err)
{
    if (r == -ENOKEY)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "line %u of the Dockerfile: a variable in FROM has no value" GB_REMEDY
                       "give it a default with ARG before the first FROM, or a build argument",
                       item->line);
    if (r == -ENOMEM)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the Dockerfile");
    if (r == -E2BIG)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER,
                       "line %u of the Dockerfile: more than %d build arguments", item->line,
                       VARIABLES_MAX);
    return gb_fail(
        err, -EINVAL, GB_BLAME_CALLER,
        "line %u of the Dockerfile: the image cannot be told after substitution" GB_REMEDY
        "use $NAME, ${NAME} or ${NAME:-word} without escapes",
        item->line);
}

int dockerfile_resolve(struct dockerfile *dockerfile, const struct dockerfile_arg *given,
                       size_t n_given, struct gb_err *err)
{
    cleanup_variables struct variables variables = { .n = 0 };
    bool is_global = true;

    for (size_t i = 0; i < dockerfile->n; i++) {
        struct dockerfile_item *item = &dockerfile->items[i];
        int r = 0;

        is_global &= item->op == DOCKERFILE_ARG;
        if (item->op == DOCKERFILE_FROM)
            r = resolve_from(&variables, item);
        else if (is_global)
            r = add_arg(&variables, item->text, given, n_given);
        if (r < 0)
            return failed(item, r, err);
    }
    return 0;
}
