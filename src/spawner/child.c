/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/child.c - the first process of a box, from its clone until it is the glove.
 *
 * Everything is built in a staging directory, a tmpfs that covers one directory of the host in this
 * mount namespace only:
 *
 *    staging/root      the box's root; targets that begin with '/' lie below it
 *    staging/mask      a file and a directory that cover what must not be seen
 *    staging/nothing
 *    staging/...       what the plan puts there (the disk of the box)
 *
 * Paths are walked plainly: the root is this program's own tmpfs, and no step puts a link into it
 * that a later step goes through.
 *
 * pivot_root() makes staging/root the root, and the detached old root takes the staging directory
 * with it: only what was bound into the root stays.
 */
#include "spawner/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/sys.h"
#include "glove/start.h"

/* A directory that every host has and no plan needs under its host path once the trees are open. */
#define STAGING_POINT "/sys"
#define STAGED_ROOT   STAGING_POINT "/root"

#define COVER_FLAGS (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV | MOUNT_FLAG_NOEXEC)

struct builder {
    int tree; /* opened for the present step, or -1 */
    int stage_fd;
    int root_fd; /* -1 until the plan has mounted it */
    bool has_covers;
};

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

static void note(struct failure *ret, size_t step, enum spawn_where where, uint32_t wall,
                 const char *detail)
{
    ret->step = (uint32_t)step;
    ret->where = where;
    ret->wall = wall;
    ret->error = (uint32_t)(errno ? errno : EIO);
    (void)snprintf(ret->detail, sizeof(ret->detail), "%s", detail);
}

int trees_open(struct plan *plan, struct failure *ret)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct msg_bind bind;

        if (plan->steps[i].type != MSG_BIND)
            continue;
        if (plan_decode(plan, i, &bind) < 0) {
            errno = EPROTO;
            note(ret, i, SPAWN_WHERE_PLAN, 0, "");
            return -1;
        }
        if (!(bind.flags & (MOUNT_FLAG_VEILED | MOUNT_FLAG_CLOSED)))
            continue;
        plan->steps[i].tree = tree_open(&bind);
        if (plan->steps[i].tree < 0) {
            note(ret, i, SPAWN_WHERE_TREE, bind.wall, bind.source);
            return -1;
        }
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

static int cover_entries(const struct wire_strs *keep, const char *entries, ssize_t n)
{
    for (ssize_t at = 0; at < n;) {
        const struct sys_dirent *entry = (const void *)(entries + at);

        if (!is_kept(keep, entry->name) && cover_entry(entry) < 0)
            return -1;
        at += entry->size;
    }
    return 0;
}

