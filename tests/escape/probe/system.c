/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - files of the kernel (C07, I02), groups (C09), devices (C10). */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe.h"

/* What a process may open for writing about itself, below /proc/PID or /proc/PID/task/TID. */
static const char *const own_files[] = {
    "attr/",           "autogroup",      "clear_refs",    "comm",
    "coredump_filter", "gid_map",        "loginuid",      "mem",
    "oom_adj",         "oom_score_adj",  "projid_map",    "sched",
    "setgroups",       "timens_offsets", "timerslack_ns", "uid_map",
};

static unsigned n_tried;

/* The part of a path behind /proc/PID/ (and task/TID/), or NULL. */
static const char *about_process(const char *path)
{
    const char *rest = path;

    if (strncmp(rest, "/proc/", 6))
        return NULL;
    rest += 6;
    size_t digits = strspn(rest, "0123456789");
    if (!digits || rest[digits] != '/')
        return NULL;
    rest += digits + 1;
    if (!strncmp(rest, "task/", 5)) {
        rest += 5;
        rest += strspn(rest, "0123456789");
        rest += *rest == '/';
    }
    return rest;
}

static bool is_own_file(const char *path)
{
    const char *rest = about_process(path);

    if (!rest || !strncmp(path, "/proc/1/", 8))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(own_files); i++) {
        size_t size = strlen(own_files[i]);

        if (own_files[i][size - 1] == '/' ? !strncmp(rest, own_files[i], size)
                                          : !strcmp(rest, own_files[i]))
            return true;
    }
    return false;
}

static void try_writing(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    n_tried++;
    if (fd < 0)
        return;
    close(fd);
    if (!is_own_file(path))
        leak(named("write:%s", path), "opened");
}

static void write_must_fail(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    long rc = fd < 0 ? -1 : write(fd, text, strlen(text));

    REFUSED(named("change:%s", path), rc, NO_FILE, EINVAL);
    if (fd >= 0)
        close(fd);
}

void row_c07(char **args)
{
    static const char *const famous[] = {
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hotplug",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/kernel/poweroff_cmd",
        "/proc/sys/vm/panic_on_oom",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sysrq-trigger",
        "/proc/kcore",
        "/proc/latency_stats",
        "/sys/kernel/uevent_helper",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/fs/cgroup/memory/release_agent",
        "/sys/fs/cgroup/release_agent",
        "/sys/module/loop/parameters/max_loop",
        "/sys/power/state",
        "/proc/irq/default_smp_affinity",
        "/proc/mtrr",
    };

    (void)args;
    for (size_t i = 0; i < ARRAY_SIZE(famous); i++)
        REFUSED(named("open:%s", famous[i]), open(famous[i], O_WRONLY | O_CLOEXEC), NO_FILE);
    n_tried = 0;
    walk("/proc", S_IFREG, NULL, try_writing);
    verdict("proc", n_tried < 100, named("%u files tried", n_tried));
    walk("/sys", S_IFREG, NULL, try_writing);
    write_must_fail("/proc/self/uid_map", "0 0 1");
    write_must_fail("/proc/self/gid_map", "0 0 1");
    write_must_fail("/proc/self/setgroups", "allow");
    write_must_fail("/proc/self/oom_score_adj", "-1000");
    write_must_fail("/proc/self/timens_offsets", "monotonic 1000 0");
}

/* ---- C09 ------------------------------------------------------------------------------------ */

static unsigned n_groups;

static void try_group_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    n_groups++;
    if (fd < 0)
        return;
    close(fd);
    leak(named("write:%s", path), "opened");
}

/* Boxes that show their groups say so: there must be files to try, and only there. */
void row_c09(char **args)
{
    bool is_shown = args[0] && !strcmp(args[0], "shown");

    n_groups = 0;
    walk("/sys/fs/cgroup", S_IFREG, NULL, try_group_file);
    verdict("files", is_shown ? n_groups < 40 : n_groups > 0, named("%u tried", n_groups));
    static const char *const places[] = {
        "/sys/fs/cgroup/x",     "/sys/fs/cgroup/memory/x",  "/sys/fs/cgroup/pids/x",
        "/sys/fs/cgroup/cpu/x", "/sys/fs/cgroup/unified/x",
    };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        REFUSED(named("mkdir:%s", places[i]), mkdir(places[i], 0755), NO_FILE);
    char text[4096];
    verdict("own-groups-are-roots",
            slurp("/proc/self/cgroup", text, sizeof(text)) > 0 && strstr(text, "glovebox"), "");
}

/* ---- C10 ------------------------------------------------------------------------------------ */

static const char *const allowed_devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};

