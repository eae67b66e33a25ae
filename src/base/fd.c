/* SPDX-License-Identifier: Apache-2.0 */
/* base/fd.c - whole reads and writes, and file descriptors over a socket. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

ssize_t fd_read_full(int fd, void *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = read(fd, (char *)data + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int fd_write_full(int fd, const void *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, (const char *)data + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return 0;
}

ssize_t fd_read_text(int dirfd, const char *path, char *data, size_t size)
{
    cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = fd_read_full(fd, data, size);
    if (n < 0)
        return n;
    if ((size_t)n == size)
        return -EOVERFLOW;
    data[n] = '\0';
    return n;
}

int fd_write_text(int dirfd, const char *path, const char *text)
{
    cleanup_close int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return -errno;
    do {
        n = write(fd, text, len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

/* Aligned room for the control message of FD_PASS_MAX descriptors. */
union control {
    struct cmsghdr align;
    char room[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, size_t n_fds, int flags)
{
    struct iovec iov = { .iov_len = len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    union control control;
    ssize_t n;

    /* iovec has no const; sendmsg() does not write through it. */
    memcpy(&iov.iov_base, &data, sizeof(data));
    if (n_fds > FD_PASS_MAX)
        return -EINVAL;
    if (n_fds > 0) {
        struct cmsghdr *head;

        memset(&control, 0, sizeof(control));
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        head = CMSG_FIRSTHDR(&msg);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * n_fds);
    }
    do {
        n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static size_t received_fds(struct msghdr *msg, int *fds, size_t room)
{
    size_t n_fds = 0;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
        size_t n;

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
            if (n_fds < room)
                fds[n_fds++] = fd;
            else
                close(fd);
        }
    }
    return n_fds;
}

ssize_t fd_recv(int sock, void *data, size_t len, int *fds, size_t *n_fds, int flags)
{
    struct iovec iov = { .iov_base = data, .iov_len = len };
    union control control;
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.room,
        .msg_controllen = sizeof(control.room),
    };
    size_t room = *n_fds;
    ssize_t n;

    *n_fds = 0;
    do {
        n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    *n_fds = received_fds(&msg, fds, room);
    if (msg.msg_flags & MSG_CTRUNC) {
        for (size_t i = 0; i < *n_fds; i++)
            close(fds[i]);
        *n_fds = 0;
        return -EPROTO;
    }
    return n;
}

void fd_reset_at_close(int fd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void fd_allow(size_t n)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= n)
        return;
    limit.rlim_cur = limit.rlim_max < n ? limit.rlim_max : n;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int fd_set_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

void fd_widen(int fd, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int fd_sealed(const char *name, const void *data, size_t len)
{
    cleanup_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r;

    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, data, len);
    if (r < 0)
        return r;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return -errno;
    return take_fd(&fd);
}

static int close_range_of(unsigned first, unsigned last)
{
    if (first > last)
        return 0;
    return syscall(SYS_close_range, first, last, 0) < 0 ? -errno : 0;
}

void fd_close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

int fd_close_from(int first, const int *keep, size_t n_keep)
{
    unsigned next = (unsigned)first;
    int r;

    for (size_t i = 0; i < n_keep; i++) {
        if (keep[i] < 0 || (unsigned)keep[i] < next)
            continue;
        r = keep[i] > 0 ? close_range_of(next, (unsigned)keep[i] - 1) : 0;
        if (r < 0)
            return r;
        next = (unsigned)keep[i] + 1;
    }
    /* No descriptor is higher; and gVisor takes what a larger number is widened to as it comes. */
    return close_range_of(next, INT_MAX);
}
