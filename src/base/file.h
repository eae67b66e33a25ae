/* SPDX-License-Identifier: Apache-2.0 */
/* base/file.h - a file of moderate size, read whole. */
#pragma once

struct buf;

/* How a file is opened that is somebody else's: a fifo must not hold us, a terminal not become
 * ours. */
#define FILE_READING (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Opens it so, below the directory dir (AT_FDCWD: the working one); -1 and errno. */
int file_open(int dir, const char *path);

/* Appends what the open file has, as far as it went when it was looked at, and a NUL that does not
 * count.  -EINVAL: it is no regular file.  -EFBIG: there is no room for it below the buf's maximum.
 */
int file_read(int fd, struct buf *ret);

/* What kept it from being opened or read, for people.  How long it may be is the caller's to say.
 */
const char *file_trouble(int code);
