/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_dir.c - the directory of boxes that live on, and their sockets in it. */
#include "box/kept_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "keeper/keeper.h"

#define BACKLOG   64
#define CONNECT_S 10

/* ---- the directory -------------------------------------------------------------------------- */

static int no_state_dir(struct gb_err *err)
{
    return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                   "there is no place that remembers boxes" GB_REMEDY
                   "set HOME, XDG_STATE_HOME or GLOVEBOX_STATE_DIR");
}

int kept_dir_open(const char *state_dir, bool is_made, struct gb_err *err)
{
    char path[PATH_MAX];
    int fd;
    int r;

    if (!state_dir)
        return no_state_dir(err);
    if (snprintf(path, sizeof(path), "%s/boxes", state_dir) >= (int)sizeof(path))
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.100s…': too long", state_dir);
    r = is_made ? dir_make_parents(path, 0700) : 0;
    if (r < 0 || (is_made && mkdir(path, 0700) < 0 && errno != EEXIST))
        return gb_fail(err, r < 0 ? r : -errno, GB_BLAME_HOST, "making '%s': %s", path,
                       strerror(r < 0 ? -r : errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    return fd < 0 ? gb_fail_sys(err, "'%s'", path) : fd;
}

DIR *kept_dir_entries(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);

    if (!dir && own >= 0)
        close(own);
    return dir;
}

static void unlink_files(int fd)
{
    DIR *dir = kept_dir_entries(fd);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)) != NULL)
        (void)unlinkat(fd, entry->d_name, 0);
    (void)closedir(dir);
}

void kept_dir_remove(int boxes, const char *name)
{
    cleanup_close int fd = openat(boxes, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    cleanup_close int runs =
        fd < 0 ? -1 : openat(fd, KEPT_RUNS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (runs >= 0)
        unlink_files(runs);
    if (fd < 0)
        return;
    (void)unlinkat(fd, KEPT_RUNS_DIR, AT_REMOVEDIR);
    unlink_files(fd);
    (void)unlinkat(boxes, name, AT_REMOVEDIR);
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* A path through the directory's descriptor: the real one may be longer than a socket's may. */
static struct sockaddr_un socket_address(int dir)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" KEEPER_SOCKET,
                   dir);
    return address;
}

int kept_dir_listen(int dir, struct gb_err *err)
{
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = socket_address(dir);

    /* The file gets the mode that the socket has; a umask would be that of every thread. */
    if (fd < 0 || fchmod(fd, 0600) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return gb_fail_sys(err, "making the socket of a box");
    return take_fd(&fd);
}

int kept_dir_connect(int dir)
{
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = socket_address(dir);

    if (fd < 0)
        return -errno;
    /* A keeper that takes nobody in is waited for as long as one that says nothing. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = CONNECT_S },
                     sizeof(struct timeval));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT ? -ECONNREFUSED : -errno;
    return take_fd(&fd);
}
