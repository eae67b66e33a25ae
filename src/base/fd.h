/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.h - whole reads and writes, and file descriptors over a socket.
 *
 * Everything here is close-on-exec from birth and handles EINTR and short transfers.  Functions
 * return 0 or a count, or a negative errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads until len bytes or the end of file; the number read. */
ssize_t fd_read_full(int fd, void *data, size_t len);

/* Writes all of it or fails. */
int fd_write_full(int fd, const void *data, size_t len);

/* Reads a small file (procfs, cgroupfs) relative to dirfd into a NUL-terminated string of at most
 * size - 1 bytes; the length, or -EOVERFLOW when the file is longer. */
ssize_t fd_read_text(int dirfd, const char *path, char *data, size_t size);

/* Writes text to an existing file relative to dirfd with one write(2), as cgroupfs and procfs
 * want it. */
int fd_write_text(int dirfd, const char *path, const char *text);

/* One sendmsg(2) of data and n_fds descriptors (at most FD_PASS_MAX).  The number of bytes taken,
 * the descriptors go with the first of them. */
#define FD_PASS_MAX 64
ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, size_t n_fds, int flags);

/* One recvmsg(2).  *n_fds is the room in fds on entry and the number received on return; received
 * descriptors are the caller's to close.  -EPROTO when control data was cut short (all received
 * descriptors are closed then). */
ssize_t fd_recv(int sock, void *data, size_t len, int *fds, size_t *n_fds, int flags);

int fd_set_nonblock(int fd);

/* Room in a socket for so much that was sent and not read, so that neither end sleeps after every
 * frame.  The system's own maximum holds for whoever may not set it aside: slower, nothing else. */
void fd_widen(int fd, int bytes);

/* Closing this connection will reset it: the other end sees that at once, and no regular end. */
void fd_reset_at_close(int fd);

/* This process may have so many descriptors open, as far as its hard limit goes. */
void fd_allow(size_t n);

/* A sealed memfd that holds data: nobody can change it any more. */
int fd_sealed(const char *name, const void *data, size_t len);

/* Closes these, but for those that are -1. */
void fd_close_all(const int *fds, size_t n);

/* Closes every descriptor from `first` on, but those in keep (sorted, n_keep). */
int fd_close_from(int first, const int *keep, size_t n_keep);
