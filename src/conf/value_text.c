/* SPDX-License-Identifier: Apache-2.0 */
/* conf/value_text.c - values that are texts, paths, and lists of them. */
#include "conf/value_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "egress/policy.h"

#define TEXT_MAX  4096
#define MODEL_MAX 512
#define URL_MAX   256

static int set_text(struct value *value, char *owned)
{
    if (!owned)
        return -ENOMEM;
    free(value->text);
    value->text = owned;
    return 0;
}

int value_parse_text(const struct value_parse *p)
{
    if (!*p->text || strlen(p->text) > TEXT_MAX)
        return -EINVAL;
    return set_text(p->ret, strdup(p->text));
}

int value_parse_rules(const struct value_parse *p)
{
    int r = strlen(p->text) > TEXT_MAX ? -E2BIG : net_policy_check(p->text, NULL);

    if (r == -E2BIG)
        return gb_fail(p->err, r, GB_BLAME_CALLER, "more than %d rules, or %d bytes of them",
                       NET_RULES_MAX, TEXT_MAX);
    return r < 0 ? r : value_parse_text(p);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

/* Servers name models as they like, and a script is named by its path: only what could disturb a
 * request or a terminal is refused. */
int value_parse_model(const struct value_parse *p)
{
    size_t len = strlen(p->text);

    if (len == 0 || len > MODEL_MAX || has_control(p->text) || p->text[0] == ' ' ||
        p->text[0] == '/' || p->text[len - 1] == '/' || p->text[len - 1] == ' ')
        return -EINVAL;
    return set_text(p->ret, strdup(p->text));
}

int value_parse_url(const struct value_parse *p)
{
    const char *host = strncmp(p->text, "http://", 7) == 0    ? p->text + 7
                       : strncmp(p->text, "https://", 8) == 0 ? p->text + 8
                                                              : NULL;

    if (!host || !*host || *host == '/' || *host == ':' || strlen(p->text) > URL_MAX)
        return -EINVAL;
    for (const char *at = p->text; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f ||
            strchr("@?#\\\"<>^`{|}", *at))
            return -EINVAL;
    return set_text(p->ret, strdup(p->text));
}

int value_format_text(const struct value *value, struct buf *ret)
{
    return buf_puts(ret, value->text ? value->text : "");
}

/* "~/" spelt out and slashes at the end dropped; -EINVAL when that is not clean and absolute. */
static int path_clean(const char *text, size_t len, const char *home, char **ret)
{
    cleanup_buf struct buf path = BUF_INIT(TEXT_MAX);

    if (len >= 2 && memcmp(text, "~/", 2) == 0 && home && *home) {
        buf_puts(&path, home);
        text++;
        len--;
    }
    buf_add(&path, text, len);
    if (buf_error(&path) || path.len == 0)
        return -EINVAL;
    while (path.len > 1 && path.data[path.len - 1] == '/')
        path.data[--path.len] = '\0';
    if (!path_is_clean_absolute(path.data))
        return -EINVAL;
    *ret = buf_take(&path);
    return *ret ? 0 : -ENOMEM;
}

int value_parse_path(const struct value_parse *p)
{
    char *path;
    int r = path_clean(p->text, strlen(p->text), p->home, &path);

    return r < 0 ? r : set_text(p->ret, path);
}

int value_parse_folder(const struct value_parse *p)
{
    char *path;

    if (p->text[0] == '/' || strncmp(p->text, "~/", 2) == 0)
        return value_parse_path(p);
    if (strlen(p->text) > TEXT_MAX || has_control(p->text))
        return -EINVAL;
    path = strdup(p->text);
    for (size_t len = path ? strlen(path) : 0; len > 1 && path[len - 1] == '/'; len--)
        path[len - 1] = '\0';
    if (path && !path_is_below(path)) {
        free(path);
        return -EINVAL;
    }
    return set_text(p->ret, path);
}

static size_t items_count(char *const *items)
{
    size_t n = 0;

    while (items && items[n])
        n++;
    return n;
}

static int add_item(struct value *value, char *owned)
{
    size_t n = items_count(value->items);
    char **items = n < VALUE_ITEMS_MAX ? realloc(value->items, (n + 2) * sizeof(*items)) : NULL;

    if (!items) {
        free(owned);
        return n < VALUE_ITEMS_MAX ? -ENOMEM : -ERANGE;
    }
    items[n] = owned;
    items[n + 1] = NULL;
    value->items = items;
    return 0;
}

int value_join_items(struct value *head, struct value *tail)
{
    size_t n_head = items_count(head->items);
    size_t n_tail = items_count(tail->items);
    char **items;

    if (n_tail == 0)
        return 0;
    if (n_head + n_tail > VALUE_ITEMS_MAX)
        return -ERANGE;
    items = realloc(head->items, (n_head + n_tail + 1) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    memcpy(items + n_head, tail->items, (n_tail + 1) * sizeof(*items));
    free(take_ptr(tail->items));
    head->items = items;
    return 0;
}

int value_parse_paths(const struct value_parse *p)
{
    struct value more = { 0 };
    const char *text = p->text;
    int r = *text ? 0 : -EINVAL;

    while (r == 0 && *text) {
        size_t len = strcspn(text, ":");
        char *path;

        r = path_clean(text, len, p->home, &path);
        if (r == 0)
            r = add_item(&more, path);
        text += len + (text[len] == ':');
    }
    if (r == 0)
        r = value_join_items(p->ret, &more);
    value_clear(&more);
    return r;
}

/* A star alone or inside a name would allow more than it seems to. */
static bool is_image_row(const char *row, size_t len)
{
    size_t name = len > 2 && memcmp(row + len - 2, "/*", 2) == 0 ? len - 2 : len;

    return name > 0 && len <= TEXT_MAX &&
           strspn(row, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@") >=
               name;
}

int value_parse_images(const struct value_parse *p)
{
    struct value more = { 0 };
    const char *text = p->text;
    int r = *text ? 0 : -EINVAL;

    while (r == 0 && *text) {
        size_t len = strcspn(text, ",");
        char *row = is_image_row(text, len) ? strndup(text, len) : NULL;

        r = row ? add_item(&more, row) : is_image_row(text, len) ? -ENOMEM : -EINVAL;
        text += len + (text[len] == ',');
    }
    if (r == 0)
        r = value_join_items(p->ret, &more);
    value_clear(&more);
    return r;
}

static int format_items(const struct value *value, char between, struct buf *ret)
{
    for (size_t i = 0; value->items && value->items[i]; i++) {
        if (i)
            buf_putc(ret, between);
        buf_puts(ret, value->items[i]);
    }
    return buf_error(ret);
}

int value_format_paths(const struct value *value, struct buf *ret)
{
    return format_items(value, ':', ret);
}

int value_format_images(const struct value *value, struct buf *ret)
{
    return format_items(value, ',', ret);
}
