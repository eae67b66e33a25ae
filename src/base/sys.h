/* SPDX-License-Identifier: Apache-2.0 */
/* base/sys.h - system calls that the C libraries at hand have no function for.
 *
 * Thin: same arguments, -1 and errno.  The structures and constants are spelt out where Debian
 * 12's kernel headers (6.1) or musl lack them; numbers are the same on every architecture for
 * calls above 424.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define SYS_NR_PIDFD_SEND_SIGNAL 424
#define SYS_NR_PIDFD_OPEN        434
#define SYS_NR_OPEN_TREE         428
#define SYS_NR_MOVE_MOUNT        429
#define SYS_NR_FSOPEN            430
#define SYS_NR_FSCONFIG          431
#define SYS_NR_FSMOUNT           432
#define SYS_NR_CLONE3            435
#define SYS_NR_OPENAT2           437
#define SYS_NR_MOUNT_SETATTR     442
#define SYS_NR_LANDLOCK_CREATE   444

/* open_tree(2) */
#define SYS_OPEN_TREE_CLONE   1
#define SYS_OPEN_TREE_CLOEXEC O_CLOEXEC
#define SYS_AT_RECURSIVE      0x8000

/* move_mount(2) */
#define SYS_MOVE_MOUNT_F_EMPTY_PATH 0x00000004

/* close_range(2) */

/* fsopen(2), fsconfig(2), fsmount(2) */
#define SYS_FSOPEN_CLOEXEC      1
#define SYS_FSMOUNT_CLOEXEC     1
#define SYS_FSCONFIG_SET_FLAG   0
#define SYS_FSCONFIG_SET_STRING 1
#define SYS_FSCONFIG_CMD_CREATE 6
#define SYS_MOUNT_ATTR_RDONLY   0x00000001
#define SYS_MOUNT_ATTR_NOSUID   0x00000002
#define SYS_MOUNT_ATTR_NODEV    0x00000004
#define SYS_MOUNT_ATTR_NOEXEC   0x00000008
#define SYS_MOUNT_ATTR_NOATIME  0x00000010

struct sys_mount_attr {
    uint64_t attr_set;
    uint64_t attr_clr;
    uint64_t propagation;
    uint64_t userns_fd;
};

/* clone3(2) */
struct sys_clone_args {
    uint64_t flags;
    uint64_t pidfd;
    uint64_t child_tid;
    uint64_t parent_tid;
    uint64_t exit_signal;
    uint64_t stack;
    uint64_t stack_size;
    uint64_t tls;
    uint64_t set_tid;
    uint64_t set_tid_size;
    uint64_t cgroup;
};

#define SYS_CLONE_PIDFD         0x00001000ULL
#define SYS_CLONE_NEWNS         0x00020000ULL
#define SYS_CLONE_NEWUTS        0x04000000ULL
#define SYS_CLONE_NEWIPC        0x08000000ULL
#define SYS_CLONE_NEWUSER       0x10000000ULL
#define SYS_CLONE_NEWPID        0x20000000ULL
#define SYS_CLONE_NEWNET        0x40000000ULL
#define SYS_CLONE_CLEAR_SIGHAND 0x100000000ULL
#define SYS_CLONE_INTO_CGROUP   0x200000000ULL

/* openat2(2) */
struct sys_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

#define SYS_RESOLVE_NO_XDEV       0x01
#define SYS_RESOLVE_NO_MAGICLINKS 0x02
#define SYS_RESOLVE_NO_SYMLINKS   0x04
#define SYS_RESOLVE_BENEATH       0x08

/* getdents64(2): what fills the buffer, which is aligned to 8 bytes. */
struct sys_dirent {
    uint64_t ino;
    int64_t off;
    uint16_t size;
    uint8_t type;
    char name[];
};

static inline ssize_t sys_getdents64(int fd, void *entries, size_t size)
{
    return (ssize_t)syscall(SYS_getdents64, fd, entries, size);
}

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_NR_OPEN_TREE, dirfd, path, flags);
}

/* Moves the mount that from_fd itself names to a path. */
static inline int sys_move_mount(int from_fd, int to_dirfd, const char *to_path)
{
    return (int)syscall(SYS_NR_MOVE_MOUNT, from_fd, "", to_dirfd, to_path,
                        SYS_MOVE_MOUNT_F_EMPTY_PATH);
}

static inline int sys_fsopen(const char *type)
{
    return (int)syscall(SYS_NR_FSOPEN, type, SYS_FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const char *value)
{
    return (int)syscall(SYS_NR_FSCONFIG, fd, cmd, key, value, 0);
}

static inline int sys_fsmount(int fd, unsigned attr)
{
    return (int)syscall(SYS_NR_FSMOUNT, fd, SYS_FSMOUNT_CLOEXEC, attr);
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
                                    struct sys_mount_attr *attr)
{
    return (int)syscall(SYS_NR_MOUNT_SETATTR, dirfd, path, flags, attr, sizeof(*attr));
}

/* No stack of its own: as fork(2), both sides return. */
static inline pid_t sys_clone3(struct sys_clone_args *args)
{
    return (pid_t)syscall(SYS_NR_CLONE3, args, sizeof(*args));
}

static inline int sys_openat2(int dirfd, const char *path, struct sys_open_how *how)
{
    return (int)syscall(SYS_NR_OPENAT2, dirfd, path, how, sizeof(*how));
}

static inline int sys_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_NR_PIDFD_OPEN, pid, 0);
}

static inline int sys_pidfd_send_signal(int pidfd, int signo)
{
    return (int)syscall(SYS_NR_PIDFD_SEND_SIGNAL, pidfd, signo, NULL, 0);
}

/* With its own siginfo: one that was queued, and carries a value. */
static inline int sys_pidfd_queue_signal(int pidfd, const siginfo_t *info)
{
    return (int)syscall(SYS_NR_PIDFD_SEND_SIGNAL, pidfd, info->si_signo, info, 0);
}

/* The version of Landlock that this kernel has, from 1 on. */
static inline int sys_landlock_abi(void)
{
    return (int)syscall(SYS_NR_LANDLOCK_CREATE, NULL, 0, 1u);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
    return (int)syscall(SYS_pivot_root, new_root, put_old);
}
