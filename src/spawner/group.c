/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/group.c - the control groups of a box. */
#include "spawner/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/group_line.h"
#include "base/knob.h"
#include "base/level.h"
#include "base/path.h"
#include "base/sys.h"

/* Depth of group directories below a box's that a sweep follows; glovebox itself makes one. */
#define SWEEP_DEPTH 4

int group_path(const struct msg_group *step, uint32_t slot, char path[static PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s%u", step->dir, step->name, slot);

    return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int group_limit(const struct msg_group *step, const struct group *group)
{
    const char *at = NULL;
    const char *knob;

    while ((knob = wire_strs_next(&step->knobs, &at)) != NULL) {
        int r = knob_write(group->dir_fd, knob);

        if (r < 0)
            return r;
    }
    return 0;
}

static int leaf_open(const struct msg_group *step, int dir_fd)
{
    int fd;

    if (!step->leaf[0]) {
        fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
        return fd < 0 ? -errno : fd;
    }
    if (mkdirat(dir_fd, step->leaf, 0700) < 0)
        return -errno;
    fd = openat(dir_fd, step->leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The glove and its runs are born into groups by processes without rights on this file.  Everybody
 * else is kept out by the directory, 0700, and, where that is shown, by the kernel: whoever moves a
 * process must be allowed to write this file of the group that both places have in common. */
static int procs_open_up(int dir_fd)
{
    return fchmodat(dir_fd, "cgroup.procs", 0666, 0) < 0 ? -errno : 0;
}

/* A run is "other" to the group's owner.  So is everybody else on the host, who then may read the
 * counters of the box; nothing in it becomes writable. */
static int show(int dir_fd)
{
    return fchmod(dir_fd, 0755) < 0 ? -errno : 0;
}

bool group_is_seen(const struct group *group)
{
    return group->leaf_fd >= 0;
}

int group_enter_leaf(const struct group *group)
{
    return write(group->leaf_fd, "0", 1) == 1 ? 0 : -errno;
}

static int see(struct group *group)
{
    int leaf_fd = openat(group->join_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    if (leaf_fd < 0)
        return -errno;
    group->leaf_fd = leaf_fd;
    return dup3(group->dir_fd, group->join_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

static int group_fill(const struct msg_group *step, struct group *group)
{
    int r;

    if (!group->is_v2) {
        group->join_fd = openat(group->dir_fd, "tasks", O_WRONLY | O_CLOEXEC);
        return group->join_fd < 0 ? -errno : 0;
    }
    r = leaf_open(step, group->dir_fd);
    if (r < 0)
        return r;
    group->join_fd = r;
    r = procs_open_up(group->dir_fd);
    if (r == 0 && step->leaf[0])
        r = procs_open_up(group->join_fd);
    return r == 0 && step->leaf[0] && step->flags & GROUP_FLAG_SHOWN ? see(group) : r;
}

int group_make(const struct msg_group *step, uint32_t slot, struct group *ret)
{
    int r;

    ret->is_v2 = step->flags & GROUP_FLAG_V2;
    ret->dir_fd = -1;
    ret->join_fd = -1;
    ret->leaf_fd = -1;
    r = group_path(step, slot, ret->path);
    if (r < 0)
        return r;
    if (mkdir(ret->path, 0700) < 0)
        return -errno;
    ret->dir_fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return -errno;
    r = step->flags & GROUP_FLAG_SHOWN ? show(ret->dir_fd) : 0;
    return r < 0 ? r : group_fill(step, ret);
}

void group_close(struct group *group)
{
    drop_fd(&group->dir_fd);
    drop_fd(&group->join_fd);
    drop_fd(&group->leaf_fd);
}

/* The path ends with the last component of the group's, and with the leaf behind it where one is
 * born in it. */
int group_check(const struct msg_group *step, const struct group *group, const char *cgroups)
{
    const char *leaf = group_is_seen(group) ? "" : step->leaf;
    char want[NAME_MAX * 2 + 4];
    struct group_line line;

    (void)snprintf(want, sizeof(want), "%s%s%s", strrchr(group->path, '/'), leaf[0] ? "/" : "",
                   leaf);
    if (!group_line_find(cgroups, step->controller, &line) || !group_line_ends(&line, want))
        return -ESRCH;
    return 0;
}

/* ---- sweeping ------------------------------------------------------------------------------- */

/* Is the process still in a group of that name?  A pid that was used again in between is not. */
static bool pid_is_in(pid_t pid, const char *name)
{
    char text[4096];
    const char *at = text;
    struct group_line line;

    if (group_lines_read(pid, text, sizeof(text)) < 0)
        return false;
    while (group_line_next(&at, &line))
        if (group_line_has(&line, name))
            return true;
    return false;
}

static void pid_kill(pid_t pid, const char *name)
{
    cleanup_close int pidfd = sys_pidfd_open(pid);

    if (pidfd >= 0 && pid_is_in(pid, name))
        (void)sys_pidfd_send_signal(pidfd, SIGKILL);
}

/* Signals what `cgroup.procs` lists; how many there were.  Of a list that is too long the
 * beginning: the rest comes when these are gone. */
static uint32_t procs_kill(int dir_fd, const char *name)
{
    char text[8192];
    ssize_t n = fd_read_text(dir_fd, "cgroup.procs", text, sizeof(text));
    uint32_t count = 0;

    if (n < 0 && n != -EOVERFLOW)
        return 0;
    if (n < 0)
        text[sizeof(text) - 1] = '\0';
    for (const char *at = text; *at; at += strspn(at, "\n")) {
        pid_t pid = 0;

        for (; *at >= '0' && *at <= '9'; at++)
            pid = pid * 10 + (*at - '0');
        if (*at && *at != '\n')
            break;
        count++;
        if (pid > 1)
            pid_kill(pid, name);
    }
    return count;
}

/* Kills what is there; how many were still listed. */
static uint32_t dir_kill(int dir_fd, const char *name)
{
    (void)fd_write_text(dir_fd, "cgroup.kill", "1"); /* v2 only */
    return procs_kill(dir_fd, name);
}

/* Nothing but a group is ever removed here, whatever path a caller was led to. */
static bool is_group(const struct statfs *fs)
{
    return fs->f_type == CGROUP_SUPER_MAGIC || fs->f_type == CGROUP2_SUPER_MAGIC;
}

/* A group on the way down: below the box's own everything is in it too. */
struct sweep {
    const char *box; /* name of the box's group */
    uint32_t left;
};

static int sweep_dir(struct sweep *sweep, int parent_fd, const char *name, int depth);

/* The depth is bounded by sweep_dir(), so the recursion is.  Without readdir(), which would
 * allocate: a guard may find the heap in any state.
 * NOLINTNEXTLINE(misc-no-recursion) */
static void sweep_children(struct sweep *sweep, int dir_fd, int depth)
{
    const struct sys_dirent *entry;
    struct level level;
    int error;

    if (lseek(dir_fd, 0, SEEK_SET) < 0)
        return;
    level_begin(&level, dir_fd);
    while ((entry = level_next(&level, &error)) != NULL)
        if (entry->type == DT_DIR)
            (void)sweep_dir(sweep, dir_fd, entry->name, depth + 1);
}

/* One try: kill, go down while it is not too deep, remove.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int sweep_dir(struct sweep *sweep, int parent_fd, const char *name, int depth)
{
    cleanup_close int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct statfs fs;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fstatfs(fd, &fs) < 0 || !is_group(&fs))
        return -ENOTSUP;
    sweep->left += dir_kill(fd, sweep->box);
    if (depth < SWEEP_DEPTH)
        sweep_children(sweep, fd, depth);
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}

int group_sweep(const char *path, int timeout_ms, uint32_t *ret_left)
{
    uint64_t deadline_ns = clock_after_ms((uint64_t)timeout_ms);
    struct statfs fs;
    int r;

    *ret_left = 0;
    if (statfs(path, &fs) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!is_group(&fs))
        return -ENOTSUP;
    /* The usual case: all dead already, one rmdir is all. */
    if (rmdir(path) == 0 || errno == ENOENT)
        return 0;
    for (int pause_ms = 1;; pause_ms = pause_ms < 20 ? pause_ms * 2 : 20) {
        struct sweep sweep = { .box = path_base(path) };

        r = sweep_dir(&sweep, AT_FDCWD, path, 0);
        /* What was listed a moment ago is gone with the group. */
        *ret_left = r == 0 ? 0 : sweep.left;
        if (r != -EBUSY || clock_poll_ms(deadline_ns) == 0)
            return r;
        /* Exits are asynchronous and v1 has no event for them. */
        (void)poll(NULL, 0, pause_ms);
    }
}
