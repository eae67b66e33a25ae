/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/build.c - the file system of a box: the steps of its plan, and the pivot into it. */
#include "spawner/build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/level.h"
#include "base/sys.h"

/* A directory that every host has and no plan needs under its host path once the trees are open. */
#define STAGING_POINT "/sys"
#define STAGED_ROOT   STAGING_POINT "/root"

#define COVER_FLAGS (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV | MOUNT_FLAG_NOEXEC)

/* ---- small parts ---------------------------------------------------------------------------- */

static unsigned mount_attrs(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        unsigned attr;
    } table[] = {
        { MOUNT_FLAG_RO, SYS_MOUNT_ATTR_RDONLY },
        { MOUNT_FLAG_NOSUID, SYS_MOUNT_ATTR_NOSUID },
        { MOUNT_FLAG_NODEV, SYS_MOUNT_ATTR_NODEV },
        { MOUNT_FLAG_NOEXEC, SYS_MOUNT_ATTR_NOEXEC },
        { MOUNT_FLAG_NOATIME, SYS_MOUNT_ATTR_NOATIME },
    };
    unsigned attrs = 0;

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (flags & table[i].flag)
            attrs |= table[i].attr;
    return attrs;
}

/* Private besides: a clone of a shared mount is its peer, and what the box mounts on top of it (a
 * mask over a secret) would appear on the host too. */
static int set_attrs(int fd, uint32_t flags, bool is_recursive)
{
    struct sys_mount_attr attr = { .attr_set = mount_attrs(flags), .propagation = MS_PRIVATE };

    if (attr.attr_set == 0)
        return 0;
    return sys_mount_setattr(fd, "", AT_EMPTY_PATH | (is_recursive ? SYS_AT_RECURSIVE : 0), &attr);
}

/* Where a target lies: the directory to start from, and the path below it. */
static int target_base(const struct builder *b, const char **target)
{
    if ((*target)[0] != '/')
        return b->stage_fd;
    while ((*target)[0] == '/')
        (*target)++;
    if (!(*target)[0])
        *target = ".";
    return b->root_fd;
}

static int target_open(const struct builder *b, const char *target, int flags, unsigned mode)
{
    struct sys_open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = mode,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };
    int base = target_base(b, &target);

    return sys_openat2(base, target, &how);
}

static int make_dir(const struct builder *b, const char *target, unsigned mode)
{
    int base = target_base(b, &target);

    return mkdirat(base, target, mode) < 0 && errno != EEXIST ? -1 : 0;
}

/* An empty file or directory to mount on, unless there is one. */
static int make_point(const struct builder *b, const char *target, bool is_dir)
{
    int base = target_base(b, &target);
    int r = is_dir ? mkdirat(base, target, 0755) : mknodat(base, target, S_IFREG | 0644, 0);

    return r < 0 && errno != EEXIST ? -1 : 0;
}

/* The last component may be no link either, or the kernel refuses. */
static int attach(const struct builder *b, int mount_fd, const char *target)
{
    int base = target_base(b, &target);

    return sys_move_mount(mount_fd, base, target);
}

/* ---- trees of the host ---------------------------------------------------------------------- */

static int tree_open(const struct msg_bind *bind)
{
    cleanup_close int fd = sys_open_tree(
        AT_FDCWD, bind->source, SYS_OPEN_TREE_CLONE | SYS_OPEN_TREE_CLOEXEC | SYS_AT_RECURSIVE);

    if (fd < 0 || set_attrs(fd, bind->flags, true) < 0)
        return -1;
    return take_fd(&fd);
}

int trees_open(struct plan *plan, struct failure *ret)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct msg_bind bind;

        if (plan->steps[i].type != MSG_BIND)
            continue;
        if (plan_decode(plan, i, &bind) < 0)
            return failure_note(ret, i, SPAWN_WHERE_PLAN, 0, -EPROTO, "");
        if (!(bind.flags & (MOUNT_FLAG_VEILED | MOUNT_FLAG_CLOSED)))
            continue;
        plan->steps[i].tree = tree_open(&bind);
        if (plan->steps[i].tree < 0)
            return failure_note(ret, i, SPAWN_WHERE_TREE, bind.wall, -errno, bind.source);
    }
    return 0;
}

/* ---- steps: each returns 0, or -1 with errno ------------------------------------------------- */

