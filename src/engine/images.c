/* SPDX-License-Identifier: Apache-2.0 */
/* engine/images.c - images of the engine: listed, looked at, removed. */
#include "engine/images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "engine/engine.h"
#include "engine/read.h"
#include "json/value.h"

#define LIST_MAX       (64 << 20)
#define LINE_MAX_SHOWN 600

/* ---- the list ------------------------------------------------------------------------------- */

static int read_item(const struct json_value *json, void *item, struct gb_err *err)
{
    struct images_item *ret = item;
    int r = read_id(json_get(json, "Id"), ret->id, sizeof(ret->id), err);

    if (r < 0)
        return r;
    ret->tags = read_texts(json_get(json, "RepoTags"));
    ret->labels = read_pairs(json_get(json, "Labels"));
    (void)json_u64(json_get(json, "Created"), &ret->created_s);
    (void)json_u64(json_get(json, "Size"), &ret->bytes);
    return ret->tags && ret->labels ? 0 : gb_no_memory(err);
}

static const struct read_kind images_kind = {
    .what = "images",
    .max = IMAGES_LIST_MAX,
    .size = sizeof(struct images_item),
    .read = read_item,
};

int images_list(struct engine *engine, const char *const *references, const char *const *labels,
                struct images_list *ret, struct gb_err *err)
{
    const struct target_filter filters[] = { { "reference", references }, { "label", labels } };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target, .answer_max = LIST_MAX };
    void *items = NULL;
    int r = target_of_id(&target, "/images/json", NULL, NULL, err);

    *ret = (struct images_list){ 0 };
    target_add_filters(&target, filters, N_ELEMENTS(filters));
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_list(json, &images_kind, &items, &ret->n, err);
    ret->items = items;
    if (r < 0)
        images_list_clear(ret);
    return r;
}

void images_item_clear(struct images_item *item)
{
    read_texts_free(item->tags);
    read_texts_free(item->labels);
    *item = (struct images_item){ 0 };
}

void images_list_clear(struct images_list *list)
{
    for (size_t i = 0; list->items && i < list->n; i++)
        images_item_clear(&list->items[i]);
    free(list->items);
    *list = (struct images_list){ 0 };
}

/* ---- one ------------------------------------------------------------------------------------ */

static int read_config(const struct json_value *json, struct images_config *ret, struct gb_err *err)
{
    const struct json_value *config = json_get(json, "Config");
    int r = read_id(json_get(json, "Id"), ret->id, sizeof(ret->id), err);

    if (r < 0)
        return r;
    read_line(json_get(json, "Os"), ret->os, sizeof(ret->os));
    read_line(json_get(json, "Architecture"), ret->architecture, sizeof(ret->architecture));
    (void)json_u64(json_get(json, "Size"), &ret->bytes);
    ret->user = read_text(json_get(config, "User"));
    ret->workdir = read_text(json_get(config, "WorkingDir"));
    ret->env = read_texts(json_get(config, "Env"));
    ret->entrypoint = read_texts(json_get(config, "Entrypoint"));
    ret->cmd = read_texts(json_get(config, "Cmd"));
    ret->labels = read_pairs(json_get(config, "Labels"));
    ret->digests = read_texts(json_get(json, "RepoDigests"));
    ret->triggers = read_texts(json_get(config, "OnBuild"));
    if (!ret->user || !ret->workdir || !ret->env || !ret->entrypoint || !ret->cmd || !ret->labels ||
        !ret->digests || !ret->triggers)
        return gb_no_memory(err);
    return 0;
}

int images_inspect(struct engine *engine, const char *name, struct images_config *ret,
                   struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    char remedy[160];
    const struct engine_call call = { .method = "GET",
                                      .target = &target,
                                      .missing_remedy = remedy };
    int r = target_of_image(&target, "/images/", name, "/json", err);

    *ret = (struct images_config){ 0 };
    (void)snprintf(remedy, sizeof(remedy), "glovebox image pull %.120s", name);
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_config(json, ret, err);
    if (r < 0)
        images_config_clear(ret);
    return r;
}

