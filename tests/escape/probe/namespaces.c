/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c - new namespaces (C01), mounts and roots (C02). */
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define HIGH_BIT (1UL << 32)
#define ALL_NEW                                                                                   \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)
#define NR_OPEN_TREE_ATTR 467

static const char *const ns_names[] = {
    "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children",
    "user",   "uts",
};

static const struct flag {
    const char *name;
    unsigned long bits;
} flags[] = {
    { "NEWNS", CLONE_NEWNS },   { "NEWCGROUP", CLONE_NEWCGROUP }, { "NEWUTS", CLONE_NEWUTS },
    { "NEWIPC", CLONE_NEWIPC }, { "NEWUSER", CLONE_NEWUSER },     { "NEWPID", CLONE_NEWPID },
    { "NEWNET", CLONE_NEWNET }, { "NEWTIME", CLONE_NEWTIME },     { "all", ALL_NEW },
};

static const int only_eperm[] = { EPERM, 0 };
static const int only_enosys[] = { ENOSYS, 0 };

static long call_unshare(const void *arg)
{
    return syscall(SYS_unshare, *(const unsigned long *)arg);
}

/* A copy of this process, so no flag that shares the stack. */
static long call_clone(const void *arg)
{
    long pid = syscall(SYS_clone, *(const unsigned long *)arg | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static int idle(void *arg)
{
    return arg != NULL;
}

static long call_clone_vm(const void *arg)
{
    static char stack[65536] __attribute__((aligned(16)));

    return clone(idle, stack + sizeof(stack), (int)*(const unsigned long *)arg | SIGCHLD, NULL);
}

static long call_clone3(const void *arg)
{
    struct clone_args args = { .flags = *(const unsigned long *)arg, .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0)
        _exit(0);
    return pid;
}

static void try_flag(const char *how, const struct flag *flag, long (*call)(const void *),
                     unsigned long extra, const int *allowed)
{
    unsigned long bits = flag->bits | extra;
    struct outcome outcome = in_child(call, &bits, 5);

    refused_in_child(named("%s-%s", how, flag->name), &outcome, allowed);
}

static void read_namespaces(char text[static 1024])
{
    char path[64], link[64];
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_SIZE(ns_names); i++) {
        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", ns_names[i]);
        ssize_t n = readlink(path, link, sizeof(link) - 1);

        link[n < 0 ? 0 : n] = '\0';
        used += (size_t)snprintf(text + used, 1024 - used, "%s ", link);
    }
}

static void *set_flag(void *arg)
{
    *(bool *)arg = true;
    return NULL;
}

static void honest_ways(void)
{
    bool did_run = false;
    pthread_t thread;
    pid_t pid = fork();

    if (pid == 0)
        _exit(7);
    int status = 0;
    control("fork", pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "");
    if (pthread_create(&thread, NULL, set_flag, &did_run) == 0)
        (void)pthread_join(thread, NULL);
    control("thread", did_run, "");
}

void row_c01(char **args)
{
    char before[1024], after[1024];

    (void)args;
    read_namespaces(before);
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        const struct flag *flag = &flags[i];

        try_flag("unshare", flag, call_unshare, 0, only_eperm);
        try_flag("unshare-high", flag, call_unshare, HIGH_BIT, only_eperm);
        try_flag("clone3", flag, call_clone3, 0, only_enosys);
        try_flag("clone3-parent", flag, call_clone3, CLONE_PARENT, only_enosys);
        /* In clone the bit of NEWTIME belongs to the exit signal. */
        if (flag->bits == CLONE_NEWTIME)
            continue;
        try_flag("clone", flag, call_clone, 0, only_eperm);
        try_flag("clone-high", flag, call_clone, HIGH_BIT, only_eperm);
        try_flag("clone-vm", flag, call_clone_vm, CLONE_VM, only_eperm);
        try_flag("clone-vfork", flag, call_clone_vm, CLONE_VM | CLONE_VFORK, only_eperm);
    }
    read_namespaces(after);
    verdict("namespaces-unchanged", strcmp(before, after) != 0, "");
    honest_ways();
}

/* ---- C02 ------------------------------------------------------------------------------------ */

static const char *const masked[] = {
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/timer_list",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/proc/config.gz",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/cmdline",
    "/proc/interrupts",
    "/proc/sysrq-trigger",
    "/proc/asound",
    "/proc/latency_stats",
    "/sys/firmware",
    "/sys/kernel/security",
};

