/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/child.c - the first process of a box, from its clone until it is the glove. */
#include "spawner/child.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/group_line.h"
#include "base/sys.h"
#include "glove/start.h"
#include "spawner/build.h"

static void die(const struct child *child, const struct failure *failure) __attribute__((noreturn));
static void become_glove(const struct child *child) __attribute__((noreturn));

static void die(const struct child *child, const struct failure *failure)
{
    failure_send(child->control_fd, failure);
    _exit(1);
}

static void die_at(const struct child *child, size_t step, enum spawn_where where, uint32_t wall,
                   const char *detail) __attribute__((noreturn));

static void die_at(const struct child *child, size_t step, enum spawn_where where, uint32_t wall,
                   const char *detail)
{
    struct failure failure = { 0 };

    (void)failure_note(&failure, step, where, wall, -errno, detail);
    die(child, &failure);
}

/* Is this process really where its limits are? */
static void check_groups(const struct child *child)
{
    static char text[8192];
    struct msg_group step;

    if (group_lines_read(0, text, sizeof(text)) < 0)
        die_at(child, 0, SPAWN_WHERE_JOIN, 0, "/proc/self/cgroup");
    for (size_t i = 0; i < child->n_groups; i++) {
        (void)plan_decode(child->plan, child->group_steps[i], &step);
        if (group_check(&step, &child->groups[i], text) == 0)
            continue;
        errno = ESRCH;
        die_at(child, child->group_steps[i], SPAWN_WHERE_JOIN, step.wall, child->groups[i].path);
    }
}

static void await_go(const struct child *child)
{
    char byte;

    if (fd_read_full(child->go_fd, &byte, 1) != 1)
        _exit(1);
}

/* Before there are groups to join: they are made meanwhile. */
static void leave_network(const struct child *child)
{
    if (child->plan->head.flags & PLAN_FLAG_NET_NS && unshare(CLONE_NEWNET) < 0)
        die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_NET_NS, "");
}

/* The v1 groups, while this process is still its spawner's user; the v2 one it was born in. */
static void join(const struct child *child)
{
    int fds[GROUPS_MAX] = { [0 ... GROUPS_MAX - 1] = -1 };
    size_t n_fds = GROUPS_MAX;
    size_t at = 0;
    char byte;

    if (fd_recv(child->go_fd, &byte, 1, fds, &n_fds, 0) != 1)
        _exit(1);
    for (size_t i = 0; i < child->n_groups; i++) {
        if (child->groups[i].is_v2)
            continue;
        if (write(fds[at++], "0", 1) != 1)
            die_at(child, 0, SPAWN_WHERE_JOIN, 0, child->groups[i].path);
    }
    check_groups(child);
}

/* The namespace first: its root is where the process is that makes it. */
static void show_groups(const struct child *child)
{
    for (size_t i = 0; i < child->n_groups; i++) {
        if (!group_is_seen(&child->groups[i]))
            continue;
        if (unshare(CLONE_NEWCGROUP) < 0)
            die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_CGROUP_NS, "");
        if (group_enter_leaf(&child->groups[i]) < 0)
            die_at(child, 0, SPAWN_WHERE_JOIN, 0, child->groups[i].path);
        (void)fd_write_full(child->seen_fd, "s", 1);
    }
}

static int become_box_root(void)
{
    if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setgroups, 0, NULL) < 0)
        return -1;
    return (int)syscall(SYS_setresuid, 0, 0, 0);
}

static int loopback_up(void)
{
    struct ifreq ifr = { .ifr_name = "lo" };
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    ifr.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(fd, SIOCSIFFLAGS, &ifr);
}

/* Standard streams of the glove are the box's own /dev/null, never the host's. */
static int leave_host_streams(void)
{
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return -1;
    return 0;
}

/* Without an exec: the glove is linked into this program, and an exec would only load it again.
 * It begins by closing every descriptor but the link, and by hiding its memory. */
static void become_glove(const struct child *child)
{
    if (leave_host_streams() < 0)
        die_at(child, 0, SPAWN_WHERE_STREAMS, 0, "/dev/null");
    (void)prctl(PR_SET_NAME, "glove");
    _exit(glove_start(child->plan->link_fd, child->plan->link_fd));
}

/* The namespaces that are not made by the clone itself, and what belongs to them. */
static void furnish_namespaces(const struct child *child)
{
    uint32_t flags = child->plan->head.flags;

    if (flags & PLAN_FLAG_CGROUP_NS && child->seen_fd < 0 && unshare(CLONE_NEWCGROUP) < 0)
        die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_CGROUP_NS, "");
    if (flags & PLAN_FLAG_NET_NS && loopback_up() < 0)
        die_at(child, 0, SPAWN_WHERE_NET, 0, "lo");
    if (flags & PLAN_FLAG_UTS_NS &&
        sethostname(child->plan->head.hostname, strlen(child->plan->head.hostname)) < 0)
        die_at(child, 0, SPAWN_WHERE_CLONE, PLAN_FLAG_UTS_NS, "");
}

static void build(struct child *child, struct builder *b)
{
    struct failure failure = { 0 };

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "/");
    if (!(child->plan->head.flags & PLAN_FLAG_ROOT) && trees_open(child->plan, &failure) < 0)
        die(child, &failure);
    if (become_box_root() < 0)
        die_at(child, 0, SPAWN_WHERE_MAP, 0, "");
    if (builder_begin(b) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "staging");
    for (size_t i = 0; i < child->plan->n_steps; i++)
        if (builder_step(b, child->plan, i, &failure) < 0)
            die(child, &failure);
    if (b->root_fd < 0 || builder_pivot(b) < 0)
        die_at(child, 0, SPAWN_WHERE_PIVOT, 0, "root");
}

void child_main(struct child *child)
{
    struct builder b = BUILDER_INIT;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    umask(0);
    close(child->parent_go_fd); /* or its end would never show */
    leave_network(child);
    join(child);
    show_groups(child);
    await_go(child); /* ids */
    furnish_namespaces(child);
    build(child, &b);
    umask(022);
    await_go(child); /* limits */
    become_glove(child);
}
