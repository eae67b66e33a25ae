/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/warnings.c - what an engine says of limits that it does not hold.
 *
 * An engine whose kernel lacks a controller makes the container all the same and only warns.  The
 * wall that stood on it is missing then.
 */
#include <string.h>

#include "base/cleanup.h"
#include "box/docker/docker.h"

/* In the engines' own words, whatever their case; the rest of their sentences varies. */
static const struct {
    const char *said;
    enum wall wall;
} table[] = {
    { "memory limit capabilities", WALL_MEMORY },
    { "swap limit capabilities", WALL_MEMORY }, /* memory ends, swap does not */
    { "memory limited without swap", WALL_MEMORY },
    { "pids limit", WALL_PIDS },
    { "cpu cfs", WALL_CPU },
    { "cpu quota", WALL_CPU },
    { "nanocpus", WALL_CPU },
    { "seccomp", WALL_SECCOMP },
};

wall_set docker_missing_of(const char *warnings)
{
    wall_set missing = 0;

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (strcasestr(warnings, table[i].said))
            missing |= 1u << table[i].wall;
    return missing;
}
