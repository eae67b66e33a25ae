/* SPDX-License-Identifier: Apache-2.0 */
/* box/run_dir.c - the run directory. */
#include "box/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"

/* Against running out of something the code has its own remedy (base/err.h). */
static int dir_failed(const char *dir, int code, struct gb_err *err)
{
    bool is_ours = code != -EMFILE && code != -ENFILE && code != -ENOMEM;

    return gb_fail(
        err, code, GB_BLAME_HOST, "the run directory '%.200s': %s%s", dir, strerror(-code),
        is_ours ? GB_REMEDY "set GLOVEBOX_RUN_DIR to a directory that you can write to" : "");
}

/* A directory that nobody else can write to or swap; shown: its whole path. */
static int private_dir(int at, const char *path, const char *shown, struct gb_err *err)
{
    cleanup_close int fd = -1;
    struct stat st;

    if (mkdirat(at, path, 0700) < 0 && errno != EEXIST)
        return dir_failed(shown, -errno, err);
    fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        return dir_failed(shown, -errno, err);
    if (st.st_uid != geteuid())
        return gb_fail(err, -EPERM, GB_BLAME_HOST,
                       "the run directory '%.200s' belongs to user %u" GB_REMEDY
                       "set GLOVEBOX_RUN_DIR to a directory of your own",
                       shown, st.st_uid);
    if (st.st_mode & 022)
        return gb_fail(err, -EPERM, GB_BLAME_HOST,
                       "the run directory '%.150s' can be written by others" GB_REMEDY
                       "chmod go-w '%.150s', or set GLOVEBOX_RUN_DIR to another one",
                       shown, shown);
    return take_fd(&fd);
}

int run_dir_open(const char *path, struct gb_err *err)
{
    int r = access(path, F_OK) == 0 ? 0 : dir_make_parents(path, 0700);

    return r < 0 ? dir_failed(path, r, err) : private_dir(AT_FDCWD, path, path, err);
}

int run_dir_below(int run_dir_fd, const char *path, const char *name, struct gb_err *err)
{
    char shown[PATH_MAX];

    (void)snprintf(shown, sizeof(shown), "%s/%s", path, name);
    return private_dir(run_dir_fd, name, shown, err);
}