static void try_node(unsigned kind, unsigned major, unsigned minor)
{
    static const char *const folders[] = { "/tmp", "/workspace", "/dev/shm", "/dev" };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        const char *path = named("%s/node", folders[i]);

        if (mknod(path, kind | 0666, makedev(major, minor)) < 0 &&
            (errno == EPERM || errno == EROFS || errno == EACCES))
            continue;
        leak(named("mknod-%c-%u-%u:%s", kind == S_IFCHR ? 'c' : 'b', major, minor, folders[i]),
             error_name(errno));
        (void)unlink(path);
    }
}

static void check_device(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(allowed_devices); i++)
        if (!strcmp(path, allowed_devices[i]))
            return;
    if (!strcmp(path, "/dev/ptmx") || !strncmp(path, "/dev/pts/", 9))
        return;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    verdict(named("device:%s", path), true, fd < 0 ? error_name(errno) : "opened");
    if (fd >= 0)
        close(fd);
}

/* /usr is the host's, nodev as the posture shows. */
static bool is_vast(const char *path)
{
    return !strcmp(path, "/usr") || !strcmp(path, "/proc") || !strcmp(path, "/sys");
}

void row_c10(char **args)
{
    static const char *const famous[] = {
        "kvm",
        "vsock",
        "vhost-vsock",
        "fuse",
        "userfaultfd",
        "loop-control",
        "loop0",
        "vda",
        "sda",
        "net/tun",
        "ttyS0",
        "tty0",
        "tty1",
        "console",
        "mem",
        "kmem",
        "port",
        "kmsg",
        "hwrng",
        "vhost-net",
        "btrfs-control",
        "mapper/control",
        "ppp",
        "uinput",
        "rtc0",
        "cpu/0/msr",
        "nvme0",
        "dri/card0",
        "snapshot",
        "autofs",
        "dma_heap/system",
        "ptp0",
        "watchdog",
    };

    (void)args;
    for (unsigned major = 0; major < 256; major++) {
        for (unsigned minor = 0; minor < 4; minor++) {
            try_node(S_IFCHR, major, minor);
            try_node(S_IFBLK, major, minor);
        }
    }
    blocked("mknod", "all majors tried");
    REFUSED("mknod-fd", mknodat(AT_FDCWD, "/tmp/node", S_IFCHR | 0666, makedev(1, 1)), EPERM);
    for (size_t i = 0; i < ARRAY_SIZE(famous); i++)
        REFUSED(named("open:%s", famous[i]),
                open(named("/dev/%s", famous[i]), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
                NO_FILE);
    walk("/", S_IFCHR, is_vast, check_device);
    walk("/", S_IFBLK, is_vast, check_device);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    control("dev-null", fd >= 0 && write(fd, "x", 1) == 1, "");
    for (size_t i = 0; i < 5; i++) {
        int device = open(allowed_devices[i], O_RDONLY | O_CLOEXEC);
        int entropy = 0;

        REFUSED(named("ioctl:%s", allowed_devices[i]), ioctl(device, RNDGETENTCNT, &entropy),
                EACCES);
        close(device);
    }
    int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    unsigned number;
    control("terminal", terminal >= 0 && ioctl(terminal, TIOCGPTN, &number) == 0, "");
    close(terminal);
    REFUSED("remove", unlink("/dev/null"), EROFS, EACCES, EPERM, EBUSY);
    REFUSED("plant", open("/dev/planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), EROFS, EACCES);
    int fifo = mkfifo("/tmp/probe-fifo", 0600);
    control("fifo", fifo == 0 && unlink("/tmp/probe-fifo") == 0, "");
}

/* ---- I02 ------------------------------------------------------------------------------------ */

static bool is_about_process(const char *path)
{
    return !strncmp(path, "/proc/", 6) && isdigit((unsigned char)path[6]);
}

/* Numbers in names (interfaces, CPUs) are not a matter of policy. */
static void squash_digits(const char *path, char *out, size_t size)
{
    size_t used = 0;

    for (; *path && used < size - 1; path++) {
        if (isdigit((unsigned char)*path)) {
            if (!used || out[used - 1] != '#')
                out[used++] = '#';
        } else {
            out[used++] = *path;
        }
    }
    out[used] = '\0';
}

static void tell_readable(const char *path)
{
    char byte[2], name[PATH_MAX];

    if (slurp(path, byte, sizeof(byte)) <= 0)
        return;
    squash_digits(path, name, sizeof(name));
    info("readable", name);
}

void row_i02(char **args)
{
    (void)args;
    walk("/proc", S_IFREG, is_about_process, tell_readable);
    walk("/sys", S_IFREG, NULL, tell_readable);
    info("walked", "/proc /sys");
}
