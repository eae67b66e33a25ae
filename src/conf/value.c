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
#include "box/walls.h"
#include "conf/value_text.h"
#include "model/window.h"

/* Below are the ids of people and daemons; the last 65,536 are left to the kernel's own uses. */
#define UID_MIN 65536
#define UID_MAX 4294836224

struct kind {
    const char *name;
    const char *allowed;
    const char *example;                       /* "" or ", such as …" */
    int (*parse)(const struct value_parse *p); /* -EINVAL, -ERANGE, or another code with err set */
    int (*format)(const struct value *value, struct buf *ret);
    char separator; /* value_separator() */
};

struct word {
    const char *word;
    uint64_t number;
};

static int parse_word(const struct word *words, const struct value_parse *p)
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

static int parse_bool(const struct value_parse *p)
{
    return parse_word(bools, p);
}

static int format_bool(const struct value *value, struct buf *ret)
{
    return format_word(bools, value, ret);
}

static int parse_backend(const struct value_parse *p)
{
    return parse_word(backends, p);
}

static int format_backend(const struct value *value, struct buf *ret)
{
    return format_word(backends, value, ret);
}

static int parse_color(const struct value_parse *p)
{
    return parse_word(colors, p);
}

static int format_color(const struct value *value, struct buf *ret)
{
    return format_word(colors, value, ret);
}

static int parse_effort(const struct value_parse *p)
{
    return parse_word(efforts, p);
}

static int format_effort(const struct value *value, struct buf *ret)
{
    return format_word(efforts, value, ret);
}

static int parse_ask(const struct value_parse *p)
{
    return parse_word(askings, p);
}

static int format_ask(const struct value *value, struct buf *ret)
{
    return format_word(askings, value, ret);
}

static int parse_search(const struct value_parse *p)
{
    return parse_word(searches, p);
}

static int format_search(const struct value *value, struct buf *ret)
{
    return format_word(searches, value, ret);
}

static int parse_count(const struct value_parse *p)
{
    return num_parse_u64(p->text, 1, INT64_MAX, &p->ret->number);
}

static int parse_uid(const struct value_parse *p)
{
    return num_parse_u64(p->text, UID_MIN, UID_MAX, &p->ret->number);
}

static int parse_tokens(const struct value_parse *p)
{
    return num_parse_u64(p->text, WINDOW_MIN, WINDOW_MAX, &p->ret->number);
}

static int format_number(const struct value *value, struct buf *ret)
{
    return buf_printf(ret, "%" PRIu64, value->number);
}

static int parse_size(const struct value_parse *p)
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

static int parse_duration(const struct value_parse *p)
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

static int parse_milli(const struct value_parse *p)
{
    return num_parse_milli(p->text, &p->ret->number);
}

/* Prices are small: a thousandth of a dollar is the least that can be said. */
static int parse_dollars(const struct value_parse *p)
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

static int parse_walls(const struct value_parse *p)
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
    [VALUE_WALLS] = { "walls", "all, none, or names with commas", "", parse_walls, format_walls,
                      ',' },
    [VALUE_BACKEND] = { "backend", "native, docker or disabled", "", parse_backend,
                        format_backend },
    [VALUE_COLOR] = { "when", "auto, always or never", "", parse_color, format_color },
    [VALUE_TEXT] = { "text", "a text that is not empty", "", value_parse_text, value_format_text },
    [VALUE_PATH] = { "path", "an absolute path without '.' and '..'", "", value_parse_path,
                     value_format_text },
    [VALUE_PATHS] = { "list of paths", "absolute paths without '.' and '..'", "", value_parse_paths,
                      value_format_paths, ':' },
    [VALUE_IMAGES] = { "list of images", "names of images with commas, or registry/path/*", "",
                       value_parse_images, value_format_images, ',' },
    [VALUE_FOLDER] = { "path", "a path without '.' and '..'", "", value_parse_folder,
                       value_format_text },
    [VALUE_DOLLARS] = { "dollars", "a number above 0", ", such as 5 or 0.5", parse_dollars,
                        format_dollars },
    [VALUE_EFFORT] = { "level", "low, medium, high or auto", "", parse_effort, format_effort },
    [VALUE_ASK] = { "when", "never, blocked or always", "", parse_ask, format_ask },
    [VALUE_SEARCH] = { "search", "tavily, searxng, none or auto", "", parse_search, format_search },
    [VALUE_MODEL] = { "model", "PROVIDER/MODEL, or MODEL alone", "", value_parse_model,
                      value_format_text },
    [VALUE_URL] = { "URL", "http:// or https://, without user name, query and blanks", "",
                    value_parse_url, value_format_text },
    [VALUE_RULES] = { "rules", "names and addresses with commas, or full",
                      ", such as example.org,*.example.org:443,10.1.0.0/16", value_parse_rules,
                      value_format_text, ',' },
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
    struct value_parse parse = { .text = text, .home = home, .ret = ret, .err = err };
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
    int r = value_join_items(more, value);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "more than %d items", VALUE_ITEMS_MAX);
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

char value_separator(enum value_kind kind)
{
    return kinds[kind].separator;
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
