/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/docker.c - boxes that are containers. */
#include "box/docker/docker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "box/link.h"
#include "engine/attach.h"
#include "engine/container.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "engine/images.h"
#include "engine/info.h"
#include "engine/refusal.h"
#include "json/value.h"
#include "wire/msg.h"

#define KILL_WAIT_MS   3000
#define COUNTS_WAIT_MS 5000

/* What the engine may take where nobody waits for its work but for its end. */
#define END_MS 10000

/* A layer that a prune has removed is filled so often. */
#define CREATE_TRIES 4

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The kernel's own ids: an engine gives containers none of their own unless it was told to. */
#define NOT_OURS (1u << WALL_USER_NS | 1u << WALL_UID_RANGE)

struct docker {
    struct engine *engine;
    struct attach *attach;
    struct docker_beat beat;
    char id[CONTAINER_ID_SIZE];
    struct docker_places places;
    struct docker_groups groups;
    struct msg_counts before;
    bool has_run;
    uint32_t kill_seq;
    wall_set missing;
    bool is_hung; /* the engine has let a deadline pass: it is not asked again */
};

/* ---- start ---------------------------------------------------------------------------------- */

static int engine_for(const struct box_spec *spec, struct engine **ret, struct gb_err *err)
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

static int check_spec(const struct box_spec *spec, struct gb_err *err)
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
    if (NOT_OURS & ~spec->may_miss) {
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
        WALLS_ALL & ~NOT_OURS & ~docker->missing & ~(box_without(box) & 1u << WALL_LANDLOCK);
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
                      const struct docker_glove *glove, const struct docker_profile *profile,
                      struct gb_err *err)
{
    struct docker_layers layers;
    struct gb_err why = { 0 };
    int r = docker_layers_find(docker->engine, spec, &layers, err);

    if (r == 0)
        r = docker_create(docker->engine, spec, glove, &layers, profile, &docker->places,
                          docker->id, &docker->missing, err);
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
                  const struct docker_glove *glove, const struct docker_profile *profile,
                  struct gb_err *err)
{
    int r = -ESTALE;

    for (unsigned i = 0; r == -ESTALE && i < CREATE_TRIES; i++) {
        if (err)
            *err = (struct gb_err){ 0 };
        r = try_create(docker, spec, glove, profile, err);
    }
    return r;
}

static int start_container(struct docker *docker, const struct box_spec *spec, int *ret_link_fd,
                           struct gb_err *err)
{
    struct docker_glove glove;
    struct docker_profile profile;
    struct attach_beat beat;
    wall_set lacking = 0;
    int r = docker_podman_check(docker->engine, spec, &lacking, err);

    docker_beat_init(&docker->beat, &beat);
    if (r == 0)
        r = docker_profile_make(docker->engine, spec, &profile, err);
    if (r < 0)
        return r;
    r = docker_glove_find(docker->engine, spec, &glove, err);
    if (r < 0)
        return explain_runtime(docker, spec, r, err);
    r = docker_places_make(docker->engine, spec, &docker->places, err);
    if (r == 0)
        r = create(docker, spec, &glove, &profile, err);
    docker->missing |= lacking;
    if (r == 0)
        r = check_missing(docker, spec, err);
    if (r == 0)
        r = attach_open(docker->engine, docker->id, false, &beat, &docker->attach, ret_link_fd,
                        err);
    return r < 0 ? r : container_start(docker->engine, docker->id, err);
}

static int docker_start(struct box *box, const struct box_spec *spec, int *ret_link_fd,
                        struct gb_err *err)
{
    struct docker *docker = box_state(box);
    cleanup_close int link_fd = -1;
    struct gb_err ignored = { 0 };
    size_t n_swept;
    int r = check_spec(spec, err);

