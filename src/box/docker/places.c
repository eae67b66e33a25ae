/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/places.c - what of a container is memory of its own, capped: the writable places,
 * which are the run's, and what stands for the machine's devices, which is the glove's.
 *
 * Docker mounts them by their options.  Podman takes neither an owner nor a number of files there,
 * but it has volumes that are a tmpfs, with whatever mount(8) takes.  They are made before the
 * container and removed behind it; hold nothing while no container has them; and carry its labels,
 * so that the next start removes what a killed one left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "box/docker/docker.h"
#include "engine/engine.h"
#include "engine/volume.h"

#define SMALL_BYTES  (16ULL << 20)
#define SMALL_INODES 4096

/* Three directories and two files; a page each at most, and whole pages are counted. */
#define DEVICES_BYTES  (64ULL << 10)
#define DEVICES_INODES 8

#define LABEL_PLACE DOCKER_LABEL_OURS ".place"
#define ID_LETTER   'p'

/* A container that is going has its volumes for a moment more. */
#define REMOVE_MS      3000
#define REMOVE_STEP_MS 20

struct place {
    const char *path;
    uint64_t bytes;
    uint64_t inodes;
    const char *mode;
    const char *exec; /* "exec", "noexec" */
    unsigned uid;
    unsigned gid;
};

/* Its owner is named: an engine may give it the mode that the image's directory has instead. */
static void add(struct docker_places *places, const struct place *place, bool is_volume)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char size[48];

    /* Podman takes a size for a quota of the volume's disk; blocks it hands on to the mount. */
    if (is_volume)
        (void)snprintf(size, sizeof(size), "nr_blocks=%" PRIu64, (place->bytes + page - 1) / page);
    else
        (void)snprintf(size, sizeof(size), "size=%" PRIu64, place->bytes);
    (void)snprintf(places->options[places->n], DOCKER_PLACE_OPTIONS,
                   "%snosuid,nodev,%s,%s,nr_inodes=%" PRIu64 ",mode=%s,uid=%u,gid=%u",
                   is_volume ? "" : "rw,", place->exec, size, place->inodes, place->mode,
                   place->uid, place->gid);
    places->paths[places->n++] = place->path;
}

/* The disk limit is that of the workspace, and of /tmp once more: an engine has no way to share it.
 * All of it is memory, which has a limit of its own. */
static void fill(struct docker_places *places, const struct box_spec *spec, bool are_volumes)
{
    const struct limits *limits = &spec->limits;
    const struct place all[] = {
        { BOX_WORKSPACE, limits->disk_bytes, limits->inodes, "0755", "exec", BOX_UID, BOX_GID },
        { "/tmp", limits->disk_bytes, limits->inodes, "1777", "exec", BOX_UID, BOX_GID },
        { BOX_HOME, SMALL_BYTES, SMALL_INODES, "0755", "exec", BOX_UID, BOX_GID },
        { "/var/tmp", SMALL_BYTES, SMALL_INODES, "1777", "exec", BOX_UID, BOX_GID },
        { "/run", SMALL_BYTES, SMALL_INODES, "1777", "exec", BOX_UID, BOX_GID },
        { DOCKER_DEVICES_DIR, DEVICES_BYTES, DEVICES_INODES, "0755", "noexec", 0, 0 },
    };

    for (size_t i = 0; i < N_ELEMENTS(all); i++)
        add(places, &all[i], are_volumes);
    if (spec->workdir && strcmp(spec->workdir, BOX_WORKSPACE) != 0) {
        struct place workdir = all[0];

        workdir.path = spec->workdir;
        add(places, &workdir, are_volumes);
    }
}

static int make_volume(struct engine *engine, const char *const *labels, const char *options,
                       char name[static DOCKER_PLACE_SIZE], struct gb_err *err)
{
    char id[ID_SIZE];
    int r = id_make(ID_LETTER, id);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no randomness for a name");
    (void)snprintf(name, DOCKER_PLACE_SIZE, "glovebox-place-%s", id);
    return volume_create_tmpfs(engine, name, options, labels, err);
}

int docker_places_make(struct engine *engine, const struct box_spec *spec,
                       struct docker_places *ret, struct gb_err *err)
{
    bool is_podman = engine_is_podman(engine);
    struct docker_marks marks;
    const char *labels[N_ELEMENTS(marks.labels) + 2] = { LABEL_PLACE, "true" };
    int r = 0;

    *ret = (struct docker_places){ 0 };
    fill(ret, spec, is_podman);
    if (!is_podman)
        return 0;
    docker_marks_init(spec, &marks);
    memcpy(labels + 2, marks.labels, sizeof(marks.labels));
    for (size_t i = 0; r == 0 && i < ret->n; i++)
        r = make_volume(engine, labels, ret->options[i], ret->volumes[i], err);
    return r;
}

static int remove_volume(struct engine *engine, const char *name, uint64_t deadline)
{
    const struct timespec step = { .tv_nsec = REMOVE_STEP_MS * 1000000L };
    struct gb_err ignored = { 0 };
    int r;

    while ((r = volume_remove(engine, name, &ignored)) == -EBUSY && clock_poll_ms(deadline) > 0)
        (void)nanosleep(&step, NULL);
    return r;
}

int docker_places_remove(struct engine *engine, const struct docker_places *places)
{
    uint64_t deadline = clock_after_ms(REMOVE_MS);
    int r = 0;

    for (size_t i = 0; i < places->n && r != -ETIMEDOUT; i++)
        if (places->volumes[i][0])
            r = remove_volume(engine, places->volumes[i], deadline);
    return r;
}

int docker_places_sweep(struct engine *engine, const char *run_dir, struct gb_err *err)
{
    cleanup_with(volume_list_clear) struct volume_list list = { 0 };
    int r = engine_is_podman(engine) ? volume_list(engine, LABEL_PLACE, &list, err) : 0;

    for (size_t i = 0; r == 0 && i < list.n; i++) {
        struct gb_err why = { 0 };
        int removed = docker_is_left_behind(list.items[i].labels, run_dir)
                          ? volume_remove(engine, list.items[i].name, &why)
                          : 0; /* in use: the next sweep's */

        if (removed == -ETIMEDOUT) {
            r = removed;
            *err = why;
        }
    }
    return r;
}
