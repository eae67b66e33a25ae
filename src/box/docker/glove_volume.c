/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/glove_volume.c - the volume that carries the glove to an engine.
 *
 * Filled once for each engine and version, by archive through a container that never starts, read
 * back and compared; with the files of /etc about names, which a container without a network of the
 * engine's has from nobody else.  Its name is a digest of all that is put in: a version that
 * changes any of it has a volume of its own.  A second, empty volume is the mark that it is full:
 * its label names the file.  Whoever fills takes a name of its own, and the engine keeps the first
 * mark: two that fill at once do not replace each other's file, and what somebody was killed over
 * is never used.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/id.h"
#include "base/sha256.h"
#include "box/docker/docker.h"
#include "box/docker/tar_one.h"
#include "embed/embed.h"
#include "engine/archive.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "engine/volume.h"

#define FILL_MS 60000

#define FILE_LETTER 'g'
#define GLOVE_MODE  0755
#define ETC_MODE    0644
#define BASIS_MAX   1024

/* On the mark: the file's name in the other volume. */
#define LABEL_FILE "io.glovebox.file"

static const struct {
    const char *ending;
    const char *text;
} etc[N_DOCKER_ETC] = {
    [DOCKER_ETC_HOSTS] = { "hosts", BOX_HOSTS },
    [DOCKER_ETC_RESOLV] = { "resolv", BOX_RESOLV },
};

/* From this version of its API on an engine mounts a part of a volume; one before it gets the path
 * that the volume has on its machine. */
#define API_PARTS 45

static const char *const ours[] = { DOCKER_LABEL_OURS, "true", NULL };

static ssize_t next_bytes(void *user, void *bytes, size_t size)
{
    return tar_one_read(user, bytes, size);
}

static int add_bytes(void *user, const char *bytes, size_t len)
{
    return buf_add(user, bytes, len);
}

/* What the engine gives back is what it was given? */
static int verify(struct engine *engine, const char *container, const char *file, const void *bytes,
                  size_t len, struct gb_err *err)
{
    cleanup_buf struct buf tar = BUF_INIT(1 << 20);
    char path[sizeof(DOCKER_GLOVE_DIR) + sizeof(((struct docker_glove *)NULL)->etc[0])];
    int r;

    (void)snprintf(path, sizeof(path), DOCKER_GLOVE_DIR "/%s", file);
    r = archive_get(engine, container, path, 1 << 20, add_bytes, &tar, FILL_MS, err);
    if (r < 0)
        return r;
    if (!tar_one_holds(tar.data, tar.len, bytes, len))
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER,
                       "the engine did not keep the glove as it was given");
    return 0;
}

static int put(struct engine *engine, const char *container, const char *file, unsigned mode,
               const void *bytes, size_t len, struct gb_err *err)
{
    struct tar_one tar;
    int r;

    tar_one_init(&tar, file, mode, bytes, len);
    r = archive_put(engine, container, DOCKER_GLOVE_DIR, next_bytes, &tar, FILL_MS, err);
    return r < 0 ? r : verify(engine, container, file, bytes, len, err);
}

static int fill_through(struct engine *engine, const char *container,
                        const struct docker_glove *glove, struct gb_err *err)
{
    int r =
        put(engine, container, glove->file, GLOVE_MODE, embed_glove.data, embed_glove.size, err);

    for (size_t i = 0; r == 0 && i < N_DOCKER_ETC; i++)
        r = put(engine, container, glove->etc[i], ETC_MODE, etc[i].text, strlen(etc[i].text), err);
    return r;
}

static int fill(struct engine *engine, const struct box_spec *box, const struct docker_glove *glove,
                struct gb_err *err)
{
    struct gb_err ignored = { 0 };
    char id[CONTAINER_ID_SIZE];
    int cancel_fd;
    int r = volume_create(engine, glove->volume, ours, err);

