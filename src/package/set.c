/* SPDX-License-Identifier: Apache-2.0 */
/* package/set.c - packages that a run wants, of one kind, sorted, none twice. */
#include "package/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"
#include "package/npm_name.h"
#include "package/requirement.h"

#define LINE_MAX_BYTES 8192
#define HASH_OPTION    "--hash="

void package_set_clear(struct package_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->items[i].name);
        free(set->items[i].text);
    }
    free(set->items);
    set->items = NULL;
    set->n = 0;
}

const char *package_kind_name(enum package_kind kind)
{
    static const char *const names[] = { [PACKAGE_PYTHON] = "python", [PACKAGE_NODE] = "node" };

    return names[kind];
}

/* ---- keeping it sorted ---------------------------------------------------------------------- */

static int compare(const struct package_wish *wish, const char *name, const char *text)
{
    int order = strcmp(wish->name, name);

    return order ? order : strcmp(wish->text, text);
}

static int insert(struct package_set *set, const char *name, const char *text, struct gb_err *err)
{
    struct package_wish wish = { 0 };
    struct package_wish *grown;
    size_t at = 0;

    while (at < set->n && compare(&set->items[at], name, text) < 0)
        at++;
    if (at < set->n && compare(&set->items[at], name, text) == 0)
        return 0;
    if (set->n == PACKAGES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "more than %d packages", PACKAGES_MAX);
    grown = reallocarray(set->items, set->n + 1, sizeof(*grown));
    if (!grown)
        return gb_no_memory(err);
    set->items = grown;
    wish = (struct package_wish){ .name = strdup(name), .text = strdup(text) };
    if (!wish.name || !wish.text) {
        free(wish.name);
        free(wish.text);
        return gb_no_memory(err);
    }
    memmove(grown + at + 1, grown + at, (set->n - at) * sizeof(*grown));
    grown[at] = wish;
    set->n++;
    return 0;
}

static int insert_npm(struct package_set *set, const struct npm_name *name, struct gb_err *err)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, name->name) == 0 &&
            strcmp(set->items[i].text, name->range) != 0)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "'%.100s' is wanted as '%.60s' and as '%.60s'", name->name,
                           set->items[i].text, name->range);
    return insert(set, name->name, name->range, err);
}

int package_set_add(struct package_set *set, const char *text, size_t len, struct gb_err *err)
{
    struct requirement requirement;
    struct npm_name name;
    int r;

    if (set->kind == PACKAGE_NODE) {
        r = npm_name_parse(text, len, &name, err);
        return r < 0 ? r : insert_npm(set, &name, err);
    }
    r = requirement_parse(text, len, &requirement, err);
    return r < 0 ? r : insert(set, requirement.name, requirement.text, err);
}

static bool has_name(const struct package_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return true;
    return false;
}

/* Two passes: one name may be wanted in several ways, all of which count. */
int package_set_add_others(struct package_set *set, const struct package_set *others,
                           struct gb_err *err)
{
    cleanup_free bool *is_other = calloc(others->n + 1, sizeof(*is_other));
    int r = 0;

    if (!is_other)
        return gb_no_memory(err);
    for (size_t i = 0; i < others->n; i++)
        is_other[i] = !has_name(set, others->items[i].name);
    for (size_t i = 0; r == 0 && i < others->n; i++)
        if (is_other[i])
            r = insert(set, others->items[i].name, others->items[i].text, err);
    return r;
}

/* ---- requirements files --------------------------------------------------------------------- */

/* Takes one line, joined with those it goes on with; false at the end. */
static bool next_line(const char **at, const char *end, struct buf *line, unsigned *n)
{
    buf_reset(line);
    while (*at < end) {
        const char *newline = memchr(*at, '\n', (size_t)(end - *at));
        const char *stop = newline ? newline : end;
        size_t len = (size_t)(stop - *at);
        bool goes_on;

        if (len && (*at)[len - 1] == '\r')
            len--;
        goes_on = len && (*at)[len - 1] == '\\';
        (void)buf_add(line, *at, len - goes_on);
        *at = newline ? newline + 1 : end;
        (*n)++;
        if (!goes_on)
            return true;
    }
    return line->len > 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Without its comment and the blanks around it. */
static size_t strip(const char **text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((*text)[i] == '#' && (i == 0 || is_blank((*text)[i - 1])))
            len = i;
    while (len && is_blank((*text)[len - 1]))
        len--;
    while (len && is_blank(**text)) {
        (*text)++;
        len--;
    }
    return len;
}

/* " --hash=sha256:0123…", of the algorithms that are none of the weak ones. */
static int take_hashes(const char *at, const char *end, struct buf *ret, struct gb_err *err)
{
    static const struct {
        const char *name;
        size_t digits;
    } kinds[] = { { "sha256:", 64 }, { "sha384:", 96 }, { "sha512:", 128 } };

    while (at < end) {
        size_t len = 0;
        bool is_known = false;

        while (at < end && is_blank(*at))
            at++;
        while (at + len < end && !is_blank(at[len]))
            len++;
        if (len == 0)
            break;
        for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
            size_t head = strlen(HASH_OPTION) + strlen(kinds[i].name);

            is_known |= len == head + kinds[i].digits && strncmp(at, HASH_OPTION, 7) == 0 &&
                        strncmp(at + 7, kinds[i].name, strlen(kinds[i].name)) == 0 &&
                        strspn(at + head, "0123456789abcdef") >= kinds[i].digits;
        }
        if (!is_known)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "only --hash=sha256:…, sha384 and sha512 may stand behind a package");
        (void)buf_puts(ret, " ");
        (void)buf_add(ret, at, len);
        at += len;
    }
    return 0;
}

