/* SPDX-License-Identifier: Apache-2.0 */
/* conf/value.c - a table of kinds: how each is read and written. */
#include "conf/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "base/path.h"
#include "box/walls.h"
#include "model/window.h"

#define TEXT_MAX  4096
#define MODEL_MAX 512
#define URL_MAX   256
#define ITEMS_MAX 64

/* Below are the ids of people and daemons; the last 65,536 are left to the kernel's own uses. */
#define UID_MIN 65536
#define UID_MAX 4294836224

struct parse {
    const char *text;
    const char *home;
    struct value *ret;
    struct gb_err *err;
};

struct kind {
    const char *name;
    const char *allowed;
    const char *example;                 /* "" or ", such as …" */
    int (*parse)(const struct parse *p); /* -EINVAL, -ERANGE, or another code with err set */
    int (*format)(const struct value *value, struct buf *ret);
};

struct word {
    const char *word;
    uint64_t number;
};

static int parse_word(const struct word *words, const struct parse *p)
{
    for (; words->word; words++) {
        if (strcmp(words->word, p->text) == 0) {
            p->ret->number = words->number;
            return 0;
        }
    }
    return -EINVAL;
}

static int format_word(const struct word *words, const struct value *value, struct buf *ret)
{
    for (; words->word; words++)
        if (words->number == value->number)
            return buf_puts(ret, words->word);
    return -EINVAL;
}

