/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/podman.c - what a Podman passes over in silence.
 *
 * It speaks Docker's API, but takes some things from its own settings whatever a request says.  A
 * box that was asked for with them is refused, not made without.  And where two remove a container
 * at once, of whom it is one by itself, its groups may be left behind.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "box/docker/docker.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "engine/info.h"

/* What its own removal of a container that has ended takes, and how often that is looked for. */
#define REMOVAL_MS 2000
#define LOOK_MS    20

static int check_runtime(const char *runtime, struct gb_err *err)
{
    if (!runtime || !*runtime)
        return 0;
    return gb_fail(err, -ENOTSUP, GB_BLAME_HOST,
                   "Podman takes no runtime from a client" GB_REMEDY
                   "runtime = \"%.60s\" under [engine] of its containers.conf",
                   runtime);
}

/* Only where all groups are v2's do its containers have a namespace of their own for them. */
static int check_groups(struct engine *engine, const struct box_spec *spec, wall_set *ret_lacking,
                        struct gb_err *err)
{
    cleanup_engine_info struct engine_info info = { 0 };
    int r = engine_info_get(engine, &info, err);

    if (r < 0 || strcmp(info.cgroup_version, "2") == 0)
        return r;
    *ret_lacking = 1u << WALL_CGROUP_NS;
    if (spec->may_miss & *ret_lacking)
        return 0;
    if (spec->ret_broken)
        *spec->ret_broken = WALL_CGROUP_NS;
    return gb_fail(err, -ENOTSUP, GB_BLAME_HOST,
                   "the wall 'cgroup_ns' cannot be built: Podman's containers have it only where "
                   "all groups are v2's" GB_REMEDY
                   "use a Docker Engine, --backend native, or --allow-missing cgroup_ns");
}

int docker_podman_check(struct engine *engine, const struct box_spec *spec, wall_set *ret_lacking,
                        struct gb_err *err)
{
    int r;

    *ret_lacking = 0;
    if (!engine_is_podman(engine))
        return 0;
    r = check_runtime(spec->engine->runtime, err);
    return r < 0 ? r : check_groups(engine, spec, ret_lacking, err);
}

int docker_podman_await_removal(struct engine *engine, const char *id)
{
    uint64_t deadline = clock_after_ms(REMOVAL_MS);
    struct container_state state;
    struct gb_err ignored = { 0 };
    int r;

    while ((r = container_inspect(engine, id, &state, &ignored)) == 0 &&
           clock_poll_ms(deadline) > 0)
        (void)poll(NULL, 0, LOOK_MS);
    return r;
}
