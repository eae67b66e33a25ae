/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/hierarchy.c - where on this host groups can be made. */
#include "box/native/hierarchy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/group_line.h"
#include "box/native/v2_parent.h"

#define TOP "/sys/fs/cgroup"

/* Of groups below a user's parent. */
#define REMOVE_DEPTH_MAX 4

/* v1 trees that carry a limit or a counter. */
static const struct {
    const char *controller;
    enum wall wall;
} controllers[] = {
    { "memory", WALL_MEMORY },
    { "pids", WALL_PIDS },
    { "cpu", WALL_CPU },
    { "cpuacct", WALL_CPU },
};

const char *layout_name(enum group_layout layout)
{
    static const char *const names[] = {
        [LAYOUT_NONE] = "none",
        [LAYOUT_V1] = "v1",
        [LAYOUT_HYBRID] = "hybrid",
        [LAYOUT_V2] = "v2",
    };

    return names[layout];
}

static bool is_fs(const char *path, long magic)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == magic;
}

static void miss(struct hierarchies *h, enum wall wall, const char *reason, const char *what)
{
    if (!(h->missing & 1u << wall))
        (void)snprintf(h->reasons[wall], sizeof(h->reasons[wall]), "%.100s: %s", what, reason);
    h->missing |= 1u << wall;
}

static bool is_same_dir(const char *a, const char *b)
{
    struct stat st;
    struct stat other;

    return stat(a, &st) == 0 && stat(b, &other) == 0 && st.st_dev == other.st_dev &&
           st.st_ino == other.st_ino;
}

/* cpu and cpuacct are often one tree under two names. */
static bool join_cpu(struct hierarchies *h, const char *tree)
{
    struct hierarchy *last = h->n > 0 ? &h->items[h->n - 1] : NULL;

    if (!last || strcmp(last->controller, "cpu") != 0 || !is_same_dir(tree, TOP "/cpu"))
        return false;
    last->has_cpuacct = true;
    return true;
}

static void add(struct hierarchies *h, const char *controller, enum wall wall, bool is_v2,
                const char *dir)
{
    struct hierarchy *item = &h->items[h->n];

    *item = (struct hierarchy){
        .controller = controller,
        .wall = wall,
        .is_v2 = is_v2,
        .has_cpuacct = strcmp(controller, "cpuacct") == 0,
    };
    (void)snprintf(item->dir, sizeof(item->dir), "%s", dir);
    h->n++;
}

/* ---- parents that are not root's ------------------------------------------------------------ */

void group_delegated_dir(const char *tree, uid_t uid, char dir[static GROUP_DIR_SIZE])
{
    (void)snprintf(dir, GROUP_DIR_SIZE, "%s/glovebox-user-%u", tree, (unsigned)uid);
}

/* The path of the present group in the tree of a controller ("" names v2's line), from
 * /proc/self/cgroup. */
static bool present_path(const char *controller, char ret[static GROUP_DIR_SIZE])
{
    char text[8192];
    struct group_line line;

    return group_lines_read(0, text, sizeof(text)) == 0 &&
           group_line_find(text, controller, &line) &&
           snprintf(ret, GROUP_DIR_SIZE, "%.*s", (int)line.n_path, line.path) < GROUP_DIR_SIZE;
}

static bool present_dir(const char *tree, const char *controller, char dir[static GROUP_DIR_SIZE])
{
    char path[GROUP_DIR_SIZE];

    return present_path(controller, path) &&
           snprintf(dir, GROUP_DIR_SIZE, "%s%s", tree, path) < GROUP_DIR_SIZE;
}

static bool is_ours(const char *dir)
{
    return access(dir, W_OK) == 0;
}

/* The directory of a v1 tree to make a box's group in; false when there is none with the right to.
 */
static bool find_parent(const char *tree, const char *controller, uid_t uid,
                        char dir[static GROUP_DIR_SIZE])
{
    if (uid == 0)
        return snprintf(dir, GROUP_DIR_SIZE, "%s", tree) < GROUP_DIR_SIZE && is_ours(dir);
    group_delegated_dir(tree, uid, dir);
    return is_ours(dir) || (present_dir(tree, controller, dir) && is_ours(dir));
}