static int read_line(struct package_set *set, const char *text, size_t len, struct gb_err *err)
{
    cleanup_buf struct buf whole = BUF_INIT(LINE_MAX_BYTES);
    const char *hashes = memmem(text, len, " --", 3);
    size_t head = hashes ? (size_t)(hashes - text) : len;
    struct requirement requirement;
    int r;

    if (text[0] == '-')
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.*s': options of the installer are not taken" GB_REMEDY
                       "name the packages themselves; the index is that of pip's configuration",
                       len < 60 ? (int)len : 60, text);
    r = requirement_parse(text, head, &requirement, err);
    if (r < 0)
        return r;
    (void)buf_puts(&whole, requirement.text);
    r = take_hashes(text + head, text + len, &whole, err);
    if (r < 0)
        return r;
    return buf_error(&whole) < 0 ? gb_no_memory(err)
                                 : insert(set, requirement.name, whole.data, err);
}

static int read_requirements(struct package_set *set, const char *name, const char *text,
                             size_t len, struct gb_err *err)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
    const char *end = text + len;
    unsigned n = 0;

    for (;;) {
        unsigned first = n + 1;
        const char *at;
        size_t left;
        int r;

        if (!next_line(&text, end, &line, &n))
            return 0;
        if (buf_error(&line) < 0)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%.100s:%u: the line is too long", name,
                           first);
        at = line.data;
        left = line.data ? strip(&at, line.len) : 0;
        r = left ? read_line(set, at, left, err) : 0;
        if (r < 0)
            return gb_wrap(err, r, "%.100s:%u", name, first);
    }
}

/* ---- package.json --------------------------------------------------------------------------- */

static int read_package_json(struct package_set *set, const char *name, const char *text,
                             size_t len, struct gb_err *err)
{
    cleanup_json struct json_value *root = NULL;
    const struct json_value *list;
    int r = json_value_parse(text, len, PACKAGES_FILE_MAX, &root, err);

    if (r < 0) {
        err->blame = GB_BLAME_CALLER;
        return gb_wrap(err, r, "%.100s", name);
    }
    list = json_get(root, "dependencies");
    if (json_kind(root) != JSON_OBJECT ||
        (json_kind(list) != JSON_OBJECT && json_kind(list) != JSON_NONE))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%.100s: \"dependencies\" is no object of names and ranges", name);
    for (size_t i = 0; i < json_count(list); i++) {
        const char *key = NULL;
        const struct json_value *value = json_member(list, i, &key);
        struct npm_name entry;
        size_t range_len = 0;
        const char *range = json_str(value, &range_len);

        r = npm_name_of(key, strlen(key), range ? range : "", range_len, &entry, err);
        if (r == 0)
            r = insert_npm(set, &entry, err);
        if (r < 0)
            return gb_wrap(err, r, "%.100s", name);
    }
    return 0;
}

int package_set_read(struct package_set *set, const char *name, const char *text, size_t len,
                     struct gb_err *err)
{
    if (len > PACKAGES_FILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "%.100s: longer than 1 MiB", name);
    return set->kind == PACKAGE_NODE ? read_package_json(set, name, text, len, err)
                                     : read_requirements(set, name, text, len, err);
}

void package_set_put_names(const struct package_set *set, struct buf *ret)
{
    for (size_t i = 0; i < set->n; i++)
        (void)buf_printf(ret, "%s%s", i ? ", " : "", set->items[i].name);
}

/* ---- for an installer ----------------------------------------------------------------------- */

int package_set_write(const struct package_set *set, struct buf *ret)
{
    struct json_writer w;

    if (set->kind == PACKAGE_PYTHON) {
        for (size_t i = 0; i < set->n; i++)
            (void)buf_printf(ret, "%s\n", set->items[i].text);
        return buf_error(ret);
    }
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_bool(&w, "private", true);
    json_object_begin(&w, "dependencies");
    for (size_t i = 0; i < set->n; i++)
        json_put_str(&w, set->items[i].name, set->items[i].text);
    json_object_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}
