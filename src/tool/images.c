/* SPDX-License-Identifier: Apache-2.0 */
/* tool/images.c - pull_image, list_agent_images, prune_build_cache, delete_image. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "image/build.h"
#include "image/name.h"
#include "image/ours.h"
#include "image/provide.h"
#include "json/writer.h"
#include "tool/engine.h"
#include "tool/tool.h"

#define MB               (1024.0 * 1024.0)
#define AGENT_PREFIX     IMAGE_AGENT ":"
#define FILTER_MAX       200
#define OLDER_THAN_MAX_H 1000000

/* ---- pull_image ----------------------------------------------------------------------------- */

struct pull_args {
    char *image;
};

static const struct bind_field pull_fields[] = {
    { "image", BIND_STR, offsetof(struct pull_args, image), .help = "Name of the image." },
    { 0 },
};
static const struct bind pull_bind = TOOL_BIND(pull_fields);
static const struct tool_need pull_needs[] = {
    { "image", "image name is required" },
    { 0 },
};

/* What is no name is told before anybody is asked. */
static int pull(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct pull_args *args = bound;
    const struct stream_sink nobody = { 0 };
    cleanup_free char *log_dir = NULL;
    struct image_provide order = {
        .pull = { .name = args->image,
                  .config_dir = call->host->box->engine->hints.config_dir,
                  .platform = call->host->box->engine->platform,
                  .total_ms = call->host->image_max_ms },
        .bases = call->host->image_bases,
        .unix_time = (uint64_t)time(NULL),
    };
    cleanup_engine struct engine *engine = NULL;
    struct image_pulled pulled;
    struct image_name name;
    int r = image_name_parse(args->image, &name, err);

    if (r == 0)
        r = image_log_dir(call->host->state_dir, &log_dir, err);
    order.log_dir = log_dir;
    if (r == 0)
        r = tool_engine(call, &engine, err);
    return r < 0 ? r : image_provide(engine, &order, &nobody, &pulled, err);
}

const struct tool tool_pull_image = {
    .name = "pull_image",
    .help = "Have the engine fetch an image from its registry.",
    .shape = TOOL_OK,
    .size = sizeof(struct pull_args),
    .bind = &pull_bind,
    .needs = pull_needs,
    .run = pull,
};

/* ---- list_agent_images ---------------------------------------------------------------------- */

struct list_args {
    char *filter_tag;
};

static const struct bind_field list_fields[] = {
    { "filter_tag", BIND_STR, offsetof(struct list_args, filter_tag),
      .help = "Only tags like this, * being any text: agent-env:task-*; default: all." },
    { 0 },
};
static const struct bind list_bind = TOOL_BIND(list_fields);

/* Without the space around it; nothing means all, of those that have such a name. */
static int filter_of(const char *filter, char ret[static FILTER_MAX], struct gb_err *err)
{
    const char *tag = filter ? filter + strspn(filter, " \t\r\n") : "";
    size_t len = strcspn(tag, " \t\r\n");

    if (tag[len + strspn(tag + len, " \t\r\n")] || len > IMAGE_TAG_MAX + strlen(AGENT_PREFIX))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "filter_tag: '%.100s' is no tag", tag);
    (void)snprintf(ret, FILTER_MAX, "%.*s", (int)len, tag);
    if (len == 0 || strcmp(ret, IMAGE_AGENT) == 0 || strcmp(ret, AGENT_PREFIX) == 0)
        (void)snprintf(ret, FILTER_MAX, "*");
    return 0;
}

static void put_image(struct json_writer *w, const struct images_item *item)
{
    time_t created = (time_t)item->created_s;
    char date[32] = "";
    struct tm parts;

    if (gmtime_r(&created, &parts))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    json_object_begin(w, NULL);
    json_put_str(w, "id", item->id);
    json_array_begin(w, "tags");
    for (char **tag = item->tags; *tag; tag++)
        json_put_str(w, NULL, *tag);
    json_array_end(w);
    json_put_double(w, "size_mb", (double)item->bytes / MB, 2);
    json_put_str(w, "created", date);
    json_object_end(w);
}

