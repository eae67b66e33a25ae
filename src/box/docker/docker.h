/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/docker.h - between the files of the docker backend.
 *
 * A box is a container whose PID 1 is the glove; the link is the container's stdin and stdout,
 * attached before it starts.  The glove comes in a volume that every container of this version
 * mounts read-only, so no image is touched.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"
#include "engine/container.h"
#include "wire/frame.h"
#include "wire/msg.h"

struct attach;
struct attach_beat;
struct engine;
struct gb_err;
struct json_value;

/* Labels of everything that is ours on an engine. */
#define DOCKER_LABEL_OURS     "io.glovebox.managed"
#define DOCKER_LABEL_INSTANCE "io.glovebox.instance" /* of containers: who may sweep them */
#define DOCKER_LABEL_OWNER    "io.glovebox.owner"    /* the process that holds it, and its start */
#define DOCKER_LABEL_BOX      "io.glovebox.box"      /* the id of a box that lives on */
#define DOCKER_LABEL_EXPIRES  "io.glovebox.expires"  /* seconds since the epoch; "never" */

/* Where the glove is in a container. */
#define DOCKER_GLOVE_DIR "/.glovebox"

/* Files of /etc that come with the glove where no engine writes them. */
enum docker_etc {
    DOCKER_ETC_HOSTS,
    DOCKER_ETC_RESOLV, /* the glove's own: of boxes whose network has rules */
    N_DOCKER_ETC,
};

/* Where this version's glove is on an engine. */
struct docker_glove {
    char volume[96];
    char file[48];              /* in it */
    char etc[N_DOCKER_ETC][64]; /* beside it */
    char dir[PATH_MAX]; /* the volume on the engine's machine; "": the engine takes parts of one */
};

/* Has such a box nothing to do with networks of the engine?  Then the engine makes none, which is
 * half of what a start takes.  Podman makes them cheaply, and names with them. */
bool docker_is_offline(const struct engine *engine, const struct box_spec *spec);

/* There and complete on return. */
int docker_glove_find(struct engine *engine, const struct box_spec *spec, struct docker_glove *ret,
                      struct gb_err *err);

/* ---- layers: trees of this machine as volumes of the engine -----------------------------------
 */

#define DOCKER_VOLUME_SIZE 128
#define DOCKER_LAYERS_MAX  8

/* The volumes of a spec's layers, in their order. */
struct docker_layers {
    char volumes[DOCKER_LAYERS_MAX][DOCKER_VOLUME_SIZE];
    char fillers[DOCKER_LAYERS_MAX][CONTAINER_ID_SIZE]; /* "": it was full already */
    size_t n;
};

/* There and complete on return.  Those that were filled are held by what filled them, so that
 * nobody can remove them before a container has them: docker_layers_release() is owed in any case.
 */
int docker_layers_find(struct engine *engine, const struct box_spec *box, struct docker_layers *ret,
                       struct gb_err *err);

void docker_layers_release(struct engine *engine, struct docker_layers *layers);

/* Are they still what they were?  Once a container has them nobody can remove them.  -ESTALE: one
 * is not, which no other error says. */
int docker_layers_check(struct engine *engine, const struct docker_layers *layers,
                        struct gb_err *err);

/* Those that came back empty because a container named them: they go, where nobody has them. */
void docker_layers_drop(struct engine *engine, const struct docker_layers *layers);

/* Removes those that no container has; how many in *ret_n.  The next box that wants one fills it
 * again. */
int docker_layers_prune(struct engine *engine, size_t *ret_n, struct gb_err *err);

/* ---- containers ------------------------------------------------------------------------------ */

/* A container that never starts, through which a volume is filled; the caller removes it. */
int docker_create_filler(struct engine *engine, const struct box_spec *spec, const char *volume,
                         const char *target, char *ret_id, struct gb_err *err);

/* -ENOTSUP: a Podman that would pass over something that the spec asks for.  A wall that it cannot
 * build, and that the spec can do without, in *ret_lacking. */
int docker_podman_check(struct engine *engine, const struct box_spec *spec, wall_set *ret_lacking,
                        struct gb_err *err);

/* Returns when the engine has removed a container whose link has ended, or does not seem to. */
int docker_podman_await_removal(struct engine *engine, const char *id);

/* Security options of a container; they may point into the struct itself. */
struct docker_profile {
    const char *options[4];
    char path[PATH_MAX];
    char masks[2048];
};

/* Paths that runs do not see, NULL-terminated.  Podman takes them as one text, with this between
 * them. */
#define DOCKER_MASKS_SEPARATOR ':'
extern const char *const docker_masks[];