    if (r == 0)
        r = docker_create_filler(engine, box, glove->volume, DOCKER_GLOVE_DIR, id, err);
    if (r < 0)
        return r;
    r = fill_through(engine, id, glove, err);
    cancel_fd = engine_swap_cancel(engine, -1); /* what was begun is removed all the same */
    (void)container_remove(engine, id, &ignored);
    (void)engine_swap_cancel(engine, cancel_fd);
    return r;
}

/* -ENOENT: there is no mark. */
static int read_mark(struct engine *engine, const char *mark, struct docker_glove *ret,
                     struct gb_err *err)
{
    cleanup_with(volume_labels_free) char **labels = NULL;
    int r = volume_labels(engine, mark, &labels, err);

    if (r < 0)
        return r;
    for (char **label = labels; label[0] && label[1]; label += 2)
        if (strcmp(label[0], LABEL_FILE) == 0 && id_is_valid(FILE_LETTER, label[1])) {
            memcpy(ret->file, label[1], ID_SIZE);
            return 0;
        }
    return gb_fail(err, -EBADMSG, GB_BLAME_PEER,
                   "the engine's volume '%s' is not as it was made" GB_REMEDY "docker volume rm %s",
                   mark, mark);
}

static int make_mark(struct engine *engine, const char *mark, struct docker_glove *glove,
                     struct gb_err *err)
{
    const char *const labels[] = {
        DOCKER_LABEL_OURS, "true", LABEL_FILE, glove->file, NULL,
    };
    int r = volume_create(engine, mark, labels, err);

    return r < 0 ? r : read_mark(engine, mark, glove, err);
}

static void name_etc(struct docker_glove *glove)
{
    for (size_t i = 0; i < N_DOCKER_ETC; i++)
        (void)snprintf(glove->etc[i], sizeof(glove->etc[i]), "%s.%s", glove->file, etc[i].ending);
}

/* The volume filled and marked; its file may be one that somebody else was quicker with. */
static int make(struct engine *engine, const struct box_spec *spec, const char *mark,
                struct docker_glove *ret, struct gb_err *err)
{
    int r = id_make(FILE_LETTER, ret->file);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no randomness for a name");
    name_etc(ret);
    r = fill(engine, spec, ret, err);
    return r < 0 ? r : make_mark(engine, mark, ret, err);
}

/* By a line for each file: what its name ends in, its mode, the digest of its bytes. */
static int name_volume(struct docker_glove *glove, struct gb_err *err)
{
    cleanup_buf struct buf basis = BUF_INIT(BASIS_MAX);
    char hash[SHA256_HEX_SIZE];

    (void)buf_printf(&basis, "glove %o %s\n", (unsigned)GLOVE_MODE, embed_glove.sha256);
    for (size_t i = 0; i < N_DOCKER_ETC; i++) {
        sha256_hex(etc[i].text, strlen(etc[i].text), hash);
        (void)buf_printf(&basis, "%s %o %s\n", etc[i].ending, (unsigned)ETC_MODE, hash);
    }
    if (buf_error(&basis) < 0)
        return gb_fail(err, buf_error(&basis), GB_BLAME_HOST, "no memory for a name");
    sha256_hex(basis.data, basis.len, hash);
    (void)snprintf(glove->volume, sizeof(glove->volume), "glovebox-glove-%s", hash);
    return 0;
}

int docker_glove_find(struct engine *engine, const struct box_spec *spec, struct docker_glove *ret,
                      struct gb_err *err)
{
    char mark[sizeof(ret->volume) + 8];
    struct gb_err why = { 0 };
    int r;

    *ret = (struct docker_glove){ 0 };
    r = name_volume(ret, err);
    if (r < 0)
        return r;
    (void)snprintf(mark, sizeof(mark), "%s-filled", ret->volume);
    r = read_mark(engine, mark, ret, &why);
    if (r < 0 && r != -ENOENT && err)
        *err = why;
    if (r == -ENOENT)
        r = make(engine, spec, mark, ret, err);
    if (r < 0)
        return r;
    name_etc(ret);
    return docker_is_offline(engine, spec) && engine_api(engine) < API_PARTS
               ? volume_path(engine, ret->volume, ret->dir, err)
               : 0;
}
