/* SPDX-License-Identifier: Apache-2.0 */
/* glove/remove.c - files and trees out of the way. */
#include "glove/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/level.h"
#include "base/path.h"
#include "base/sys.h"

/* More than any box has inodes for. */
#define REMOVED_MAX (16u << 20)

/* How often a directory is gone through that does not get empty. */
#define TRIES_MAX 8

struct remover {
    uint64_t n;
    size_t depth;
    const char *names[LEVELS_MAX]; /* of the directories, in the one above */
    unsigned tries[LEVELS_MAX];
    struct level levels[LEVELS_MAX];
};

static int gone(struct remover *r)
{
    return ++r->n > REMOVED_MAX ? -EFBIG : 0;
}

static int enter(struct remover *r, int dir_fd, const char *name)
{
    int result =
        r->depth == LEVELS_MAX ? -ENAMETOOLONG : level_open(&r->levels[r->depth], dir_fd, name);

    if (result < 0)
        return result;
    r->names[r->depth] = name;
    r->tries[r->depth++] = 0;
    return 0;
}

/* Anything but a directory goes at once; a directory is entered. */
static int remove_entry(struct remover *r, int dir_fd, const char *name)
{
    int result;

    if (unlinkat(dir_fd, name, 0) == 0)
        return gone(r);
    if (errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return -errno;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
        return gone(r);
    if (errno != ENOTEMPTY && errno != EEXIST)
        return errno == ENOENT ? 0 : -errno;
    result = enter(r, dir_fd, name);
    return result == -ENOENT ? 0 : result;
}

/* The innermost directory has been gone through.  What was added meanwhile is looked for again. */
static int leave(struct remover *r, int top_fd)
{
    struct level *level = &r->levels[r->depth - 1];
    int dir_fd = r->depth > 1 ? r->levels[r->depth - 2].fd : top_fd;

    if (unlinkat(dir_fd, r->names[r->depth - 1], AT_REMOVEDIR) < 0 && errno != ENOENT) {
        if (errno != ENOTEMPTY || ++r->tries[r->depth - 1] == TRIES_MAX)
            return -errno;
        return lseek(level->fd, 0, SEEK_SET) < 0 ? -errno : 0;
    }
    close(level->fd);
    r->depth--;
    return gone(r);
}

static int remove_tree(struct remover *r, int dir_fd, const char *name)
{
    int result = remove_entry(r, dir_fd, name);

    while (result == 0 && r->depth > 0) {
        struct level *level = &r->levels[r->depth - 1];
        const struct sys_dirent *entry = level_next(level, &result);

        if (result < 0)
            break;
        result = entry ? remove_entry(r, level->fd, entry->name) : leave(r, dir_fd);
    }
    while (r->depth > 0)
        close(r->levels[--r->depth].fd);
    return result;
}

static int remove_one(struct remover *r, int dir_fd, const char *name)
{
    if (unlinkat(dir_fd, name, 0) < 0) {
        if (errno != EISDIR)
            return -errno;
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
            return -errno;
    }
    return gone(r);
}

/* The directory that holds it. */
static int open_parent(const struct msg_remove *msg)
{
    cleanup_close int dir_fd = open(msg->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *base = path_base(msg->path);
    char parent[PATH_MAX] = ".";

    if (dir_fd < 0)
        return -errno;
    if (base != msg->path) {
        memcpy(parent, msg->path, (size_t)(base - msg->path));
        parent[base - msg->path] = '\0';
    }
    return dir_open_beneath(dir_fd, parent, 0);
}

int remove_path(const struct msg_remove *msg, uint64_t *ret_removed, enum glove_step *ret_step)
{
    static struct remover remover;
    struct remover *r = &remover;
    const char *base = path_base(msg->path);
    cleanup_close int parent = -1;
    struct stat st;
    int result;

    *ret_step = GLOVE_STEP_REQUEST;
    if (msg->flags & ~(uint32_t)REMOVE_FLAG_TREE || !path_is_below(msg->path))
        return -EINVAL;
    *ret_step = GLOVE_STEP_FILE;
    parent = open_parent(msg);
    if (parent < 0)
        return parent;
    if (fstatat(parent, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    result =
        msg->flags & REMOVE_FLAG_TREE ? remove_tree(r, parent, base) : remove_one(r, parent, base);
    *ret_removed = r->n;
    return result;
}
