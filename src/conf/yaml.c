/* SPDX-License-Identifier: Apache-2.0 */
/* conf/yaml.c - a YAML mapping of plain values, flattened.
 *
 * libyaml's event parser drives a small stack of open mappings and lists; each frame remembers how
 * long the dotted key was when it opened.  A subtree that is not wanted is passed over by counting
 * its starts and ends.
 */
#include "conf/yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define KEY_MAX 1024

/* Of subtrees that are passed over: libyaml's own work grows with it. */
#define SKIP_DEPTH_MAX 64

struct frame {
    bool is_list;
    size_t key_len; /* of the reader's key when the frame opened */
};

struct reader {
    struct conf_yaml *yaml;
    const char *path;
    const char *section;
    struct buf key; /* dotted key of the value that comes next */
    bool has_key;   /* in a mapping: the key was read, its value comes */
    unsigned skips; /* depth inside an unwanted subtree; 0 outside */
    unsigned n_docs;
    unsigned depth;
    struct frame frames[YAML_DEPTH_MAX];
    struct gb_err *err;
};

static int fail(const struct reader *r, const yaml_event_t *event, const char *what)
{
    return gb_fail(r->err, -EINVAL, GB_BLAME_CALLER, "%s:%zu: %s", r->path,
                   event->start_mark.line + 1, what);
}

/* What is wrong with the list that is open. */
static int fail_list(const struct reader *r, const yaml_event_t *event, const char *what)
{
    return gb_fail(r->err, -EINVAL, GB_BLAME_CALLER, "%s:%zu: %.40s: %s", r->path,
                   event->start_mark.line + 1, r->key.data, what);
}

static struct frame *top(struct reader *r)
{
    return r->depth ? &r->frames[r->depth - 1] : NULL;
}

/* Does `inner` equal outer or lie below it, both dotted? */
static bool is_within(const char *inner, const char *outer)
{
    size_t len = strlen(outer);

    return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '.');
}

/* Is the value of the present key part of the section, or on the way to it? */
static bool is_wanted(const struct reader *r)
{
    if (!r->section || r->depth == 0)
        return true;
    return is_within(r->key.data, r->section) || is_within(r->section, r->key.data);
}

/* A plain value or list on the way to the section is not in it. */
static bool is_inside(const struct reader *r)
{
    return !r->section || (r->key.data && is_within(r->key.data, r->section));
}

/* The value of a key is complete: back to the key of the mapping around it. */
static void value_done(struct reader *r)
{
    struct frame *frame = top(r);

    if (!frame || frame->is_list)
        return;
    r->key.len = frame->key_len;
    if (r->key.data)
        r->key.data[r->key.len] = '\0';
    r->has_key = false;
}

static int take_key(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) != event->data.scalar.length || !*text)
        return fail(r, event, "a key that is empty or has a NUL byte in it");
    if (r->key.len)
        buf_putc(&r->key, '.');
    buf_puts(&r->key, text);
    if (buf_error(&r->key))
        return fail(r, event, "a key longer than 1024 bytes");
    r->has_key = true;
    return 0;
}

static int add_entry(struct reader *r, const yaml_event_t *event, struct yaml_entry **ret)
{
    struct conf_yaml *yaml = r->yaml;
    struct yaml_entry *entries;

    if (yaml->n_entries == YAML_ENTRIES_MAX)
        return fail(r, event, "more than 1024 keys");
    if (yaml->n_entries % 32 == 0) {
        entries = realloc(yaml->entries, (yaml->n_entries + 32) * sizeof(*entries));
        if (!entries)
            return gb_no_memory(r->err);
        yaml->entries = entries;
    }
    *ret = &yaml->entries[yaml->n_entries++];
    **ret = (struct yaml_entry){
        .key = strdup(r->key.data),
        .line = (unsigned)event->start_mark.line + 1,
    };
    return (*ret)->key ? 0 : gb_no_memory(r->err);
}

static int add_item(struct reader *r, struct yaml_entry *entry, const char *text)
{
    size_t n = 0;
    char **items;

    while (entry->items && entry->items[n])
        n++;
    items = realloc(entry->items, (n + 2) * sizeof(*items));
    if (!items)
        return gb_no_memory(r->err);
    entry->items = items;
    items[n] = strdup(text);
    items[n + 1] = NULL;
    return items[n] ? 0 : gb_no_memory(r->err);
}

