/* SPDX-License-Identifier: Apache-2.0 */
/* conf/file.c - reading a configuration file whole, with suspicion. */
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

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

int conf_file_read(const char *path, bool is_operators, struct buf *ret, struct gb_err *err)
{
    /* O_NONBLOCK: a fifo of that name must not hold us. */
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t n;
    int r;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && is_hidden(path))))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return gb_fail_sys(err, "%s", path);
    r = check(path, is_operators, &st, err);
    if (r < 0)
        return r;
    r = buf_reserve(ret, CONF_FILE_MAX);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "%s: out of memory", path);
    n = fd_read_full(fd, ret->data + ret->len, CONF_FILE_MAX);
    if (n < 0)
        return gb_fail(err, (int)n, GB_BLAME_HOST, "%s: %s", path, strerror((int)-n));
    if (n == CONF_FILE_MAX)
        return gb_fail(err, -EFBIG, GB_BLAME_CALLER, "%s: larger than 1 MiB", path);
    ret->len += (size_t)n;
    ret->data[ret->len] = '\0';
    return 1;
}