/* ---- layouts -------------------------------------------------------------------------------- */

static const char no_right[] = "no right to make groups there";

/* Boxes of root on a hybrid host have the v2 tree too, which counts CPU time without a controller:
 * a cpuacct tree of its own would only be one more group to make. */
static void find_v1(uid_t uid, bool needs_cpuacct, struct hierarchies *h)
{
    char tree[64];
    char dir[GROUP_DIR_SIZE];

    for (size_t i = 0; i < N_ELEMENTS(controllers); i++) {
        const char *name = controllers[i].controller;
        bool is_cpuacct = strcmp(name, "cpuacct") == 0;

        (void)snprintf(tree, sizeof(tree), TOP "/%s", name);
        if (is_cpuacct && join_cpu(h, tree))
            continue;
        if (is_cpuacct && !needs_cpuacct) {
            h->has_idle_cpuacct = is_fs(tree, CGROUP_SUPER_MAGIC);
            continue;
        }
        if (!is_fs(tree, CGROUP_SUPER_MAGIC))
            miss(h, controllers[i].wall, "no such controller is mounted", tree);
        else if (!find_parent(tree, name, uid, dir))
            miss(h, controllers[i].wall, no_right, tree);
        else
            add(h, name, controllers[i].wall, false, dir);
    }
    h->has_idle_cpuset = is_fs(TOP "/cpuset", CGROUP_SUPER_MAGIC);
}

/* Whoever is born into a v2 group needs rights on the common ancestor too: root has them. */
static void find_hybrid(uid_t uid, struct hierarchies *h)
{
    find_v1(uid, uid != 0, h);
    if (uid != 0)
        return;
    add(h, "", WALL_KILL, true, TOP "/unified");
    h->can_group_runs = true;
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ' ' || at[len] == '\n'))
            return true;
    return false;
}

static const char *const v2_controllers[] = { "memory", "pids", "cpu", NULL };

