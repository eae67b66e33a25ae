/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/box.c - the life of one native box.
 *
 * The record of a slot is lines of text:
 *    box b_…
 *    group /sys/fs/cgroup/memory/glovebox-3
 * Processes need no line: they live in the groups, and die with the box's PID 1, which dies with
 * the link.
 */
#include "spawner/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "spawner/build.h"
#include "spawner/idmap.h"

#define SWEEP_MS    2000
#define SLOTS_TRIED 3

/* ---- slot and record ------------------------------------------------------------------------ */

/* A group of this slot, by its name "glovebox-…<slot>"?  Whatever else a damaged record names is
 * not ours to kill. */
static bool is_own_group(const char *path, uint32_t slot)
{
    static const char place[] = "/sys/fs/cgroup/";
    static const char prefix[] = "glovebox-";
    const char *name = path_base(path);
    char ending[16];
    int n = snprintf(ending, sizeof(ending), "-%u", slot);

    return strncmp(path, place, strlen(place)) == 0 && path_is_clean_absolute(path) &&
           strncmp(name, prefix, strlen(prefix)) == 0 &&
           strcmp(name + strlen(name) - (size_t)n, ending) == 0;
}

static int record_sweep(char *record, size_t len, uint32_t slot, uint32_t *ret_survivors)
{
    static const char key[] = "group ";
    int result = 0;

    record[len < SLOT_RECORD_MAX ? len : SLOT_RECORD_MAX - 1] = '\0';
    for (char *line = record; *line;) {
        char *end = strchr(line, '\n');
        uint32_t left = 0;

        if (!end || end == line)
            break; /* the empty line; or a torn one: what it names was not made yet */
        *end = '\0';
        if (strncmp(line, key, strlen(key)) == 0 && is_own_group(line + strlen(key), slot)) {
            int r = group_sweep(line + strlen(key), SWEEP_MS, &left);

            if (r < 0)
                result = r;
            if (left > *ret_survivors)
                *ret_survivors = left; /* the same ones in every tree */
        }
        line = end + 1;
    }
    return result;
}

static int record_write(const struct box *box)
{
    char record[SLOT_RECORD_MAX];
    size_t used = 0;
    int n = snprintf(record, sizeof(record), "box %s\n", box->plan->head.box);

    for (size_t i = 0; n >= 0 && i < box->n_groups; i++) {
        used += (size_t)n;
        if (used >= sizeof(record))
            return -ENOSPC;
        n = snprintf(record + used, sizeof(record) - used, "group %s\n", box->groups[i].path);
    }
    used += (size_t)n;
    if (used + 1 >= sizeof(record))
        return -ENOSPC;
    record[used++] = '\n';
    return slot_write(&box->slot, record, used);
}

/* A slot whose leftovers cannot be swept now is left as it is, and the next one tried. */
static int take_slot(struct box *box, struct failure *ret)
{
    uint32_t n_slots = box->plan->head.n_slots;
    uint32_t first = 0;
    int swept = 0;

    for (int i = 0; i < SLOTS_TRIED; i++) {
        char record[SLOT_RECORD_MAX];
        uint32_t survivors = 0;
        size_t len = 0;
        int r = slot_take(box->plan->slots_fd, first, n_slots, &box->slot, record, &len);

        if (r < 0)
            return failure_note(ret, 0, SPAWN_WHERE_SLOT, 0, r, "");
        swept = len > 0 ? record_sweep(record, len, box->slot.number, &survivors) : 0;
        if (swept == 0)
            return 0;
        slot_drop(&box->slot);
        first = box->slot.number + 1;
    }
    return failure_note(ret, 0, SPAWN_WHERE_SLOT, 0, swept, "sweeping what a dead owner left");
}

