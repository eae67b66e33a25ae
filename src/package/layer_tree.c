/* SPDX-License-Identifier: Apache-2.0 */
/* package/layer_tree.c - the files of a layer on the host. */
#include "package/layer_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/box.h"
#include "package/index.h"
#include "wire/crate.h"

/* Secrets are shorter: what is kept of one piece to look across the edge of the next. */
#define EDGE 1024

/* ---- out of a box --------------------------------------------------------------------------- */

struct taker {
    const struct layer_tree_take *take;
    int fd; /* of the present file */
    bool is_leaking;
    char edge[2 * EDGE];
    size_t n_edge;
    struct gb_err *err;
};

static int full(struct taker *t, const char *path)
{
    return gb_fail(t->err, -errno, GB_BLAME_HOST, "writing '%.100s' into the cache: %s%s", path,
                   strerror(errno),
                   errno == ENOSPC || errno == EDQUOT ? GB_REMEDY
                       "make room there, or glovebox cache prune"
                                                      : "");
}

static int take_item(void *user, const struct crate_item *item)
{
    struct taker *t = user;
    const char *name = path_base(item->path);
    size_t above = name > item->path ? (size_t)(name - item->path) - 1 : 0;
    cleanup_close int dir = dir_make_beneath(t->take->tree_fd, item->path, above, 0);

    if (dir < 0) {
        errno = -dir;
        return full(t, item->path);
    }
    t->n_edge = 0;
    t->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   item->mode & 0100 ? 0755 : 0644);
    return t->fd < 0 ? full(t, item->path) : 0;
}

/* A secret may lie across two pieces. */
static void look_for_secrets(struct taker *t, const uint8_t *bytes, size_t len)
{
    const struct package_index *index = t->take->index;
    size_t head = len < EDGE ? len : EDGE;

    if (index->n_secrets == 0)
        return;
    memcpy(t->edge + t->n_edge, bytes, head);
    t->is_leaking |=
        index_leaks(index, t->edge, t->n_edge + head) || index_leaks(index, bytes, len);
    if (len >= EDGE) {
        memcpy(t->edge, bytes + len - EDGE, EDGE);
        t->n_edge = EDGE;
    } else {
        size_t all = t->n_edge + head;
        size_t keep = all < EDGE ? all : EDGE;

        memmove(t->edge, t->edge + all - keep, keep);
        t->n_edge = keep;
    }
}

static int take_data(void *user, const uint8_t *bytes, size_t len)
{
    struct taker *t = user;
    int r = fd_write_full(t->fd, bytes, len);

    look_for_secrets(t, bytes, len);
    if (t->is_leaking)
        return gb_fail(t->err, -EACCES, GB_BLAME_HOST,
                       "a file of the packages has the index's own password or token in it; it is "
                       "not kept");
    if (r == 0)
        return 0;
    errno = -r;
    return full(t, "a file");
}

static int take_done(void *user)
{
    struct taker *t = user;
    int fd = take_fd(&t->fd);

    return close(fd) < 0 ? full(t, "a file") : 0;
}

static const struct crate_ops take_ops = {
    .item = take_item,
    .data = take_data,
    .done = take_done,
};

int layer_tree_take(const struct layer_tree_take *take, struct gb_err *err)
{
    struct gb_err inner = { 0 };
    struct taker taker = { .take = take, .fd = -1, .err = &inner };
    struct box_get_spec spec = {
        .dir = take->dir,
        .path = "",
        .max_files = LAYER_FILES_MAX,
        .max_bytes = take->max_bytes,
    };
    int r = box_get(take->box, &spec, &take_ops, &taker, err);

    drop_fd(&taker.fd);
    if (r == -EFBIG && !inner.code)
        (void)gb_fail(&inner, r, GB_BLAME_HOST,
                      "these packages have more than %d files, or more bytes than packages.disk "
                      "allows" GB_REMEDY "ask for fewer packages at a time",
                      LAYER_FILES_MAX);
    if (inner.code && err)
        *err = inner;
    return r < 0 && inner.code ? inner.code : r;
}

/* ---- on the host ---------------------------------------------------------------------------- */

static FTS *walk(const char *path)
{
    char copy[4096];
    char *const roots[] = { copy, NULL };

    if (strlen(path) >= sizeof(copy)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(copy, path, strlen(path) + 1);
    return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
}

static int seal_entry(const FTSENT *entry, struct gb_err *err)
{
    const struct stat *st = entry->fts_statp;
    bool is_dir = entry->fts_info == FTS_D;
    mode_t mode = is_dir || st->st_mode & S_IXUSR ? 0755 : 0644;

    if (!is_dir && entry->fts_info != FTS_F)
        return gb_fail(err, -EBADMSG, GB_BLAME_HOST, "'%.200s' is neither a file nor a directory",
                       entry->fts_path);
    if (st->st_uid != geteuid() || (!is_dir && st->st_nlink != 1))
        return gb_fail(err, -EPERM, GB_BLAME_HOST, "'%.200s' is not this user's alone",
                       entry->fts_path);
    if ((st->st_mode & 07777) == mode)
        return 0;
    return fchmodat(AT_FDCWD, entry->fts_path, mode, 0) < 0
               ? gb_fail_sys(err, "'%.200s'", entry->fts_path)
               : 0;
}

int layer_tree_seal(const char *path, uint64_t *ret_files, uint64_t *ret_bytes, struct gb_err *err)
{
    FTS *fts = walk(path);
    const FTSENT *entry;
    int r = 0;

    *ret_files = 0;
    *ret_bytes = 0;
    if (!fts)
        return gb_fail_sys(err, "'%.200s'", path);
    while (r == 0 && (entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_DP)
            continue;
        r = seal_entry(entry, err);
        if (entry->fts_info == FTS_F) {
            (*ret_files)++;
            *ret_bytes += (uint64_t)entry->fts_statp->st_size;
        }
    }
    (void)fts_close(fts);
    return r;
}

int layer_tree_remove(const char *path, struct gb_err *err)
{
    FTS *fts = walk(path);
    const FTSENT *entry;
    int failed = 0;

    if (!fts)
        return errno == ENOENT ? 0 : gb_fail_sys(err, "'%.200s'", path);
    while ((entry = fts_read(fts)) != NULL) {
        bool is_dir = entry->fts_info == FTS_DP || entry->fts_info == FTS_DNR;

        if (entry->fts_info == FTS_D || (entry->fts_info == FTS_NS && entry->fts_errno == ENOENT))
            continue;
        if (unlinkat(AT_FDCWD, entry->fts_path, is_dir ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
            failed = errno;
    }
    (void)fts_close(fts);
    errno = failed;
    return failed ? gb_fail_sys(err, "removing '%.200s'", path) : 0;
}
