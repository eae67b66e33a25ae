/* SPDX-License-Identifier: Apache-2.0 */
/* engine/volume.c - named volumes of the engine. */
#include "engine/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "engine/engine.h"
#include "engine/read.h"
#include "json/value.h"
#include "json/writer.h"

#define BODY_MAX (256 << 10)
#define LIST_MAX (64 << 20)

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

static int inspect(struct engine *engine, const char *name, struct json_value **ret,
                   struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    const struct engine_call call = { .method = "GET", .target = &target };
    int r = target_of_id(&target, "/volumes/", name, "", err);

    return r < 0 ? r : engine_call(engine, &call, ret, err);
}

int volume_labels(struct engine *engine, const char *name, char ***ret, struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    int r = inspect(engine, name, &json, err);

    if (r < 0)
        return r;
    *ret = read_pairs(json_get(json, "Labels"));
    return *ret ? 0 : gb_no_memory(err);
}

int volume_path(struct engine *engine, const char *name, char ret[static PATH_MAX],
                struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    int r = inspect(engine, name, &json, err);
    size_t len = 0;
    const char *path = r < 0 ? NULL : json_str(json_get(json, "Mountpoint"), &len);

    if (r < 0)
        return r;
    if (!path || len >= PATH_MAX || !path_is_clean_absolute(path))
        return engine_garbled("path of a volume", err);
    memcpy(ret, path, len + 1);
    return 0;
}

void volume_labels_free(char ***labels)
{
    read_texts_free(*labels);
    *labels = NULL;
}

static int read_item(const struct json_value *json, void *item, struct gb_err *err)
{
    struct volume_item *ret = item;

    ret->name = read_text(json_get(json, "Name"));
    ret->labels = read_pairs(json_get(json, "Labels"));
    return ret->name && ret->labels ? 0 : gb_no_memory(err);
}

static const struct read_kind volume_kind = {
    .what = "volumes",
    .max = VOLUME_LIST_MAX,
    .size = sizeof(struct volume_item),
    .read = read_item,
};

int volume_list(struct engine *engine, const char *label, struct volume_list *ret,
                struct gb_err *err)
{
    const char *const labels[] = { label, NULL };
    const struct target_filter filter = { "label", labels };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target, .answer_max = LIST_MAX };
    const struct json_value *found;
    void *items = NULL;
    int r = target_of_id(&target, "/volumes", NULL, NULL, err);

    *ret = (struct volume_list){ 0 };
    target_add_filters(&target, &filter, 1);
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    found = json_get(json, "Volumes");
    if (!found || json_kind(found) == JSON_NULL)
        return 0; /* there is none */
    r = read_list(found, &volume_kind, &items, &ret->n, err);
    ret->items = items;
    if (r < 0)
        volume_list_clear(ret);
    return r;
}

void volume_list_clear(struct volume_list *list)
{
    for (size_t i = 0; list->items && i < list->n; i++) {
        free(list->items[i].name);
        read_texts_free(list->items[i].labels);
    }
    free(list->items);
    *list = (struct volume_list){ 0 };
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
