/* SPDX-License-Identifier: Apache-2.0 */
/* engine/volume.c - named volumes of the engine. */
#include "engine/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/read.h"
#include "json/value.h"
#include "json/writer.h"

#define BODY_MAX (256 << 10)

static void put_pairs(struct json_writer *w, const char *name, const char *const *pairs)
{
    json_object_begin(w, name);
    for (; pairs && pairs[0] && pairs[1]; pairs += 2)
        json_put_str(w, pairs[0], pairs[1]);
    json_object_end(w);
}

/* options: of the engine's own driver, as pairs; may be NULL. */
static int create(struct engine *engine, const char *name, const char *const *options,
                  const char *const *labels, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_buf struct buf body = BUF_INIT(BODY_MAX);
    const struct engine_call call = { .method = "POST", .target = &target, .body = &body };
    struct json_writer w;
    int r = target_of_id(&target, "/volumes/create", NULL, NULL, err);

    json_writer_init(&w, &body, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "Name", name);
    if (options)
        put_pairs(&w, "DriverOpts", options);
    put_pairs(&w, "Labels", labels);
    json_object_end(&w);
    if (r == 0 && json_writer_end(&w) < 0)
        r = gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "the description of a volume is too long");
    return r < 0 ? r : engine_call(engine, &call, NULL, err);
}

int volume_create(struct engine *engine, const char *name, const char *const *labels,
                  struct gb_err *err)
{
    return create(engine, name, NULL, labels, err);
}

int volume_create_tmpfs(struct engine *engine, const char *name, const char *mount_options,
                        const char *const *labels, struct gb_err *err)
{
    const char *const options[] = { "type", "tmpfs", "device", "tmpfs", "o", mount_options, NULL };

    return create(engine, name, options, labels, err);
}

int volume_labels(struct engine *engine, const char *name, char ***ret, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target };
    int r = target_of_id(&target, "/volumes/", name, "", err);

    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    *ret = read_pairs(json_get(json, "Labels"));
    return *ret ? 0 : gb_no_memory(err);
}

void volume_labels_free(char ***labels)
{
    read_texts_free(*labels);
    *labels = NULL;
}

int volume_list(struct engine *engine, const char *label, char ***ret, struct gb_err *err)
{
    const char *const labels[] = { label, NULL };
    const struct target_filter filter = { "label", labels };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target };
    const struct json_value *found;
    int r = target_of_id(&target, "/volumes", NULL, NULL, err);

    target_add_filters(&target, &filter, 1);
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    found = json_get(json, "Volumes"); /* null where there is none */
    *ret = calloc(json_count(found) + 1, sizeof(**ret));
    if (!*ret)
        return gb_no_memory(err);
    for (size_t i = 0, n = 0; i < json_count(found); i++) {
        const char *name = json_str(json_get(json_at(found, i), "Name"), NULL);

        if (name && !((*ret)[n++] = strdup(name)))
            return gb_no_memory(err);
    }
    return 0;
}

void volume_names_free(char ***names)
{
    read_texts_free(*names);
    *names = NULL;
}

int volume_remove(struct engine *engine, const char *name, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    struct gb_err why = { 0 };
    const struct engine_call call = { .method = "DELETE", .target = &target };
    int r = target_of_id(&target, "/volumes/", name, "", err);

    if (r < 0)
        return r;
    r = engine_call(engine, &call, NULL, &why);
    if (r == -ENOENT)
        return 0;
    if (r < 0 && err)
        *err = why;
    return r;
}
