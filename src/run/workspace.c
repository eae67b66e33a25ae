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
#include "run/result.h"
#include "run/room.h"
#include "run/save.h"
#include "run/touch.h"
#include "wire/crate.h"

/* Files are sent in batches, so that few descriptors are open at a time. */
#define BATCH 64

/* Of files that could not be copied back, so many are named, each with so much of its path. */
#define NOTES_MAX 10
#define NOTED_MAX 200

struct walker {
    struct box *box;
    const struct workspace_in *in;
    uint64_t *mark;
    struct gb_err *err;
    struct box_file files[BATCH];
    char *paths[BATCH];
    size_t n;
    uint64_t total;
    uint64_t used;
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
    int r = w->n ? box_put(w->box, w->in->box_dir, w->files, w->n, w->mark, w->err) : 0;

    batch_clear(w);
    return r;
}

static int batch_add(struct walker *w, int dir_fd, const char *name, const char *path)
{
    cleanup_close int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return gb_fail_sys(w->err, "reading '%s' of %s", path, w->in->what);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (++w->total > WORKSPACE_FILES_MAX)
        return gb_fail(w->err, -EFBIG, GB_BLAME_CALLER, "%s has more than %d files", w->in->what,
                       WORKSPACE_FILES_MAX);
    w->used += room_of((uint64_t)st.st_size);
    r = room_check(w->in->limits, w->used, w->in->used_shared, w->err);
    if (r < 0)
        return r;
    w->paths[w->n] = strdup(path);
    if (!w->paths[w->n])
        return gb_fail(w->err, -ENOMEM, GB_BLAME_HOST, "no memory for files");
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
        return gb_fail(w->err, -ENAMETOOLONG, GB_BLAME_CALLER, "a path of %s is too long",
                       w->in->what);
    kind = kind_of(dir_fd, entry);
    if (kind < 0)
        return gb_fail_sys(w->err, "reading '%s' of %s", path, w->in->what);
    if (kind == DT_REG)
        return batch_add(w, dir_fd, entry->d_name, path);
    if (kind != DT_DIR)
        return 0; /* links, pipes, sockets and devices do not travel */
    if (depth == WORKSPACE_DEPTH_MAX)
        return gb_fail(w->err, -ELOOP, GB_BLAME_CALLER, "%s is deeper than %d levels", w->in->what,
                       WORKSPACE_DEPTH_MAX);
    child = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0)
        return gb_fail_sys(w->err, "opening '%s' of %s", path, w->in->what);
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
        return gb_fail_sys(w->err, "reading %s", w->in->what);
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
        return gb_fail_sys(w->err, "opening '%s'", host_dir);
    return walk(w, fd, w->in->prefix, 0);
}

int workspace_put(struct box *box, const struct workspace_in *in, uint64_t *ret_mark,
                  struct gb_err *err)
{
    cleanup_free struct walker *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for files");
    w->box = box;
    w->in = in;
    w->used = in->used;
    w->mark = ret_mark;
    w->err = err;
    r = walk_from(w, in->host_dir);
    if (r == 0)
        r = batch_send(w);
    batch_clear(w);
    return r;
}

/* ---- back ----------------------------------------------------------------------------------- */

struct keeper {
    const struct workspace_back *back;
    struct run_result *result;
    int base_fd;
    struct save save;
    bool is_open;         /* the present file is being written */
    char path[NOTED_MAX]; /* the present file's, cut to what is told */
    const char *runner;   /* of it; NULL */
    unsigned n_kept;
    unsigned n_failed;
    unsigned n_git;
    unsigned n_run;      /* that other tools run */
    struct gb_err first; /* failure */
};

/* Does it lie in a repository that was there before, or in what a run could make one of: beside a
 * HEAD?  git obeys what lies there, too. */
