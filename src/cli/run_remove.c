/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_remove.c - taking a task's folder away.
 *
 * A path in the store is only a path: whatever stands there now may be somebody else's.
 */
#include "cli/run_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/run_order.h"
#include "store/store.h"

#define OBJECTIVE "objective.txt"
#define PREFIX    "run_"
#define DEPTH_MAX 64

/* ---- is it the task's? ---------------------------------------------------------------------- */

static bool has_objective(int folder, const char *objective)
{
    cleanup_buf struct buf text = BUF_INIT(AGENT_OBJECTIVE_MAX + 1);
    cleanup_close int fd =
        openat(folder, OBJECTIVE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return fd >= 0 && file_read(fd, &text) == 0 && text.len == strlen(objective) &&
           memcmp(text.data, objective, text.len) == 0;
}

/* What a person asked for with --out stays, wherever it lies. */
static bool has_out(const struct store_task *task)
{
    cleanup_options struct run_options options = { 0 };
    size_t len = strlen(task->folder);
    const char *out;

    if (run_options_parse(task->options, &options, NULL) < 0)
        return false;
    out = options.host.out;
    return out && strncmp(out, task->folder, len) == 0 && (out[len] == '/' || out[len] == '\0');
}

static int check(const struct store_task *task, int folder, struct gb_err *err)
{
    if (strncmp(path_base(task->folder), PREFIX, sizeof(PREFIX) - 1) != 0 ||
        !has_objective(folder, task->objective))
        return gb_fail(err, -EPERM, GB_BLAME_CALLER, "it is not, or no more, the task's");
    if (has_out(task))
        return gb_fail(err, -EPERM, GB_BLAME_CALLER, "--out named a directory in it");
    return 0;
}

/* ---- removing ------------------------------------------------------------------------------- */

/* The directories that are being emptied, from the folder down to where it stands. */
struct walk {
    struct {
        DIR *dir;
        char name[NAME_MAX + 1]; /* in the one above */
    } levels[DEPTH_MAX];
    size_t n;
    dev_t device;
};

/* Takes the descriptor.  What lies on another file system is not ours to empty. */
static int enter(struct walk *walk, int taken, const char *name)
{
    cleanup_close int fd = taken;
    struct stat st;
    DIR *dir;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (walk->n == DEPTH_MAX || (walk->n > 0 && st.st_dev != walk->device))
        return -EXDEV;
    dir = fdopendir(fd);
    if (!dir)
        return -errno;
    (void)take_fd(&fd);
    walk->device = st.st_dev;
    walk->levels[walk->n].dir = dir;
    (void)snprintf(walk->levels[walk->n].name, sizeof(walk->levels[0].name), "%s", name);
    walk->n++;
    return 0;
}

/* The one that it stands in is empty; the folder itself is left to the caller. */
static int leave(struct walk *walk)
{
    (void)closedir(walk->levels[--walk->n].dir);
    if (walk->n == 0 || unlinkat(dirfd(walk->levels[walk->n - 1].dir), walk->levels[walk->n].name,
                                 AT_REMOVEDIR) == 0)
        return 0;
    return -errno;
}

static bool stays(const struct walk *walk, const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           (walk->n == 1 && strcmp(name, OBJECTIVE) == 0);
}

/* A link is an entry like any file. */
static int remove_entry(struct walk *walk, const char *name)
{
    int fd = dirfd(walk->levels[walk->n - 1].dir);

    if (stays(walk, name) || unlinkat(fd, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    return enter(walk, openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), name);
}

static int empty(int folder)
{
    struct walk walk = { 0 };
    int r = enter(&walk, fcntl(folder, F_DUPFD_CLOEXEC, 0), "");

    while (r == 0 && walk.n > 0) {
        const struct dirent *entry = readdir(walk.levels[walk.n - 1].dir);

        r = entry ? remove_entry(&walk, entry->d_name) : leave(&walk);
    }
    while (walk.n > 0)
        (void)closedir(walk.levels[--walk.n].dir);
    return r;
}

/* Its objective goes last: it is what the folder is known by. */
static int remove_all(int parent, const char *name, int folder)
{
    int r = empty(folder);

    if (r == 0 && unlinkat(folder, OBJECTIVE, 0) < 0)
        r = -errno;
    if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

int run_remove_folder(const struct store_task *task, struct gb_err *err)
{
    const char *name = path_base(task->folder);
    cleanup_free char *above = strndup(task->folder, (size_t)(name - task->folder));
    cleanup_close int parent = -1;
    cleanup_close int folder = -1;
    int r;

    if (!above)
        return gb_no_memory(err);
    parent = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0)
        folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT)
        return 0;
    if (folder < 0 && (errno == ELOOP || errno == ENOTDIR))
        return gb_fail(err, -ENOTDIR, GB_BLAME_CALLER, "it is no directory any more");
    r = folder < 0 ? -errno : check(task, folder, err);
    if (r == -EPERM)
        return r;
    if (r == 0)
        r = remove_all(parent, name, folder);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "%s", strerror(-r)) : 1;
}
