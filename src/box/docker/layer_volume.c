/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/layer_volume.c - trees of this machine, such as packages, for containers.
 *
 * A bind mount would show a path of this machine, and an engine elsewhere has no such path.  So
 * each tree is copied into a volume once for each engine, by archive through a container that never
 * starts.  A second, empty volume is the mark that says so: its label names the first.  Whoever
 * fills takes a name of its own, and the engine keeps the first mark: nobody sees a volume that is
 * half full, and what somebody was killed over is never used.
 *
 * The tree here stays what counts: a volume is a copy, which docker_layers_prune() may remove.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/sha256.h"
#include "box/docker/docker.h"
#include "engine/archive.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "engine/volume.h"
#include "image/context_stream.h"

#define FILL_MS    600000
#define FILL_DIR   "/.glovebox-layer"
#define ENTRIES    500000
#define BYTES      (16ULL << 30)
#define BASIS_MAX  8192
#define ID_LETTER  'l'
#define NAME_BEGIN "glovebox-layer-"

/* On the mark: the volume that has the files.  On that one: that it is one of these. */
#define LABEL_VOLUME "io.glovebox.volume"
#define LABEL_LAYER  "io.glovebox.layer"

/* What tells a tree from all others, also from one that was there before under the same path. */
static int mark_name(int tree_fd, const char *source, char ret[static DOCKER_VOLUME_SIZE],
                     struct gb_err *err)
{
    cleanup_buf struct buf basis = BUF_INIT(BASIS_MAX);
    char hash[SHA256_HEX_SIZE];
    struct stat st;

    if (fstat(tree_fd, &st) < 0)
        return gb_fail_sys(err, "the layer '%s'", source);
    if (buf_printf(&basis, "%s %ju %ju %jd.%09ld", source, (uintmax_t)st.st_dev,
                   (uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec) < 0)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the layer '%.100s…' lies too deep",
                       source);
    sha256_hex(basis.data, basis.len, hash);
    (void)snprintf(ret, DOCKER_VOLUME_SIZE, NAME_BEGIN "%.40s", hash);
    return 0;
}

static const char *label_of(char *const *labels, const char *name)
{
    for (; labels && labels[0] && labels[1]; labels += 2)
        if (strcmp(labels[0], name) == 0)
            return labels[1];
    return NULL;
}

/* ---- filling -------------------------------------------------------------------------------- */

static int put_tree(struct engine *engine, const char *container, int tree_fd, struct gb_err *err)
{
    const struct context_spec spec = {
        .dir_fd = tree_fd,
        .max_entries = ENTRIES,
        .max_bytes = BYTES,
    };
    struct context_stream *stream = NULL;
    struct context_report report;
    struct gb_err why = { 0 };
    int r = context_stream_open(&spec, &stream, err);
    int read;

    if (r < 0)
        return r;
    r = archive_put(engine, container, FILL_DIR, context_stream_read, stream, FILL_MS, err);
    read = context_stream_close(&stream, &report, &why);
    if (read < 0 && err)
        *err = why;
    return read < 0 ? read : r;
}

/* A container that was only to fill; also when somebody has cancelled meanwhile. */
static void remove_filler(struct engine *engine, char id[static CONTAINER_ID_SIZE])
{
    struct gb_err ignored = { 0 };
    int cancel_fd;

    if (!*id)
        return;
    cancel_fd = engine_swap_cancel(engine, -1);
    (void)container_remove(engine, id, &ignored);
    (void)engine_swap_cancel(engine, cancel_fd);
    id[0] = '\0';
}

/* ---- finding -------------------------------------------------------------------------------- */

/* A volume that somebody removed comes back empty with the next container that names it, and
 * without its label: -ESTALE.  An engine that did not answer has said nothing of it. */
static int check_layer(struct engine *engine, const char *volume, struct gb_err *err)
{
    cleanup_with(volume_labels_free) char **labels = NULL;
    int r = volume_labels(engine, volume, &labels, err);

    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0 && label_of(labels, LABEL_LAYER))
        return 0;
    return gb_fail(err, -ESTALE, GB_BLAME_PEER, "the engine's volume '%s' has been removed",
                   volume);
}

