/* SPDX-License-Identifier: Apache-2.0 */
/* engine/container.c - containers: made, started, looked at, removed. */
#include "engine/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/container_body.h"
#include "engine/engine.h"
#include "engine/read.h"
#include "json/value.h"

#define BODY_MAX (4 << 20)
#define LIST_MAX (64 << 20)

/* POST /containers/ID/WHAT; the caller adds a query before it is asked. */
static int target_of(struct target *target, const char *id, const char *what, struct gb_err *err)
{
    return target_of_id(target, "/containers/", id, what, err);
}

static int act(struct engine *engine, const char *method, const struct target *target,
               struct gb_err *err)
{
    const struct engine_call call = { .method = method, .target = target };

    return engine_call(engine, &call, NULL, err);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void read_warnings(const struct json_value *json, char *ret)
{
    size_t len = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < json_count(json) && len + CONTAINER_WORDS_MAX < CONTAINER_WARNINGS_SIZE;
         i++) {
        char line[CONTAINER_WORDS_MAX];

        read_line(json_at(json, i), line, sizeof(line));
        len += (size_t)snprintf(ret + len, CONTAINER_WARNINGS_SIZE - len, "%s\n", line);
    }
}

int container_create(struct engine *engine, const struct container_spec *spec,
                     char ret_id[static CONTAINER_ID_SIZE], char *ret_warnings, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_buf struct buf body = BUF_INIT(BODY_MAX);
    cleanup_json struct json_value *json = NULL;
    char remedy[160];
    const struct engine_call call = {
        .method = "POST", .target = &target, .body = &body, .missing_remedy = remedy
    };
    int r = target_of_id(&target, "/containers/create", NULL, NULL, err);

    if (r < 0)
        return r;
    target_add(&target, "name", spec->name);
    target_add(&target, "platform", spec->platform);
    r = container_body(spec, &body);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER, "the description of a container is too long");
    (void)snprintf(remedy, sizeof(remedy), "glovebox image pull %.120s", spec->image);
    r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    if (ret_warnings)
        read_warnings(json_get(json, "Warnings"), ret_warnings);
    return read_id(json_get(json, "Id"), ret_id, CONTAINER_ID_SIZE, err);
}

int container_start(struct engine *engine, const char *id, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    int r = target_of(&target, id, "/start", err);

    return r < 0 ? r : act(engine, "POST", &target, err);
}

int container_kill(struct engine *engine, const char *id, const char *signal, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    int r = target_of(&target, id, "/kill", err);

    if (r < 0)
        return r;
    target_add(&target, "signal", signal);
    return act(engine, "POST", &target, err);
}

int container_remove(struct engine *engine, const char *id, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    struct gb_err why = { 0 };
    int r = target_of(&target, id, "", err);

    if (r < 0)
        return r;
    target_add_flag(&target, "force", true);
    target_add_flag(&target, "v", true);
    r = act(engine, "DELETE", &target, &why);
    /* Podman was about to kill it when it ended: there is nothing left to kill. */
    if (r == -EBUSY && strstr(why.msg, "state improper"))
        r = act(engine, "DELETE", &target, &why);
    if (r == -ENOENT || (r == -EBUSY && strstr(why.msg, "already in progress")))
        return 0;
    if (r < 0 && err)
        *err = why;
    return r;
}

/* ---- looking -------------------------------------------------------------------------------- */

int container_inspect_json(struct engine *engine, const char *id, struct json_value **ret,
                           struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    const struct engine_call call = { .method = "GET", .target = &target };
    int r = target_of(&target, id, "/json", err);

    return r < 0 ? r : engine_call(engine, &call, ret, err);
}

int container_inspect(struct engine *engine, const char *id, struct container_state *ret,
                      struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    const struct json_value *state;
    int r = container_inspect_json(engine, id, &json, err);

    if (r < 0)
        return r;
    *ret = (struct container_state){ 0 };
    r = read_id(json_get(json, "Id"), ret->id, sizeof(ret->id), err);
    if (r < 0)
        return r;
    state = json_get(json, "State");
    read_line(json_get(state, "Status"), ret->status, sizeof(ret->status));
    if (!json_bool(json_get(state, "Running"), &ret->is_running))
        return engine_garbled("State", err);
    (void)json_bool(json_get(state, "OOMKilled"), &ret->is_oom_killed);
    (void)read_i64(json_get(state, "ExitCode"), &ret->exit_code);
    (void)read_i64(json_get(state, "Pid"), &ret->pid);
    read_line(json_get(state, "Error"), ret->error, sizeof(ret->error));
    return 0;
}

static int read_item(const struct json_value *json, void *item, struct gb_err *err)
{
    struct container_item *ret = item;
    int r = read_id(json_get(json, "Id"), ret->id, sizeof(ret->id), err);

    if (r < 0)
        return r;
    read_line(json_get(json, "State"), ret->state, sizeof(ret->state));
    ret->image = read_text(json_get(json, "Image"));
    ret->labels = read_pairs(json_get(json, "Labels"));
    return ret->image && ret->labels ? 0 : gb_no_memory(err);
}

static const struct read_kind container_kind = {
    .what = "containers",
    .max = CONTAINER_LIST_MAX,
    .size = sizeof(struct container_item),
    .read = read_item,
};

int container_list(struct engine *engine, const char *const *labels, struct container_list *ret,
                   struct gb_err *err)
{
    const struct target_filter filter = { "label", labels };
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target, .answer_max = LIST_MAX };
    void *items = NULL;
    int r = target_of_id(&target, "/containers/json", NULL, NULL, err);

    *ret = (struct container_list){ 0 };
    target_add_flag(&target, "all", true);
    target_add_filters(&target, &filter, 1);
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_list(json, &container_kind, &items, &ret->n, err);
    ret->items = items;
    if (r < 0)
        container_list_clear(ret);
    return r;
}

void container_list_clear(struct container_list *list)
{
    for (size_t i = 0; list->items && i < list->n; i++) {
        free(list->items[i].image);
        read_texts_free(list->items[i].labels);
    }
    free(list->items);
    *list = (struct container_list){ 0 };
}

const char *container_label(const struct container_item *item, const char *key)
{
    for (char **pair = item->labels; pair[0]; pair += 2)
        if (strcmp(pair[0], key) == 0)
            return pair[1];
    return NULL;
}
