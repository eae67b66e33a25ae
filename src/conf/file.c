/* SPDX-License-Identifier: Apache-2.0 */
/* conf/file.c - reading a configuration file whole, with suspicion. */
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"

/* A directory that may not be searched shows no files: as good as none. */
static bool is_hidden(const char *path)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

    return dir && faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) < 0;
}

static int check(const char *path, bool is_operators, const struct stat *st, struct gb_err *err)
{
    if (!S_ISREG(st->st_mode))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s: not a regular file", path);
    if (!is_operators)
        return 0;
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "%s: belongs to user %u, who could change your walls with it\n"
                       "remedy: chown %u '%s'",
                       path, st->st_uid, geteuid(), path);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "%s: others may write to it and so change your walls\n"
                       "remedy: chmod go-w '%s'",
                       path, path);
    return 0;
}

static int too_large(const char *path, size_t most, struct gb_err *err)
{
    char text[NUM_TEXT_MAX];

    return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "%s: larger than %s", path,
                   num_size_text(most, text));
}

/* The open file, whose size may be a lie. */
static int read_open(int fd, const char *path, bool is_operators, struct buf *ret,
                     struct gb_err *err)
{
    size_t most = ret->max - ret->len;
    struct stat st;
    ssize_t n;
    int r;

    if (fstat(fd, &st) < 0)
        return gb_fail_sys(err, "%s", path);
    r = check(path, is_operators, &st, err);
    if (r < 0)
        return r;
    if ((uint64_t)st.st_size >= most)
        return too_large(path, most, err);
    r = buf_reserve(ret, (size_t)st.st_size + 1);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "%s: out of memory", path);
    n = fd_read_full(fd, ret->data + ret->len, (size_t)st.st_size + 1);
    if (n < 0)
        return gb_fail(err, (int)n, GB_BLAME_HOST, "%s: %s", path, strerror((int)-n));
    if (n > st.st_size)
        return gb_fail(err, -EIO, GB_BLAME_HOST, "%s: changed while it was read", path);
    ret->len += (size_t)n;
    ret->data[ret->len] = '\0';
    return 1;
}

/* What cannot be opened: is there none, or is it kept from us? */
static int read_none(const char *path, struct gb_err *err)
{
    if (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && is_hidden(path)))
        return 0;
    if (errno == EACCES)
        return gb_fail(err, -EACCES, GB_BLAME_CALLER,
                       "%s: you may not read it" GB_REMEDY "chmod u+r '%s', or move it away", path,
                       path);
    return gb_fail_sys(err, "%s", path);
}

/* O_NONBLOCK: a fifo of that name must not hold us. */
#define READING (O_RDONLY | O_NONBLOCK | O_NOCTTY)

int conf_file_read(const char *path, bool is_operators, struct buf *ret, struct gb_err *err)
{
    cleanup_close int fd = open(path, READING | O_CLOEXEC);

    return fd < 0 ? read_none(path, err) : read_open(fd, path, is_operators, ret, err);
}

int conf_file_read_project(const char *dir, const char *name, struct buf *ret, struct gb_err *err)
{
    struct sys_open_how how = {
        .flags = READING | O_CLOEXEC,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS,
    };
    cleanup_close int base = open(dir ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int fd = base < 0 ? -1 : sys_openat2(base, name, &how);
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    if (fd < 0 && errno == ELOOP)
        return gb_fail(
            err, -ELOOP, GB_BLAME_CALLER,
            "%.300s: is a link, or lies behind one\n"
            "remedy: the files of a project must be files of its own: replace it by a copy",
            path);
    return fd < 0 ? read_none(path, err) : read_open(fd, path, false, ret, err);
}
