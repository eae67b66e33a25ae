/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/start.c - the start of a container: its parts found, the container made and looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/docker/docker.h"
#include "engine/attach.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "engine/info.h"
#include "json/value.h"

/* A layer that a prune has removed right after it was found is looked for so often. */
#define CREATE_TRIES 4

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

int docker_engine_for(const struct box_spec *spec, struct engine **ret, struct gb_err *err)
{
    struct endpoint endpoint;
    struct engine_options options = {
        .endpoint = &endpoint,
        .api_version = spec->engine->api_version,
        .cancel_fd = spec->cancel_fd > 0 ? spec->cancel_fd : -1,
    };
    int r = endpoint_find(&spec->engine->hints, &endpoint, err);

    return r < 0 ? r : engine_open(&options, ret, err);
}

int docker_check_spec(const struct box_spec *spec, struct gb_err *err)
{
    if (!spec->image || !*spec->image || strcmp(spec->image, BOX_IMAGE_HOST) == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "the docker backend needs an image" GB_REMEDY
                       "name one: --image " BOX_IMAGE_DOCKER);
    if (spec->toolchains && *spec->toolchains)
        return gb_fail(
            err, -EINVAL, GB_BLAME_CALLER,
            "toolchains are trees of this machine; a container shows its image's" GB_REMEDY
            "use --backend native, or an image that has what you need");
    if (DOCKER_NOT_OURS & ~spec->may_miss) {
        if (spec->ret_broken)
            *spec->ret_broken = WALL_USER_NS;
        return gb_fail(
            err, -ENOTSUP, GB_BLAME_HOST,
            "the wall 'user_ns' cannot be built: containers have the engine's ids" GB_REMEDY
            "use --backend native");
    }
    return 0;
}

/* The PATH that its image says. */
static const char *image_path(const struct json_value *container)
{
    const struct json_value *env = json_path(container, "Config/Env");

    for (size_t i = 0; i < json_count(env); i++) {
        const char *text = json_str(json_at(env, i), NULL);

        if (text && strncmp(text, "PATH=", 5) == 0 && text[5])
            return text + 5;
    }
    return PATH_DEFAULT;
}

static bool is_local(const struct engine *engine)
{
    return engine_endpoint(engine)->socket[0];
}

static int look(struct box *box, const struct box_spec *spec, struct docker *docker,
                struct gb_err *err)
{
    cleanup_json struct json_value *json = NULL;
    uint64_t pid = 0;
    int r = container_inspect_json(docker->engine, docker->id, &json, err);

    if (r == 0)
        r = docker_volumes_check(json, spec, &docker->places, err);
    if (r == 0)
        r = box_set_paths(box, spec, image_path(json), err);
    if (r < 0)
        return r;
    if (is_local(docker->engine) && json_u64(json_path(json, "State/Pid"), &pid))
        docker_groups_open((int64_t)pid, docker->id, &docker->groups);
    return 0;
}

static void fill_receipt(struct box *box, const struct box_spec *spec, const struct docker *docker)
{
    struct receipt *receipt = box_receipt_edit(box);

    receipt->walls =
        WALLS_ALL & ~DOCKER_NOT_OURS & ~docker->missing & ~(box_without(box) & 1u << WALL_LANDLOCK);
    if (spec->has_network)
        receipt->walls &= ~(1u << WALL_NET);
    receipt->net = spec->has_network ? "bridge" : "none";
    receipt->seccomp = "default";
    receipt->groups = !docker_groups_are_seen(&docker->groups) ? NULL
                      : docker->groups.is_v2                   ? "v2"
                                                               : "v1";
    receipt->accounting = "box";
}

/* A wall that the engine only warns about is not there. */
static int check_missing(const struct docker *docker, const struct box_spec *spec,
                         struct gb_err *err)
{
    wall_set broken = docker->missing & ~spec->may_miss;
    int wall = 0;

    if (!broken)
        return 0;
    while (!(broken & 1u << wall))
        wall++;
    if (spec->ret_broken)
        *spec->ret_broken = wall;
    return gb_fail(err, -ENOTSUP, GB_BLAME_HOST,
                   "the wall '%s' cannot be built: the engine warns that it does not hold this "
                   "limit" GB_REMEDY "give the engine's kernel the controller (docker info says "
                   "what is missing), or use --backend native",
                   wall_name((enum wall)wall));
}

/* Names of runtimes as one line. */
static void list_runtimes(const struct engine_info *info, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (char **name = info->runtimes; *name && used < size; name++) {
        int n = snprintf(ret + used, size - used, "%s%s", used ? ", " : "", *name);

        used += n > 0 ? (size_t)n : 0;
    }
}

