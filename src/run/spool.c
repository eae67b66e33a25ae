/* SPDX-License-Identifier: Apache-2.0 */
/* run/spool.c - the files of a box, held by the host on their way into another box. */
#include "run/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "wire/crate.h"

/* Contents lie in the file one behind another, as the list has them. */
struct spool {
    int fd;
    struct box_file *files;
    size_t n;
};

void spool_free(struct spool *spool)
{
    if (!spool)
        return;
    for (size_t i = 0; i < spool->n; i++)
        free((char *)(uintptr_t)spool->files[i].path); /* ours, made by on_item() */
    free(spool->files);
    drop_fd(&spool->fd);
    free(spool);
}

static int on_item(void *user, const struct crate_item *item)
{
    struct spool *spool = user;
    struct box_file *files = reallocarray(spool->files, spool->n + 1, sizeof(*files));
    char *path = files ? strdup(item->path) : NULL;

    if (files)
        spool->files = files;
    if (!path)
        return -ENOMEM;
    files[spool->n++] = (struct box_file){
        .path = path,
        .mode = item->mode,
        .fd = spool->fd,
        .size = item->size,
    };
    return 0;
}

static int on_data(void *user, const uint8_t *bytes, size_t len)
{
    const struct spool *spool = user;

    return fd_write_full(spool->fd, bytes, len);
}

static int on_done(void *user)
{
    (void)user;
    return 0;
}

static const struct crate_ops ops = { on_item, on_data, on_done };

/* A file without a name: nothing is left of it, however this process ends. */
static int nameless(const char *place, struct gb_err *err)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof(path), "%s/.spool-XXXXXX", place) >= (int)sizeof(path))
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.100s…': too long", place);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return gb_fail_sys(err, "a place for files of a box");
    (void)unlink(path);
    return fd;
}

int spool_take(struct box *box, const char *dir, uint64_t max_bytes, const char *place,
               struct spool **ret, struct gb_err *err)
{
    const struct box_get_spec spec = {
        .dir = dir,
        .path = "",
        .max_files = SPOOL_FILES_MAX,
        .max_bytes = max_bytes,
    };
    cleanup_spool struct spool *spool = calloc(1, sizeof(*spool));
    int r;

    if (!spool)
        return gb_no_memory(err);
    spool->fd = nameless(place, err);
    if (spool->fd < 0)
        return spool->fd;
    r = box_get(box, &spec, &ops, spool, err);
    if (r == 0)
        *ret = take_ptr(spool);
    return r;
}

int spool_give(struct spool *spool, struct box *box, const char *dir, struct gb_err *err)
{
    uint64_t mark;

    if (spool->n == 0)
        return 0;
    if (lseek(spool->fd, 0, SEEK_SET) < 0)
        return gb_fail_sys(err, "files of a box");
    return box_put(box, dir, spool->files, spool->n, &mark, err);
}