static bool is_beside_head(int base_fd, const char *path)
{
    for (const char *end = path; end; end = strchr(end, '/')) {
        char head[PATH_MAX];
        struct stat st;

        end += *end == '/';
        (void)snprintf(head, sizeof(head), "%.*sHEAD", (int)(end - path), path);
        if (fstatat(base_fd, head, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
            return true;
    }
    return false;
}

static bool is_skipped(struct keeper *keeper, const char *path)
{
    if (keeper->back->source && strcmp(path, keeper->back->source) == 0)
        return true;
    if (!touch_is_git(path) && !is_beside_head(keeper->base_fd, path))
        return false;
    if (keeper->n_git++ == 0)
        run_result_add_note(keeper->result, "not copied back, because git would obey it: %s",
                            keeper->path);
    return true;
}

/* The rest of this file is passed over; what a box may not send at all ends the transfer. */
static int keep_failed(struct keeper *keeper, int r, const struct gb_err *err)
{
    if (keeper->is_open)
        save_abort(&keeper->save);
    keeper->is_open = false;
    if (keeper->n_failed++ == 0)
        keeper->first = *err;
    if (keeper->n_failed <= NOTES_MAX)
        run_result_add_note(keeper->result, "not copied back: %s: %s", keeper->path, strerror(-r));
    return r == -EPROTO ? r : 0;
}

static int keep_item(void *user, const struct crate_item *item)
{
    struct keeper *keeper = user;
    struct gb_err err = { 0 };
    int r;

    (void)snprintf(keeper->path, sizeof(keeper->path), "%.*s", NOTED_MAX - 1, item->path);
    if (is_skipped(keeper, item->path))
        return 0;
    keeper->is_open = true;
    keeper->runner = touch_runner(item->path);
    r = save_begin(&keeper->save, keeper->base_fd, item->path, item->mode, &err);
    return r < 0 ? keep_failed(keeper, r, &err) : 0;
}

static int keep_data(void *user, const uint8_t *bytes, size_t len)
{
    struct keeper *keeper = user;
    struct gb_err err = { 0 };
    int r = keeper->is_open ? save_add(&keeper->save, bytes, len, &err) : 0;

    return r < 0 ? keep_failed(keeper, r, &err) : 0;
}

static int keep_done(void *user)
{
    struct keeper *keeper = user;
    struct gb_err err = { 0 };
    int r;

    if (!keeper->is_open)
        return 0;
    keeper->is_open = false; /* whatever comes of it */
    r = save_commit(&keeper->save, &err);
    if (r < 0)
        return keep_failed(keeper, r, &err);
    keeper->n_kept++;
    if (keeper->runner && keeper->n_run++ < NOTES_MAX)
        run_result_add_note(keeper->result, "copied back, and %s runs it: %s", keeper->runner,
                            keeper->path);
    return 0;
}

static const struct crate_ops keep_ops = {
    .item = keep_item,
    .data = keep_data,
    .done = keep_done,
};

/* The counts behind the names that were told. */
static int keep_told(struct keeper *keeper, int r, struct gb_err *err)
{
    if (keeper->n_git > 1)
        run_result_add_note(keeper->result, "not copied back: %u more that git would obey",
                            keeper->n_git - 1);
    if (keeper->n_run > NOTES_MAX)
        run_result_add_note(keeper->result, "copied back: %u more that tools run by themselves",
                            keeper->n_run - NOTES_MAX);
    if (keeper->n_failed > NOTES_MAX)
        run_result_add_note(keeper->result, "not copied back: %u more files",
                            keeper->n_failed - NOTES_MAX);
    if (!keeper->n_failed)
        return r;
    if (err)
        *err = keeper->first;
    return gb_wrap(err, keeper->first.code, "%s: %u of %u files were not copied back",
                   keeper->back->what, keeper->n_failed, keeper->n_failed + keeper->n_kept);
}

int workspace_get(struct box *box, const struct workspace_back *back, struct run_result *result,
                  struct gb_err *err)
{
    cleanup_close int base = open(back->host_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct keeper keeper = { .back = back, .result = result, .base_fd = base };
    struct box_get_spec spec = {
        .dir = back->box_dir,
        .path = back->path,
        .is_tree = true,
        .has_since = back->mark != 0,
        .since = back->mark,
        .max_files = back->max_files,
        .max_bytes = back->max_bytes,
    };
    int r;

    if (base < 0)
        return gb_fail_sys(err, "%s: opening '%s'", back->what, back->host_dir);
    r = box_get(box, &spec, &keep_ops, &keeper, err);
    if (keeper.is_open)
        save_abort(&keeper.save);
    return keep_told(&keeper, r, err);
}