/* -ENOENT: there is no mark; -ESTALE: it leads nowhere. */
static int read_mark(struct engine *engine, const char *mark, char ret[static DOCKER_VOLUME_SIZE],
                     struct gb_err *err)
{
    cleanup_with(volume_labels_free) char **labels = NULL;
    const char *volume;
    int r = volume_labels(engine, mark, &labels, err);

    if (r < 0)
        return r;
    volume = label_of(labels, LABEL_VOLUME);
    if (!volume || strncmp(volume, mark, strlen(mark)) != 0 || strlen(volume) >= DOCKER_VOLUME_SIZE)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER,
                       "the engine's volume '%s' is not as it was made" GB_REMEDY
                       "docker volume rm %s",
                       mark, mark);
    (void)snprintf(ret, DOCKER_VOLUME_SIZE, "%s", volume);
    return check_layer(engine, volume, err);
}

/* A prune may remove a volume before anything holds it; so often it is made. */
#define HOLD_TRIES 16
#define MARK_TRIES 4

/* An engine that fails over a volume which is not there has lost it on the way: Podman's removal of
 * one and its making of the next of that name, or of its container, are in each other's way. */
static int lost_or(struct engine *engine, const char *volume, int r)
{
    struct gb_err ignored = { 0 };
    bool is_lost = engine_is_podman(engine) && check_layer(engine, volume, &ignored) == -ESTALE;

    return is_lost ? -ESTALE : r;
}

/* Nobody will name it. */
static void remove_ours(struct engine *engine, const char *volume)
{
    int cancel_fd = engine_swap_cancel(engine, -1);
    struct gb_err ignored = { 0 };

    (void)volume_remove(engine, volume, &ignored);
    (void)engine_swap_cancel(engine, cancel_fd);
}

/* A new volume and what holds it: the container through which it is filled, and which goes on
 * holding it; its id in filler. */
static int hold(struct engine *engine, const struct box_spec *box, const char *volume,
                const char *const *labels, char filler[static CONTAINER_ID_SIZE],
                struct gb_err *err)
{
    struct gb_err why = { 0 };
    int r = -ESTALE;

    for (unsigned i = 0; r == -ESTALE && i < HOLD_TRIES; i++) {
        r = volume_create(engine, volume, labels, &why);
        if (r == 0)
            r = docker_create_filler(engine, box, volume, FILL_DIR, filler, &why);
        if (r < 0)
            filler[0] = '\0';
        r = r < 0 ? lost_or(engine, volume, r) : check_layer(engine, volume, &why);
        if (r < 0) {
            remove_filler(engine, filler);
            remove_ours(engine, volume);
        }
    }
    if (r < 0 && err)
        *err = why;
    return r < 0 ? why.code : 0; /* what the engine said last: it has been tried often enough */
}

/* Leads to the volume, or to another one's that was first. */
static int make_mark(struct engine *engine, const char *mark, const char *const *labels,
                     char ret[static DOCKER_VOLUME_SIZE], struct gb_err *err)
{
    unsigned tries = engine_is_podman(engine) ? MARK_TRIES : 1;
    struct gb_err ignored = { 0 };
    int r;

    /* Podman may have been removing one of that name. */
    do {
        r = volume_create(engine, mark, labels, err);
    } while (r < 0 && --tries > 0 && read_mark(engine, mark, ret, &ignored) == -ENOENT);
    if (r == 0)
        r = read_mark(engine, mark, ret, err);
    if (r == -ENOENT)
        r = gb_fail(err, -ESTALE, GB_BLAME_PEER, "the engine's volume '%s' has been removed", mark);
    return r;
}

/* Another one's mark may have been first: then its volume is the one. */
static int make(struct engine *engine, const struct box_spec *box, const char *mark, int tree_fd,
                char ret[static DOCKER_VOLUME_SIZE], char filler[static CONTAINER_ID_SIZE],
                struct gb_err *err)
{
    const char *const ours[] = { DOCKER_LABEL_OURS, "true", LABEL_LAYER, mark, NULL };
    char volume[DOCKER_VOLUME_SIZE];
    const char *const labels[] = { DOCKER_LABEL_OURS, "true", LABEL_VOLUME, volume, NULL };
    char id[ID_SIZE];
    int r = id_make(ID_LETTER, id);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no randomness for a name");
    (void)snprintf(volume, sizeof(volume), "%.60s-%s", mark, id);
    r = hold(engine, box, volume, ours, filler, err);
    if (r == 0)
        r = put_tree(engine, filler, tree_fd, err);
    if (r == 0)
        r = make_mark(engine, mark, labels, ret, err);
    if (r < 0 || strcmp(ret, volume) != 0) {
        remove_filler(engine, filler);
        remove_ours(engine, volume);
    }
    return r;
}

