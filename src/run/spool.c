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

/* Of all names together: with SPOOL_FILES_MAX long ones a box would fill the host's disk. */
#define HEADS_MAX ((uint64_t)64 << 20)

/* A crate lies in the file. */
struct spool {
    int fd;
    uint64_t size;
    uint64_t heads;
    uint64_t left_behind;
};

void spool_free(struct spool *spool)
{
    if (!spool)
        return;
    drop_fd(&spool->fd);
    free(spool);
}

static int on_data(void *user, const uint8_t *bytes, size_t len)
{
    struct spool *spool = user;

    spool->size += len;
    return fd_write_full(spool->fd, bytes, len);
}

static int put_head(struct spool *spool, enum crate_kind kind, const char *path, unsigned mode,
                    uint64_t size)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_kind_put(kind, path, mode, size, head);

    if (n < 0)
        return n;
    spool->heads += (uint64_t)n;
    return spool->heads > HEADS_MAX ? -EFBIG : on_data(spool, head, (size_t)n);
}

static int on_item(void *user, const struct crate_item *item)
{
    return put_head(user, item->kind, item->path, item->mode, item->size);
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
    cleanup_spool struct spool *spool = calloc(1, sizeof(*spool));
    struct box_get_spec spec = {
        .dir = dir,
        .path = "",
        .max_files = SPOOL_FILES_MAX,
        .max_bytes = max_bytes,
        .has_all_kinds = true,
    };
    int r;

    if (!spool)
        return gb_no_memory(err);
    spool->fd = nameless(place, err);
    if (spool->fd < 0)
        return spool->fd;
    spec.ret_passed_over = &spool->left_behind;
    r = box_get(box, &spec, &ops, spool, err);
    if (r < 0)
        return r;
    r = put_head(spool, CRATE_FILE, "", 0, 0);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing down files of a box: %s", strerror(-r));
    *ret = take_ptr(spool);
    return 0;
}

uint64_t spool_left_behind(const struct spool *spool)
{
    return spool->left_behind;
}

int spool_give(struct spool *spool, struct box *box, const char *dir, struct gb_err *err)
{
    if (lseek(spool->fd, 0, SEEK_SET) < 0)
        return gb_fail_sys(err, "files of a box");
    return box_put_crate(box, dir, spool->fd, spool->size, err);
}
