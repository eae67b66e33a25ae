/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/toolchain.c - trees of the host that the operator shows in boxes besides /usr. */
#include "box/native/toolchain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#define PATH_TEXT_MAX (64 << 10)

/* Entries of a directory looked at for rights; what is behind them is taken at its word. */
#define LOOK_MAX 512

/* Places that are the box's own. */
static const char *const own_places[] = {
    "/proc", "/sys", "/dev", "/etc", "/run", "/tmp", "/var/tmp", "/workspace", "/home/box",
};

static const char usual_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* Where Go's own archive puts itself, outside every usual PATH. */
#define GO_BIN "/usr/local/go/bin"

/* Nobody is told to open a home, which has more in it than a toolchain. */
static bool is_home(const char *tree)
{
    char room[4096];
    struct passwd pwd;
    struct passwd *found = NULL;
    struct stat st;

    return strcmp(tree, "/root") == 0 ||
           (stat(tree, &st) == 0 && getpwuid_r(st.st_uid, &pwd, room, sizeof(room), &found) == 0 &&
            found && strcmp(pwd.pw_dir, tree) == 0);
}

static int unreadable(const char *tree, const char *path, struct gb_err *err)
{
    if (is_home(tree))
        return gb_fail(err, -EACCES, GB_BLAME_CALLER,
                       "toolchain '%.150s' is a home directory, and '%.150s' is not readable by "
                       "others" GB_REMEDY
                       "name the tree of the toolchain alone, or copy it to one below /opt",
                       tree, path);
    return gb_fail(err, -EACCES, GB_BLAME_CALLER,
                   "toolchain: '%.200s' is not readable by others" GB_REMEDY "chmod o+rX '%.200s'",
                   path, path);
}

static bool is_readable(const struct stat *st)
{
    return (st->st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH);
}

/* A directory below the tree's own: where a home keeps its secrets. */
static bool is_shut_dir(int dir_fd, const struct dirent *entry)
{
    struct stat st;

    return entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
           fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_readable(&st);
}

/* A program that its owner can start, and nobody in a box, where it would only be "permission
 * denied". */
static bool is_shut_program(int dir_fd, const struct dirent *entry)
{
    struct stat st;

    return entry->d_type != DT_DIR && fstatat(dir_fd, entry->d_name, &st, 0) == 0 &&
           S_ISREG(st.st_mode) && st.st_mode & S_IXUSR && !(st.st_mode & S_IXOTH);
}

/* Looks at the first entries of a directory of the tree; that it has no such one is well. */
static int look(const char *tree, const char *place,
                bool (*is_shut)(int dir_fd, const struct dirent *entry), struct gb_err *err)
{
    DIR *dir = opendir(place);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : gb_fail_sys(err, "opening the toolchain '%s'", place);
    for (int i = 0; r == 0 && i < LOOK_MAX && (entry = readdir(dir)) != NULL; i++) {
        char path[2 * PATH_MAX];

        if (!is_shut(dirfd(dir), entry))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
        r = unreadable(tree, path, err);
    }
    closedir(dir);
    return r;
}

/* No walk through all of it, which would take longer than the box: the parts of a tree, and the
 * programs that it puts on PATH. */
static int look_below(const char *tree, struct gb_err *err)
{
    char bin[PATH_MAX + 8];
    int r = look(tree, tree, is_shut_dir, err);

    (void)snprintf(bin, sizeof(bin), "%s/bin", tree);
    return r < 0 ? r : look(tree, access(bin, X_OK) == 0 ? bin : tree, is_shut_program, err);
}

static int check_tree(const char *tree, struct gb_err *err)
{
    struct stat st;

    if (strcmp(tree, "/") == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "toolchain '/': not all of this machine; name the directory that has the "
                       "toolchain's bin");
    if (!path_is_clean_absolute(tree))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "toolchain '%s' is not an absolute path without '.', '..' or '//'", tree);
    for (size_t i = 0; i < N_ELEMENTS(own_places); i++)
        if (path_is_in(tree, own_places[i]) || path_is_in(own_places[i], tree))
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "toolchain '%s' lies where a box keeps its own '%s'", tree,
                           own_places[i]);
    if (stat(tree, &st) < 0)
        return gb_fail_sys(err, "toolchain '%s'", tree);
    if (!S_ISDIR(st.st_mode))
        return gb_fail(err, -ENOTDIR, GB_BLAME_CALLER, "toolchain '%s' is not a directory", tree);
    return is_readable(&st) ? look_below(tree, err) : unreadable(tree, tree, err);
}

int toolchains_check(const char *const *trees, struct gb_err *err)
{
    for (; trees && *trees; trees++) {
        int r = check_tree(*trees, err);

        if (r < 0)
            return r;
    }
    return 0;
}

char *toolchains_path(const char *const *trees)
{
    struct buf path = BUF_INIT(PATH_TEXT_MAX);

    for (; trees && *trees; trees++) {
        char bin[PATH_MAX + 8];

        (void)snprintf(bin, sizeof(bin), "%s/bin", *trees);
        (void)buf_printf(&path, "%s:", access(bin, X_OK) == 0 ? bin : *trees);
    }
    (void)buf_puts(&path, usual_path);
    if (access(GO_BIN, X_OK) == 0)
        (void)buf_puts(&path, ":" GO_BIN);
    return buf_take(&path);
}
