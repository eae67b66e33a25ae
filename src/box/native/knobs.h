/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/knobs.h - the limits of a group, as files of the kernel and what is written there.
 *
 * The one place that names them, for groups of boxes, which the spawner makes, and for those of
 * runs.  Each is "FILE=VALUE" (base/knob.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "box/walls.h"

#define KNOBS_MAX 8

struct knobs {
    char texts[KNOBS_MAX][64];
    const char *list[KNOBS_MAX + 1]; /* of them, NULL behind the last */
    size_t n;
};

/* What a group is limited to. */
struct knob_limits {
    uint64_t memory_bytes;
    uint64_t pids;
    uint64_t cpu_milli; /* 0: not here, but in the group above */
};

/* Those of one v1 tree; none for a controller that limits nothing. */
void knobs_v1(struct knobs *knobs, const char *controller, const struct knob_limits *limits);

/* Those of a v2 tree that carries all limits: of the walls that are built. */
void knobs_v2(struct knobs *knobs, wall_set walls, const struct knob_limits *limits);

/* One more. */
void knobs_add(struct knobs *knobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes them all to the group; the first that fails ends it. */
int knobs_write(const struct knobs *knobs, int dir_fd);
