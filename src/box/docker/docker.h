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
#include "wire/frame.h"

struct attach;
struct attach_beat;
struct engine;
struct gb_err;

/* Labels of everything that is ours on an engine. */
#define DOCKER_LABEL_OURS    "io.glovebox.managed"
#define DOCKER_LABEL_EXPIRES "io.glovebox.expires" /* seconds since the epoch; "never" */

/* Where the glove is in a container. */
#define DOCKER_GLOVE_DIR "/.glovebox"

/* Where this version's glove is on an engine. */
struct docker_glove {
    char volume[96];
    char file[48]; /* in it */
};

/* There and complete on return. */
int docker_glove_find(struct engine *engine, const char *image, struct docker_glove *ret,
                      struct gb_err *err);

/* Makes the container; it is not started. */
int docker_create(struct engine *engine, const struct box_spec *spec,
                  const struct docker_glove *glove, char *ret_id, struct gb_err *err);

/* Removes containers of ours that nobody holds any more: never started, or past their time. */
void docker_sweep(struct engine *engine);

/* ---- signs of life --------------------------------------------------------------------------- */

/* The carrying thread's own; zeroed at first. */
struct docker_beat {
    uint8_t frame[WIRE_HEAD_SIZE + 4];
    uint8_t head[WIRE_HEAD_SIZE]; /* of the frame that is passing */
    size_t n_head;
    uint32_t left; /* of its payload */
};

/* What attach_open() is to do; beat must live as long as the attach. */
void docker_beat_init(struct docker_beat *beat, struct attach_beat *ret);

/* ---- counters of a container's groups, where the engine is on this machine ------------------- */

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
