/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_cache.c - `glovebox cache list|prune|rm`: layers of packages that are kept. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "cli/command.h"
#include "conf/settings.h"
#include "json/writer.h"
#include "package/cache.h"

#define TEXT_MAX    (16u << 20)
#define KEY_SHOWN   12
#define KEY_LEN_MIN 4
#define NAMES_SHOWN 60
#define DAY_S       86400u
#define MS_PER_S    1000u

struct cache_args {
    const char *older_than;
    bool is_all;
    bool is_json;
};

#define AT(field) .offset = offsetof(struct cache_args, field)
static const struct opt list_options[] = {
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt prune_options[] = {
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "every layer that is not in use" },
    { OPT_TEXT, "older-than", 0, AT(older_than), "TIME",
      "not used for so long: 90m, 24h [30 days]" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* All that a call of these commands has. */
struct cache_call {
    struct cache_args args;
    struct parsed parsed;
    struct settings settings;
    struct cache cache;
    struct cache_entry *entries;
    size_t n;
};

static void cache_call_end(struct cache_call *c)
{
    cache_entries_free(c->entries, c->n);
    cache_close(&c->cache);
    settings_clear(&c->settings);
    parsed_clear(&c->parsed);
}

/* 1 when help was wanted and has been printed. */
static int cache_call_begin(const struct call *call, struct cache_call *ret, struct gb_err *err)
{
    int r;

    *ret = (struct cache_call){ .cache = CACHE_INIT };
    r = command_parse(call, &ret->args, &ret->parsed, err);
    if (r == 0)
        r = command_settings(call, &ret->parsed, &ret->settings, err);
    if (r == 0 && !ret->settings.cache_dir)
        r = gb_fail(err, -ENOENT, GB_BLAME_HOST,
                    "no place for packages: HOME is not set" GB_REMEDY
                    "set HOME or GLOVEBOX_CACHE_DIR");
    if (r == 0)
        r = cache_open(ret->settings.cache_dir, &ret->cache, err);
    return r == 0 ? cache_list(&ret->cache, &ret->entries, &ret->n, err) : r;
}

/* ---- list ----------------------------------------------------------------------------------- */

/* What was asked for, from the lines of the basis; dependencies are not named. */
static void put_wishes(const struct manifest *manifest, struct buf *ret)
{
    const char *at = manifest->basis;
    size_t before = ret->len;

    while (at && (at = strstr(at, "\npackage ")) != NULL) {
        size_t len = strcspn(at += strlen("\npackage "), " \n");

        if (ret->len - before + len > NAMES_SHOWN) {
            (void)buf_puts(ret, ", …");
            return;
        }
        (void)buf_printf(ret, "%s%.*s", ret->len > before ? ", " : "", (int)len, at);
    }
}

static const char *date_of(uint64_t seconds, char ret[static 32])
{
    time_t when = (time_t)seconds;
    struct tm tm;

    ret[0] = '\0';
    if (gmtime_r(&when, &tm))
        (void)strftime(ret, 32, "%Y-%m-%d %H:%M", &tm);
    return ret;
}

static void put_row(const struct cache_entry *entry, struct buf *text)
{
    const struct manifest *manifest = &entry->manifest;
    char size[NUM_TEXT_MAX];
    char used[32];

    (void)buf_printf(text, "%.*s  ", KEY_SHOWN, manifest->key);
    if (entry->is_damaged) {
        (void)buf_puts(text, "damaged; glovebox cache rm removes it\n");
        return;
    }
    (void)buf_printf(text, "%-6s  %9s  %s  ", package_kind_name(manifest->kind),
                     num_size_text(manifest->bytes, size), date_of(entry->used_s, used));
    put_wishes(manifest, text);
    (void)buf_puts(text, entry->is_in_use ? "  (in use)\n" : "\n");
}

static void put_json(const struct cache_entry *entry, struct json_writer *w)
{
    const struct manifest *manifest = &entry->manifest;

    json_object_begin(w, NULL);
    json_put_str(w, "key", manifest->key);
    json_put_bool(w, "damaged", entry->is_damaged);
    json_put_bool(w, "in_use", entry->is_in_use);
    if (!entry->is_damaged) {
        json_put_str(w, "kind", package_kind_name(manifest->kind));
        json_put_u64(w, "bytes", manifest->bytes);
        json_put_u64(w, "files", manifest->files);
        json_put_u64(w, "created", manifest->created_s);
        json_put_u64(w, "used", entry->used_s);
        json_put_u64(w, "install_ms", manifest->install_ms);
        json_array_begin(w, "packages");
        for (size_t i = 0; i < manifest->n_done; i++) {
            json_object_begin(w, NULL);
            json_put_str(w, "name", manifest->done[i].name);
            json_put_str(w, "version", manifest->done[i].version);
            json_put_str(w, "hash", manifest->done[i].hash);
            json_object_end(w);
        }
        json_array_end(w);
    }
    json_object_end(w);
}

static void put_list(const struct cache_call *c, struct buf *text)
{
    struct json_writer w;

    if (!c->args.is_json) {
        for (size_t i = 0; i < c->n; i++)
            put_row(&c->entries[i], text);
        return;
    }
    json_writer_init(&w, text, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", 1);
    json_put_str(&w, "dir", c->settings.cache_dir);
    json_array_begin(&w, "layers");
    for (size_t i = 0; i < c->n; i++)
        put_json(&c->entries[i], &w);
    json_array_end(&w);
    json_object_end(&w);
    (void)json_writer_end(&w);
    (void)buf_putc(text, '\n');
}

static int run_list(const struct call *call, struct gb_err *err)
{
    cleanup_with(cache_call_end) struct cache_call c;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    int r = cache_call_begin(call, &c, err);

    if (r == 0)
        r = command_no_operands(&c.parsed, err);
    if (r != 0)
        return r > 0 ? 0 : r;
    put_list(&c, &text);
    if (text.len == 0 && buf_error(&text) == 0) {
        (void)dprintf(STDERR_FILENO, "No packages; glovebox exec --package NAME keeps some.\n");
        return 0;
    }
    return command_print(&text, err);
}

/* ---- removing ------------------------------------------------------------------------------- */

struct removal {
    struct buf text;
    struct json_writer json;
    size_t n;
    size_t n_busy;
    uint64_t bytes;
};

static void removal_begin(struct removal *removal, bool is_json)
{
    *removal = (struct removal){ .text = BUF_INIT(TEXT_MAX) };
    if (!is_json)
        return;
    json_writer_init(&removal->json, &removal->text, true);
    json_object_begin(&removal->json, NULL);
    json_put_u64(&removal->json, "schema", 1);
    json_array_begin(&removal->json, "removed");
}

static int removal_add(const struct cache_call *c, const struct cache_entry *entry,
                       struct removal *removal, struct gb_err *err)
{
    int r = cache_remove(&c->cache, entry->manifest.key, err);

    if (r < 0)
        return r;
    removal->n++;
    removal->bytes += entry->is_damaged ? 0 : entry->manifest.bytes;
    if (c->args.is_json)
        json_put_str(&removal->json, NULL, entry->manifest.key);
    else
        (void)buf_printf(&removal->text, "%.*s\n", KEY_SHOWN, entry->manifest.key);
    return 0;
}

static int removal_end(const struct cache_call *c, struct removal *removal, struct gb_err *err)
{
    char size[NUM_TEXT_MAX];
    int r;

    if (c->args.is_json) {
        json_array_end(&removal->json);
        json_put_u64(&removal->json, "bytes", removal->bytes);
        json_put_u64(&removal->json, "in_use", removal->n_busy);
        json_object_end(&removal->json);
        (void)json_writer_end(&removal->json);
        (void)buf_putc(&removal->text, '\n');
    } else {
        (void)buf_printf(&removal->text, "removed %zu, %s", removal->n,
                         num_size_text(removal->bytes, size));
        if (removal->n_busy)
            (void)buf_printf(&removal->text, "; %zu in use", removal->n_busy);
        (void)buf_putc(&removal->text, '\n');
    }
    r = command_print(&removal->text, err);
    buf_clear(&removal->text);
    return r;
}

static int prune(const struct cache_call *c, uint64_t older_s, struct gb_err *err)
{
    uint64_t now = (uint64_t)time(NULL);
    struct removal removal;
    int r = 0;

    removal_begin(&removal, c->args.is_json);
    for (size_t i = 0; r == 0 && i < c->n; i++) {
        const struct cache_entry *entry = &c->entries[i];
        struct gb_err busy = { 0 };

        if (!c->args.is_all && !entry->is_damaged && entry->used_s + older_s > now)
            continue;
        r = removal_add(c, entry, &removal, &busy);
        removal.n_busy += r == -EBUSY;
        if (r == -EBUSY || r == -ENOENT)
            r = 0;
        if (r < 0)
            *err = busy;
    }
    if (r < 0) {
        buf_clear(&removal.text);
        return r;
    }
    return removal_end(c, &removal, err);
}

static int run_prune(const struct call *call, struct gb_err *err)
{
    cleanup_with(cache_call_end) struct cache_call c;
    uint64_t older_ms = UINT64_C(30) * DAY_S * MS_PER_S;
    int r = cache_call_begin(call, &c, err);

    if (r == 0)
        r = command_no_operands(&c.parsed, err);
    if (r == 0 && c.args.is_all && c.args.older_than)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--all and --older-than exclude each other");
    if (r == 0 && c.args.older_than && num_parse_duration(c.args.older_than, &older_ms) < 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "--older-than: '%.40s' is no time, such as 24h",
                    c.args.older_than);
    if (r == 0)
        r = prune(&c, older_ms / MS_PER_S, err);
    return r > 0 ? 0 : r;
}

/* The one layer whose key begins so. */
static int choose(const struct cache_call *c, const char *key, const struct cache_entry **ret,
                  struct gb_err *err)
{
    const struct cache_entry *found = NULL;

    if (strlen(key) < KEY_LEN_MIN)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.64s' is too short for a KEY", key);
    for (size_t i = 0; i < c->n; i++) {
        if (strncmp(c->entries[i].manifest.key, key, strlen(key)) != 0)
            continue;
        if (found)
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.64s' begins more than one KEY", key);
        found = &c->entries[i];
    }
    *ret = found;
    if (found)
        return 0;
    return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                   "no layer '%.64s'" GB_REMEDY "glovebox cache list shows them", key);
}

static int run_rm(const struct call *call, struct gb_err *err)
{
    cleanup_with(cache_call_end) struct cache_call c;
    struct removal removal;
    int r = cache_call_begin(call, &c, err);

    if (r != 0)
        return r > 0 ? 0 : r;
    if (c.parsed.n_operands == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "which layer? Name a KEY" GB_REMEDY "glovebox cache list shows them");
    removal_begin(&removal, c.args.is_json);
    for (size_t i = 0; r == 0 && i < c.parsed.n_operands; i++) {
        const struct cache_entry *entry = NULL;

        r = choose(&c, c.parsed.operands[i], &entry, err);
        if (entry)
            r = removal_add(&c, entry, &removal, err);
    }
    if (r < 0) {
        buf_clear(&removal.text);
        return r;
    }
    return removal_end(&c, &removal, err);
}

const struct cmd cmd_cache_list = {
    .name = "cache list",
    .help = "Packages that are kept for later boxes",
    .usages = { "[OPTIONS]" },
    .options = list_options,
    .run = run_list,
};

const struct cmd cmd_cache_prune = {
    .name = "cache prune",
    .help = "Remove packages that were not used for long",
    .usages = { "[OPTIONS]" },
    .options = prune_options,
    .run = run_prune,
};

const struct cmd cmd_cache_rm = {
    .name = "cache rm",
    .help = "Remove layers of packages by their keys",
    .usages = { "[OPTIONS] KEY..." },
    .options = list_options,
    .run = run_rm,
};
