/* SPDX-License-Identifier: Apache-2.0 */
/* glove/pack.c - files of a directory into a crate on a pipe.
 *
 * The tree is walked without recursion: a stack of open directories, each with a piece of its
 * entries, and one path that grows and shrinks.
 */
#include "glove/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/level.h"
#include "base/path.h"
#include "base/sys.h"
#include "wire/crate.h"

#define GET_FLAGS   (uint32_t)(GET_FLAG_LIST | GET_FLAG_CHANGED | GET_FLAG_TREE | GET_FLAG_KINDS)
#define NOT_BY_KIND (uint32_t)(GET_FLAG_LIST | GET_FLAG_CHANGED)

struct packer {
    const struct msg_get *get;
    int pipe_fd;
    uint64_t files;
    uint64_t bytes;
    uint64_t passed_over;
    size_t depth;
    struct level levels[LEVELS_MAX];
    size_t path_lens[LEVELS_MAX];  /* of the directories themselves */
    char path[CRATE_PATH_MAX + 1]; /* of the present entry, relative to dir */
    uint8_t data[WIRE_PAYLOAD_MAX];
};

/* ---- one file ------------------------------------------------------------------------------- */

static int send_head(const struct packer *p, enum crate_kind kind, const char *path, unsigned mode,
                     uint64_t size)
{
    uint8_t head[CRATE_HEAD_SIZE + CRATE_PATH_MAX];
    int n = crate_kind_put(kind, path, mode & 0777, size, head);

    return n < 0 ? n : fd_write_full(p->pipe_fd, head, (size_t)n);
}

static int send_end(const struct packer *p)
{
    bool is_told = p->get->flags & GET_FLAG_KINDS;

    return send_head(p, CRATE_FILE, "", 0, is_told ? p->passed_over : 0);
}

static int send_contents(struct packer *p, int fd, uint64_t left)
{
    while (left > 0) {
        size_t want = left < sizeof(p->data) ? (size_t)left : sizeof(p->data);
        ssize_t n = fd_read_full(fd, p->data, want);
        int r;

        if (n < 0)
            return (int)n;
        if ((size_t)n < want)
            return -EAGAIN;
        r = fd_write_full(p->pipe_fd, p->data, want);
        if (r < 0)
            return r;
        left -= want;
    }
    return 0;
}

static bool is_wanted(const struct packer *p, const struct stat *st)
{
    return S_ISREG(st->st_mode) &&
           (!(p->get->flags & GET_FLAG_CHANGED) || clock_ns_of(st->st_ctim) >= p->get->since);
}

static int count(struct packer *p, uint64_t size)
{
    if (p->get->flags & GET_FLAG_LIST)
        size = 0;
    if (p->files >= p->get->max_files || size > p->get->max_bytes - p->bytes)
        return -EFBIG;
    p->files++;
    p->bytes += size;
    return 0;
}

/* -ENOENT and the like mean: passed over. */
static int pack_file(struct packer *p, int dir_fd, const char *name)
{
    cleanup_close int fd = -1;
    bool is_list = p->get->flags & GET_FLAG_LIST;
    struct stat st;
    int r;

    if (is_list) {
        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
    } else {
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            return -errno;
    }
    if (!is_wanted(p, &st))
        return 0;
    r = count(p, (uint64_t)st.st_size);
    if (r == 0)
        r = send_head(p, CRATE_FILE, p->path, st.st_mode, (uint64_t)st.st_size);
    if (r < 0 || is_list)
        return r;
    return send_contents(p, fd, (uint64_t)st.st_size);
}

static int pack_link(struct packer *p, int dir_fd, const char *name)
{
    ssize_t n = readlinkat(dir_fd, name, (char *)p->data, CRATE_PATH_MAX + 1);
    int r;

    if (n <= 0)
        return n < 0 ? -errno : -ENOENT;
    if (n > CRATE_PATH_MAX)
        return -ENAMETOOLONG;
    r = count(p, (uint64_t)n);
    if (r == 0)
        r = send_head(p, CRATE_LINK, p->path, 0777, (uint64_t)n);
    return r < 0 ? r : fd_write_full(p->pipe_fd, p->data, (size_t)n);
}

