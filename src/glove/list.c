/* SPDX-License-Identifier: Apache-2.0 */
/* glove/list.c - what lies in a directory, told on a pipe. */
#include "glove/list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
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
#include "wire/listing.h"

#define MODE_BITS 07777u

struct teller {
    const struct msg_list *msg;
    int pipe_fd;
    uint64_t n;
    size_t len; /* of bytes that wait */
    uint8_t bytes[WIRE_PAYLOAD_MAX];
};

static int flush(struct teller *t)
{
    int r = fd_write_full(t->pipe_fd, t->bytes, t->len);

    t->len = 0;
    return r;
}

static int put(struct teller *t, const struct listing_entry *entry)
{
    int n;

    if (t->len + LISTING_HEAD_SIZE + LISTING_NAME_MAX > sizeof(t->bytes)) {
        int r = flush(t);

        if (r < 0)
            return r;
    }
    n = listing_put(entry, t->bytes + t->len);
    if (n < 0)
        return n;
    t->len += (size_t)n;
    return 0;
}

static enum listing_kind kind_of(mode_t mode)
{
    static const struct {
        mode_t mode;
        enum listing_kind kind;
    } kinds[] = {
        { S_IFREG, LISTING_FILE },      { S_IFDIR, LISTING_DIRECTORY }, { S_IFLNK, LISTING_LINK },
        { S_IFIFO, LISTING_PIPE },      { S_IFSOCK, LISTING_SOCKET },   { S_IFBLK, LISTING_BLOCK },
        { S_IFCHR, LISTING_CHARACTER },
    };

    for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
        if (kinds[i].mode == (mode & S_IFMT))
            return kinds[i].kind;
    return LISTING_FILE;
}

static int tell(struct teller *t, int dir_fd, const char *name, const char *told)
{
    struct listing_entry entry;
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)) < 0)
        return -errno;
    if (t->n++ >= t->msg->max_entries)
        return -EFBIG;
    entry = (struct listing_entry){
        .kind = kind_of(st.st_mode),
        .mode = (uint16_t)(st.st_mode & MODE_BITS),
        .size = (uint64_t)st.st_size,
        .changed_ns = (int64_t)clock_ns_of(st.st_mtim),
    };
    memcpy(entry.name, told, strlen(told) + 1);
    return put(t, &entry);
}

static int tell_all(struct teller *t, int dir_fd)
{
    static struct level level;
    const struct sys_dirent *entry;
    int r = level_open(&level, dir_fd, ".");
    int error = 0;

    if (r < 0)
        return r;
    while (r == 0 && (entry = level_next(&level, &error)) != NULL) {
        r = strlen(entry->name) > LISTING_NAME_MAX ? -ENAMETOOLONG
                                                   : tell(t, level.fd, entry->name, entry->name);
        if (r == -ENOENT)
            r = 0;
    }
    close(level.fd);
    return r < 0 ? r : error;
}

/* The thing itself: its directory is opened, it is not. */
static int tell_self(struct teller *t, int dir_fd)
{
    const char *path = t->msg->path;
    const char *base = path_base(path);
    char parent[PATH_MAX] = ".";
    cleanup_close int fd = -1;

    if (!*path)
        return tell(t, dir_fd, "", ".");
    if (base != path) {
        memcpy(parent, path, (size_t)(base - path));
        parent[base - path] = '\0';
    }
    fd = dir_open_beneath(dir_fd, parent, 0);
    return fd < 0 ? fd : tell(t, fd, base, ".");
}

static int tell_inside(struct teller *t, int dir_fd)
{
    const char *path = t->msg->path;
    cleanup_close int fd = *path ? dir_open_beneath(dir_fd, path, 0) : -1;

    if (*path && fd < 0)
        return fd;
    return tell_all(t, *path ? fd : dir_fd);
}

int list(const struct msg_list *msg, int pipe_fd, uint64_t *ret_entries, enum glove_step *ret_step)
{
    static struct teller teller;
    struct teller *t = &teller;
    cleanup_close int dir_fd = -1;
    int r;

    *ret_step = GLOVE_STEP_REQUEST;
    if (msg->flags & ~(uint32_t)LIST_FLAG_SELF || (*msg->path && !path_is_below(msg->path)))
        return -EINVAL;
    *ret_step = GLOVE_STEP_FILE;
    *t = (struct teller){ .msg = msg, .pipe_fd = pipe_fd };
    dir_fd = open(msg->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    r = msg->flags & LIST_FLAG_SELF ? tell_self(t, dir_fd) : tell_inside(t, dir_fd);
    if (r == 0)
        r = put(t, NULL);
    if (r == 0)
        r = flush(t);
    *ret_entries = t->n;
    return r;
}