/* The first word of a number is the one that is written. */
static const struct word bools[] = {
    { "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 }, { "on", 1 }, { "off", 0 }, { 0 },
};
static const struct word backends[] = {
    { "native", BACKEND_NATIVE },
    { "docker", BACKEND_DOCKER },
    { "disabled", BACKEND_DISABLED },
    { 0 },
};
static const struct word colors[] = {
    { "auto", COLOR_AUTO },
    { "always", COLOR_ALWAYS },
    { "never", COLOR_NEVER },
    { 0 },
};

static const struct word efforts[] = {
    { "auto", EFFORT_AUTO },
    { "low", EFFORT_LOW },
    { "medium", EFFORT_MEDIUM },
    { "high", EFFORT_HIGH },
    { 0 },
};
static const struct word askings[] = {
    { "never", ASKING_NEVER },
    { "blocked", ASKING_BLOCKED },
    { "always", ASKING_ALWAYS },
    { 0 },
};
static const struct word searches[] = {
    { "auto", SEARCH_AUTO },
    { "tavily", SEARCH_TAVILY },
    { "searxng", SEARCH_SEARXNG },
    { "none", SEARCH_NONE },
    { 0 },
};

static int parse_bool(const struct parse *p)
{
    return parse_word(bools, p);
}

static int format_bool(const struct value *value, struct buf *ret)
{
    return format_word(bools, value, ret);
}

static int parse_backend(const struct parse *p)
{
    return parse_word(backends, p);
}

static int format_backend(const struct value *value, struct buf *ret)
{
    return format_word(backends, value, ret);
}

static int parse_color(const struct parse *p)
{
    return parse_word(colors, p);
}

static int format_color(const struct value *value, struct buf *ret)
{
    return format_word(colors, value, ret);
}

static int parse_effort(const struct parse *p)
{
    return parse_word(efforts, p);
}

static int format_effort(const struct value *value, struct buf *ret)
{
    return format_word(efforts, value, ret);
}

static int parse_ask(const struct parse *p)
{
    return parse_word(askings, p);
}

static int format_ask(const struct value *value, struct buf *ret)
{
    return format_word(askings, value, ret);
}

static int parse_search(const struct parse *p)
{
    return parse_word(searches, p);
}

static int format_search(const struct value *value, struct buf *ret)
{
    return format_word(searches, value, ret);
}

static int parse_count(const struct parse *p)
{
    return num_parse_u64(p->text, 1, INT64_MAX, &p->ret->number);
}

static int parse_uid(const struct parse *p)
{
    return num_parse_u64(p->text, UID_MIN, UID_MAX, &p->ret->number);
}

static int parse_tokens(const struct parse *p)
{
    return num_parse_u64(p->text, WINDOW_MIN, WINDOW_MAX, &p->ret->number);
}

static int format_number(const struct value *value, struct buf *ret)
{
    return buf_printf(ret, "%" PRIu64, value->number);
}

static int parse_size(const struct parse *p)
{
    return num_parse_size(p->text, &p->ret->number);
}

static int format_size(const struct value *value, struct buf *ret)
{
    static const char suffixes[] = "\0kmgt";
    uint64_t number = value->number;
    size_t unit = 0;

    for (; number && number % 1024 == 0 && unit + 2 < sizeof(suffixes); unit++)
        number /= 1024;
    buf_printf(ret, "%" PRIu64, number);
    return buf_add(ret, suffixes + unit, unit > 0);
}

static int parse_duration(const struct parse *p)
{
    return num_parse_duration(p->text, &p->ret->number);
}

static int format_duration(const struct value *value, struct buf *ret)
{
    static const struct {
        uint64_t ms;
        const char *suffix;
    } units[] = { { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
    size_t i = 0;

    while (value->number % units[i].ms)
        i++;
    return buf_printf(ret, "%" PRIu64 "%s", value->number / units[i].ms, units[i].suffix);
}

static int parse_milli(const struct parse *p)
{
    return num_parse_milli(p->text, &p->ret->number);
}

/* Prices are small: a thousandth of a dollar is the least that can be said. */
static int parse_dollars(const struct parse *p)
{
    uint64_t milli;
    int r = num_parse_milli(p->text, &milli);

    if (r < 0)
        return r;
    if (milli > INT64_MAX / 1000)
        return -ERANGE;
    p->ret->number = milli * 1000;
    return 0;
}

static int put_milli(uint64_t milli, struct buf *ret)
{
    buf_printf(ret, "%" PRIu64 ".%03" PRIu64, milli / 1000, milli % 1000);
    if (buf_error(ret))
        return buf_error(ret);
    while (ret->data[ret->len - 1] == '0')
        ret->data[--ret->len] = '\0';
    if (ret->data[ret->len - 1] == '.')
        ret->data[--ret->len] = '\0';
    return 0;
}

static int format_milli(const struct value *value, struct buf *ret)
{
    return put_milli(value->number, ret);
}

static int format_dollars(const struct value *value, struct buf *ret)
{
    return put_milli(value->number / 1000, ret);
}

static int parse_walls(const struct parse *p)
{
    wall_set walls;
    int r = walls_parse(p->text, &walls, p->err);

    if (r < 0)
        return r;
    p->ret->number = walls;
    return 0;
}

static int format_walls(const struct value *value, struct buf *ret)
{
    char text[WALLS_TEXT_MAX];

    if (value->number == 0)
        return buf_puts(ret, "none");
    if (value->number == WALLS_ALL)
        return buf_puts(ret, "all");
    return buf_puts(ret, walls_text((wall_set)value->number, text));
}

static int set_text(struct value *value, char *owned)
{
    if (!owned)
        return -ENOMEM;
    free(value->text);
    value->text = owned;
    return 0;
}

static int parse_text(const struct parse *p)
{
    if (!*p->text || strlen(p->text) > TEXT_MAX)
        return -EINVAL;
    return set_text(p->ret, strdup(p->text));
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
static int parse_model(const struct parse *p)
{
    size_t len = strlen(p->text);

    if (len == 0 || len > MODEL_MAX || has_control(p->text) || p->text[0] == ' ' ||
        p->text[0] == '/' || p->text[len - 1] == '/' || p->text[len - 1] == ' ')
        return -EINVAL;
    return set_text(p->ret, strdup(p->text));
}

static int parse_url(const struct parse *p)
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

static int format_text(const struct value *value, struct buf *ret)
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

static int parse_path(const struct parse *p)
{
    char *path;
    int r = path_clean(p->text, strlen(p->text), p->home, &path);

    return r < 0 ? r : set_text(p->ret, path);
}

static int parse_folder(const struct parse *p)
{
    char *path;

    if (p->text[0] == '/' || strncmp(p->text, "~/", 2) == 0)
        return parse_path(p);
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
    char **items = n < ITEMS_MAX ? realloc(value->items, (n + 2) * sizeof(*items)) : NULL;

    if (!items) {
        free(owned);
        return n < ITEMS_MAX ? -ENOMEM : -ERANGE;
    }
    items[n] = owned;
    items[n + 1] = NULL;
    value->items = items;
    return 0;
}

/* Moves the items of tail behind those of head: all of them or, on failure, none. */
static int join_items(struct value *head, struct value *tail)
{
    size_t n_head = items_count(head->items);
    size_t n_tail = items_count(tail->items);
    char **items;

    if (n_tail == 0)
        return 0;
    if (n_head + n_tail > ITEMS_MAX)
        return -ERANGE;
    items = realloc(head->items, (n_head + n_tail + 1) * sizeof(*items));
    if (!items)
        return -ENOMEM;
    memcpy(items + n_head, tail->items, (n_tail + 1) * sizeof(*items));
    free(take_ptr(tail->items));
    head->items = items;
    return 0;
}

static int parse_paths(const struct parse *p)
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
        r = join_items(p->ret, &more);
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

static int parse_images(const struct parse *p)
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
        r = join_items(p->ret, &more);
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

static int format_paths(const struct value *value, struct buf *ret)
{
    return format_items(value, ':', ret);
}

static int format_images(const struct value *value, struct buf *ret)
{
    return format_items(value, ',', ret);
}

static const struct kind kinds[N_VALUE_KINDS] = {
    [VALUE_BOOL] = { "yes or no", "true or false", "", parse_bool, format_bool },
    [VALUE_COUNT] = { "number", "a whole number from 1 on", "", parse_count, format_number },
    [VALUE_SIZE] = { "size", "more than 0 bytes", ", such as 512m or 1.5g", parse_size,
                     format_size },
    [VALUE_DURATION] = { "time", "more than 0 seconds", ", such as 30, 500ms, 2m or 1h",
                         parse_duration, format_duration },
    [VALUE_MILLI] = { "decimal", "a number above 0", ", such as 2 or 0.5", parse_milli,
                      format_milli },
    [VALUE_UID] = { "user id", "a user id from 65536 to 4294836224", "", parse_uid, format_number },
    [VALUE_TOKENS] = { "tokens", "a whole number from 1024 to 100000000", ", such as 32768",
                       parse_tokens, format_number },
    [VALUE_WALLS] = { "walls", "all, none, or names with commas", "", parse_walls, format_walls },
    [VALUE_BACKEND] = { "backend", "native, docker or disabled", "", parse_backend,
                        format_backend },
    [VALUE_COLOR] = { "when", "auto, always or never", "", parse_color, format_color },
    [VALUE_TEXT] = { "text", "a text that is not empty", "", parse_text, format_text },
    [VALUE_PATH] = { "path", "an absolute path without '.' and '..'", "", parse_path, format_text },
    [VALUE_PATHS] = { "list of paths", "absolute paths without '.' and '..'", "", parse_paths,
                      format_paths },
    [VALUE_IMAGES] = { "list of images", "names of images with commas, or registry/path/*", "",
                       parse_images, format_images },
    [VALUE_FOLDER] = { "path", "a path without '.' and '..'", "", parse_folder, format_text },
    [VALUE_DOLLARS] = { "dollars", "a number above 0", ", such as 5 or 0.5", parse_dollars,
                        format_dollars },
    [VALUE_EFFORT] = { "level", "low, medium, high or auto", "", parse_effort, format_effort },
    [VALUE_ASK] = { "when", "never, blocked or always", "", parse_ask, format_ask },
    [VALUE_SEARCH] = { "search", "tavily, searxng, none or auto", "", parse_search, format_search },
    [VALUE_MODEL] = { "model", "PROVIDER/MODEL, or MODEL alone", "", parse_model, format_text },
    [VALUE_URL] = { "URL", "http:// or https://, without user name, query and blanks", "",
                    parse_url, format_text },
};

void value_clear(struct value *value)
{
    free(value->text);
    for (char **item = value->items; item && *item; item++)
        free(*item);
    free(value->items);
    *value = (struct value){ 0 };
}

int value_parse(enum value_kind kind, const char *text, const char *home, struct value *ret,
                struct gb_err *err)
{
    struct parse parse = { .text = text, .home = home, .ret = ret, .err = err };
    int r = kinds[kind].parse(&parse);

    if (r == -ENOMEM)
        return gb_fail(err, r, GB_BLAME_HOST, "out of memory");
    if ((r == -EINVAL || r == -ERANGE) && kind != VALUE_WALLS)
        return gb_fail(err, r, GB_BLAME_CALLER, "'%.40s' %s: allowed is %s%s", text,
                       r == -ERANGE ? "is out of range" : "cannot be used", kinds[kind].allowed,
                       kinds[kind].example);
    return r;
}

int value_prepend(struct value *value, struct value *more, struct gb_err *err)
{
    int r = join_items(more, value);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "more than %d items", ITEMS_MAX);
    value->items = take_ptr(more->items);
    return 0;
}

int value_format(enum value_kind kind, const struct value *value, struct buf *ret)
{
    return kinds[kind].format(value, ret);
}

bool value_is_list(enum value_kind kind)
{
    return kind == VALUE_PATHS || kind == VALUE_IMAGES;
}

const char *value_kind_name(enum value_kind kind)
{
    return kinds[kind].name;
}

const char *value_kind_allowed(enum value_kind kind)
{
    return kinds[kind].allowed;
}

const char *value_kind_example(enum value_kind kind)
{
    return kinds[kind].example;
}

unsigned backend_closedness(enum backend_choice backend)
{
    return backend == BACKEND_DISABLED;
}

const char *backend_choice_name(enum backend_choice backend)
{
    return backends[backend].word;
}

const char *effort_name(enum effort effort)
{
    return effort == EFFORT_AUTO ? NULL : efforts[effort].word;
}
