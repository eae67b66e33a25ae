/* SPDX-License-Identifier: Apache-2.0 */
/* glove/apart.c - a run in a pid and a mount namespace of its own.
 *
 * What is to be covered, and what covers, is held by descriptors that are opened first: /proc is
 * replaced on the way, and a path that a hostile program can change is resolved once, without
 * following links.
 */
#include "glove/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "glove/drop.h"

#define MASKS_MAX      64
#define HIDDEN_MAX     64
#define MOUNTINFO_SIZE 65536

#define COVER_FLAGS (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* Something that is mounted below the present /proc. */
struct mask {
    const char *id; /* of the mount */
    const char *path;
    int fd; /* of the mask itself, -1 for a part of /proc that is only read-only */
};

struct cover {
    const char *proc_id; /* of the /proc that is seen */
    struct mask masks[MASKS_MAX];
    size_t n_masks;
    int hidden[HIDDEN_MAX];
    size_t n_hidden;
    int nothing_fd; /* an empty file that nobody may open */
    char mountinfo[MOUNTINFO_SIZE];
};

/* ---- looking -------------------------------------------------------------------------------- */

/* One line of mountinfo: "36 35 98:0 /sys /proc/sys ro,nosuid - proc proc rw". */
struct mount_line {
    const char *id;
    const char *parent;
    const char *point;
    bool is_proc;
};

static int parse_mount(char *line, struct mount_line *ret)
{
    const char *type = strstr(line, " - ");

    if (!type)
        return -EINVAL;
    ret->is_proc = strncmp(type, " - proc ", 8) == 0;
    ret->id = strsep(&line, " ");
    ret->parent = strsep(&line, " ");
    (void)strsep(&line, " "); /* device */
    (void)strsep(&line, " "); /* root */
    ret->point = strsep(&line, " ");
    return ret->point ? 0 : -EINVAL;
}

static bool is_on_proc(const struct cover *cover, const char *parent)
{
    for (size_t i = 0; i < cover->n_masks; i++)
        if (strcmp(cover->masks[i].id, parent) == 0)
            return true;
    return cover->proc_id && strcmp(cover->proc_id, parent) == 0;
}

