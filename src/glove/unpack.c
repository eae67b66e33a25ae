/* SPDX-License-Identifier: Apache-2.0 */
/* glove/unpack.c - a crate from a pipe into a directory. */
#include "glove/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "wire/crate.h"

/* How many names to try for a file that is being written. */
#define NAME_TRIES 100

#define NAME_SIZE 48

struct unpacker {
    int dir_fd;
    int parent_fd; /* of the present item */
    int mark_fd;   /* where the last file went: dir_fd itself may be read-only */
    int fd;
    unsigned names; /* how many were tried */
    char name[NAME_SIZE];
    const char *last; /* component of the present path */
    enum crate_kind kind;
    unsigned mode;
    size_t have; /* bytes of where a link leads to */
    char target[CRATE_PATH_MAX + 1];
};

static void next_name(struct unpacker *u)
{
    (void)snprintf(u->name, sizeof(u->name), ".glove-%d-%u-%llx", (int)getpid(), u->names++,
                   (unsigned long long)clock_now_ns());
}

/* A file under a name that nobody else has. */
static int open_new(struct unpacker *u, int dir_fd)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        int fd;

        next_name(u);
        fd = openat(dir_fd, u->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* A link under such a name; -errno. */
static int link_new(struct unpacker *u)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        next_name(u);
        if (symlinkat(u->target, u->parent_fd, u->name) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* ---- what the crate's reader tells ---------------------------------------------------------- */

/* With the mode it had, also when what lay in it made it already: no mark is left there then. */
static int make_dir(struct unpacker *u, const struct crate_item *item)
{
    cleanup_close int place = dir_make_beneath(u->dir_fd, item->path, strlen(item->path), 0);
    cleanup_close int fd = -1;

    if (place < 0)
        return place;
    drop_fd(&u->mark_fd);
    fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fchmod(fd, item->mode & 0777) < 0 ? -errno : 0;
}

static int on_item(void *user, const struct crate_item *item)
{
    struct unpacker *u = user;
    const char *slash = strrchr(item->path, '/');
    int r;

    u->kind = item->kind;
    if (u->kind == CRATE_DIR)
        return make_dir(u, item);
    r = dir_make_beneath(u->dir_fd, item->path, slash ? (size_t)(slash - item->path) : 0, 0);
    if (r < 0)
        return r;
    u->parent_fd = r;
    u->last = slash ? slash + 1 : item->path;
    u->mode = item->mode;
    u->have = 0;
    if (u->kind == CRATE_LINK)
        return 0;
    r = open_new(u, u->parent_fd);
    if (r < 0)
        return r;
    u->fd = r;
    return 0;
}

/* The reader has bounded where a link leads to. */
static int on_data(void *user, const uint8_t *bytes, size_t len)
{
    struct unpacker *u = user;

    if (u->kind == CRATE_FILE)
        return fd_write_full(u->fd, bytes, len);
    memcpy(u->target + u->have, bytes, len);
    u->have += len;
    return 0;
}

static void item_close(struct unpacker *u)
{
    drop_fd(&u->fd);
    drop_fd(&u->parent_fd);
}

static int on_done(void *user)
{
    struct unpacker *u = user;
    int r = 0;

    if (u->kind == CRATE_DIR)
        return 0;
    u->target[u->have] = '\0';
    if (u->kind == CRATE_LINK)
        r = link_new(u);
    else if (fchmod(u->fd, u->mode & 0777) < 0)
        r = -errno;
    if (r < 0)
        return r;
    if (renameat(u->parent_fd, u->name, u->parent_fd, u->last) < 0)
        return -errno;
    drop_fd(&u->mark_fd);
    u->mark_fd = take_fd(&u->parent_fd);
    item_close(u);
    return 0;
}

static const struct crate_ops ops = { .item = on_item, .data = on_data, .done = on_done };

/* ---- the whole ------------------------------------------------------------------------------ */

static int feed(struct crate_reader *reader, int pipe_fd)
{
    static uint8_t bytes[WIRE_PAYLOAD_MAX];

    for (;;) {
        ssize_t n = read(pipe_fd, bytes, sizeof(bytes));
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return crate_reader_is_complete(reader) ? 0 : -EPROTO;
        r = crate_reader_feed(reader, bytes, (size_t)n);
        if (r < 0)
            return r;
    }
}

/* The time of change that a fresh file gets.  Kernels from 6.13 on give a finer one to a change
 * that follows a look at the last: hence the look and the change. */
static int read_mark(struct unpacker *u, uint64_t *ret)
{
    int dir_fd = u->mark_fd >= 0 ? u->mark_fd : u->dir_fd;
    cleanup_close int fd = open_new(u, dir_fd);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0 || fchmod(fd, 0400) < 0 || fstat(fd, &st) < 0 ||
        unlinkat(dir_fd, u->name, 0) < 0)
        return -errno;
    *ret = clock_ns_of(st.st_ctim);
    return 0;
}

/* Caps are the host's affair, and the disk's. */
static const struct crate_caps caps = {
    .files = UINT64_MAX,
    .bytes = UINT64_MAX,
    .has_all_kinds = true,
};

int unpack(const struct msg_put *put, int pipe_fd, uint64_t *ret_mark, enum glove_step *ret_step)
{
    static struct crate_reader reader;
    struct unpacker u = { .parent_fd = -1, .mark_fd = -1, .fd = -1 };
    int r;

    *ret_step = GLOVE_STEP_FILE;
    u.dir_fd = open(put->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (u.dir_fd < 0)
        return -errno;
    umask(022);
    crate_reader_init(&reader, &ops, &u, caps, false);
    r = feed(&reader, pipe_fd);
    if (r == -EPROTO)
        *ret_step = GLOVE_STEP_CRATE;
    if (r < 0 && u.parent_fd >= 0) /* in the middle of an item */
        (void)unlinkat(u.parent_fd, u.name, 0);
    item_close(&u);
    return r < 0 ? r : read_mark(&u, ret_mark);
}
