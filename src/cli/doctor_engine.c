/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_engine.c - what `doctor` tells of the engine: is there one, can it make boxes, and of
 * what? */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "cli/doctor_host.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "engine/images.h"
#include "engine/info.h"

/* Somebody sits and waits for it. */
#define LOOK_MS 5000

/* What an engine lacks for a box; NULL: nothing that it tells of. */
static const char *lack_of(const struct engine_info *info)
{
    const struct {
        bool is_there;
        const char *what;
    } table[] = {
        { strcmp(info->os, "linux") == 0 || !info->os[0], "it is no engine of Linux containers" },
        { info->has_memory_limit, "its kernel does not limit memory" },
        { info->has_swap_limit, "its kernel does not limit swap" },
        { info->has_pids_limit, "its kernel does not limit processes" },
        { info->has_cpu_limit, "its kernel does not limit CPU" },
    };

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (!table[i].is_there)
            return table[i].what;
    return NULL;
}

/* How boxes can be made on an engine that lacks nothing (box/docker/podman.c). */
static const char *way_of(const struct engine *engine, const struct engine_info *info)
{
    return engine_is_podman(engine) && strcmp(info->cgroup_version, "2") != 0
               ? "boxes can be made (--backend docker --allow-missing cgroup_ns)"
               : "boxes can be made (--backend docker)";
}

/* An engine that does not say is one that has it not. */
static void look_for_image(struct doctor_host *host, struct engine *engine, const char *image)
{
    cleanup_images_config struct images_config config = { 0 };
    struct gb_err ignored = { 0 };
    size_t len = strlen(host->docker);

    (void)snprintf(host->image, sizeof(host->image), "%s", image);
    host->has_image = images_inspect(engine, image, &config, &ignored) == 0;
    (void)snprintf(host->docker + len, sizeof(host->docker) - len, ", %s the image %.100s",
                   host->has_image ? "of" : "not before it has", image);
}

static int look(struct doctor_host *host, const struct box_engine *wish, const char *image,
                struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    cleanup_engine_info struct engine_info info = { 0 };
    struct endpoint endpoint;
    const struct engine_options options = {
        .endpoint = &endpoint,
        .api_version = wish->api_version,
        .call_ms = LOOK_MS,
        .cancel_fd = -1,
    };
    const char *lack;
    int r = endpoint_find(&wish->hints, &endpoint, err);

    if (r == 0)
        r = engine_open(&options, &engine, err);
    if (r == 0)
        r = engine_info_get(engine, &info, err);
    if (r < 0)
        return r;
    host->has_docker = true;
    lack = engine_is_podman(engine) && !endpoint.socket[0]
               ? "it reads system call profiles from files of its own machine; images only"
               : lack_of(&info);
    host->can_docker = !lack;
    (void)snprintf(host->docker, sizeof(host->docker), "%s %.40s at %.120s: %s",
                   engine_is_podman(engine) ? "Podman" : "Docker", info.version, endpoint.shown,
                   lack ? lack : way_of(engine, &info));
    if (!lack)
        look_for_image(host, engine, image);
    return 0;
}

void doctor_engine_look(struct doctor_host *host, const struct box_engine *wish, const char *image)
{
    struct gb_err err = { 0 };
    int r = look(host, wish, image, &err);

    if (r < 0)
        (void)snprintf(host->docker, sizeof(host->docker), "%.*s; native boxes need none",
                       (int)strcspn(err.msg, "\n"), err.msg);
}
