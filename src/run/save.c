/* SPDX-License-Identifier: Apache-2.0 */
/* run/save.c - a file on the host that is replaced whole or not at all. */
#include "run/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"
#include "base/sys.h"

/* No other file system either: it may be what the directory's owner did not mean. */
static int make_parent(int base_fd, const char *path)
{
    const char *slash = strrchr(path, '/');

    return dir_make_beneath(base_fd, path, slash ? (size_t)(slash - path) : 0, SYS_RESOLVE_NO_XDEV);
}

/* ---- a path of the caller's own ------------------------------------------------------------- */

/* Where it leads. */
struct place {
    bool is_through;     /* written as it comes */
    int own_fd;          /* our own stream that it is, or -1 */
    char path[PATH_MAX]; /* without links at the end, unless it is written through */
};

/* /dev/stdout may be a socket, which cannot be opened, or a file that has output in it already. */
static int own_stream(const struct stat *st)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat own;

        if (fstat(fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
            return fd;
    }
    return -1;
}

static int refuse_terminal(const char *path, struct gb_err *err)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "%.200s: is a terminal, which obeys what it is shown\n"
                   "remedy: name a file, or a pipe: ... | cat -v",
                   path);
}

/* The directory of path as one would open it: "a/" of "a/b", "." of "b". */
static void parent_of(const char *path, char dir[static PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

/* The regular file at the end of its links.  They may not lead out of the directory that the
 * caller named: it may have come with a cloned repository, and what is written is the box's. */
static int follow(const char *path, char ret[static PATH_MAX], struct gb_err *err)
{
    char dir[PATH_MAX];
    char real_dir[PATH_MAX];

    parent_of(path, dir);
    if (!realpath(path, ret) || !realpath(dir, real_dir))
        return gb_fail_sys(err, "%.200s", path);
    if (path_is_in(ret, real_dir))
        return 0;
    return gb_fail(err, -EXDEV, GB_BLAME_CALLER,
                   "%.100s: is a link that leads out of its directory\n"
                   "remedy: if that is meant, name the file itself: %.200s",
                   path, ret);
}

static int find_place(const char *path, struct place *ret, struct gb_err *err)
{
    struct stat st;

    *ret = (struct place){ .own_fd = -1 };
    if (snprintf(ret->path, sizeof(ret->path), "%s", path) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "%.200s: the path is too long", path);
    if (stat(path, &st) < 0) {
        if (errno == ENOENT && lstat(path, &st) == 0)
            return gb_fail(err, -ENOENT, GB_BLAME_CALLER, "%.200s: is a link that leads nowhere",
                           path);
        return 0; /* a new file, or its directory will tell */
    }
    if (!S_ISDIR(st.st_mode))
        ret->own_fd = own_stream(&st);
    ret->is_through = ret->own_fd >= 0 || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode);
    if (ret->own_fd >= 0 && isatty(ret->own_fd))
        return refuse_terminal(path, err);
    if (ret->is_through)
        return 0;
    if (!S_ISREG(st.st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "%.200s: is no regular file, character device or pipe", path);
    return follow(path, ret->path, err);
}

int save_check(const char *path, struct gb_err *err)
{
    struct place place;
    char dir[PATH_MAX];
    int r;

    if (!*path_base(path))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%.200s' is no file name", path);
    r = find_place(path, &place, err);
    if (r < 0 || place.is_through)
        return r;
    parent_of(place.path, dir);
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    r = -errno;
    return gb_fail(err, r, GB_BLAME_CALLER, "%.200s: %s", dir, strerror(-r));
}

/* A pipe that nobody reads is refused and not waited for. */
static int open_through(struct save *save, const struct place *place, struct gb_err *err)
{
    int flags;

    save->fd = place->own_fd >= 0 ? fcntl(place->own_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                  : open(place->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (save->fd < 0)
        return gb_fail_sys(err, "writing '%s'", place->path);
    if (isatty(save->fd))
        return refuse_terminal(place->path, err);
    flags = place->own_fd < 0 ? fcntl(save->fd, F_GETFL) : -1;
    if (flags >= 0)
        (void)fcntl(save->fd, F_SETFL, flags & ~O_NONBLOCK);
    return 0;
}

/* ---- saving --------------------------------------------------------------------------------- */

/* A new file under a name of its own in the directory. */
static int open_temp(struct save *save, const char *path, unsigned mode, struct gb_err *err)
{
    char id[ID_SIZE];
    int r;

    if (snprintf(save->name, sizeof(save->name), "%s", path_base(path)) > NAME_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "the name '%s' is too long", path);
    r = id_make('f', id);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "drawing a name: %s", strerror(-r));
    (void)snprintf(save->temp, sizeof(save->temp), ".glovebox-%s", id);
    save->fd =
        openat(save->dir_fd, save->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
               mode & 0100 ? 0755 : 0644);
    return save->fd < 0 ? gb_fail_sys(err, "writing '%s'", path) : 0;
}

static int begin_own(struct save *save, const char *path, unsigned mode, struct gb_err *err)
{
    struct place place;
    char dir[PATH_MAX];
    int r = find_place(path, &place, err);

    if (r < 0)
        return r;
    (void)snprintf(save->name, sizeof(save->name), "%.*s", NAME_MAX, path_base(path));
    if (place.is_through)
        return open_through(save, &place, err);
    parent_of(place.path, dir);
    save->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (save->dir_fd < 0)
        return gb_fail_sys(err, "writing '%s'", path);
    return open_temp(save, place.path, mode, err);
}

int save_begin(struct save *save, int base_fd, const char *path, unsigned mode, struct gb_err *err)
{
    int r;

    *save = (struct save){ .dir_fd = -1, .fd = -1 };
    if (base_fd < 0)
        return begin_own(save, path, mode, err);
    if (!path_is_below(path))
        return gb_fail(err, -EPROTO, GB_BLAME_PEER, "the box named a file outside its workspace");
    r = make_parent(base_fd, path);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing '%s': %s", path, strerror(-r));
    save->dir_fd = r;
    return open_temp(save, path, mode, err);
}

int save_add(struct save *save, const void *bytes, size_t len, struct gb_err *err)
{
    int r = fd_write_full(save->fd, bytes, len);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing '%s': %s", save->name, strerror(-r)) : 0;
}

int save_commit(struct save *save, struct gb_err *err)
{
    int r = 0;

    if (close(take_fd(&save->fd)) < 0 ||
        (save->dir_fd >= 0 && renameat(save->dir_fd, save->temp, save->dir_fd, save->name) < 0))
        r = gb_fail_sys(err, "writing '%s'", save->name);
    if (r == 0)
        save->temp[0] = '\0';
    save_abort(save);
    return r;
}

void save_abort(struct save *save)
{
    drop_fd(&save->fd);
    if (save->dir_fd >= 0 && save->temp[0])
        (void)unlinkat(save->dir_fd, save->temp, 0);
    drop_fd(&save->dir_fd);
    save->temp[0] = '\0';
}