/* Without readdir(), which would allocate. */
static int step_cover(struct builder *b, const void *msg)
{
    static _Alignas(8) char entries[32768];
    const struct msg_cover *m = msg;
    cleanup_close int fd = target_open(b, m->target, O_RDONLY | O_DIRECTORY, 0);
    ssize_t n = -1;

    if (fd < 0 || covers_begin(b) < 0 || fchdir(fd) < 0)
        return -1;
    while ((n = sys_getdents64(fd, entries, sizeof(entries))) > 0)
        if (cover_entries(&m->keep, entries, n) < 0)
            return -1;
    return n < 0 ? -1 : 0;
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

/* ---- the order of things -------------------------------------------------------------------- */

static void die(const struct child *child, const struct failure *failure) __attribute__((noreturn));
static void become_glove(const struct child *child) __attribute__((noreturn));

void failure_send(int control_fd, const struct failure *failure)
{
    struct msg_failed failed = {
        .step = failure->step,
        .wall = failure->wall,
        .where = failure->where,
        .error = failure->error,
        .detail = failure->detail,
    };
    uint8_t frame[sizeof(failure->detail) + 64];
    int n = msg_encode(MSG_FAILED, 0, 0, &failed, frame, sizeof(frame));

    if (n > 0)
        (void)fd_send(control_fd, frame, (size_t)n, NULL, 0, 0);
}

static void die(const struct child *child, const struct failure *failure)
{
    failure_send(child->control_fd, failure);
    _exit(1);
}

static void die_at(const struct child *child, size_t step, enum spawn_where where, uint32_t wall,
                   const char *detail) __attribute__((noreturn));

static void die_at(const struct child *child, size_t step, enum spawn_where where, uint32_t wall,
                   const char *detail)
{
    struct failure failure = { 0 };

    note(&failure, step, where, wall, detail);
    die(child, &failure);
}

static void run_step(const struct child *child, struct builder *b, size_t i)
{
    _Alignas(16) char msg[MSG_STRUCT_MAX];
    const char *target;
    uint32_t wall;

    for (size_t k = 0; k < N_ELEMENTS(builders); k++) {
        if (builders[k].type != child->plan->steps[i].type)
            continue;
        if (plan_decode(child->plan, i, msg) < 0) {
            errno = EPROTO;
            die_at(child, i, SPAWN_WHERE_PLAN, 0, "");
        }
        b->tree = child->plan->steps[i].tree;
        if (builders[k].run(b, msg) == 0)
            return;
        memcpy(&wall, msg, sizeof(wall));
        memcpy(&target, msg + builders[k].target, sizeof(target));
        die_at(child, i, SPAWN_WHERE_STEP, wall, target);
    }
}

/* Is this process really where its limits are? */
static void check_groups(const struct child *child)
{
    static char text[8192];
    struct msg_group step;

    if (fd_read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
        die_at(child, 0, SPAWN_WHERE_JOIN, 0, "/proc/self/cgroup");
    for (size_t i = 0; i < child->n_groups; i++) {
        (void)plan_decode(child->plan, child->group_steps[i], &step);
        if (group_check(&step, &child->groups[i], text) == 0)
            continue;
        errno = ESRCH;
        die_at(child, child->group_steps[i], SPAWN_WHERE_JOIN, step.wall, child->groups[i].path);
    }
}

static void await_go(const struct child *child)
{
    char byte;

    if (fd_read_full(child->go_fd, &byte, 1) != 1)
        _exit(1);
}

/* The v1 groups, while this process is still its spawner's user; the v2 one it was born in. */
static void join(const struct child *child)
{
    close(child->parent_go_fd); /* or its end would never show */
    for (size_t i = 0; i < child->n_groups; i++)
        if (!child->groups[i].is_v2 && write(child->groups[i].join_fd, "0", 1) != 1)
            die_at(child, 0, SPAWN_WHERE_JOIN, 0, child->groups[i].path);
    check_groups(child);
}

/* The namespace first: its root is where the process is that makes it. */
static void show_groups(const struct child *child)
{
    for (size_t i = 0; i < child->n_groups; i++) {
        if (!group_is_seen(&child->groups[i]))
            continue;
        if (unshare(CLONE_NEWCGROUP) < 0)
            die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_CGROUP_NS, "");
        if (group_enter_leaf(&child->groups[i]) < 0)
            die_at(child, 0, SPAWN_WHERE_JOIN, 0, child->groups[i].path);
        (void)fd_write_full(child->seen_fd, "s", 1);
    }
}

static int become_box_root(void)
{
    if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0)
        return -1;
    return (int)syscall(SYS_setresuid, 0, 0, 0);
}

static int staging_make(struct builder *b)
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

static int loopback_up(void)
{
    struct ifreq ifr = { .ifr_name = "lo" };
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    ifr.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(fd, SIOCSIFFLAGS, &ifr);
}

/* Afterwards the old root hangs nowhere, and the working directory is the new one. */
static int pivot(const struct builder *b)
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

/* Standard streams of the glove are the box's own /dev/null, never the host's. */
static int leave_host_streams(void)
{
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return -1;
    return 0;
}

/* Without an exec: the glove is linked into this program, and an exec would only load it again.
 * It begins by closing every descriptor but the link, and by hiding its memory. */
static void become_glove(const struct child *child)
{
    if (leave_host_streams() < 0)
        die_at(child, 0, SPAWN_WHERE_STREAMS, 0, "/dev/null");
    (void)prctl(PR_SET_NAME, "glove");
    _exit(glove_start(child->plan->link_fd, child->plan->link_fd));
}

/* The namespaces that are not made by the clone itself, and what belongs to them. */
static void furnish_namespaces(const struct child *child)
{
    uint32_t flags = child->plan->head.flags;

    if (flags & PLAN_FLAG_CGROUP_NS && child->seen_fd < 0 && unshare(CLONE_NEWCGROUP) < 0)
        die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_CGROUP_NS, "");
    if (flags & PLAN_FLAG_NET_NS && loopback_up() < 0)
        die_at(child, 0, SPAWN_WHERE_NET, 0, "lo");
    if (flags & PLAN_FLAG_UTS_NS &&
        sethostname(child->plan->head.hostname, strlen(child->plan->head.hostname)) < 0)
        die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_UTS_NS, "");
}

static void build(struct child *child, struct builder *b)
{
    struct failure failure = { 0 };

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "/");
    if (!(child->plan->head.flags & PLAN_FLAG_ROOT) && trees_open(child->plan, &failure) < 0)
        die(child, &failure);
    if (become_box_root() < 0)
        die_at(child, 0, SPAWN_WHERE_MAP, 0, "");
    if (staging_make(b) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "staging");
    for (size_t i = 0; i < child->plan->n_steps; i++)
        run_step(child, b, i);
    if (b->root_fd < 0 || pivot(b) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "root");
}

void child_main(struct child *child)
{
    struct builder b = { .tree = -1, .stage_fd = -1, .root_fd = -1 };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    umask(0);
    join(child);
    show_groups(child);
    await_go(child); /* ids */
    furnish_namespaces(child);
    build(child, &b);
    umask(022);
    await_go(child); /* limits */
    become_glove(child);
}
