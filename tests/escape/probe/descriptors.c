/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.c - what was left open (C04), what can be sent back (C19), the link (C20). */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

#define FD_LIMIT 65536

static const char *kind_of(const struct stat *st)
{
    switch (st->st_mode & S_IFMT) {
    case S_IFIFO:
        return "pipe";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "device";
    case S_IFDIR:
        return "directory";
    case S_IFREG:
        return "file";
    default:
        return "other";
    }
}

/* The three that a program expects must be pipes, sockets or /dev/null. */
static void check_standard(int fd)
{
    struct stat st;
    char target[PATH_MAX];
    ssize_t n = readlink(named("/proc/self/fd/%d", fd), target, sizeof(target) - 1);

    target[n < 0 ? 0 : n] = '\0';
    if (fstat(fd, &st) < 0) {
        verdict(named("fd-%d", fd), true, "closed");
        return;
    }
    bool is_null = S_ISCHR(st.st_mode) && st.st_rdev == 0x103;
    bool is_plain = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || is_null;
    verdict(named("fd-%d", fd), !is_plain, named("%s %s", kind_of(&st), target));
}

static void check_cwd(void)
{
    char path[PATH_MAX];
    struct stat here, up, root;
    long n = syscall(SYS_getcwd, path, sizeof(path));

    verdict("getcwd", n < 0 || path[0] != '/', n < 0 ? error_name(errno) : path);
    int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &here) < 0 || stat("/", &root) < 0) {
        verdict("cwd", true, error_name(errno));
        return;
    }
    for (int i = 0; i < 100; i++) {
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (above < 0 || fstat(above, &up) < 0)
            break;
        close(fd);
        fd = above;
        if (up.st_ino == here.st_ino && up.st_dev == here.st_dev)
            break;
        here = up;
    }
    close(fd);
    verdict("cwd-below-root", here.st_ino != root.st_ino || here.st_dev != root.st_dev, "");
}

void row_c04(char **args)
{
    (void)args;
    for (int fd = 0; fd < FD_LIMIT; fd++) {
        struct stat st;

        if (fd <= 2) {
            check_standard(fd);
        } else if (fcntl(fd, F_GETFD) >= 0) {
            (void)fstat(fd, &st);
            leak(named("fd-%d", fd), kind_of(&st));
        }
    }
    check_cwd();
    REFUSED("chdir-1-root", chdir("/proc/1/root"), NO_FILE);
    REFUSED("chdir-1-cwd", chdir("/proc/1/cwd"), NO_FILE);
}

/* ---- C19 ------------------------------------------------------------------------------------ */

static long send_control(int fd, int type, const void *data, size_t size)
{
    char byte = 'x', space[CMSG_SPACE(64)] = { 0 };
    struct iovec vec = { &byte, 1 };
    struct msghdr msg = {
        .msg_iov = &vec,
        .msg_iovlen = 1,
        .msg_control = space,
        .msg_controllen = CMSG_SPACE(size),
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = type;
    head->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(head), data, size);
    return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* On a stream that its reader read()s, sent descriptors vanish; so a socket is a fact for the
 * host's side to judge, not a leak by itself. */
static void send_all(int fd)
{
    int fds[10];
    struct ucred root = { .pid = 1, .uid = 0, .gid = 0 };

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    long rc = send_control(fd, SCM_RIGHTS, fds, sizeof(fds));
    info(named("rights-%d", fd), rc < 0 ? error_name(errno) : "sent");
    REFUSED(named("credentials-%d", fd), send_control(fd, SCM_CREDENTIALS, &root, sizeof(root)),
            EPERM, ENOTSOCK);
    rc = send(fd, "x", 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
    info(named("oob-%d", fd), rc < 0 ? error_name(errno) : "sent");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

void row_c19(char **args)
{
    (void)args;
    for (int fd = 0; fd <= 2; fd++) {
        send_all(fd);
        /* Signals on I/O, addressed to PID 1: the kernel compares uids when it would send them. */
        (void)fcntl(fd, F_SETOWN, 1);
        (void)fcntl(fd, F_SETSIG, 9);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC);
        (void)fcntl(fd, F_SETOWN, getpid());
        REFUSED(named("lease-%d", fd), fcntl(fd, F_SETLEASE, F_WRLCK), EINVAL, EACCES, EAGAIN);
    }
    int pair[2];
    control("own-socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "");
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    control("own-rights", send_control(pair[0], SCM_RIGHTS, &null, sizeof(int)) == 1, "");
    close(null);
    close(pair[0]);
    close(pair[1]);
}

/* ---- C20 ------------------------------------------------------------------------------------ */

void row_c20(char **args)
{
    static char text[65536];
    int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

    (void)args;
    REFUSED("proc-1-fd", open("/proc/1/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), NO_FILE);
    REFUSED("proc-1-task-fd", open("/proc/1/task/1/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            NO_FILE);
    REFUSED("proc-1-fdinfo", open("/proc/1/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC), NO_FILE);
    for (int fd = 0; fd < 32; fd++) {
        REFUSED(named("open-1-fd-%d", fd), open(named("/proc/1/fd/%d", fd), O_RDWR | O_NONBLOCK),
                NO_FILE);
        REFUSED(named("getfd-1-%d", fd), syscall(SYS_pidfd_getfd, pidfd, fd, 0), EPERM, ENOSYS);
    }
    if (pidfd >= 0)
        close(pidfd);
    /* The link is a pair of sockets without a name, made in another network namespace. */
    long n = slurp("/proc/net/unix", text, sizeof(text));
    unsigned lines = 0;
    for (const char *c = text; n > 0 && *c; c++)
        lines += *c == '\n';
    verdict("proc-net-unix", lines > 1, named("%u lines", lines));
    REFUSED("sock-diag", socket(AF_NETLINK, SOCK_DGRAM, 4), EAFNOSUPPORT, EPERM, EPROTONOSUPPORT);
}

/* Frames of the link, written where the program's output goes: EXIT with code 0 for some channels,
 * OK, a giant length, and a JSON result.  The test knows that this program ends with 3. */
void act_forge(char **args)
{
    struct {
        uint32_t size;
        uint8_t type, flags;
        uint16_t zero;
        uint32_t channel;
        uint32_t words[13];
    } frame = { .size = sizeof(frame.words) };

    (void)args;
    for (uint8_t type = 0; type < 96; type++) {
        for (uint32_t channel = 0; channel < 8; channel++) {
            frame.type = type;
            frame.channel = channel;
            for (int fd = 0; fd < 64; fd++)
                (void)!write(fd, &frame, sizeof(frame));
        }
    }
    frame.size = UINT32_MAX;
    (void)!write(1, &frame, sizeof(frame));
    static const char forged[] = "\n{\"schema\":1,\"verdict\":\"ok\",\"exit_code\":0}\n";
    (void)!write(1, forged, sizeof(forged) - 1);
    (void)!write(2, forged, sizeof(forged) - 1);
    _exit(3);
}
