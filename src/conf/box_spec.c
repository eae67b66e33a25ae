/* SPDX-License-Identifier: Apache-2.0 */
/* conf/box_spec.c - the box that the settings ask for. */
#include "conf/box_spec.h"

#include "conf/settings.h"
#include "run/language.h"

/* Containers have the engine's user ids: no wall of ours unless somebody asks for it by name. */
static wall_set may_miss(const struct settings *settings)
{
    wall_set asked = (wall_set)settings->set[KEY_REQUIRE].value.number;
    wall_set engine =
        settings->backend == BACKEND_DOCKER ? 1u << WALL_USER_NS | 1u << WALL_UID_RANGE : 0;

    return (WALLS_ALL & ~settings->must_hold) | (engine & ~asked);
}

struct box_spec settings_box_spec(const struct settings *settings)
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

void settings_suit_language(const struct settings *settings, const struct language *language,
                            bool is_pids_said, struct box_spec *spec)
{
    bool is_said = is_pids_said || settings->set[KEY_PIDS].origin.kind != ORIGIN_DEFAULT;

    spec->shows_groups = language->wants_groups;
    if (!is_said && spec->limits.pids < language->default_pids)
        spec->limits.pids = language->default_pids;
}
