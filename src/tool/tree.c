/* SPDX-License-Identifier: Apache-2.0 */
/* tool/tree.c - directories that tools make for their callers. */
#include "tool/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define OPEN_DIRS_MAX 16

int tree_make(const char *temp_dir, const char *prefix, char ret_path[static PATH_MAX],
              struct gb_err *err)
{
    if (snprintf(ret_path, PATH_MAX, "%s/%sXXXXXX", temp_dir, prefix) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.100s…': too long", temp_dir);
    return mkdtemp(ret_path) ? 0 : gb_fail_sys(err, "making a directory in '%s'", temp_dir);
}

static bool has_name(const char *temp_dir, const char *prefix, const char *path)
{
    size_t dir_len = strlen(temp_dir);
    const char *name;

    if (strncmp(path, temp_dir, dir_len) != 0 || path[dir_len] != '/')
        return false;
    name = path + dir_len + 1;
    return strncmp(name, prefix, strlen(prefix)) == 0 && !strchr(name, '/');
}

int tree_open(const char *temp_dir, const char *prefix, const char *path, struct gb_err *err)
{
    cleanup_close int fd = has_name(temp_dir, prefix, path)
                               ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                               : -1;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.200s' is no directory that this tool has made", path);
    return take_fd(&fd);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    (void)remove(path); /* what stays keeps its directory */
    return 0;
}

void tree_remove(const char *path)
{
    (void)nftw(path, remove_entry, OPEN_DIRS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
