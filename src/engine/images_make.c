/* SPDX-License-Identifier: Apache-2.0 */
/* engine/images_make.c - images of the engine: pulled, built. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/images.h"
#include "engine/stream.h"
#include "json/writer.h"

#define HEADER_MAX (64 << 10)
#define PAIRS_MAX  (128 << 10)
#define TAR_TYPE   "Content-Type: application/x-tar"

/* ---- credentials ---------------------------------------------------------------------------- */

static void put_auth(struct json_writer *w, const struct images_auth *auth)
{
    json_object_begin(w, NULL);
    if (auth->username)
        json_put_str(w, "username", auth->username);
    if (auth->password)
        json_put_str(w, "password", auth->password);
    if (auth->server)
        json_put_str(w, "serveraddress", auth->server);
    if (auth->identity_token)
        json_put_str(w, "identitytoken", auth->identity_token);
    json_object_end(w);
}

/* "NAME: BASE64" of the JSON text, in the alphabet of URLs. */
static int put_header(struct buf *header, const char *name, const struct buf *json)
{
    struct json_writer w;
    size_t begin;

    (void)buf_printf(header, "%s: ", name);
    begin = header->len;
    json_writer_init(&w, header, false);
    json_put_base64(&w, NULL, json->data, json->len);
    if (json_writer_end(&w) < 0)
        return buf_error(header);
    memmove(header->data + begin, header->data + begin + 1, header->len - begin - 2); /* quotes */
    header->len -= 2;
    header->data[header->len] = '\0';
    for (char *c = header->data + begin; *c; c++)
        if (*c == '+' || *c == '/')
            *c = *c == '+' ? '-' : '_';
    return 0;
}

static int auth_header(const struct images_auth *auth, struct buf *header, struct gb_err *err)
{
    cleanup_buf struct buf json = BUF_INIT(HEADER_MAX);
    struct json_writer w;
    int r;

    json_writer_init(&w, &json, false);
    put_auth(&w, auth);
    r = json_writer_end(&w);
    if (r == 0)
        r = put_header(header, "X-Registry-Auth", &json);
    if (json.data)
        explicit_bzero(json.data, json.len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_CALLER, "the registry's credentials are too long") : 0;
}

static void forget(struct buf *header)
{
    if (header->data)
        explicit_bzero(header->data, header->len);
    buf_clear(header);
}

/* ---- pull ----------------------------------------------------------------------------------- */

int images_pull(struct engine *engine, const struct images_pull *pull,
                const struct stream_sink *sink, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_with(forget) struct buf header = BUF_INIT(HEADER_MAX);
    const char *headers[2] = { NULL, NULL };
    const struct engine_call call = {
        .method = "POST",
        .target = &target,
        .headers = headers,
        .total_ms = pull->total_ms,
        .missing_remedy = "look whether name and tag are right, and whether it needs a log-in",
    };
    int r = target_of_id(&target, "/images/create", NULL, NULL, err);

    if (r == 0 && pull->auth)
        r = auth_header(pull->auth, &header, err);
    if (r < 0)
        return r;
    headers[0] = header.data;
    target_add(&target, "fromImage", pull->name);
    target_add(&target, "tag", pull->tag);
    target_add(&target, "platform", pull->platform);
    return stream_call(engine, &call, sink, err);
}

/* ---- build ---------------------------------------------------------------------------------- */

/* Hears the id on its way to the caller's sink. */
struct listener {
    const struct stream_sink *sink;
    char *id;
};

static int on_event(void *user, const struct stream_event *event)
{
    struct listener *listener = user;

    if (event->image)
        (void)snprintf(listener->id, IMAGES_ID_SIZE, "%s", event->image);
    return listener->sink->event ? listener->sink->event(listener->sink->user, event) : 0;
}

static void add_pairs(struct target *target, const char *key, const char *const *pairs)
{
    cleanup_buf struct buf json = BUF_INIT(PAIRS_MAX);
    struct json_writer w;

    if (!pairs || !pairs[0])
        return;
    json_writer_init(&w, &json, false);
    json_object_begin(&w, NULL);
    for (; pairs[0] && pairs[1]; pairs += 2)
        json_put_str(&w, pairs[0], pairs[1]);
    json_object_end(&w);
    if (json_writer_end(&w) < 0)
        target->text.error = buf_error(&json);
    else
        target_add(target, key, json.data);
}

static void add_build(struct target *target, const struct images_build *build)
{
    for (const char *const *tag = build->tags; tag && *tag; tag++)
        target_add(target, "t", *tag);
    target_add(target, "dockerfile", build->dockerfile);
    add_pairs(target, "buildargs", build->build_args);
    target_add(target, "platform", build->platform);
    target_add(target, "networkmode", build->network_mode);
    target_add_flag(target, "nocache", build->is_no_cache);
    target_add_flag(target, "rm", true);
    target_add_flag(target, "forcerm", true);
    target_add(target, "version", "1");
}

int images_build(struct engine *engine, const struct images_build *build,
                 const struct stream_sink *sink, char ret_id[static IMAGES_ID_SIZE],
                 struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    static const char *const headers[] = { TAR_TYPE, NULL };
    struct listener listener = { sink, ret_id };
    const struct stream_sink heard = { on_event, &listener };
    const struct engine_call call = {
        .method = "POST",
        .target = &target,
        .headers = headers,
        .total_ms = build->total_ms,
        .source = build->source,
        .user = build->user,
    };
    int r = target_of_id(&target, "/build", NULL, NULL, err);

    ret_id[0] = '\0';
    if (r < 0)
        return r;
    add_build(&target, build);
    return stream_call(engine, &call, &heard, err);
}
