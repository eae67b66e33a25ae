/* SPDX-License-Identifier: Apache-2.0 */
/* run/workspace.c - a directory of the host as the workspace of a box. */
#include "run/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "run/save.h"
#include "wire/crate.h"

/* Files are sent in batches, so that few descriptors are open at a time. */
#define BATCH 64

struct walker {
    struct box *box;
    const char *box_dir;
    uint64_t *mark;
    struct gb_err *err;
    struct box_file files[BATCH];
    char *paths[BATCH];
    size_t n;
    uint64_t total;
};

static void batch_clear(struct walker *w)
{
    for (size_t i = 0; i < w->n; i++) {
        close(w->files[i].fd);
        free(w->paths[i]);
    }
    w->n = 0;
}

static int batch_send(struct walker *w)
{
    int r = w->n ? box_put(w->box, w->box_dir, w->files, w->n, w->mark, w->err) : 0;

    batch_clear(w);
    return r;
}

static int batch_add(struct walker *w, int dir_fd, const char *name, const char *path)
{
    cleanup_close int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return gb_fail_sys(w->err, "reading '%s' of the workspace", path);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (++w->total > WORKSPACE_FILES_MAX)
        return gb_fail(w->err, -EFBIG, GB_BLAME_CALLER, "the workspace has more than %d files",
                       WORKSPACE_FILES_MAX);
    w->paths[w->n] = strdup(path);
    if (!w->paths[w->n])
        return gb_fail(w->err, -ENOMEM, GB_BLAME_HOST, "no memory for the workspace");
    w->files[w->n] = (struct box_file){
        .path = w->paths[w->n],
        .mode = st.st_mode & 0100 ? 0755 : 0644,
        .fd = take_fd(&fd),
        .size = (uint64_t)st.st_size,
    };
    w->n++;
    return w->n == BATCH ? batch_send(w) : 0;
}

/* A DT_*; file systems that do not tell the type leave it to a look. */
static int kind_of(int dir_fd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return (int)IFTODT(st.st_mode);
}

static int walk(struct walker *w, int dir_fd, const char *prefix, unsigned depth);

/* The depth is bounded, so the recursion is.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int walk_entry(struct walker *w, int dir_fd, const struct dirent *entry, const char *prefix,
                      unsigned depth)
{
    char path[PATH_MAX];
    int child;
    int kind;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return 0;
    if (snprintf(path, sizeof(path), "%s%s%s", prefix, prefix[0] ? "/" : "", entry->d_name) >=
        PATH_MAX)
        return gb_fail(w->err, -ENAMETOOLONG, GB_BLAME_CALLER,
                       "a path of the workspace is too long");
    kind = kind_of(dir_fd, entry);
    if (kind < 0)
        return gb_fail_sys(w->err, "reading '%s' of the workspace", path);
    if (kind == DT_REG)
        return batch_add(w, dir_fd, entry->d_name, path);
    if (kind != DT_DIR)
        return 0; /* links, pipes, sockets and devices do not travel */
    if (depth == WORKSPACE_DEPTH_MAX)
        return gb_fail(w->err, -ELOOP, GB_BLAME_CALLER, "the workspace is deeper than %d levels",
                       WORKSPACE_DEPTH_MAX);
    child = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0)
        return gb_fail_sys(w->err, "opening '%s' of the workspace", path);
    return walk(w, child, path, depth + 1);
}

/* Takes dir_fd over.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int walk(struct walker *w, int dir_fd, const char *prefix, unsigned depth)
{
    DIR *dir = fdopendir(dir_fd);
    const struct dirent *entry;
    int r = 0;

    if (!dir) {
        close(dir_fd);
        return gb_fail_sys(w->err, "reading the workspace");
    }
    while (r == 0 && (entry = readdir(dir)) != NULL)
        r = walk_entry(w, dirfd(dir), entry, prefix, depth);
    closedir(dir);
    return r;
}

static int walk_from(struct walker *w, const char *host_dir)
{
    int fd = open(host_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return gb_fail_sys(w->err, "opening the workspace '%s'", host_dir);
    return walk(w, fd, "", 0);
}

int workspace_put(struct box *box, const char *host_dir, const char *box_dir, uint64_t *ret_mark,
                  struct gb_err *err)
{
    cleanup_free struct walker *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the workspace");
    w->box = box;
    w->box_dir = box_dir;
    w->mark = ret_mark;
    w->err = err;
    r = walk_from(w, host_dir);
    if (r == 0)
        r = batch_send(w);
    batch_clear(w);
    return r;
}

/* ---- back ----------------------------------------------------------------------------------- */

struct keeper {
    int base_fd;
    struct save save;
    bool is_open;
    struct gb_err err;
};

static int keep_item(void *user, const struct crate_item *item)
{
    struct keeper *keeper = user;

    keeper->is_open = true;
    return save_begin(&keeper->save, keeper->base_fd, item->path, item->mode, &keeper->err);
}

static int keep_data(void *user, const uint8_t *bytes, size_t len)
{
    struct keeper *keeper = user;

    return save_add(&keeper->save, bytes, len, &keeper->err);
}

static int keep_done(void *user)
{
    struct keeper *keeper = user;

    keeper->is_open = false;
    return save_commit(&keeper->save, &keeper->err);
}

static const struct crate_ops keep_ops = {
    .item = keep_item,
    .data = keep_data,
    .done = keep_done,
};

int workspace_get(struct box *box, const char *host_dir, const char *box_dir, uint64_t mark,
                  uint64_t max_files, uint64_t max_bytes, struct gb_err *err)
{
    cleanup_close int base = open(host_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct keeper keeper = { .base_fd = base };
    struct box_get_spec spec = {
        .dir = box_dir,
        .path = "",
        .has_since = mark != 0,
        .since = mark,
        .max_files = max_files,
        .max_bytes = max_bytes,
    };
    int r;

    if (base < 0)
        return gb_fail_sys(err, "opening the workspace '%s'", host_dir);
    r = box_get(box, &spec, &keep_ops, &keeper, err);
    if (keeper.is_open)
        save_abort(&keeper.save);
    if (keeper.err.code && err)
        *err = keeper.err;
    return r;
}