static bool is_null(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    return !*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

/* The list's entry was made when it opened and is still the last one. */
static int take_item(struct reader *r, const yaml_event_t *event)
{
    struct yaml_entry *entry = &r->yaml->entries[r->yaml->n_entries - 1];
    size_t n = 0;

    while (entry->items[n])
        n++;
    if (n == YAML_ENTRIES_MAX)
        return fail_list(r, event, "a list of more than 1024 items");
    if (is_null(event))
        return fail_list(r, event, "a list with an item that is empty");
    return add_item(r, entry, (const char *)event->data.scalar.value);
}

static int on_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    struct frame *frame = top(r);
    struct yaml_entry *entry;
    int res;

    if (!frame)
        return is_null(event) ? 0 : fail(r, event, "expected 'key: value'");
    if (!frame->is_list && !r->has_key)
        return take_key(r, event);
    if (!is_inside(r)) {
        value_done(r);
        return 0;
    }
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return fail(r, event, "anchors and tags are not read here");
    if (strlen(text) != event->data.scalar.length)
        return fail(r, event, "a value with a NUL byte in it");
    if (frame->is_list)
        return take_item(r, event);
    res = add_entry(r, event, &entry);
    if (res < 0)
        return res;
    entry->is_empty = is_null(event);
    entry->text = strdup(text);
    value_done(r);
    return entry->text ? 0 : gb_no_memory(r->err);
}

static int open_list(struct reader *r, const yaml_event_t *event)
{
    struct yaml_entry *entry;
    int res;

    if (r->depth == 0)
        return fail(r, event, "expected 'key: value', not a list");
    res = add_entry(r, event, &entry);
    if (res < 0)
        return res;
    entry->items = calloc(1, sizeof(*entry->items));
    return entry->items ? 0 : gb_no_memory(r->err);
}

static int on_start(struct reader *r, const yaml_event_t *event, bool is_list)
{
    const struct frame *frame = top(r);
    int res;

    if (frame && !frame->is_list && !r->has_key)
        return fail(r, event, "a key must be a plain word");
    if (!is_wanted(r) || (is_list && r->depth && !is_inside(r))) {
        r->skips = 1;
        return 0;
    }
    if (is_list ? event->data.sequence_start.anchor || event->data.sequence_start.tag
                : event->data.mapping_start.anchor || event->data.mapping_start.tag)
        return fail(r, event, "anchors and tags are not read here");
    if (frame && frame->is_list)
        return fail_list(r, event, "a list may hold only plain values");
    if (r->depth == YAML_DEPTH_MAX)
        return fail(r, event, "nested deeper than 16 levels");
    res = is_list ? open_list(r, event) : 0;
    if (res < 0)
        return res;
    r->frames[r->depth++] = (struct frame){ .is_list = is_list, .key_len = r->key.len };
    r->has_key = false;
    return 0;
}

static void on_end(struct reader *r)
{
    r->depth--;
    value_done(r);
}

/* Inside a subtree that is passed over. */
static int skip(struct reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT)
        r->skips++;
    if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
        r->skips--;
    if (r->skips > SKIP_DEPTH_MAX)
        return fail(r, event, "nested deeper than 64 levels");
    if (r->skips == 0)
        value_done(r);
    return 0;
}

static int on_alias(struct reader *r, const yaml_event_t *event)
{
    if (r->depth == 0 || !r->has_key || is_inside(r))
        return fail(r, event, "aliases are not read here");
    value_done(r);
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *event)
{
    if (r->skips)
        return skip(r, event);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->n_docs++ ? fail(r, event, "more than one document") : 0;
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_MAPPING_START_EVENT:
        return on_start(r, event, false);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, event, true);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        on_end(r);
        return 0;
    case YAML_ALIAS_EVENT:
        return on_alias(r, event);
    default:
        return 0;
    }
}

static int fail_syntax(const struct reader *r, const yaml_parser_t *parser)
{
    return gb_fail(r->err, -EINVAL, GB_BLAME_CALLER, "%s:%zu: %s", r->path,
                   parser->problem_mark.line + 1,
                   parser->problem ? parser->problem : "this is not YAML");
}

static int read_events(struct reader *r, yaml_parser_t *parser)
{
    bool is_done = false;
    int res = 0;

    while (res == 0 && !is_done) {
        yaml_event_t event;

        if (!yaml_parser_parse(parser, &event))
            return fail_syntax(r, parser);
        is_done = event.type == YAML_STREAM_END_EVENT;
        res = on_event(r, &event);
        yaml_event_delete(&event);
    }
    return res;
}

int conf_yaml_parse(struct conf_yaml *yaml, const char *path, const char *text, size_t len,
                    const char *section, struct gb_err *err)
{
    struct reader r = {
        .yaml = yaml,
        .path = path,
        .section = section,
        .key = BUF_INIT(KEY_MAX),
        .err = err,
    };
    yaml_parser_t parser;
    int res;

    if (!yaml_parser_initialize(&parser))
        return gb_no_memory(r.err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    res = read_events(&r, &parser);
    yaml_parser_delete(&parser);
    buf_clear(&r.key);
    return res;
}

void conf_yaml_clear(struct conf_yaml *yaml)
{
    for (size_t i = 0; i < yaml->n_entries; i++) {
        struct yaml_entry *entry = &yaml->entries[i];

        free(entry->key);
        free(entry->text);
        for (char **item = entry->items; item && *item; item++)
            free(*item);
        free(entry->items);
    }
    free(yaml->entries);
    *yaml = (struct conf_yaml){ 0 };
}
