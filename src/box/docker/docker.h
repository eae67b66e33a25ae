/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/docker.h - between the files of the docker backend.
 *
 * A box is a container whose PID 1 is the glove; the link is the container's stdin and stdout,
 * attached before it starts.  The glove comes in a volume that every container of this version
 * mounts read-only, so no image is touched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"

struct attach;
struct engine;
struct gb_err;

/* Labels of everything that is ours on an engine. */
#define DOCKER_LABEL_OURS    "io.glovebox.managed"
#define DOCKER_LABEL_BOX     "io.glovebox.box"
#define DOCKER_LABEL_EXPIRES "io.glovebox.expires" /* seconds since the epoch; "never" */

/* Where the glove is in a container. */
#define DOCKER_GLOVE_DIR "/.glovebox"

/* The name of the volume with this version's glove, which is there and complete on return. */
#define DOCKER_VOLUME_MAX 96
int docker_glove_volume(struct engine *engine, const char *image,
                        char ret[static DOCKER_VOLUME_MAX], struct gb_err *err);

/* Makes the container; it is not started. */
int docker_create(struct engine *engine, const struct box_spec *spec, const char *volume,
                  char *ret_id, struct gb_err *err);

/* Removes containers of ours that nobody holds any more: never started, or past their time. */
void docker_sweep(struct engine *engine);

/* ---- counters of a container's groups, where the engine is on this machine ------------------- */

#define DOCKER_GROUPS_MAX 3

struct docker_groups {
    bool is_v2;
    int memory; /* directories, -1: not to be had */
    int pids;
    int cpu;
};

#define DOCKER_GROUPS_INIT                   \
    {                                        \
        .memory = -1, .pids = -1, .cpu = -1, \
    }

/* As the glove tells them where this machine cannot see the groups. */
struct msg_counts;

/* pid: of the container's PID 1, on this machine. */
void docker_groups_open(int64_t pid, const char *container, struct docker_groups *ret);
void docker_groups_close(struct docker_groups *groups);
struct msg_counts docker_groups_read(const struct docker_groups *groups);
bool docker_groups_are_seen(const struct docker_groups *groups);
