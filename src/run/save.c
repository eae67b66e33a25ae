/* SPDX-License-Identifier: Apache-2.0 */
/* run/save.c - a file on the host that is replaced whole or not at all. */
#include "run/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static int open_parent(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int fd;

    if (!slash)
        (void)snprintf(dir, sizeof(dir), ".");
    else if (snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + (slash == path), path) >=
             PATH_MAX)
        return -ENAMETOOLONG;
    fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int save_begin(struct save *save, int base_fd, const char *path, unsigned mode, struct gb_err *err)
{
    char id[ID_SIZE];
    int r;

    *save = (struct save){ .dir_fd = -1, .fd = -1 };
    if (base_fd >= 0 && !path_is_below(path))
        return gb_fail(err, -EPROTO, GB_BLAME_PEER, "the box named a file outside its workspace");
    r = base_fd >= 0 ? make_parent(base_fd, path) : open_parent(path);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing '%s': %s", path, strerror(-r));
    save->dir_fd = r;
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

int save_add(struct save *save, const void *bytes, size_t len, struct gb_err *err)
{
    int r = fd_write_full(save->fd, bytes, len);

    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing '%s': %s", save->name, strerror(-r)) : 0;
}

int save_commit(struct save *save, struct gb_err *err)
{
    int r = 0;

    if (close(take_fd(&save->fd)) < 0 ||
        renameat(save->dir_fd, save->temp, save->dir_fd, save->name) < 0)
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
