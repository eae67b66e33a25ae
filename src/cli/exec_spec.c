/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_spec.c - the box that the settings ask for. */
#include "cli/exec_spec.h"

#include "conf/settings.h"

struct box_spec exec_spec(const struct settings *settings)
{
    return (struct box_spec){
        .backend = settings->backend == BACKEND_DISABLED ? "disabled" : "native",
        .limits = settings->limits,
        .may_miss = WALLS_ALL & ~settings->must_hold,
        .toolchains = settings->toolchains,
        .run_dir = settings->run_dir,
        .uid_base = (uint32_t)settings->uid_base,
    };
}
