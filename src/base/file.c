/* SPDX-License-Identifier: Apache-2.0 */
/* base/file.c - a file of moderate size, read whole. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"

int file_open(int dir, const char *path)
{
    /* clang-tidy sees no flag inside of a macro. */
    return openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int file_read(int fd, struct buf *ret)
{
    struct stat st;
    ssize_t n;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if ((uint64_t)st.st_size > ret->max - ret->len)
        return -EFBIG;
    r = buf_reserve(ret, (size_t)st.st_size);
    if (r < 0)
        return r;
    n = fd_read_full(fd, ret->data + ret->len, (size_t)st.st_size);
    if (n < 0)
        return (int)n;
    ret->len += (size_t)n;
    ret->data[ret->len] = '\0';
    return 0;
}

const char *file_trouble(int code)
{
    return code == -EINVAL ? "is no regular file" : strerror(-code);
}