static int list(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct list_args *args = bound;
    char filter[FILTER_MAX];
    cleanup_engine struct engine *engine = NULL;
    cleanup_images_list struct images_list found = { 0 };
    int r = filter_of(args->filter_tag, filter, err);

    if (r == 0)
        r = tool_engine(call, &engine, err);
    if (r == 0)
        r = image_ours_list(engine, filter, false, &found, err);
    if (r < 0 || found.n == 0)
        return r;
    json_array_begin(call->answer, "images");
    for (size_t i = 0; i < found.n; i++)
        put_image(call->answer, &found.items[i]);
    json_array_end(call->answer);
    return 0;
}

const struct tool tool_list_agent_images = {
    .name = "list_agent_images",
    .help = "List the images that these tools have built.",
    .size = sizeof(struct list_args),
    .bind = &list_bind,
    .run = list,
};

/* ---- prune_build_cache ---------------------------------------------------------------------- */

struct prune_args {
    uint64_t older_than_hrs;
};

static const struct bind_field prune_fields[] = {
    { "older_than_hrs", BIND_U64, offsetof(struct prune_args, older_than_hrs), .min = 0,
      .max = OLDER_THAN_MAX_H, .help = "Only what is older than so many hours; default 0: all." },
    { 0 },
};
static const struct bind prune_bind = TOOL_BIND(prune_fields);

static int prune(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct prune_args *args = bound;
    const struct image_prune order = { .older_than_s = args->older_than_hrs * 3600 };
    cleanup_engine struct engine *engine = NULL;
    struct image_pruned pruned = { 0 };
    int r = tool_engine(call, &engine, err);

    if (r == 0)
        r = image_ours_prune(engine, &order, &pruned, err);
    /* Engines with containerd's store always find a few bytes. */
    if (r == 0 && (double)pruned.reclaimed >= MB / 100)
        json_put_double(call->answer, "space_reclaimed_mb", (double)pruned.reclaimed / MB, 2);
    images_removed_clear(&pruned.removed);
    return r;
}

const struct tool tool_prune_build_cache = {
    .name = "prune_build_cache",
    .help = "Have the engine throw away what it keeps of earlier builds and no name leads to.",
    .size = sizeof(struct prune_args),
    .bind = &prune_bind,
    .run = prune,
};

/* ---- delete_image --------------------------------------------------------------------------- */

struct delete_args {
    char *image;
    bool force;
    bool agent_env_only;
};

#define AT(field) offsetof(struct delete_args, field)
static const struct bind_field delete_fields[] = {
    { "image", BIND_STR, AT(image), .help = "Name or id of the image." },
    { "force", BIND_BOOL, AT(force), .help = "Also when it has other names; default false." },
    { "agent_env_only", BIND_BOOL, AT(agent_env_only),
      .help = "Refuse any image whose name does not begin with agent-env:; default false." },
    { 0 },
};
#undef AT
static const struct bind delete_bind = TOOL_BIND(delete_fields);
static const struct tool_need delete_needs[] = {
    { "image", "image is required" },
    { 0 },
};

static int delete_named(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct delete_args *args = bound;
    cleanup_engine struct engine *engine = NULL;
    cleanup_images_removed struct images_removed removed = { 0 };
    struct image_name name; /* an id is one, by its form */
    int r;

    if (args->agent_env_only && strncmp(args->image, AGENT_PREFIX, strlen(AGENT_PREFIX)) != 0)
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "only agent-created images can be deleted (image must start with "
                       "\"" AGENT_PREFIX "\"); use list_agent_images to see allowed tags");
    r = image_name_parse(args->image, &name, err);
    if (r == 0)
        r = tool_engine(call, &engine, err);
    if (r == 0)
        r = image_ours_remove(engine, args->image, true, args->force, &removed, err);
    if (r < 0)
        return r;
    json_array_begin(call->answer, "deleted");
    for (char **line = removed.lines; line && *line; line++)
        json_put_str(call->answer, NULL, *line);
    json_array_end(call->answer);
    return 0;
}

const struct tool tool_delete_image = {
    .name = "delete_image",
    .help = "Delete an image of the engine.",
    .shape = TOOL_OK,
    .size = sizeof(struct delete_args),
    .bind = &delete_bind,
    .needs = delete_needs,
    .run = delete_named,
};