static int step_tmpfs(struct builder *b, const void *msg)
{
    const struct msg_tmpfs *m = msg;
    unsigned long flags;
    char options[96];
    cleanup_close int fd = -1;
    int n;

    if (make_point(b, m->target, true) < 0)
        return -1;
    fd = target_open(b, m->target, O_PATH | O_DIRECTORY, 0);
    if (fd < 0 || fchdir(fd) < 0)
        return -1;
    n = snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=%o",
                 (unsigned long long)m->bytes, (unsigned long long)m->inodes, m->mode);
    if (n < 0 || (size_t)n >= sizeof(options)) {
        errno = EINVAL;
        return -1;
    }
    /* The flags of mount(2) and of the newer calls are the same bits, but for this one. */
    flags = mount_attrs(m->flags & ~(uint32_t)MOUNT_FLAG_NOATIME);
    if (m->flags & MOUNT_FLAG_NOATIME)
        flags |= MS_NOATIME;
    if (mount("tmpfs", ".", "tmpfs", flags, options) < 0)
        return -1;
    if (strcmp(m->target, "root") != 0)
        return 0;
    b->root_fd = openat(b->stage_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return b->root_fd < 0 ? -1 : 0;
}

/* The path of a target before the pivot. */
static int staged_path(const char *target, char ret[static PATH_MAX])
{
    int n =
        snprintf(ret, PATH_MAX, "%s%s", target[0] == '/' ? STAGED_ROOT : STAGING_POINT "/", target);

    if (n >= 0 && n < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* What nobody in the box could walk to by the host's own rights is not there for it. */
static bool is_out_of_reach(int error)
{
    return error == ENOENT || error == EACCES || error == ENOTDIR || error == ELOOP;
}

static bool is_as_planned(const struct msg_bind *m, const struct stat *st)
{
    return !(m->flags & MOUNT_FLAG_DEVICE) ||
           (S_ISCHR(st->st_mode) && st->st_rdev == (dev_t)m->rdev);
}

/* By mount(2), for what everybody may see: a detached copy costs the kernel a mount namespace of
 * its own, made and removed. */
static int bind_path(const struct builder *b, const struct msg_bind *m, const char *source)
{
    struct sys_mount_attr attr = { .attr_set = mount_attrs(m->flags) };
    char target[PATH_MAX];
    struct stat st;

    if (stat(source, &st) < 0)
        return is_out_of_reach(errno) && m->flags & MOUNT_FLAG_OPTIONAL ? 0 : -1;
    if (!is_as_planned(m, &st)) {
        errno = ENODEV;
        return -1;
    }
    if (make_point(b, m->target, S_ISDIR(st.st_mode)) < 0 || staged_path(m->target, target) < 0 ||
        mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
        return -1;
    return sys_mount_setattr(AT_FDCWD, target, SYS_AT_RECURSIVE, &attr);
}

/* An overlay that nothing is written to, with the tree below and an empty directory because there
 * must be two.  A file in it is the tree's file, but a socket or a pipe has an inode of its own, so
 * that nobody listens at the other end; on a mere bind, read-only or not, connect(2) would reach
 * the host's process.  What appears in the tree later is behind the veil too.  The path is not
 * spoken: it could hold a colon. */
static int veil(const struct builder *b, const char *target, uint32_t flags)
{
    static const char *const options[][2] = {
        { "lowerdir", ".:" STAGING_POINT "/nothing" },
        { "redirect_dir", "nofollow" },
        { "metacopy", "off" },
    };
    cleanup_close int tree = target_open(b, target, O_PATH | O_DIRECTORY, 0);
    cleanup_close int fs = sys_fsopen("overlay");
    cleanup_close int fd = -1;

    if (tree < 0 || fs < 0 || fchdir(tree) < 0)
        return -1;
    for (size_t i = 0; i < N_ELEMENTS(options); i++)
        if (sys_fsconfig(fs, SYS_FSCONFIG_SET_STRING, options[i][0], options[i][1]) < 0)
            return -1;
    if (sys_fsconfig(fs, SYS_FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
        return -1;
    fd = sys_fsmount(fs, mount_attrs(flags));
    return fd < 0 ? -1 : attach(b, fd, target);
}

static int step_bind(struct builder *b, const void *msg)
{
    const struct msg_bind *m = msg;
    char source[PATH_MAX];

    if (m->flags & MOUNT_FLAG_INSIDE)
        return staged_path(m->source, source) < 0 ? -1 : bind_path(b, m, source);
    if (!(m->flags & (MOUNT_FLAG_VEILED | MOUNT_FLAG_CLOSED)))
        return bind_path(b, m, m->source);
    if (make_point(b, m->target, true) < 0 || attach(b, b->tree, m->target) < 0)
        return -1;
    return m->flags & MOUNT_FLAG_VEILED ? veil(b, m->target, m->flags) : 0;
}

static int fs_options(int fd, const struct wire_strs *options)
{
    const char *at = NULL;
    const char *option;

    while ((option = wire_strs_next(options, &at)) != NULL) {
        const char *equals = strchr(option, '=');
        char key[32];
        int r;

        if (!equals) {
            r = sys_fsconfig(fd, SYS_FSCONFIG_SET_FLAG, option, NULL);
        } else {
            (void)snprintf(key, sizeof(key), "%.*s", (int)(equals - option), option);
            r = sys_fsconfig(fd, SYS_FSCONFIG_SET_STRING, key, equals + 1);
        }
        if (r < 0)
            return -1;
    }
    return sys_fsconfig(fd, SYS_FSCONFIG_CMD_CREATE, NULL, NULL);
}

static int step_mount(struct builder *b, const void *msg)
{
    const struct msg_mount *m = msg;
    cleanup_close int fs = sys_fsopen(m->type);
    cleanup_close int fd = -1;

    if (fs < 0 || fs_options(fs, &m->options) < 0 || make_point(b, m->target, true) < 0)
        return -1;
    fd = sys_fsmount(fs, mount_attrs(m->flags));
    return fd < 0 ? -1 : attach(b, fd, m->target);
}

static int step_dir(struct builder *b, const void *msg)
{
    const struct msg_dir *m = msg;
    const char *rel = m->target;
    int base = target_base(b, &rel);

    if (make_dir(b, m->target, m->mode) < 0)
        return -1;
    if (m->uid == 0 && m->gid == 0)
        return 0;
    return fchownat(base, rel, m->uid, m->gid, AT_SYMLINK_NOFOLLOW);
}

static int step_link(struct builder *b, const void *msg)
{
    const struct msg_link *m = msg;
    const char *rel = m->target;
    int base = target_base(b, &rel);

    return symlinkat(m->content, base, rel);
}

static int step_file(struct builder *b, const void *msg)
{
    const struct msg_file *m = msg;
    cleanup_close int fd = target_open(b, m->target, O_WRONLY | O_CREAT | O_EXCL, m->mode);
    int r;

    if (fd < 0)
        return -1;
    r = fd_write_full(fd, m->bytes.bytes, m->bytes.size);
    if (r < 0) {
        errno = -r;
        return -1;
    }
    return m->uid == 0 && m->gid == 0 ? 0 : fchown(fd, m->uid, m->gid);
}

/* A clone has the flags of the mount that it was cloned from.  So the staging directory itself is
 * closed before the first cover; whatever a plan puts there, it has put by then. */
static int covers_begin(struct builder *b)
{
    if (!b->has_covers && set_attrs(b->stage_fd, COVER_FLAGS, false) < 0)
        return -1;
    b->has_covers = true;
    return 0;
}

static int step_write(struct builder *b, const void *msg)
{
    const struct msg_write *m = msg;
    cleanup_close int fd = target_open(b, m->target, O_WRONLY, 0);
    size_t len = strlen(m->text);

    return fd >= 0 && write(fd, m->text, len) == (ssize_t)len ? 0 : -1;
}

/* What lies in the working directory under that name, no link. */
static int cover(const char *name, bool is_dir)
{
    const char *with = is_dir ? STAGING_POINT "/nothing" : STAGING_POINT "/mask";

    return mount(with, name, NULL, MS_BIND, NULL);
}

static int step_mask(struct builder *b, const void *msg)
{
    const struct msg_mask *m = msg;
    const char *target = m->target;
    int base = target_base(b, &target);
    struct stat st;

    if (fstatat(base, target, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    /* A link shows what it points to, and that is covered or visible by itself. */
    if (S_ISLNK(st.st_mode))
        return 0;
    if (covers_begin(b) < 0 || fchdir(base) < 0)
        return -1;
    return cover(target, S_ISDIR(st.st_mode));
}

static bool is_kept(const struct wire_strs *keep, const char *name)
{
    const char *at = NULL;
    const char *kept;

    if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9'))
        return true;
    while ((kept = wire_strs_next(keep, &at)) != NULL)
        if (strcmp(kept, name) == 0)
            return true;
    return false;
}

/* A link shows what it points to; what others cannot open needs no cover: nobody in a box is the
 * host's root. */
static int cover_entry(const struct sys_dirent *entry)
{
    struct stat st;

    if (entry->type == DT_DIR)
        return cover(entry->name, true);
    if (lstat(entry->name, &st) < 0)
        return -1;
    if (S_ISLNK(st.st_mode) || !(st.st_mode & S_IRWXO))
        return 0;
    return cover(entry->name, S_ISDIR(st.st_mode));
}

/* Without readdir(), which would allocate. */
static int step_cover(struct builder *b, const void *msg)
{
    static struct level level;
    const struct msg_cover *m = msg;
    cleanup_close int fd = target_open(b, m->target, O_RDONLY | O_DIRECTORY, 0);
    const struct sys_dirent *entry;
    int error = 0;

    if (fd < 0 || covers_begin(b) < 0 || fchdir(fd) < 0)
        return -1;
    level_begin(&level, fd);
    while ((entry = level_next(&level, &error)) != NULL)
        if (!is_kept(&m->keep, entry->name) && cover_entry(entry) < 0)
            return -1;
    errno = -error;
    return error < 0 ? -1 : 0;
}

static int step_remount(struct builder *b, const void *msg)
{
    const struct msg_remount *m = msg;
    cleanup_close int fd = target_open(b, m->target, O_PATH, 0);

    return fd < 0 ? -1 : set_attrs(fd, m->flags, false);
}

/* Every message of a step begins with its wall. */
static const struct {
    uint8_t type;
    int (*run)(struct builder *b, const void *msg);
    size_t target; /* offset of what a failure is about */
} builders[] = {
    { MSG_TMPFS, step_tmpfs, offsetof(struct msg_tmpfs, target) },
    { MSG_BIND, step_bind, offsetof(struct msg_bind, target) },
    { MSG_MOUNT, step_mount, offsetof(struct msg_mount, target) },
    { MSG_DIR, step_dir, offsetof(struct msg_dir, target) },
    { MSG_LINK, step_link, offsetof(struct msg_link, target) },
    { MSG_FILE, step_file, offsetof(struct msg_file, target) },
    { MSG_WRITE, step_write, offsetof(struct msg_write, target) },
    { MSG_MASK, step_mask, offsetof(struct msg_mask, target) },
    { MSG_COVER, step_cover, offsetof(struct msg_cover, target) },
    { MSG_REMOUNT, step_remount, offsetof(struct msg_remount, target) },
};

/* ---- begin and end -------------------------------------------------------------------------- */

int builder_begin(struct builder *b)
{
    int fd;

    if (mount("tmpfs", STAGING_POINT, "tmpfs", MS_NOSUID | MS_NODEV,
              "size=64k,nr_inodes=64,mode=755") < 0)
        return -1;
    b->stage_fd = open(STAGING_POINT, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (b->stage_fd < 0 || mkdirat(b->stage_fd, "nothing", 0555) < 0)
        return -1;
    fd = openat(b->stage_fd, "mask", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int builder_step(struct builder *b, const struct plan *plan, size_t i, struct failure *ret)
{
    _Alignas(16) char msg[MSG_STRUCT_MAX];
    const char *target;
    uint32_t wall;

    for (size_t k = 0; k < N_ELEMENTS(builders); k++) {
        if (builders[k].type != plan->steps[i].type)
            continue;
        if (plan_decode(plan, i, msg) < 0)
            return failure_note(ret, i, SPAWN_WHERE_PLAN, 0, -EPROTO, "");
        b->tree = plan->steps[i].tree;
        if (builders[k].run(b, msg) == 0)
            return 0;
        memcpy(&wall, msg, sizeof(wall));
        memcpy(&target, msg + builders[k].target, sizeof(target));
        return failure_note(ret, i, SPAWN_WHERE_STEP, wall, -errno, target);
    }
    return 0;
}

/* Afterwards the old root hangs nowhere, and the working directory is the new one. */
int builder_pivot(const struct builder *b)
{
    char cwd[8];

    if (fchdir(b->root_fd) < 0 || sys_pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return -1;
    if (syscall(SYS_getcwd, cwd, sizeof(cwd)) < 0)
        return -1;
    if (strcmp(cwd, "/") != 0) {
        errno = ESTALE;
        return -1;
    }
    return 0;
}