int box_sweep(struct slot *slot, uint32_t *ret_survivors)
{
    char record[SLOT_RECORD_MAX];
    ssize_t n = pread(slot->fd, record, sizeof(record), 0);
    int r = n < 0 ? -errno : 0;

    *ret_survivors = 0;
    if (n > 0)
        r = record_sweep(record, (size_t)n, slot->number, ret_survivors);
    if (r == 0)
        slot_release(slot);
    else if (r != -EBUSY)
        slot_drop(slot);
    return r;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Finds the GROUP steps and names their paths, so that the record is complete before the first
 * directory is made. */
static int groups_name(struct box *box, struct failure *ret)
{
    for (size_t i = 0; i < box->plan->n_steps; i++) {
        struct group *group = &box->groups[box->n_groups];
        struct msg_group step;

        if (box->plan->steps[i].type != MSG_GROUP)
            continue;
        if (box->n_groups == GROUPS_MAX || plan_decode(box->plan, i, &step) < 0)
            return failure_note(ret, i, SPAWN_WHERE_PLAN, 0, -EPROTO, "");
        *group = (struct group){ .dir_fd = -1, .join_fd = -1, .leaf_fd = -1 };
        if (group_path(&step, box->slot.number, group->path) < 0)
            return failure_note(ret, i, SPAWN_WHERE_GROUP, step.wall, -ENAMETOOLONG, step.dir);
        box->group_steps[box->n_groups++] = i;
    }
    return 0;
}

/* The lock is ours, so a group of our name has no living owner: it is a leftover from before a
 * record could be written, or from one that was lost. */
static int group_make_anew(const struct msg_group *step, uint32_t slot, struct group *group)
{
    int r = group_make(step, slot, group);
    uint32_t left;

    if (r != -EEXIST)
        return r;
    r = group_sweep(group->path, SWEEP_MS, &left);
    return r < 0 ? r : group_make(step, slot, group);
}

static int fail_group(const struct box *box, size_t i, const struct msg_group *step, int code,
                      struct failure *ret)
{
    return failure_note(ret, box->group_steps[i], SPAWN_WHERE_GROUP, step->wall, code,
                        box->groups[i].path);
}

static int groups_limit(const struct box *box, bool is_v2, struct failure *ret)
{
    for (size_t i = 0; i < box->n_groups; i++) {
        struct msg_group step;
        int r;

        if (box->groups[i].is_v2 != is_v2)
            continue;
        (void)plan_decode(box->plan, box->group_steps[i], &step);
        r = group_limit(&step, &box->groups[i]);
        if (r < 0)
            return fail_group(box, i, &step, r, ret);
    }
    return 0;
}

/* One that is the root of the box's cgroup namespace? */
static bool sees_groups(const struct box *box)
{
    for (size_t i = 0; i < box->n_groups; i++)
        if (group_is_seen(&box->groups[i]))
            return true;
    return false;
}

static int groups_make(struct box *box, bool is_v2, struct failure *ret)
{
    for (size_t i = 0; i < box->n_groups; i++) {
        struct msg_group step;
        int r;

        (void)plan_decode(box->plan, box->group_steps[i], &step);
        if (!(step.flags & GROUP_FLAG_V2) == is_v2)
            continue;
        r = group_make_anew(&step, box->slot.number, &box->groups[i]);
        if (r < 0)
            return fail_group(box, i, &step, r, ret);
    }
    return 0;
}

/* The v2 group has its limits at once: what it passes on to groups below is one of them, and the
 * host makes such groups as soon as it hears of this one.  One that the box sees must wait until
 * the child has left it. */
static int groups_make_v2(struct box *box, struct failure *ret)
{
    if (groups_make(box, true, ret) < 0)
        return -1;
    return sees_groups(box) ? 0 : groups_limit(box, true, ret);
}

/* ---- the clone ------------------------------------------------------------------------------ */

/* The network's, which takes as long as all others together, the child makes by itself: meanwhile
 * the spawner makes groups. */
static const struct {
    uint32_t plan_flag;
    uint64_t clone_flag;
} namespaces[] = {
    { PLAN_FLAG_USER_NS, SYS_CLONE_NEWUSER },
    { PLAN_FLAG_PID_NS, SYS_CLONE_NEWPID },
    { PLAN_FLAG_IPC_NS, SYS_CLONE_NEWIPC },
    { PLAN_FLAG_UTS_NS, SYS_CLONE_NEWUTS },
};

static uint64_t clone_flags(uint32_t plan_flags)
{
    uint64_t flags = SYS_CLONE_NEWNS;

    for (size_t i = 0; i < N_ELEMENTS(namespaces); i++)
        if (plan_flags & namespaces[i].plan_flag)
            flags |= namespaces[i].clone_flag;
    return flags;
}

/* A user namespace is charged (inotify instances and the like) to the effective user that makes
 * it: the box's own first id, so that no box eats another's share.  SECBIT_NO_SETUID_FIXUP keeps
 * the capabilities, without which the clone into the group gives EACCES. */
static int act_as(const struct box *box, bool as_box)
{
    uint32_t uid = as_box ? idmap_first_uid(box->plan, box->slot.number) : 0;

    if (!(box->plan->head.flags & PLAN_FLAG_ROOT))
        return 0;
    if (as_box && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0)
        return -errno;
    return syscall(SYS_setresuid, -1, uid, -1) < 0 ? -errno : 0;
}

static const struct group *born_in(const struct box *box)
{
    for (size_t i = 0; i < box->n_groups; i++)
        if (box->groups[i].is_v2)
            return &box->groups[i];
    return NULL;
}

static bool can_clone(uint64_t flags)
{
    struct sys_clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
    pid_t pid = sys_clone3(&args);

    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

/* Which namespace is it that the kernel refuses?  Asked only after a failure.  Each is tried alone,
 * but for the user's, which the others need. */
static uint32_t refused_namespace(uint32_t plan_flags)
{
    uint64_t user = plan_flags & PLAN_FLAG_USER_NS ? SYS_CLONE_NEWUSER : 0;

    for (size_t i = 0; i < N_ELEMENTS(namespaces); i++)
        if (plan_flags & namespaces[i].plan_flag && !can_clone(user | namespaces[i].clone_flag))
            return namespaces[i].plan_flag;
    return can_clone(user | SYS_CLONE_NEWNS) ? 0 : PLAN_FLAG_MOUNT_NS;
}

static int clone_child(struct box *box, struct child *child, struct failure *ret)
{
    const struct group *birth = born_in(box);
    struct sys_clone_args args = {
        .flags = clone_flags(box->plan->head.flags) | SYS_CLONE_PIDFD | SYS_CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)&box->pidfd,
        .exit_signal = SIGCHLD,
    };
    pid_t pid;
    int r;

    if (birth) {
        args.flags |= SYS_CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)birth->join_fd;
    }
    r = act_as(box, true);
    if (r < 0)
        return failure_note(ret, 0, SPAWN_WHERE_MAP, 0, r, "taking the box's user id");
    pid = sys_clone3(&args);
    if (pid == 0)
        child_main(child);
    r = pid < 0 ? -errno : 0;
    if (act_as(box, false) < 0)
        _exit(1); /* cannot happen: the saved id is root's */
    if (r < 0)
        return failure_note(ret, 0, SPAWN_WHERE_CLONE, refused_namespace(box->plan->head.flags), r,
                            "");
    box->pid = pid;
    return 0;
}