static int add_mask(struct cover *cover, const struct mount_line *line)
{
    struct mask *mask = &cover->masks[cover->n_masks];

    if (cover->n_masks == MASKS_MAX || strchr(line->point, '\\'))
        return -EOVERFLOW;
    *mask = (struct mask){ .id = line->id, .path = line->point, .fd = -1 };
    if (!line->is_proc)
        mask->fd = open(line->point, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (!line->is_proc && mask->fd < 0)
        return -errno;
    cover->n_masks++;
    return 0;
}

/* Parents come before their children.  What lies on a /proc that another covers is not seen. */
static int look_at(struct cover *cover, const struct mount_line *line)
{
    if (strcmp(line->point, "/proc") == 0) {
        cover->proc_id = line->id;
        cover->n_masks = 0;
    }
    if (strncmp(line->point, "/proc/", 6) != 0 || !is_on_proc(cover, line->parent))
        return 0;
    return add_mask(cover, line);
}

static int find_masks(struct cover *cover)
{
    char *rest = cover->mountinfo;
    ssize_t n = fd_read_text(AT_FDCWD, "/proc/self/mountinfo", cover->mountinfo, MOUNTINFO_SIZE);
    char *text;

    if (n < 0)
        return (int)n;
    while ((text = strsep(&rest, "\n")) != NULL && *text) {
        struct mount_line line;
        int r = parse_mount(text, &line);

        if (r == 0)
            r = look_at(cover, &line);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A path that is not there shows nothing already. */
static int find_hidden(struct cover *cover, const struct wire_strs *hidden)
{
    struct sys_open_how how = {
        .flags = O_PATH | O_CLOEXEC, /* with O_NOFOLLOW a link itself would be opened */
        .resolve = SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };
    const char *at = NULL;
    const char *path;

    while ((path = wire_strs_next(hidden, &at)) != NULL) {
        int fd;

        if (!path_is_clean_absolute(path) || path_is_in(path, "/proc"))
            return -EINVAL;
        fd = sys_openat2(AT_FDCWD, path, &how);
        if (fd < 0 && errno != ENOENT)
            return -errno;
        if (fd >= 0)
            cover->hidden[cover->n_hidden++] = fd;
    }
    return 0;
}

/* ---- covering ------------------------------------------------------------------------------- */

#define FD_PATH_SIZE 32

static const char *fd_path(int fd, char path[static FD_PATH_SIZE])
{
    (void)snprintf(path, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
    return path;
}

/* The empty file lives in a file system that the new /proc covers, and that is read-only with all
 * that is bound from it. */
static int mount_proc(struct cover *cover)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "size=4k,nr_inodes=2,mode=0755") < 0 ||
        mknod("/proc/nothing", S_IFREG, 0) < 0)
        return -errno;
    cover->nothing_fd = open("/proc/nothing", O_PATH | O_CLOEXEC);
    if (cover->nothing_fd < 0)
        return -errno;
    if (mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | COVER_FLAGS, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2") < 0)
        return -errno;
    return 0;
}

static int mount_bind(const char *from, const char *to)
{
    if (mount(from, to, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | COVER_FLAGS, NULL) < 0)
        return -errno;
    return 0;
}

static int put_masks(const struct cover *cover)
{
    for (size_t i = 0; i < cover->n_masks; i++) {
        const struct mask *mask = &cover->masks[i];
        char from[FD_PATH_SIZE];
        int r = mount_bind(mask->fd < 0 ? mask->path : fd_path(mask->fd, from), mask->path);

        if (r < 0)
            return r;
    }
    return 0;
}

static int hide(const struct cover *cover, int fd)
{
    char target[FD_PATH_SIZE];
    char nothing[FD_PATH_SIZE];
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        r = mount("tmpfs", fd_path(fd, target), "tmpfs", COVER_FLAGS,
                  "size=4k,nr_inodes=1,mode=0555");
    else
        r = mount(fd_path(cover->nothing_fd, nothing), fd_path(fd, target), NULL, MS_BIND, NULL);
    return r < 0 ? -errno : 0;
}

static int cover_all(const struct child_plan *plan)
{
    static struct cover cover;
    int r = find_masks(&cover);

    if (r == 0)
        r = find_hidden(&cover, plan->hidden);
    if (r == 0)
        r = mount_proc(&cover);
    if (r == 0)
        r = put_masks(&cover);
    for (size_t i = 0; r == 0 && i < cover.n_hidden; i++)
        r = hide(&cover, cover.hidden[i]);
    return r;
}

/* ---- being init ----------------------------------------------------------------------------- */

static void wait_for(pid_t main_pid, int status_fd) __attribute__((noreturn));

static void wait_for(pid_t main_pid, int status_fd)
{
    for (;;) {
        int status;
        pid_t pid = wait4(-1, &status, 0, NULL);

        if (pid < 0 && errno != EINTR)
            _exit(1);
        if (pid < 0 || !child_has_ended(pid, status) || pid != main_pid)
            continue;
        (void)fd_write_full(status_fd, &status, sizeof(status));
        _exit(0);
    }
}

void apart_exec(const struct child_plan *plan)
{
    int r = cover_all(plan);
    pid_t pid;

    if (r < 0)
        child_report(plan->report_fd, GLOVE_STEP_NAMESPACE, -r, 0);
    pid = child_fork(-1, 0);
    if (pid == 0)
        child_exec(plan);
    r = pid < 0 ? pid : drop_all();
    if (r == 0)
        r = fd_close_from(3, &plan->status_fd, 1);
    if (r < 0)
        child_report(plan->report_fd, GLOVE_STEP_NAMESPACE, -r, 0);
    wait_for(pid, plan->status_fd);
}
