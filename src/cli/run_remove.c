/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run_remove.c - taking a task's folder away.
 *
 * A path in the store is only a path: whatever stands there now may be somebody else's.
 */
#include "cli/run_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"
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
    cleanup_close int fd = openat(folder, OBJECTIVE, FILE_READING | O_NOFOLLOW);

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

static int empty(int fd, dev_t device, unsigned depth);

/* Of a directory's entry; a link is an entry like any file. */
static int remove_entry(int fd, const char *name, dev_t device, unsigned depth)
{
    cleanup_close int below = -1;
    int r;

    if (unlinkat(fd, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = below < 0 ? -errno : empty(below, device, depth + 1);
    if (r == 0 && unlinkat(fd, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

static bool stays(const char *name, unsigned depth)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           (depth == 0 && strcmp(name, OBJECTIVE) == 0);
}

static int empty(int fd, dev_t device, unsigned depth)
{
    struct stat st;
    struct dirent *entry;
    DIR *dir;
    int own;
    int r = 0;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_dev != device || depth > DEPTH_MAX)
        return -EXDEV;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    dir = own < 0 ? NULL : fdopendir(own);
    if (!dir) {
        r = -errno;
        drop_fd(&own);
        return r;
    }
    while (r == 0 && (entry = readdir(dir)) != NULL)
        if (!stays(entry->d_name, depth))
            r = remove_entry(fd, entry->d_name, device, depth);
    (void)closedir(dir);
    return r;
}

/* The name must still mean the directory that was looked at. */
static int remove_all(int parent, const char *name, int folder)
{
    struct stat st;
    int r = fstat(folder, &st) < 0 ? -errno : empty(folder, st.st_dev, 0);

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
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");
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
