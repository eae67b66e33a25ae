/* SPDX-License-Identifier: Apache-2.0 */
/* base/level.c - one open directory of a walk, with a piece of its entries. */
#include "base/level.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/sys.h"

void level_begin(struct level *level, int fd)
{
    level->fd = fd;
    level->start = 0;
    level->end = 0;
}

int level_open(struct level *level, int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    level_begin(level, fd);
    return 0;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* 1: there are more. */
static int fill(struct level *level)
{
    ssize_t n = sys_getdents64(level->fd, level->entries, sizeof(level->entries));

    if (n < 0)
        return errno == ENOENT ? 0 : -errno;
    level->start = 0;
    level->end = (size_t)n;
    return n > 0;
}

const struct sys_dirent *level_next(struct level *level, int *ret_error)
{
    *ret_error = 0;
    for (;;) {
        const struct sys_dirent *entry;
        int r = level->start < level->end ? 1 : fill(level);

        if (r <= 0) {
            *ret_error = r;
            return NULL;
        }
        entry = (const struct sys_dirent *)(const void *)(level->entries + level->start);
        level->start += entry->size;
        if (!is_dot(entry->name))
            return entry;
    }
}