static bool passes_on(const char *dir, const char *controller)
{
    char path[GROUP_DIR_SIZE + 32];
    char text[256];

    (void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
    return fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0 && has_word(text, controller);
}

static bool passes_all_on(const char *dir)
{
    for (const char *const *name = v2_controllers; *name; name++)
        if (!passes_on(dir, *name))
            return false;
    return true;
}

/* The group to make boxes in, as far as possible with controllers to pass on; *ret_error is why
 * not.  false: no right to. */
static bool find_v2_parent(uid_t uid, char dir[static GROUP_DIR_SIZE], int *ret_error)
{
    char present[GROUP_DIR_SIZE];
    bool is_present = false;

    *ret_error = 0;
    if (!present_path("", present) || !v2_parent_choose(TOP, present, uid, dir, &is_present) ||
        !is_ours(dir))
        return false;
    if (!passes_all_on(dir))
        *ret_error = v2_parent_enable(dir, is_present, v2_controllers);
    return true;
}

void hierarchies_prepare(uid_t uid)
{
    char dir[GROUP_DIR_SIZE];
    int ignored;

    if (is_fs(TOP, CGROUP2_SUPER_MAGIC))
        (void)find_v2_parent(uid, dir, &ignored);
}

/* Children have a controller only if the parent passes it on. */
static void find_v2(uid_t uid, struct hierarchies *h)
{
    char dir[GROUP_DIR_SIZE];
    char reason[100] = "the group does not pass on this controller";
    int error;

    if (!find_v2_parent(uid, dir, &error)) {
        for (size_t i = 0; i < N_ELEMENTS(controllers); i++)
            miss(h, controllers[i].wall, no_right, TOP);
        return;
    }
    if (error < 0)
        (void)snprintf(reason, sizeof(reason), "the group does not pass on this controller: %s",
                       error == -EBUSY    ? "other processes are in it"
                       : error == -ENOENT ? "it has none"
                                          : strerror(-error));
    for (size_t i = 0; i < N_ELEMENTS(controllers); i++)
        if (strcmp(controllers[i].controller, "cpuacct") != 0 &&
            !passes_on(dir, controllers[i].controller))
            miss(h, controllers[i].wall, reason, dir);
    add(h, "", WALL_KILL, true, dir);
    h->can_group_runs = true;
}

void hierarchies_find(uid_t uid, struct hierarchies *ret)
{
    *ret = (struct hierarchies){ .layout = LAYOUT_NONE };
    if (is_fs(TOP, CGROUP2_SUPER_MAGIC)) {
        ret->layout = LAYOUT_V2;
        find_v2(uid, ret);
    } else if (is_fs(TOP "/unified", CGROUP2_SUPER_MAGIC)) {
        ret->layout = LAYOUT_HYBRID;
        find_hybrid(uid, ret);
    } else {
        ret->layout = is_fs(TOP "/memory", CGROUP_SUPER_MAGIC) ? LAYOUT_V1 : LAYOUT_NONE;
        find_v1(uid, true, ret);
    }
    for (size_t i = 0; i < ret->n; i++)
        ret->items[i].counts_cpu =
            ret->can_group_runs ? ret->items[i].is_v2 : ret->items[i].has_cpuacct;
}

/* ---- delegation ----------------------------------------------------------------------------- */

static int hand_over(const char *dir, uid_t uid, gid_t gid, bool is_v2, struct gb_err *err)
{
    static const char *const v2_files[] = { "cgroup.procs", "cgroup.threads",
                                            "cgroup.subtree_control" };
    char path[GROUP_DIR_SIZE + 32];

    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return gb_fail_sys(err, "making the group '%s'", dir);
    if (chown(dir, uid, gid) < 0)
        return gb_fail_sys(err, "giving the group '%s' to user %u", dir, (unsigned)uid);
    for (size_t i = 0; is_v2 && i < N_ELEMENTS(v2_files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, v2_files[i]);
        if (chown(path, uid, gid) < 0)
            return gb_fail_sys(err, "giving '%s' to user %u", path, (unsigned)uid);
    }
    return 0;
}

/* The trees that boxes of others need: of a hybrid host's, those of v1. */
static void find_for_others(struct hierarchies *ret)
{
    hierarchies_find(0, ret);
    if (ret->layout == LAYOUT_HYBRID) {
        *ret = (struct hierarchies){ .layout = LAYOUT_HYBRID };
        find_v1(0, true, ret);
    }
}

int hierarchies_delegate(uid_t uid, gid_t gid, char *where, size_t size, struct gb_err *err)
{
    struct hierarchies h;
    char dir[GROUP_DIR_SIZE];
    size_t used = 0;

    find_for_others(&h);
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        if (h.missing & 1u << wall)
            return gb_fail(err, -ENOENT, GB_BLAME_HOST, "%s", h.reasons[wall]);
    for (size_t i = 0; i < h.n; i++) {
        int r;

        group_delegated_dir(h.items[i].dir, uid, dir);
        r = hand_over(dir, uid, gid, h.items[i].is_v2, err);
        if (r < 0)
            return r;
        used += (size_t)snprintf(where + used, size > used ? size - used : 0, "%s%s",
                                 used ? " " : "", dir);
    }
    return 0;
}

/* A user's parent has boxes below it, a box its runs: the depth is bounded, so the recursion is.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int remove_below(int at, const char *name, unsigned depth)
{
    int fd = depth < REMOVE_DEPTH_MAX
                 ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    while (dir && r == 0 && (entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            r = remove_below(fd, entry->d_name, depth + 1);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return r < 0 ? r : unlinkat(at, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int hierarchies_undelegate(uid_t uid, unsigned *ret_n, struct gb_err *err)
{
    struct hierarchies h;
    char dir[GROUP_DIR_SIZE];

    *ret_n = 0;
    find_for_others(&h);
    for (size_t i = 0; i < h.n; i++) {
        int r;

        group_delegated_dir(h.items[i].dir, uid, dir);
        r = remove_below(AT_FDCWD, dir, 0);
        if (r == -EBUSY)
            return gb_fail(
                err, r, GB_BLAME_HOST,
                "boxes of this user are running\nremedy: try again when they have ended");
        if (r < 0 && r != -ENOENT)
            return gb_fail(err, r, GB_BLAME_HOST, "removing the group '%s': %s", dir, strerror(-r));
        *ret_n += r == 0;
    }
    return 0;
}