static int find(struct engine *engine, const struct box_spec *box, const char *source,
                char ret[static DOCKER_VOLUME_SIZE], char filler[static CONTAINER_ID_SIZE],
                struct gb_err *err)
{
    cleanup_close int tree_fd = open(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char mark[DOCKER_VOLUME_SIZE];
    struct gb_err why = { 0 };
    int r = tree_fd < 0 ? gb_fail_sys(err, "the layer '%s'", source)
                        : mark_name(tree_fd, source, mark, err);

    if (r < 0)
        return r;
    r = read_mark(engine, mark, ret, &why);
    if (r == -ESTALE)
        r = volume_remove(engine, mark, &why) < 0 ? why.code : -ENOENT;
    if (r == -ENOENT)
        return make(engine, box, mark, tree_fd, ret, filler, err);
    if (r < 0 && err)
        *err = why;
    return r;
}

int docker_layers_check(struct engine *engine, const struct docker_layers *layers,
                        struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < layers->n; i++)
        r = check_layer(engine, layers->volumes[i], err);
    if (r == -ESTALE)
        return gb_fail(err, r, GB_BLAME_PEER,
                       "packages of the box were removed from the engine meanwhile" GB_REMEDY
                       "run it again");
    return r;
}

void docker_layers_drop(struct engine *engine, const struct docker_layers *layers)
{
    struct gb_err ignored = { 0 };

    for (size_t i = 0; i < layers->n; i++)
        if (check_layer(engine, layers->volumes[i], &ignored) == -ESTALE)
            (void)volume_remove(engine, layers->volumes[i], &ignored);
}

int docker_layers_find(struct engine *engine, const struct box_spec *box, struct docker_layers *ret,
                       struct gb_err *err)
{
    *ret = (struct docker_layers){ 0 };
    for (const struct box_layer *layer = box->layers; layer && layer->source; layer++) {
        int r =
            ret->n < DOCKER_LAYERS_MAX
                ? find(engine, box, layer->source, ret->volumes[ret->n], ret->fillers[ret->n], err)
                : gb_fail(err, -E2BIG, GB_BLAME_CALLER, "at most %d layers", DOCKER_LAYERS_MAX);

        if (r < 0)
            return r;
        ret->n++;
    }
    return 0;
}

void docker_layers_release(struct engine *engine, struct docker_layers *layers)
{
    for (size_t i = 0; i < layers->n; i++)
        remove_filler(engine, layers->fillers[i]);
}

/* ---- removing ------------------------------------------------------------------------------- */

/* Of two that filled at once one has the mark. */
static bool names_volume(struct engine *engine, const char *mark, const char *volume)
{
    cleanup_with(volume_labels_free) char **labels = NULL;
    struct gb_err ignored = { 0 };
    const char *named =
        volume_labels(engine, mark, &labels, &ignored) < 0 ? NULL : label_of(labels, LABEL_VOLUME);

    return named && strcmp(named, volume) == 0;
}

/* A volume in use is refused by the engine; marks are in nobody's use, and go with what they name.
 */
int docker_layers_prune(struct engine *engine, size_t *ret_n, struct gb_err *err)
{
    cleanup_with(volume_list_clear) struct volume_list list = { 0 };
    int r = volume_list(engine, LABEL_LAYER, &list, err);

    *ret_n = 0;
    for (size_t i = 0; r == 0 && i < list.n; i++) {
        const struct volume_item *item = &list.items[i];
        const char *mark = label_of(item->labels, LABEL_LAYER);
        struct gb_err ignored = { 0 };

        if (volume_remove(engine, item->name, &ignored) < 0)
            continue;
        if (mark && names_volume(engine, mark, item->name))
            (void)volume_remove(engine, mark, &ignored);
        (*ret_n)++;
    }
    return r;
}
