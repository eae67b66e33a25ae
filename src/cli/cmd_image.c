/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_image.c - `glovebox image pull|list|rm|prune`: images of the engine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "cli/image_call.h"
#include "cli/progress.h"
#include "cli/term_filter.h"
#include "engine/stream.h"
#include "image/build.h"
#include "image/ours.h"
#include "image/provide.h"
#include "json/writer.h"

#define TEXT_MAX  (16 << 20)
#define ID_BEGIN  7 /* behind "sha256:" */
#define ID_SHOWN  12
#define DATE_SIZE 32

#define AT(field) .offset = offsetof(struct image_args, field)
static const struct opt pull_options[] = {
    { OPT_TEXT, "platform", 0, AT(platform), "OS/ARCH", "of which machine [the engine's]" },
    { OPT_KEY, .key = KEY_DOCKER_TIMEOUT },
    { OPT_FLAG, "quiet", 'q', AT(is_quiet), NULL, "no progress" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt list_options[] = {
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "other people's images too" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt rm_options[] = {
    { OPT_FLAG, "any", 0, AT(is_any), NULL, "also images that glovebox did not build" },
    { OPT_FLAG, "force", 'f', AT(is_forced), NULL, "all its names, also under ended containers" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static const struct opt prune_options[] = {
    { OPT_FLAG, "all", 'a', AT(is_all), NULL, "images with a name too, if no container has them" },
    { OPT_TEXT, "older-than", 0, AT(older_than), "TIME", "only what is older: 90m, 24h [any]" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

/* ---- shared --------------------------------------------------------------------------------- */

static void begin_json(struct json_writer *w, struct buf *text)
{
    json_writer_init(w, text, true);
    json_object_begin(w, NULL);
    json_put_u64(w, "schema", 1);
}

static void end_json(struct json_writer *w)
{
    json_object_end(w);
    (void)json_writer_end(w);
}

static void put_list(struct json_writer *w, const char *key, char **texts)
{
    json_array_begin(w, key);
    for (; texts && *texts; texts++)
        json_put_str(w, NULL, *texts);
    json_array_end(w);
}

static void put_shown(const char *text, struct buf *out)
{
    (void)term_filter_line(text, strlen(text), out);
}

/* ---- pull ----------------------------------------------------------------------------------- */

static void put_pulled(const struct image_pulled *pulled, bool is_json, struct buf *text)
{
    struct json_writer w;

    if (!is_json) {
        (void)buf_printf(text, "%s  %.*s  ", pulled->name, ID_SHOWN, pulled->id + ID_BEGIN);
        image_put_size(pulled->bytes, text);
        (void)buf_puts(text, pulled->is_new ? "\n" : "  (up to date)\n");
        return;
    }
    begin_json(&w, text);
    json_put_str(&w, "name", pulled->name);
    json_put_str(&w, "id", pulled->id);
    json_put_str(&w, "digest", pulled->digest[0] ? pulled->digest : NULL);
    json_put_u64(&w, "bytes", pulled->bytes);
    json_put_bool(&w, "is_new", pulled->is_new);
    end_json(&w);
}

static int pull_one(struct image_call *call, struct buf *text, struct gb_err *err)
{
    struct progress progress;
    const struct stream_sink sink = { progress_pull, &progress };
    cleanup_free char *log_dir = NULL;
    struct image_provide order = {
        .pull = { .name = call->parsed.operands[0],
                  .config_dir = call->settings.engine.hints.config_dir,
                  .platform =
                      call->args.platform ? call->args.platform : call->settings.engine.platform,
                  .total_ms = call->settings.image_ms },
        .bases = call->settings.image_bases,
        .unix_time = (uint64_t)time(NULL),
    };
    struct image_name name;
    struct image_pulled pulled;
    int r = image_name_parse(order.pull.name, &name, err);

    if (r == 0)
        r = image_log_dir(call->settings.state_dir, &log_dir, err);
    order.log_dir = log_dir;
    if (r == 0)
        r = image_call_engine(call, err);
    if (r < 0)
        return r;
    progress_init(&progress, *call->color, call->env, call->args.is_quiet);
    r = image_provide(call->engine, &order, &sink, &pulled, err);
    progress_end(&progress);
    if (r == 0)
        put_pulled(&pulled, call->args.is_json, text);
    return r;
}

static int pull_call(const struct call *called, struct gb_err *err)
{
    cleanup_image_call struct image_call call = IMAGE_CALL_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    int r = image_call_open(called, &call, err);

    if (r == 0 && call.parsed.n_operands != 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "say which image: glovebox image pull NAME");
    if (r == 0)
        r = pull_one(&call, &text, err);
    return r == 0 ? command_print(&text, err) : image_call_end(&call, r, err);
}

const struct cmd cmd_image_pull = {
    .name = "image pull",
    .help = "Bring an image from its registry to the engine",
    .usages = { "[OPTIONS] NAME" },
    .options = pull_options,
    .run = pull_call,
};

/* ---- list ----------------------------------------------------------------------------------- */

static void list_json(const struct images_list *list, struct buf *text)
{
    struct json_writer w;

    begin_json(&w, text);
    json_array_begin(&w, "images");
    for (size_t i = 0; i < list->n; i++) {
        json_object_begin(&w, NULL);
        json_put_str(&w, "id", list->items[i].id);
        put_list(&w, "tags", list->items[i].tags);
        json_put_u64(&w, "bytes", list->items[i].bytes);
        json_put_u64(&w, "created_s", list->items[i].created_s);
        json_object_end(&w);
    }
    json_array_end(&w);
    end_json(&w);
}

static void put_line(const struct images_item *item, struct buf *text)
{
    time_t seconds = (time_t)item->created_s;
    char date[DATE_SIZE] = "";
    struct tm parts;

    if (localtime_r(&seconds, &parts))
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &parts);
    (void)buf_printf(text, "%.*s  %s  ", ID_SHOWN, item->id + ID_BEGIN, date);
    image_put_size(item->bytes, text);
    for (char **tag = item->tags; *tag; tag++) {
        (void)buf_puts(text, "  ");
        put_shown(*tag, text);
    }
    (void)buf_putc(text, '\n');
}

static int list_call(const struct call *called, struct gb_err *err)
{
    cleanup_image_call struct image_call call = IMAGE_CALL_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    cleanup_images_list struct images_list list = { 0 };
    int r = image_call_open(called, &call, err);

    if (r == 0 && call.parsed.n_operands > 1)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "one tag at most, such as web or 'web*'");
    if (r == 0)
        r = image_call_engine(&call, err);
    if (r == 0)
        r = image_ours_list(call.engine, call.parsed.n_operands ? call.parsed.operands[0] : NULL,
                            call.args.is_all, &list, err);
    if (r != 0)
        return image_call_end(&call, r, err);
    if (call.args.is_json)
        list_json(&list, &text);
    else if (list.n == 0)
        (void)dprintf(STDERR_FILENO, "No images; glovebox image build makes one.\n");
    for (size_t i = 0; !call.args.is_json && i < list.n; i++)
        put_line(&list.items[i], &text);
    return text.len ? command_print(&text, err) : 0;
}

const struct cmd cmd_image_list = {
    .name = "image list",
    .help = "List the images that were built here",
    .usages = { "[OPTIONS] [TAG]" },
    .options = list_options,
    .run = list_call,
};

/* ---- rm, prune ------------------------------------------------------------------------------ */

static void put_removed(struct json_writer *w, const struct images_removed *removed, bool is_json,
                        struct buf *text)
{
    if (is_json) {
        put_list(w, "removed", removed->lines);
        return;
    }
    for (char **line = removed->lines; line && *line; line++) {
        put_shown(*line, text);
        (void)buf_putc(text, '\n');
    }
}

static int remove_one(const struct image_call *call, const char *name, struct json_writer *w,
                      struct buf *text, struct gb_err *err)
{
    cleanup_images_removed struct images_removed removed = { 0 };
    int r = image_ours_remove(call->engine, name, call->args.is_any, call->args.is_forced, &removed,
                              err);

    if (call->args.is_json) {
        json_object_begin(w, NULL);
        json_put_str(w, "image", name);
        if (r < 0)
            json_put_bytes(w, "error", err->msg, gb_err_len(err));
    }
    put_removed(w, &removed, call->args.is_json, text);
    if (call->args.is_json)
        json_object_end(w);
    return r;
}

/* Those that can go, go; the last failure is told. */
static int remove_all(struct image_call *call, struct buf *text, struct gb_err *err)
{
    struct json_writer w;
    int worst = 0;

    begin_json(&w, text);
    json_array_begin(&w, "images");
    if (!call->args.is_json)
        buf_reset(text);
    for (size_t i = 0; i < call->parsed.n_operands && worst != -ECANCELED; i++) {
        int r = remove_one(call, call->parsed.operands[i], &w, text, err);

        worst = r < 0 ? r : worst;
    }
    if (call->args.is_json) {
        json_array_end(&w);
        end_json(&w);
    }
    return worst;
}

static int rm_call(const struct call *called, struct gb_err *err)
{
    cleanup_image_call struct image_call call = IMAGE_CALL_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct gb_err ignored = { 0 };
    int r = image_call_open(called, &call, err);

    if (r == 0 && call.parsed.n_operands == 0)
        r = gb_fail(err, -EINVAL, GB_BLAME_CALLER, "say which: glovebox image rm IMAGE...");
    if (r == 0)
        r = image_call_engine(&call, err);
    if (r == 0)
        r = remove_all(&call, &text, err);
    /* The document tells of those that stayed, too. */
    call.args.is_json = call.args.is_json && text.len == 0;
    if (text.len > 0) {
        int printed = command_print(&text, r == 0 ? err : &ignored);

        r = r == 0 ? printed : r;
    }
    return image_call_end(&call, r, err);
}

const struct cmd cmd_image_rm = {
    .name = "image rm",
    .help = "Remove images that were built here",
    .usages = { "[OPTIONS] IMAGE..." },
    .options = rm_options,
    .run = rm_call,
};

static int prune_order(const struct image_args *args, struct image_prune *ret, struct gb_err *err)
{
    uint64_t older_ms = 0;

    if (args->older_than && (num_parse_duration(args->older_than, &older_ms) < 0 || !older_ms))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "--older-than: '%.40s' is no time, such as 90m or 24h", args->older_than);
    *ret = (struct image_prune){ .is_all = args->is_all, .older_than_s = (older_ms + 999) / 1000 };
    return 0;
}

static void put_pruned(const struct image_pruned *pruned, bool is_json, struct buf *text)
{
    struct json_writer w = { 0 };

    if (is_json) {
        begin_json(&w, text);
        json_put_u64(&w, "reclaimed_bytes", pruned->reclaimed);
    }
    put_removed(&w, &pruned->removed, is_json, text);
    if (is_json) {
        end_json(&w);
        return;
    }
    (void)buf_puts(text, "Reclaimed ");
    image_put_size(pruned->reclaimed, text);
    (void)buf_putc(text, '\n');
}

static int prune_call(const struct call *called, struct gb_err *err)
{
    cleanup_image_call struct image_call call = IMAGE_CALL_INIT;
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
    struct image_prune order;
    struct image_pruned pruned;
    int r = image_call_open(called, &call, err);

    if (r == 0)
        r = command_no_operands(&call.parsed, err);
    if (r == 0)
        r = prune_order(&call.args, &order, err);
    if (r == 0)
        r = image_call_engine(&call, err);
    if (r == 0)
        r = image_ours_prune(call.engine, &order, &pruned, err);
    if (r != 0)
        return image_call_end(&call, r, err);
    put_pruned(&pruned, call.args.is_json, &text);
    images_removed_clear(&pruned.removed);
    return command_print(&text, err);
}

const struct cmd cmd_image_prune = {
    .name = "image prune",
    .help = "Remove what builds have left, and the engine's cache of builds",
    .usages = { "[OPTIONS]" },
    .options = prune_options,
    .run = prune_call,
};
