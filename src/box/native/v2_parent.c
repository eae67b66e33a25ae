/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/v2_parent.c - in which group of a v2 tree the groups of boxes are made. */
#include "box/native/v2_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* A path that leads out of the tree that is seen here is none of it. */
static bool is_within(const char *present)
{
    return present[0] == '/' && !strstr(present, "/..");
}

static bool is_leaf(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && strcmp(slash + 1, V2_LEAF) == 0;
}

bool v2_parent_choose(const char *top, const char *present, uid_t uid,
                      char dir[static GROUP_DIR_SIZE], bool *ret_is_present)
{
    char here[GROUP_DIR_SIZE];

    if (!is_within(present) ||
        snprintf(here, sizeof(here), "%s%s", top, present[1] ? present : "") >= (int)sizeof(here))
        return false;
    group_delegated_dir(top, uid, dir);
    if (uid == 0)
        (void)snprintf(dir, GROUP_DIR_SIZE, "%s", top);
    else if (!path_is_in(here, dir))
        (void)snprintf(dir, GROUP_DIR_SIZE, "%.*s",
                       is_leaf(here) ? (int)(strrchr(here, '/') - here) : GROUP_DIR_SIZE, here);
    *ret_is_present = strcmp(here, dir) == 0;
    return true;
}

static int enable(const char *dir, const char *controller)
{
    char path[GROUP_DIR_SIZE + 32];
    char text[64];

    (void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
    (void)snprintf(text, sizeof(text), "+%s", controller);
    return fd_write_text(AT_FDCWD, path, text);
}

static int move_to(const char *dir)
{
    char path[GROUP_DIR_SIZE + 64];

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    return fd_write_text(AT_FDCWD, path, "0");
}

static int step_aside(const char *dir, char leaf[static GROUP_DIR_SIZE + 32])
{
    (void)snprintf(leaf, GROUP_DIR_SIZE + 32, "%s/" V2_LEAF, dir);
    if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
        return -errno;
    return move_to(leaf);
}

/* Others are in the group too: the kernel will not have it, and this process goes back. */
static void step_back(const char *dir, const char *leaf)
{
    if (move_to(dir) == 0)
        (void)rmdir(leaf); /* busy: of another process that has stepped aside */
}

int v2_parent_enable(const char *dir, bool is_present, const char *const *controllers)
{
    char leaf[GROUP_DIR_SIZE + 32];
    bool is_aside = false;
    int failed = 0;

    for (; *controllers; controllers++) {
        int r = enable(dir, *controllers);

        if (r == -EBUSY && is_present && !is_aside) {
            r = step_aside(dir, leaf);
            is_aside = r == 0;
            if (r == 0)
                r = enable(dir, *controllers);
            if (is_aside && r == -EBUSY) {
                step_back(dir, leaf);
                return r;
            }
        }
        failed = r < 0 ? r : failed;
    }
    return failed;
}
