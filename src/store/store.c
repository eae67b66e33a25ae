/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.c - the store's directory and file, and what all its calls check. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/id.h"
#include "store/db.h"
#include "store/inside.h"

#define DATABASE "tasks.db"

/* The mode is set by hand, because mkdir(2) and open(2) take the umask off. */
static int make_dir(const char *dir, struct gb_err *err)
{
    int r = dir_make_parents(dir, 0700);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making '%s': %s", dir, strerror(-r));
    if (mkdir(dir, 0700) == 0)
        r = chmod(dir, 0700);
    else if (errno != EEXIST)
        r = -1;
    return r < 0 ? gb_fail_sys(err, "making '%s'", dir) : 0;
}

/* SQLite gives the files beside it the mode that it finds here. */
static int make_file(int dir_fd, const char *path, struct gb_err *err)
{
    struct stat st;
    cleanup_close int fd =
        openat(dir_fd, DATABASE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fchmod(fd, 0600) < 0 ? gb_fail_sys(err, "making '%s'", path) : 0;
    if (errno != EEXIST || fstatat(dir_fd, DATABASE, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return gb_fail_sys(err, "making '%s'", path);
    if (!S_ISREG(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_HOST, "'%s' is not a file", path);
    return 0;
}

static int open_database(struct store *store, struct gb_err *err)
{
    char path[PATH_MAX];
    int r;

    if (snprintf(path, sizeof(path), "%s/" DATABASE, store->dir) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the directory's path is too long");
    r = make_file(store->dir_fd, path, err);
    if (r == 0)
        r = db_open(path, &store->db, err);
    if (r == 0)
        r = schema_ready(store->db, path, err);
    if (r == 0)
        r = db_prepare(store->db, store_queries, N_QUERIES, err);
    return r;
}

static int open_all(struct store *store, struct gb_err *err)
{
    int r = make_dir(store->dir, err);

    if (r < 0)
        return r;
    store->dir_fd = open(store->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (store->dir_fd < 0)
        return gb_fail_sys(err, "opening '%s'", store->dir);
    return open_database(store, err);
}

int store_open(const char *dir, struct store **ret, struct gb_err *err)
{
    cleanup_store struct store *store = NULL;
    int r;

    store = calloc(1, sizeof(*store));
    if (store)
        store->dir_fd = -1;
    if (!store || !(store->dir = strdup(dir)))
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the task store");
    r = open_all(store, err);
    if (r < 0)
        return gb_wrap(err, r, "the task store");
    *ret = take_ptr(store);
    return 0;
}

void store_close(struct store **store)
{
    if (!*store)
        return;
    db_close(&(*store)->db);
    drop_fd(&(*store)->dir_fd);
    free((*store)->dir);
    free(*store);
    *store = NULL;
}

int store_check_id(const char *id, struct gb_err *err)
{
    if (id && id_is_valid('t', id))
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.40s' is not the id of a task", id ? id : "");
}

int store_check_text(const char *what, const char *text, size_t max, struct gb_err *err)
{
    if (!text || strlen(text) <= max)
        return 0;
    return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "the %s has more than %zu bytes", what, max);
}
