/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_spec.c - the box that the settings ask for. */
#include "cli/exec_spec.h"

#include "conf/settings.h"

/* Containers have the engine's user ids: no wall of ours unless somebody asks for it by name. */
static wall_set may_miss(const struct settings *settings)
{
    wall_set asked = (wall_set)settings->set[KEY_REQUIRE].value.number;
    wall_set engine =
        settings->backend == BACKEND_DOCKER ? 1u << WALL_USER_NS | 1u << WALL_UID_RANGE : 0;

    return (WALLS_ALL & ~settings->must_hold) | (engine & ~asked);
}

struct box_spec exec_spec(const struct settings *settings)
{
    return (struct box_spec){
        .backend = backend_choice_name(settings->backend),
        .image = settings->image,
        .engine = &settings->engine,
        .limits = settings->limits,
        .may_miss = may_miss(settings),
        .toolchains = settings->toolchains,
        .run_dir = settings->run_dir,
        .uid_base = (uint32_t)settings->uid_base,
    };
}