/* In place of the machine's devices: the processors of the box, made by its glove. */
#define DOCKER_DEVICES_DIR "/sys/devices"

/* -ENOTSUP: an engine to which the profile cannot be given. */
int docker_profile_make(const struct engine *engine, const struct box_spec *spec,
                        struct docker_profile *ret, struct gb_err *err);

#define DOCKER_PLACES_MAX    8
#define DOCKER_PLACE_SIZE    64
#define DOCKER_PLACE_OPTIONS 128

/* What of a container is memory of its own: its writable places, and that of its glove
 * (DOCKER_DEVICES_DIR).  Docker makes them by the options; Podman, which takes
 * neither owners nor a number of files there, gets each as a volume. */
struct docker_places {
    const char *paths[DOCKER_PLACES_MAX];
    char options[DOCKER_PLACES_MAX][DOCKER_PLACE_OPTIONS];
    char volumes[DOCKER_PLACES_MAX][DOCKER_PLACE_SIZE]; /* Podman's, "": not made */
    size_t n;
};

/* What there is to be, by the spec, whose strings it borrows; volumes are made.  Those that were
 * are docker_places_remove()'s whatever is returned. */
int docker_places_make(struct engine *engine, const struct box_spec *spec,
                       struct docker_places *ret, struct gb_err *err);

/* The volumes, behind their container; what the engine holds longer is the sweep's.  -ETIMEDOUT: it
 * does not answer, and is not asked on. */
int docker_places_remove(struct engine *engine, const struct docker_places *places);

/* Volumes of this instance whose owner is dead and that no container has. */
int docker_places_sweep(struct engine *engine, const char *run_dir, struct gb_err *err);

/* ---- volumes that an image asks for ---------------------------------------------------------- */

/* Has a container, as the engine tells of it, no place without a limit that programs can write to?
 * -ENOTSUP. */
int docker_volumes_check(const struct json_value *container, const struct box_spec *spec,
                         const struct docker_places *places, struct gb_err *err);

/* What a container is made of. */
struct docker_parts {
    struct docker_glove glove;
    struct docker_profile profile;
};

/* Makes the container; it is not started.  Walls of which the engine says that it cannot build them
 * in *ret_missing. */
int docker_create(struct engine *engine, const struct box_spec *spec,
                  const struct docker_parts *parts, const struct docker_layers *layers,
                  const struct docker_places *places, char *ret_id, wall_set *ret_missing,
                  struct gb_err *err);

/* The walls that are missing by the lines of container_create(). */
wall_set docker_missing_of(const char *warnings);

/* ---- whose it is ----------------------------------------------------------------------------- */

#define DOCKER_MARK_SIZE 48

/* The labels of a container; they point into the struct itself. */
struct docker_marks {
    char instance[DOCKER_MARK_SIZE];
    char owner[DOCKER_MARK_SIZE];
    char expires[DOCKER_MARK_SIZE];
    char box[DOCKER_MARK_SIZE];
    const char *labels[11];
};

void docker_marks_init(const struct box_spec *spec, struct docker_marks *ret);

/* Do labels (key, value, …, NULL) say that this instance made it, in a process that is dead? */
bool docker_is_left_behind(char *const *labels, const char *run_dir);

/* Removes containers of this instance that nobody holds any more: their owner is dead, or they are
 * long past their time; and places that such ones left.  How many containers in *ret_n. */
int docker_sweep(struct engine *engine, const char *run_dir, size_t *ret_n, struct gb_err *err);

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

/* pid: of the container's PID 1, on this machine. */
void docker_groups_open(int64_t pid, const char *container, struct docker_groups *ret);
void docker_groups_close(struct docker_groups *groups);
bool docker_groups_are_seen(const struct docker_groups *groups);

/* The flags say what is counted; negative when what is there cannot be read. */
int docker_groups_read(const struct docker_groups *groups, struct msg_counts *ret);
int docker_groups_cpu_ns(const struct docker_groups *groups, uint64_t *ret);

/* ---- boxes ----------------------------------------------------------------------------------- */

/* What the engine may take where nobody waits for its work but for its end. */
#define DOCKER_END_MS 10000

/* The kernel's own ids: an engine gives containers none of their own unless it was told to. */
#define DOCKER_NOT_OURS (1u << WALL_USER_NS | 1u << WALL_UID_RANGE)

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

/* The engine that the spec means; the caller's to free. */
int docker_engine_for(const struct box_spec *spec, struct engine **ret, struct gb_err *err);

/* Can there be such a container at all? */
int docker_check_spec(const struct box_spec *spec, struct gb_err *err);

/* As box_ops has it. */
int docker_start(struct box *box, const struct box_spec *spec, int *ret_link_fd,
                 struct gb_err *err);
