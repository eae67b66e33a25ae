/* SPDX-License-Identifier: Apache-2.0 */
/* image/provide.c - an image by its name, wherever it comes from. */
#include "image/provide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/stream.h"
#include "image/build.h"
#include "image/dockerfile.h"
#include "image/template.h"

static void put_whole(const char *text, char ret[static IMAGE_TEXT_SIZE])
{
    struct image_name name;

    ret[0] = '\0';
    if (image_name_parse(text, &name, NULL) < 0)
        return;
    image_name_complete(&name);
    (void)image_name_text(&name, ret);
}

static bool is_built_here(const char *text)
{
    char wanted[IMAGE_TEXT_SIZE];
    char ours[IMAGE_TEXT_SIZE];

    put_whole(text, wanted);
    put_whole(TEMPLATE_UV_IMAGE, ours);
    return strcmp(wanted, ours) == 0;
}

static int on_event(void *user, const struct stream_event *event, const char *layer)
{
    const struct stream_sink *sink = user;

    (void)layer;
    return sink->event ? sink->event(sink->user, event) : 0;
}

/* The Dockerfile is ours: a step of it that fails is no caller's fault. */
static int tell_failure(int code, const struct image_built *built, struct gb_err *err)
{
    char remedy[300];

    if (err && built->part == IMAGE_BUILD_STEPS && err->blame == GB_BLAME_CALLER)
        err->blame = GB_BLAME_HOST;
    if (err && built->log_path[0]) {
        (void)snprintf(remedy, sizeof(remedy), "the whole log: %.250s", built->log_path);
        gb_add_remedy(err, remedy);
    }
    return gb_wrap(err, code, "building '" TEMPLATE_UV_IMAGE "'");
}

static int build(struct engine *engine, const struct image_provide *order,
                 const struct stream_sink *sink, struct image_pulled *ret, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX);
    cleanup_free struct image_built *built = calloc(1, sizeof(*built));
    struct stream_sink heard = *sink;
    struct image_build steps = {
        .name = TEMPLATE_UV_IMAGE,
        .bases = order->bases,
        .platform = order->pull.platform,
        .total_ms = order->pull.total_ms,
        .config_dir = order->pull.config_dir,
        .log_dir = order->log_dir,
        .unix_time = order->unix_time,
        .event = on_event,
        .user = &heard,
    };
    int r = built ? template_write_uv_image(&text) : -ENOMEM;

    if (r < 0)
        return gb_no_memory(err);
    steps.text = text.data;
    r = image_build(engine, &steps, built, err);
    if (r < 0)
        return tell_failure(r, built, err);
    *ret = (struct image_pulled){ .bytes = built->bytes, .is_new = true };
    (void)snprintf(ret->name, sizeof(ret->name), "%s", built->tag);
    (void)snprintf(ret->id, sizeof(ret->id), "%s", built->id);
    return 0;
}

int image_provide(struct engine *engine, const struct image_provide *order,
                  const struct stream_sink *sink, struct image_pulled *ret, struct gb_err *err)
{
    cleanup_images_config struct images_config there = { 0 };
    int r;

    if (!is_built_here(order->pull.name))
        return image_pull(engine, &order->pull, sink, ret, err);
    r = images_inspect(engine, TEMPLATE_UV_IMAGE, &there, err);
    if (r == -ENOENT)
        return build(engine, order, sink, ret, err);
    if (r < 0)
        return r;
    *ret = (struct image_pulled){ .bytes = there.bytes };
    (void)snprintf(ret->name, sizeof(ret->name), TEMPLATE_UV_IMAGE ":latest");
    (void)snprintf(ret->id, sizeof(ret->id), "%s", there.id);
    return 0;
}