/* A container that could not be made for want of its runtime: engines word that in many ways, and
 * may know runtimes that they do not list, so they are asked only then. */
static int explain_runtime(struct docker *docker, const struct box_spec *spec, int r,
                           struct gb_err *err)
{
    cleanup_engine_info struct engine_info info = { 0 };
    const char *runtime = spec->engine->runtime;
    struct gb_err ignored = { 0 };
    char known[256];

    if (!runtime || !*runtime || engine_info_get(docker->engine, &info, &ignored) < 0 ||
        engine_info_has_runtime(&info, runtime))
        return r;
    list_runtimes(&info, known, sizeof(known));
    return gb_fail(err, -ENOTSUP, GB_BLAME_HOST,
                   "the engine has no runtime '%.60s'; it has %s" GB_REMEDY
                   "name one of these with --runtime, or add it to the engine's daemon.json",
                   runtime, known);
}

/* The container of a try and the empty volumes that it made.  One that stays keeps its id, by which
 * docker_destroy() removes it. */
static int undo_create(struct docker *docker, const struct docker_layers *layers,
                       struct gb_err *err)
{
    int cancel_fd = engine_swap_cancel(docker->engine, -1);
    int r = container_remove(docker->engine, docker->id, err);

    if (r == 0) {
        docker->id[0] = '\0';
        docker_layers_drop(docker->engine, layers);
    }
    (void)engine_swap_cancel(docker->engine, cancel_fd);
    return r;
}

/* -ESTALE: somebody removed a layer between its look-up and its use; nothing is left of the try. */
static int try_create(struct docker *docker, const struct box_spec *spec,
                      const struct docker_parts *parts, struct gb_err *err)
{
    struct docker_layers layers;
    struct gb_err why = { 0 };
    int r = docker_layers_find(docker->engine, spec, &layers, err);

    if (r == 0)
        r = docker_create(docker->engine, spec, parts, &layers, &docker->places, docker->id,
                          &docker->missing, err);
    docker_layers_release(docker->engine, &layers);
    if (r < 0)
        return explain_runtime(docker, spec, r, err);
    r = docker_layers_check(docker->engine, &layers, err);
    if (r != -ESTALE || undo_create(docker, &layers, &why) == 0)
        return r;
    if (err)
        *err = why;
    return why.code;
}

/* What a prune has removed is filled once more. */
static int create(struct docker *docker, const struct box_spec *spec,
                  const struct docker_parts *parts, struct gb_err *err)
{
    int r = -ESTALE;

    for (unsigned i = 0; r == -ESTALE && i < CREATE_TRIES; i++) {
        if (err)
            *err = (struct gb_err){ 0 };
        r = try_create(docker, spec, parts, err);
    }
    return r;
}

static int start_container(struct docker *docker, const struct box_spec *spec, int *ret_link_fd,
                           struct gb_err *err)
{
    struct docker_parts parts;
    struct attach_beat beat;
    wall_set lacking = 0;
    int r = docker_podman_check(docker->engine, spec, &lacking, err);

    docker_beat_init(&docker->beat, &beat);
    if (r == 0)
        r = docker_profile_make(docker->engine, spec, &parts.profile, err);
    if (r < 0)
        return r;
    r = docker_glove_find(docker->engine, spec, &parts.glove, err);
    if (r < 0)
        return explain_runtime(docker, spec, r, err);
    r = docker_places_make(docker->engine, spec, &docker->places, err);
    if (r == 0)
        r = create(docker, spec, &parts, err);
    docker->missing |= lacking;
    if (r == 0)
        r = check_missing(docker, spec, err);
    if (r == 0)
        r = attach_open(docker->engine, docker->id, false, &beat, &docker->attach, ret_link_fd,
                        err);
    return r < 0 ? r : container_start(docker->engine, docker->id, err);
}

int docker_start(struct box *box, const struct box_spec *spec, int *ret_link_fd, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    cleanup_close int link_fd = -1;
    struct gb_err ignored = { 0 };
    size_t n_swept;
    int r = docker_check_spec(spec, err);

    docker->groups = (struct docker_groups)DOCKER_GROUPS_INIT;
    if (r == 0)
        r = docker_engine_for(spec, &docker->engine, err);
    if (r == 0)
        r = start_container(docker, spec, &link_fd, err);
    if (r == 0)
        r = look(box, spec, docker, err);
    if (docker->engine)
        engine_forget_cancel(docker->engine);
    if (r < 0)
        return r;
    engine_set_call_ms(docker->engine, DOCKER_END_MS);
    (void)docker_sweep(docker->engine, spec->run_dir, &n_swept, &ignored); /* the next one will */
    fill_receipt(box, spec, docker);
    *ret_link_fd = take_fd(&link_fd);
    return 0;
}