    docker->groups = (struct docker_groups)DOCKER_GROUPS_INIT;
    if (r == 0)
        r = engine_for(spec, &docker->engine, err);
    if (r == 0)
        r = start_container(docker, spec, &link_fd, err);
    if (r == 0)
        r = look(box, spec, docker, err);
    if (docker->engine)
        engine_forget_cancel(docker->engine);
    if (r < 0)
        return r;
    engine_set_call_ms(docker->engine, END_MS);
    (void)docker_sweep(docker->engine, spec->run_dir, &n_swept, &ignored); /* the next one will */
    fill_receipt(box, spec, docker);
    *ret_link_fd = take_fd(&link_fd);
    return 0;
}

/* ---- what the engine is asked for at the end ------------------------------------------------- */

/* One that hangs costs one deadline, whatever is still to be done: the glove ends by itself when it
 * hears nothing, and the engine removes what has ended when it lives again. */
static bool is_askable(const struct docker *docker)
{
    return docker->engine && docker->id[0] && !docker->is_hung;
}

static int asked(struct docker *docker, int r)
{
    docker->is_hung = docker->is_hung || r == -ETIMEDOUT;
    return r;
}

static bool is_removed(struct docker *docker)
{
    struct gb_err ignored = { 0 };

    if (!docker->engine || !docker->id[0])
        return true; /* it is the keeper's, or there never was one */
    engine_set_call_ms(docker->engine, END_MS);
    return is_askable(docker) &&
           asked(docker, container_remove(docker->engine, docker->id, &ignored)) == 0;
}

/* What the container or its engine said last. */
static int docker_ended(struct box *box, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    struct container_state state = { 0 };
    struct gb_err ignored = { 0 };
    char raw[256] = "";
    char said[REFUSAL_MAX];
    size_t n = docker->attach ? attach_said(docker->attach, raw, sizeof(raw)) : 0;
    int fault = docker->attach ? attach_fault(docker->attach) : 0;

    refusal_line(raw, n, said);
    if (is_askable(docker))
        (void)asked(docker, container_inspect(docker->engine, docker->id, &state, &ignored));
    if (docker->is_hung)
        return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER,
                       "the engine does not answer any more" GB_REMEDY
                       "see whether it is well: docker info");
    if (state.is_running && fault < 0)
        return gb_fail(err, fault, GB_BLAME_PEER,
                       "the stream of the container broke: %s" GB_REMEDY
                       "see what lies between here and the engine, such as a proxy",
                       strerror(-fault));
    return gb_fail(err, -EPIPE, GB_BLAME_PEER, "the container has ended%s%s%s%s",
                   state.is_oom_killed ? ": out of memory" : "",
                   said[0] || state.error[0] ? ": " : "", state.error, said);
}

static int docker_lost(struct box *box, const struct box_spec *spec, struct gb_err *err)
{
    (void)spec;
    return docker_ended(box, err);
}

static int docker_probe(const struct box_spec *spec, struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    struct docker_profile profile;
    wall_set lacking;
    int r = check_spec(spec, err);

    if (r == 0)
        r = engine_for(spec, &engine, err);
    if (r == 0)
        r = docker_podman_check(engine, spec, &lacking, err);
    return r < 0 ? r : docker_profile_make(engine, spec, &profile, err);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Those of a box's counters that decide about verdicts. */
#define DECIDING (COUNTS_FLAG_CPU | COUNTS_FLAG_MEMORY | COUNTS_FLAG_PIDS)

/* This machine's own view, or else the glove's word. */
static int counts_now(struct box *box, const struct docker *docker, struct msg_counts *ret,
                      struct gb_err *err)
{
    int r;

    *ret = (struct msg_counts){ 0 };
    if (docker_groups_are_seen(&docker->groups)) {
        r = docker_groups_read(&docker->groups, ret);
        return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "reading the counters of the container: %s",
                               strerror(-r))
                     : 0;
    }
    if (docker->is_hung)
        return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER, "the engine does not answer any more");
    r = box_settle(box, err);
    return r < 0 ? r : link_counts(box_link(box), clock_after_ms(COUNTS_WAIT_MS), ret, err);
}