void images_config_clear(struct images_config *config)
{
    free(config->user);
    free(config->workdir);
    read_texts_free(config->env);
    read_texts_free(config->entrypoint);
    read_texts_free(config->cmd);
    read_texts_free(config->labels);
    read_texts_free(config->digests);
    read_texts_free(config->triggers);
    *config = (struct images_config){ 0 };
}

/* ---- removing ------------------------------------------------------------------------------- */

static int read_removed(const struct json_value *json, struct images_removed *ret,
                        struct gb_err *err)
{
    size_t n = json_count(json);

    if (n > IMAGES_LIST_MAX)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_PEER, "the engine says that %zu things went", n);
    ret->lines = calloc(n + 1, sizeof(*ret->lines));
    if (!ret->lines)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct json_value *untagged = json_get(json_at(json, i), "Untagged");
        const struct json_value *deleted = json_get(json_at(json, i), "Deleted");
        char name[LINE_MAX_SHOWN];

        read_line(untagged ? untagged : deleted, name, sizeof(name));
        if (asprintf(&ret->lines[i], "%s: %s", untagged ? "Untagged" : "Deleted", name) < 0) {
            ret->lines[i] = NULL;
            return gb_no_memory(err);
        }
        ret->untagged += untagged != NULL;
        ret->deleted += deleted != NULL;
    }
    return 0;
}

int images_remove(struct engine *engine, const char *name, bool is_forced,
                  struct images_removed *ret, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "DELETE", .target = &target };
    int r = target_of_image(&target, "/images/", name, "", err);

    *ret = (struct images_removed){ 0 };
    if (r < 0)
        return r;
    target_add_flag(&target, "force", is_forced);
    r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_removed(json, ret, err);
    if (r < 0)
        images_removed_clear(ret);
    return r;
}

void images_removed_clear(struct images_removed *removed)
{
    read_texts_free(removed->lines);
    *removed = (struct images_removed){ 0 };
}

int images_prune(struct engine *engine, const char *label, bool is_all, const char *until,
                 struct images_removed *ret, uint64_t *ret_reclaimed, struct gb_err *err)
{
    const char *const labels[] = { label, NULL };
    const char *const untils[] = { until, NULL };
    const char *const dangling[] = { is_all ? "false" : "true", NULL };
    const struct target_filter filters[] = { { "label", labels },
                                             { "until", untils },
                                             { "dangling", dangling } };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "POST", .target = &target };
    int r = target_of_id(&target, "/images/prune", NULL, NULL, err);

    *ret = (struct images_removed){ 0 };
    target_add_filters(&target, filters, N_ELEMENTS(filters));
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_removed(json_get(json, "ImagesDeleted"), ret, err);
    if (r < 0) {
        images_removed_clear(ret);
        return r;
    }
    *ret_reclaimed = 0;
    (void)json_u64(json_get(json, "SpaceReclaimed"), ret_reclaimed);
    return 0;
}

int images_prune_builds(struct engine *engine, bool is_all, const char *until, uint64_t keep_bytes,
                        uint64_t *ret_reclaimed, struct gb_err *err)
{
    const char *const untils[] = { until, NULL };
    const struct target_filter filter = { "until", untils };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "POST", .target = &target };
    int r = target_of_id(&target, "/build/prune", NULL, NULL, err);

    target_add_flag(&target, "all", is_all);
    target_add_filters(&target, &filter, 1);
    if (keep_bytes > 0)
        target_add_u64(&target, engine_api(engine) < 48 ? "keep-storage" : "reserved-space",
                       keep_bytes);
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    *ret_reclaimed = 0;
    (void)json_u64(json_get(json, "SpaceReclaimed"), ret_reclaimed);
    return 0;
}