static void try_mounts(void)
{
    (void)mkdir("/tmp/mnt", 0777);
    REFUSED("mount-tmpfs", mount("none", "/tmp/mnt", "tmpfs", 0, NULL), EPERM);
    REFUSED("mount-proc", mount("proc", "/tmp/mnt", "proc", 0, NULL), EPERM);
    REFUSED("mount-sysfs", mount("sysfs", "/tmp/mnt", "sysfs", 0, NULL), EPERM);
    REFUSED("mount-cgroup", mount("cgroup", "/tmp/mnt", "cgroup", 0, "memory"), EPERM);
    REFUSED("mount-cgroup2", mount("cgroup2", "/tmp/mnt", "cgroup2", 0, NULL), EPERM);
    REFUSED("mount-overlay", mount("o", "/tmp/mnt", "overlay", 0, "lowerdir=/:/usr"), EPERM);
    REFUSED("bind", mount("/", "/tmp/mnt", NULL, MS_BIND | MS_REC, NULL), EPERM);
    REFUSED("bind-proc", mount("/proc", "/tmp/mnt", NULL, MS_BIND, NULL), EPERM);
    REFUSED("move", mount("/tmp", "/tmp/mnt", NULL, MS_MOVE, NULL), EPERM);
    REFUSED("share", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL), EPERM);
    static const char *const writable[] = { "/", "/usr", "/proc", "/proc/sys", "/dev", "/etc" };
    for (size_t i = 0; i < ARRAY_SIZE(writable); i++)
        REFUSED(named("remount-rw:%s", writable[i]),
                mount(NULL, writable[i], NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
    REFUSED("remount-suid", mount(NULL, "/tmp", NULL, MS_REMOUNT, "size=100%"), EPERM);
    (void)rmdir("/tmp/mnt");
}

static void try_new_mount_calls(void)
{
    struct {
        uint64_t set, clear, propagation, userns_fd;
    } attr = { .clear = 1 /* MOUNT_ATTR_RDONLY */ };

    REFUSED("fsopen", syscall(SYS_fsopen, "tmpfs", 0), EPERM, ENOSYS);
    REFUSED("fsconfig", syscall(SYS_fsconfig, 0, 0, "size", "1m", 0), EPERM, ENOSYS);
    REFUSED("fsmount", syscall(SYS_fsmount, 0, 0, 0), EPERM, ENOSYS);
    REFUSED("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0), EPERM, ENOSYS);
    REFUSED("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 0), EPERM, ENOSYS);
    REFUSED("open_tree-clone", syscall(SYS_open_tree, AT_FDCWD, "/", 1), EPERM, ENOSYS);
    REFUSED("open_tree_attr", syscall(NR_OPEN_TREE_ATTR, AT_FDCWD, "/", 1, &attr, sizeof(attr)),
            EPERM, ENOSYS);
    REFUSED("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/tmp", 0), EPERM,
            ENOSYS);
    REFUSED("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)),
            EPERM, ENOSYS);
    REFUSED("mount_setattr-usr",
            syscall(SYS_mount_setattr, AT_FDCWD, "/usr", AT_RECURSIVE, &attr, sizeof(attr)), EPERM,
            ENOSYS);
    REFUSED("pivot_root", syscall(SYS_pivot_root, ".", "."), EPERM, ENOSYS);
    REFUSED("chroot", chroot("/tmp"), EPERM, ENOSYS);
    REFUSED("chroot-cwd", chroot("."), EPERM, ENOSYS);
    REFUSED("statmount", syscall(457, NULL, NULL, 0, 0), EPERM, ENOSYS);
    REFUSED("listmount", syscall(458, NULL, NULL, 0, 0), EPERM, ENOSYS);
}

static void try_setns(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ns_names); i++) {
        int fd = open(named("/proc/self/ns/%s", ns_names[i]), O_RDONLY | O_CLOEXEC);

        REFUSED(named("setns-self-%s", ns_names[i]), syscall(SYS_setns, fd, 0), EPERM, ENOSYS);
        if (fd >= 0)
            close(fd);
        REFUSED(named("open-1-%s", ns_names[i]),
                open(named("/proc/1/ns/%s", ns_names[i]), O_RDONLY | O_CLOEXEC), NO_FILE);
    }
    int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
    REFUSED("setns-pidfd-1", syscall(SYS_setns, pidfd, CLONE_NEWNS | CLONE_NEWUSER), EPERM, ENOSYS);
    if (pidfd >= 0)
        close(pidfd);
}

static void check_masks(const char *when)
{
    for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
        verdict(named("%s-mask:%s", when, masked[i]), is_open(masked[i]), "");
}

static void try_unmasking(void)
{
    static const int ways[] = { 0, MNT_DETACH, MNT_FORCE, MNT_EXPIRE, UMOUNT_NOFOLLOW };

    for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
        for (size_t way = 0; way < ARRAY_SIZE(ways); way++)
            REFUSED(named("umount-%d:%s", ways[way], masked[i]), umount2(masked[i], ways[way]),
                    EPERM, ENOSYS);
    REFUSED("umount:/proc", umount2("/proc", MNT_DETACH), EPERM, ENOSYS);
    REFUSED("umount:/", umount2("/", MNT_DETACH), EPERM, ENOSYS);
}

void row_c02(char **args)
{
    static char before[65536], after[65536];

    (void)args;
    (void)slurp("/proc/self/mountinfo", before, sizeof(before));
    check_masks("before");
    try_mounts();
    try_new_mount_calls();
    try_setns();
    try_unmasking();
    check_masks("after");
    (void)slurp("/proc/self/mountinfo", after, sizeof(after));
    verdict("mountinfo-unchanged", strcmp(before, after) != 0, "");
}