/* What the glove tells may go backwards, if it is not ours any more. */
static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as box_ops has it */
static int docker_run_open(struct box *box, const struct limits *limits, int *fds, size_t *n_fds,
                           bool *ret_has_v2, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    int r = counts_now(box, docker, &docker->before, err);

    (void)limits;
    (void)fds;
    if (r < 0)
        return r;
    docker->has_run = true;
    docker->kill_seq = 0;
    *n_fds = 0;
    *ret_has_v2 = false;
    return 0;
}

static int docker_run_cpu_ns(struct box *box, uint64_t *ret)
{
    struct docker *docker = box_state(box);
    struct msg_counts now = { .flags = COUNTS_FLAG_CPU };
    struct gb_err ignored = { 0 };
    int r;

    *ret = 0;
    if (!(docker->before.flags & COUNTS_FLAG_CPU))
        return 0;
    r = docker_groups_are_seen(&docker->groups) ? docker_groups_cpu_ns(&docker->groups, &now.cpu_ns)
                                                : counts_now(box, docker, &now, &ignored);
    if (r == 0 && !(now.flags & COUNTS_FLAG_CPU))
        r = -ENODATA;
    if (r == 0)
        *ret = since(now.cpu_ns, docker->before.cpu_ns);
    return r;
}

static int docker_run_kill(struct box *box, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    struct msg_kill kill = { .run = box_run_seq(box) };

    if (docker->kill_seq)
        return 0;
    return link_request(box_link(box), MSG_KILL, &kill, NULL, 0, &docker->kill_seq, err);
}

/* A glove that does not answer is not waited for: the container goes, and all of it. */
static uint32_t await_kill(struct box *box, struct docker *docker)
{
    struct gb_err ignored = { 0 };
    uint64_t left = 0;
    uint32_t step;
    int r;

    if (!docker->kill_seq)
        return 0;
    r = link_await(box_link(box), docker->kill_seq, clock_after_ms(KILL_WAIT_MS), &left, &step,
                   &ignored);
    docker->kill_seq = 0;
    if (r == -ETIMEDOUT && !docker->engine)
        docker->is_hung = true; /* the keeper's affair; here nothing more is asked over the link */
    if (r < 0 && is_askable(docker))
        (void)asked(docker, container_kill(docker->engine, docker->id, "KILL", &ignored));
    return r < 0 ? 0 : (uint32_t)left;
}

static void note_counts(struct box *box, const struct docker *docker, struct box_run_end *ret)
{
    struct msg_counts now;
    struct gb_err ignored = { 0 };
    int r = counts_now(box, docker, &now, &ignored);
    const struct msg_counts *before = &docker->before;

    /* What could be read when the run began must be there at its end too. */
    if (r == 0 && before->flags & DECIDING & ~now.flags)
        r = -ENODATA;
    ret->count_error = -r;
    if (now.flags & before->flags & COUNTS_FLAG_CPU)
        ret->cpu_ns = since(now.cpu_ns, before->cpu_ns);
    if (now.flags & before->flags & COUNTS_FLAG_MEMORY) {
        ret->memory_peak = now.memory_peak;
        ret->memory_files = now.memory_files;
        ret->oom_kills = since(now.oom_kills, before->oom_kills);
    }
    if (now.flags & before->flags & COUNTS_FLAG_PIDS)
        ret->pids_hits = since(now.pids_hits, before->pids_hits);
}

static int docker_run_close(struct box *box, struct box_run_end *ret, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    int r;

    if (!docker->has_run)
        return 0;
    r = docker_run_kill(box, err);
    if (r == 0 || link_is_lost(box_link(box))) {
        ret->survivors = await_kill(box, docker);
        r = 0;
    }
    note_counts(box, docker, ret);
    docker->has_run = false;
    return r;
}

static int docker_watch_fd(struct box *box)
{
    (void)box;
    return -1; /* the end of the link says it */
}

/* The keeper's process holds container and engine; all that is needed here comes over the link. */
static int docker_attach(struct box *box, const struct box_kept *kept,
                         const struct msg_welcome *welcome, int *groups, size_t n_groups,
                         struct gb_err *err)
{
    struct docker *docker = box_state(box);

