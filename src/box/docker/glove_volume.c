/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/glove_volume.c - the volume that carries the glove to an engine.
 *
 * Filled once for each engine and version, by archive through a container that never starts, read
 * back and compared.  A second, empty volume says that the first is complete: one that somebody was
 * killed over is filled again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/docker/docker.h"
#include "box/docker/tar_one.h"
#include "embed/embed.h"
#include "engine/archive.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "engine/volume.h"

#define FILL_MS 60000

static const char *const labels[] = { DOCKER_LABEL_OURS, "true", NULL };

static ssize_t next_bytes(void *user, void *bytes, size_t size)
{
    return tar_one_read(user, bytes, size);
}

static int add_bytes(void *user, const char *bytes, size_t len)
{
    return buf_add(user, bytes, len);
}

/* What the engine gives back is what it was given? */
static int verify(struct engine *engine, const char *container, struct gb_err *err)
{
    cleanup_buf struct buf tar = BUF_INIT(1 << 20);
    int r = archive_get(engine, container, DOCKER_GLOVE_DIR "/glove", 1 << 20, add_bytes, &tar,
                        FILL_MS, err);

    if (r < 0)
        return r;
    if (!tar_one_holds(tar.data, tar.len, embed_glove.data, embed_glove.size))
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER,
                       "the engine did not keep the glove as it was given");
    return 0;
}

static int fill_through(struct engine *engine, const char *container, struct gb_err *err)
{
    struct tar_one tar;
    int r;

    tar_one_init(&tar, "glove", 0755, embed_glove.data, embed_glove.size);
    r = archive_put(engine, container, DOCKER_GLOVE_DIR, next_bytes, &tar, FILL_MS, err);
    return r < 0 ? r : verify(engine, container, err);
}

static int fill(struct engine *engine, const char *image, const char *volume, struct gb_err *err)
{
    static const char *const nothing[] = { "/nothing", NULL };
    const struct container_mount mounts[] = {
        { .type = "volume", .source = volume, .target = DOCKER_GLOVE_DIR, .is_no_copy = true },
        { 0 },
    };
    const char *const expiring[] = {
        DOCKER_LABEL_OURS, "true", DOCKER_LABEL_EXPIRES, "0", NULL,
    };
    struct container_spec spec = {
        .image = image,
        .entrypoint = nothing,
        .labels = expiring,
        .network_mode = "none",
        .mounts = mounts,
    };
    struct gb_err ignored = { 0 };
    char id[CONTAINER_ID_SIZE];
    int r = volume_create(engine, volume, labels, err);

    if (r == 0)
        r = container_create(engine, &spec, id, err);
    if (r < 0)
        return r;
    r = fill_through(engine, id, err);
    (void)container_remove(engine, id, &ignored);
    return r;
}

int docker_glove_volume(struct engine *engine, const char *image,
                        char ret[static DOCKER_VOLUME_MAX], struct gb_err *err)
{
    char mark[DOCKER_VOLUME_MAX + 8];
    struct gb_err unknown = { 0 };
    char **found = NULL;
    int r;

    (void)snprintf(ret, DOCKER_VOLUME_MAX, "glovebox-glove-%s", embed_glove.sha256);
    (void)snprintf(mark, sizeof(mark), "%s-ready", ret);
    r = volume_labels(engine, mark, &found, &unknown);
    volume_labels_free(&found);
    if (r == 0)
        return 0;
    if (r != -ENOENT) {
        if (err)
            *err = unknown;
        return r;
    }
    r = fill(engine, image, ret, err);
    return r < 0 ? r : volume_create(engine, mark, labels, err);
}
