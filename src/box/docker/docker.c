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
    engine_set_call_ms(docker->engine, DOCKER_END_MS);
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
    int r = 0;

    refusal_line(raw, n, said);
    if (is_askable(docker))
        r = asked(docker, container_inspect(docker->engine, docker->id, &state, &ignored));
    if (r == -ECONNREFUSED || r == -ECONNRESET)
        return gb_fail(
            err, r, GB_BLAME_PEER,
            "the engine has ended, or was started anew" GB_REMEDY
            "see whether it runs (systemctl start docker, or podman.socket), and try again");
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
    int r = docker_check_spec(spec, err);

    if (r == 0)
        r = docker_engine_for(spec, &engine, err);
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

static int docker_run_close(struct box *box, bool is_left, struct box_run_end *ret,
                            struct gb_err *err)
{
    struct docker *docker = box_state(box);
    int r;

    (void)is_left;
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
    int r = docker_engine_for(spec, &engine, err);

    if (r == 0)
        r = docker_sweep(engine, spec->run_dir, ret_n, err);
    return r < 0 ? r : docker_layers_prune(engine, &n_layers, err);
}

static int docker_image_id(const struct box_spec *spec, char ret[static BOX_IMAGE_ID_SIZE],
                           struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    cleanup_images_config struct images_config config = { 0 };
    int r = docker_check_spec(spec, err);

    if (r == 0)
        r = docker_engine_for(spec, &engine, err);
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
    .can_miss = DOCKER_NOT_OURS | 1u << WALL_CGROUP_NS | 1u << WALL_LANDLOCK | 1u << WALL_MEMORY |
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
