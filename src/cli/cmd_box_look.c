/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_box_look.c - `glovebox box ls`, `box stat` and `box rmfile`: what lies in a box. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/box_open.h"
#include "cli/command.h"
#include "cli/term_filter.h"
#include "json/writer.h"
#include "wire/listing.h"

#define ENTRIES_MAX 100000
#define TEXT_MAX    (64 << 20)

struct look_args {
    const char *user;
    bool is_json;
    bool is_tree;
};

#define AT(field) .offset = offsetof(struct look_args, field)
static const struct opt look_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt rm_options[] = {
    { OPT_TEXT, "user", 0, AT(user), "NAME", "the box of that user" },
    { OPT_FLAG, "recursive", 'r', AT(is_tree), NULL, "directories with all that is in them" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- entries -------------------------------------------------------------------------------- */

struct entries {
    struct listing_entry *list;
    size_t n;
    size_t room;
};

static void entries_clear(struct entries *entries)
{
    free(entries->list);
}

static int add_entry(void *user, const struct listing_entry *entry)
{
    struct entries *entries = user;

    if (entries->n == entries->room) {
        size_t room = entries->room ? 2 * entries->room : 64;
        struct listing_entry *list = reallocarray(entries->list, room, sizeof(*list));

        if (!list)
            return -ENOMEM;
        entries->list = list;
        entries->room = room;
    }
    entries->list[entries->n++] = *entry;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct listing_entry *one = a;
    const struct listing_entry *other = b;

    return strcmp(one->name, other->name);
}

/* What lies there; of what is no directory, itself. */
static int look(struct box_call *call, const struct box_place *place, bool is_self,
                struct entries *ret, struct gb_err *err)
{
    struct box_list_spec spec = {
        .dir = place->dir,
        .path = place->path,
        .is_self = is_self,
        .max_entries = ENTRIES_MAX,
    };
    int r = box_list(call->box, &spec, add_entry, ret, err);

    if (r == -ENOTDIR && !is_self && !place->has_slash) {
        spec.is_self = true;
        r = box_list(call->box, &spec, add_entry, ret, err);
    }
    if (r == 0 && ret->n)
        qsort(ret->list, ret->n, sizeof(*ret->list), by_name);
    return r;
}

/* The name of the thing itself is the one it was called by. */
static const char *name_of(const struct listing_entry *entry, const struct box_place *place)
{
    if (strcmp(entry->name, ".") != 0)
        return entry->name;
    return *place->path ? path_base(place->path) : *place->dir && place->dir[1] ? "." : "/";
}

/* ---- showing -------------------------------------------------------------------------------- */

static void put_json(struct json_writer *w, const struct listing_entry *entry, const char *name)
{
    char mode[8];

    (void)snprintf(mode, sizeof(mode), "%04o", entry->mode);
    json_object_begin(w, NULL);
    json_put_str(w, "name", name);
    json_put_str(w, "kind", listing_kind_name(entry->kind));
    json_put_u64(w, "size", entry->size);
    json_put_str(w, "mode", mode);
    json_put_i64(w, "changed_ms", entry->changed_ns / (int64_t)NS_PER_MS);
    json_object_end(w);
}

static void mode_text(const struct listing_entry *entry, char ret[static 11])
{
    static const char letters[] = "?-dlpscb";
    static const char bits[] = "rwxrwxrwx";

    ret[0] = letters[entry->kind];
    for (size_t i = 0; i < 9; i++)
        ret[i + 1] = bits[i];
    for (size_t i = 0; i < 9; i++)
        if (!(entry->mode & (0400u >> i)))
            ret[i + 1] = '-';
    ret[10] = '\0';
}

static void put_line(struct buf *text, const struct listing_entry *entry, const char *name)
{
    time_t seconds = (time_t)(entry->changed_ns / (int64_t)NS_PER_S);
    char date[32] = "";
    char mode[11];
    struct tm parts;

    if (localtime_r(&seconds, &parts))
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &parts);
    mode_text(entry, mode);
    (void)buf_printf(text, "%s %10" PRIu64 "  %-16s  ", mode, entry->size, date);
    (void)term_filter_line(name, strlen(name), text);
    (void)buf_puts(text, entry->kind == LISTING_DIRECTORY && strcmp(name, "/") != 0 ? "/\n" : "\n");
}

static int show_list(const struct entries *entries, const struct box_place *place, bool is_json,
                     struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;

    if (is_json) {
        json_writer_init(&w, &text, true);
        json_object_begin(&w, NULL);
        json_put_u64(&w, "schema", 1);
        json_array_begin(&w, "entries");
    }
    for (size_t i = 0; i < entries->n; i++) {
        const struct listing_entry *entry = &entries->list[i];

        if (is_json)
            put_json(&w, entry, name_of(entry, place));
        else
            put_line(&text, entry, name_of(entry, place));
    }
    if (is_json) {
        json_array_end(&w);
        json_object_end(&w);
        (void)json_writer_end(&w);
    }
    return text.len ? command_print(&text, err) : 0;
}

static int show_one(const struct listing_entry *entry, const struct box_place *place, bool is_json,
                    struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct json_writer w;

    if (is_json) {
        json_writer_init(&w, &text, true);
        put_json(&w, entry, name_of(entry, place));
        (void)json_writer_end(&w);
    } else {
        put_line(&text, entry, name_of(entry, place));
    }
    return command_print(&text, err);
}

/* ---- ls, stat ------------------------------------------------------------------------------- */

static int look_call(const struct call *call, bool is_stat, struct gb_err *err)
{
    struct look_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    cleanup_with(entries_clear) struct entries entries = { 0 };
    struct box_place place;
    int r = box_call_parse(call, &args, &args.user, &opened, err);

    if (r == 0 && opened.n_operands > 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.100s': one PATH only", opened.operands[1]);
    if (r == 0 && is_stat && opened.n_operands == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "which file? Name a PATH");
    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    if (r == 0)
        r = box_place_parse(&opened, opened.n_operands ? opened.operands[0] : ".", &place, err);
    if (r == 0)
        r = look(&opened, &place, is_stat, &entries, err);
    if (r != 0)
        return r < 0 ? r : 0;
    return is_stat && entries.n ? show_one(&entries.list[0], &place, args.is_json, err)
                                : show_list(&entries, &place, args.is_json, err);
}

static int ls_call(const struct call *call, struct gb_err *err)
{
    return look_call(call, false, err);
}

static int stat_call(const struct call *call, struct gb_err *err)
{
    return look_call(call, true, err);
}

const struct cmd cmd_box_ls = {
    .name = "box ls",
    .help = "List what lies in a directory of a box",
    .usages = { "BOX [PATH]", "--user NAME [PATH]" },
    .options = look_options,
    .run = ls_call,
};

const struct cmd cmd_box_stat = {
    .name = "box stat",
    .help = "Tell what a path in a box is",
    .usages = { "BOX PATH", "--user NAME PATH" },
    .options = look_options,
    .run = stat_call,
};

/* ---- rmfile --------------------------------------------------------------------------------- */

static int remove_one(struct box_call *call, const char *text, bool is_tree, struct gb_err *err)
{
    struct box_place place;
    uint64_t n;
    int r = box_place_parse(call, text, &place, err);

    if (r == 0 && !place.path[0])
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.200s' itself cannot be removed", text);
    return r < 0 ? r : box_remove(call->box, place.dir, place.path, is_tree, &n, err);
}

static int rmfile_call(const struct call *call, struct gb_err *err)
{
    struct look_args args = { 0 };
    cleanup_box_call struct box_call opened = { 0 };
    int r = box_call_parse(call, &args, &args.user, &opened, err);

    if (r == 0 && opened.n_operands == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "which files? Name a PATH");
    if (r == 0)
        r = box_call_attach(&opened, args.user, err);
    for (size_t i = 0; r == 0 && i < opened.n_operands; i++)
        r = remove_one(&opened, opened.operands[i], args.is_tree, err);
    return r > 0 ? 0 : r;
}

const struct cmd cmd_box_rmfile = {
    .name = "box rmfile",
    .help = "Remove files in a box",
    .usages = { "BOX PATH...", "--user NAME PATH..." },
    .options = rm_options,
    .run = rmfile_call,
};
