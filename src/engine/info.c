/* SPDX-License-Identifier: Apache-2.0 */
/* engine/info.c - what the engine says of itself and its machine. */
#include "engine/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "engine/engine.h"
#include "engine/read.h"
#include "json/value.h"

/* Docker says "2", Podman "v2". */
static void read_cgroup_version(const struct json_value *json, struct engine_info *ret)
{
    char *version = ret->cgroup_version;

    read_line(json, version, sizeof(ret->cgroup_version));
    if (version[0] == 'v')
        memmove(version, version + 1, strlen(version));
}

static int read_info(const struct json_value *json, struct engine_info *ret, struct gb_err *err)
{
    if (json_kind(json) != JSON_OBJECT)
        return engine_garbled("facts", err);
    read_line(json_get(json, "ServerVersion"), ret->version, sizeof(ret->version));
    read_line(json_get(json, "OSType"), ret->os, sizeof(ret->os));
    read_cgroup_version(json_get(json, "CgroupVersion"), ret);
    (void)json_bool(json_get(json, "MemoryLimit"), &ret->has_memory_limit);
    (void)json_bool(json_get(json, "SwapLimit"), &ret->has_swap_limit);
    (void)json_bool(json_get(json, "PidsLimit"), &ret->has_pids_limit);
    (void)json_bool(json_get(json, "CpuCfsQuota"), &ret->has_cpu_limit);
    ret->runtimes = read_names(json_get(json, "Runtimes"));
    return ret->runtimes ? 0 : gb_no_memory(err);
}

int engine_info_get(struct engine *engine, struct engine_info *ret, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    cleanup_json struct json_value *json = NULL;
    const struct engine_call call = { .method = "GET", .target = &target };
    int r = target_of_id(&target, "/info", NULL, NULL, err);

    *ret = (struct engine_info){ 0 };
    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r == 0)
        r = read_info(json, ret, err);
    if (r < 0)
        engine_info_clear(ret);
    return r;
}

void engine_info_clear(struct engine_info *info)
{
    read_texts_free(info->runtimes);
    *info = (struct engine_info){ 0 };
}

bool engine_info_has_runtime(const struct engine_info *info, const char *name)
{
    for (char **runtime = info->runtimes; *runtime; runtime++)
        if (strcmp(*runtime, name) == 0)
            return true;
    return false;
}