/* The child joins the groups of v1 by these descriptors.  One that is gone has told why. */
static void hand_over_groups(const struct box *box, int go_fd)
{
    int fds[GROUPS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < box->n_groups; i++)
        if (!box->groups[i].is_v2)
            fds[n++] = box->groups[i].join_fd;
    (void)fd_send(go_fd, "g", 1, fds, n, 0);
}

/* Then it waits for its ids, and once more for its limits. */
static int settle_child(struct box *box, int go_fd, struct failure *ret)
{
    struct idmap map;
    int r = idmap_read(box->plan, &map);

    if (r == 0)
        r = idmap_apply(box->plan, &map, box->slot.number, box->pid);
    if (r < 0)
        return failure_note(ret, 0, SPAWN_WHERE_MAP, 0, r, box->plan->head.uid_tool);
    (void)fd_write_full(go_fd, "i", 1);
    if (groups_limit(box, false, ret) < 0)
        return -1;
    (void)fd_write_full(go_fd, "l", 1);
    return 0;
}

/* The child has left the group that it was born in, or is gone and has told why. */
static int limit_seen(const struct box *box, int seen_fd, struct failure *ret)
{
    char byte;

    return fd_read_full(seen_fd, &byte, 1) == 1 ? groups_limit(box, true, ret) : 0;
}