/* Behind what lies in it: so its mode keeps nobody from putting that there. */
static int pack_dir(struct packer *p, int fd)
{
    struct stat st;
    int r = fstat(fd, &st) < 0 ? -errno : count(p, 0);

    return r < 0 ? r : send_head(p, CRATE_DIR, p->path, st.st_mode, 0);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static bool may_pass_over(int error)
{
    static const int errors[] = { -ENOENT, -EACCES, -EPERM, -ELOOP, -ENOTDIR, -ENXIO };

    for (size_t i = 0; i < N_ELEMENTS(errors); i++)
        if (errors[i] == error)
            return true;
    return false;
}

static int enter(struct packer *p, int dir_fd, const char *name)
{
    int r = p->depth == LEVELS_MAX ? -ENAMETOOLONG : level_open(&p->levels[p->depth], dir_fd, name);

    if (r < 0)
        return r;
    p->path_lens[p->depth++] = strlen(p->path);
    return 0;
}

static int path_push(struct packer *p, size_t len, const char *name)
{
    size_t name_len = strlen(name);
    size_t slash = len > 0;

    if (len + slash + name_len > CRATE_PATH_MAX)
        return -ENAMETOOLONG;
    if (slash)
        p->path[len] = '/';
    memcpy(p->path + len + slash, name, name_len + 1);
    return 0;
}

static int pack_other(struct packer *p, int dir_fd, const char *name, uint8_t type)
{
    if (type == DT_LNK && p->get->flags & GET_FLAG_KINDS)
        return pack_link(p, dir_fd, name);
    p->passed_over++;
    return 0;
}

/* File systems that do not tell the type leave it to a look. */
static int pack_entry(struct packer *p, int dir_fd, const char *name, uint8_t type)
{
    if (type == DT_UNKNOWN) {
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        type = (uint8_t)IFTODT(st.st_mode); /* four bits */
    }
    if (type == DT_DIR)
        return enter(p, dir_fd, name);
    return type == DT_REG ? pack_file(p, dir_fd, name) : pack_other(p, dir_fd, name, type);
}

/* The directory that stands last has no more entries.  The first is not part of the crate. */
static int leave(struct packer *p)
{
    cleanup_close int fd = p->levels[--p->depth].fd;

    if (p->depth == 0 || !(p->get->flags & GET_FLAG_KINDS))
        return 0;
    p->path[p->path_lens[p->depth]] = '\0';
    return pack_dir(p, fd);
}

static int walk(struct packer *p)
{
    while (p->depth > 0) {
        struct level *level = &p->levels[p->depth - 1];
        int r;
        const struct sys_dirent *entry = level_next(level, &r);

        if (r < 0)
            return r;
        if (!entry) {
            r = leave(p);
        } else {
            r = path_push(p, p->path_lens[p->depth - 1], entry->name);
            if (r == 0)
                r = pack_entry(p, level->fd, entry->name, entry->type);
        }
        if (r < 0 && !may_pass_over(r))
            return r;
        p->passed_over += r < 0;
    }
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* What is there and is no regular file, or nothing. */
static int not_a_file(int dir_fd, const char *name)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? -EISDIR : S_ISREG(st.st_mode) ? -ENOENT : -ENXIO;
}

/* The one file that was asked for: no link on the way, and it must be there. */
static int pack_one(struct packer *p, int dir_fd)
{
    const char *path = p->get->path;
    const char *base = path_base(path);
    cleanup_close int parent = -1;
    int r;

    if (!path_is_below(path))
        return -EINVAL;
    memcpy(p->path, path, (size_t)(base - path));
    p->path[base - path] = '\0';
    parent = dir_open_beneath(dir_fd, base == path ? "." : p->path, 0);
    if (parent < 0)
        return parent;
    memcpy(p->path, path, strlen(path) + 1);
    r = pack_file(p, parent, base);
    return r == 0 && p->files == 0 ? not_a_file(parent, base) : r;
}

static int pack_all(struct packer *p, int dir_fd)
{
    int r = enter(p, dir_fd, ".");

    return r < 0 ? r : walk(p);
}

static int pack_tree(struct packer *p, int dir_fd)
{
    cleanup_close int tree_fd = -1;

    if (!path_is_below(p->get->path))
        return -EINVAL;
    tree_fd = dir_open_beneath(dir_fd, p->get->path, 0);
    return tree_fd < 0 ? tree_fd : pack_all(p, tree_fd);
}

static int pack_any(struct packer *p, int dir_fd)
{
    if (!p->get->path[0])
        return pack_all(p, dir_fd);
    return p->get->flags & GET_FLAG_TREE ? pack_tree(p, dir_fd) : pack_one(p, dir_fd);
}

int pack(const struct msg_get *get, int pipe_fd, uint64_t *ret_files, enum glove_step *ret_step)
{
    static struct packer packer;
    struct packer *p = &packer;
    cleanup_close int dir_fd = -1;
    int r;

    *ret_step = GLOVE_STEP_REQUEST;
    if (get->flags & ~GET_FLAGS || (get->flags & GET_FLAG_KINDS && get->flags & NOT_BY_KIND))
        return -EINVAL;
    *ret_step = GLOVE_STEP_FILE;
    p->get = get;
    p->pipe_fd = pipe_fd;
    dir_fd = open(get->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    r = pack_any(p, dir_fd);
    if (r == 0)
        r = send_end(p);
    *ret_files = p->files;
    return r;
}