    (void)kept;
    (void)welcome;
    (void)err;
    docker->groups = (struct docker_groups)DOCKER_GROUPS_INIT;
    for (size_t i = 0; i < n_groups; i++)
        close(groups[i]);
    return 0;
}

/* Of a box that a keeper holds by the glove's word: all its programs can do is read the same. */
static int docker_usage(struct box *box, struct box_usage *ret, struct gb_err *err)
{
    struct docker *docker = box_state(box);
    struct msg_counts counts;
    int r = counts_now(box, docker, &counts, err);

    if (r < 0)
        return r;
    *ret = (struct box_usage){
        .memory_bytes = counts.memory_now,
        .memory_peak = counts.memory_peak,
        .memory_files = counts.memory_files,
        .cpu_ns = counts.cpu_ns,
        .processes = counts.pids_now,
    };
    return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static uint32_t docker_destroy(struct box *box)
{
    struct docker *docker = box_state(box);
    uint32_t survivors;

    if (docker->attach && is_askable(docker) && engine_is_podman(docker->engine)) {
        attach_close(&docker->attach);
        (void)asked(docker, docker_podman_await_removal(docker->engine, docker->id));
    }
    survivors = is_removed(docker) ? 0 : 1; /* unknown, so not none */
    if (docker->engine && !docker->is_hung)
        (void)docker_places_remove(docker->engine, &docker->places);
    attach_close(&docker->attach);
    engine_free(&docker->engine);
    docker_groups_close(&docker->groups);
    return survivors;
}

/* The container's stdin ends with the connection: the glove ends, PID 1 takes everything with it,
 * and the engine removes what it was told to remove, which volumes are not.  A glove that is lost
 * already may have left something behind. */
static int docker_leave(struct box *box)
{
    struct docker *docker = box_state(box);

    if (!docker->attach || link_is_lost(box_link(box)) || docker->places.volumes[0][0])
        return -EPIPE;
    attach_close(&docker->attach);
    engine_free(&docker->engine);
    docker_groups_close(&docker->groups);
    return 0;
}

static int docker_sweep_all(const struct box_spec *spec, size_t *ret_n, struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    size_t n_layers;
    int r = engine_for(spec, &engine, err);

    if (r == 0)
        r = docker_sweep(engine, spec->run_dir, ret_n, err);
    return r < 0 ? r : docker_layers_prune(engine, &n_layers, err);
}

static int docker_image_id(const struct box_spec *spec, char ret[static BOX_IMAGE_ID_SIZE],
                           struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    cleanup_images_config struct images_config config = { 0 };
    int r = check_spec(spec, err);

    if (r == 0)
        r = engine_for(spec, &engine, err);
    if (r == 0)
        r = images_inspect(engine, spec->image_id ? spec->image_id : spec->image, &config, err);
    if (r == 0)
        (void)snprintf(ret, BOX_IMAGE_ID_SIZE, "%s", config.id);
    return r;
}

static const char *const disks[] = { BOX_WORKSPACE, "/tmp", NULL };

const struct box_ops box_docker = {
    .name = "docker",
    .state_size = sizeof(struct docker),
    .can_miss = NOT_OURS | 1u << WALL_CGROUP_NS | 1u << WALL_LANDLOCK | 1u << WALL_MEMORY |
                1u << WALL_CPU | 1u << WALL_PIDS,
    .shares_ids = true,
    .is_held = true,
    .carries = true,
    .has_layers = true,
    .has_bridge = true,
    .beats = true,
    .disks = disks,
    .probe = docker_probe,
    .sweep = docker_sweep_all,
    .image_id = docker_image_id,
    .start = docker_start,
    .lost = docker_lost,
    .ended = docker_ended,
    .run_open = docker_run_open,
    .run_cpu_ns = docker_run_cpu_ns,
    .run_kill = docker_run_kill,
    .run_close = docker_run_close,
    .usage = docker_usage,
    .watch_fd = docker_watch_fd,
    .attach = docker_attach,
    .leave = docker_leave,
    .destroy = docker_destroy,
};