static int start_child(struct box *box, int control_fd, struct failure *ret)
{
    cleanup_close int go_out = -1;
    cleanup_close int go_in = -1;
    cleanup_close int seen_in = -1;
    int go[2];
    int seen[2] = { -1, -1 };
    struct child child = {
        .plan = box->plan,
        .groups = box->groups,
        .n_groups = box->n_groups,
        .group_steps = box->group_steps,
        .control_fd = control_fd,
    };
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
        return failure_note(ret, 0, SPAWN_WHERE_CLONE, 0, -errno, "");
    go_in = go[0];
    go_out = go[1];
    if (sees_groups(box) && pipe2(seen, O_CLOEXEC) < 0)
        return failure_note(ret, 0, SPAWN_WHERE_CLONE, 0, -errno, "");
    seen_in = seen[0];
    child.go_fd = go_in;
    child.parent_go_fd = go_out;
    child.seen_fd = seen[1];
    r = clone_child(box, &child, ret);
    drop_fd(&seen[1]);
    if (r == 0)
        r = groups_make(box, false, ret);
    if (r < 0)
        return r;
    hand_over_groups(box, go_out);
    if (seen_in >= 0)
        r = limit_seen(box, seen_in, ret);
    return r < 0 ? r : settle_child(box, go_out, ret);
}

/* The glove's end of the link and the trees belong to the child alone now: as long as the spawner
 * held a copy of the link, the glove's end would go unnoticed. */
static void drop_child_fds(struct plan *plan)
{
    close(plan->link_fd);
    for (size_t i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].tree >= 0)
            close(plan->steps[i].tree);
}

void box_init(struct box *box)
{
    box->slot.fd = -1;
    box->pidfd = -1;
}

int box_prepare(struct box *box, struct plan *plan, struct failure *ret)
{
    int r;

    box->plan = plan;
    if (take_slot(box, ret) < 0 || groups_name(box, ret) < 0)
        return -1;
    r = record_write(box);
    if (r < 0)
        return failure_note(ret, 0, SPAWN_WHERE_SLOT, 0, r, "writing the record");
    return groups_make_v2(box, ret);
}

int box_build(struct box *box, int control_fd, struct failure *ret)
{
    struct plan *plan = box->plan;
    int r;

    if (plan->head.flags & PLAN_FLAG_ROOT && trees_open(plan, ret) < 0)
        return -1;
    r = start_child(box, control_fd, ret);
    drop_child_fds(plan);
    return r;
}

/* ---- the end -------------------------------------------------------------------------------- */

static int await_pid1(struct box *box, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = box->pidfd, .events = POLLIN };
    int n;

    do {
        n = poll(&poll_fd, 1, timeout_ms);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return -EBUSY;
    (void)waitpid(box->pid, NULL, 0);
    close(box->pidfd);
    box->pidfd = -1;
    box->pid = 0;
    return 0;
}

int box_destroy(struct box *box, uint32_t *ret_survivors)
{
    int result = 0;

    *ret_survivors = 0;
    if (box->pid > 0) {
        (void)sys_pidfd_send_signal(box->pidfd, SIGKILL);
        result = await_pid1(box, SWEEP_MS);
    }
    for (size_t i = 0; i < box->n_groups; i++) {
        uint32_t left = 0;
        int r;

        /* Most boxes have had one run, whose host had no time to remove its groups. */
        (void)unlinkat(box->groups[i].dir_fd, "run-1", AT_REMOVEDIR);
        group_close(&box->groups[i]);
        r = group_sweep(box->groups[i].path, SWEEP_MS, &left);
        if (r < 0)
            result = r;
        if (left > *ret_survivors)
            *ret_survivors = left;
    }
    if (result == 0) {
        *ret_survivors = 0;
        slot_release(&box->slot);
    } else if (result != -EBUSY) {
        slot_drop(&box->slot);
    }
    return result;
}
