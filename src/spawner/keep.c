/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/keep.c - a spawner that has become the keeper of its box. */
#include "spawner/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/level.h"
#include "base/path.h"
#include "base/sys.h"

/* How deep the directory of a box is: what else lies in it is not ours. */
#define FORGET_DEPTH 3
#define FORGET_TRIES 3

/* Exits are asynchronous, and v1 has no event for them. */
#define STALE_LOOK_MS 10

/* Without a descriptor left for a new client, who stays at the door. */
#define FULL_PAUSE_MS 20

/* ---- runs without a client ------------------------------------------------------------------ */

static void run_name(uint32_t number, char name[static 24])
{
    (void)snprintf(name, 24, "run-%u", number);
}

static void run_kill(const struct group *group, uint32_t number)
{
    cleanup_close int dir = -1;
    char name[24];

    run_name(number, name);
    dir = openat(group->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir >= 0)
        (void)fd_write_text(dir, "cgroup.kill", "1");
}

/* Kills what is in the groups of runs, and removes them.  Does any still stand? */
static bool runs_end(const struct box *box, uint32_t first, uint32_t n)
{
    bool is_left = false;

    for (uint32_t number = first; number < first + n; number++)
        for (size_t i = 0; i < box->n_groups; i++) {
            char name[24];

            run_name(number, name);
            if (unlinkat(box->groups[i].dir_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
                continue;
            if (box->groups[i].is_v2)
                run_kill(&box->groups[i], number);
            is_left = true;
        }
    return is_left;
}

/* One more than were asked for: the groups of the next run may have been made already. */
static void on_lost(void *user, uint32_t first, uint32_t n)
{
    struct keep *keep = user;

    if (!runs_end(keep->box, first, n + 1))
        return;
    /* The oldest gives way: it goes with the box. */
    keep->stale[keep->next_stale] = (struct keep_stale){ .first = first, .n = n + 1 };
    keep->next_stale = (keep->next_stale + 1) % KEEP_STALE_MAX;
}

/* Is there anything to look at again? */
static bool look_at_stale(struct keep *keep)
{
    bool is_left = false;

    for (size_t i = 0; i < KEEP_STALE_MAX; i++) {
        struct keep_stale *stale = &keep->stale[i];

        if (stale->n > 0 && !runs_end(keep->box, stale->first, stale->n))
            stale->n = 0;
        is_left = is_left || stale->n > 0;
    }
    return is_left;
}

/* ---- clients -------------------------------------------------------------------------------- */

static void on_welcome(void *user, struct msg_welcome *ret, int *fds, size_t *n_fds)
{
    const struct keep *keep = user;
    uint64_t now = clock_now_ns();

    for (size_t i = 0; i < keep->box->n_groups; i++)
        fds[i] = keep->box->groups[i].dir_fd;
    *n_fds = keep->box->n_groups;
    if (keep->end_ns != CLOCK_NEVER_NS)
        ret->ttl_ms = keep->end_ns > now ? (keep->end_ns - now) / NS_PER_MS + 1 : 1;
}

static const struct keeper_ops keeper_ops = { .lost = on_lost, .welcome = on_welcome };

static void accept_one(struct keep *keep)
{
    int fd = accept4(keep->listener_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0) {
        fd_widen(fd, WIRE_CREDIT_WIDE);
        keeper_welcome(&keep->keeper, fd);
    } else if (errno == EMFILE || errno == ENFILE) {
        (void)poll(NULL, 0, FULL_PAUSE_MS); /* he waits; so does nobody else for longer */
    }
}

/* ---- begin, serve, forget ------------------------------------------------------------------- */

int keep_begin(struct keep *keep, struct box *box, const struct msg_keep *msg, const int *fds,
               size_t n_fds, uint64_t end_ns)
{
    if (n_fds != KEEP_FDS || !path_is_below(msg->name) || strchr(msg->name, '/') ||
        strlen(msg->name) >= sizeof(keep->name)) {
        fd_close_all(fds, n_fds);
        return -EPROTO;
    }
    keep->box = box;
    keep->listener_fd = fds[1];
    keep->parent_fd = fds[2];
    keep->end_ns = end_ns;
    keep->look_ns = clock_after_ms(KEEPER_LOOK_MS);
    memcpy(keep->name, msg->name, strlen(msg->name) + 1);
    keep->has_name = true;
    keeper_init(&keep->keeper, fds[0], msg->next_seq, msg->next_channel, &keeper_ops, keep);
    return 0;
}

/* Until when to wait at most. */
static uint64_t next_look(struct keep *keep)
{
    uint64_t deadline_ns = look_at_stale(keep) ? clock_after_ms(STALE_LOOK_MS) : keep->look_ns;

    return keep->end_ns < deadline_ns ? keep->end_ns : deadline_ns;
}

/* Its time is over, or nobody can reach it. */
static bool is_over(struct keep *keep)
{
    uint64_t now = clock_now_ns();

    if (now < keep->look_ns || now >= keep->end_ns)
        return now >= keep->end_ns;
    keep->look_ns = clock_after_ms(KEEPER_LOOK_MS);
    return keeper_is_cut_off(&keep->keeper, keep->parent_fd, keep->name);
}

int keep_serve(struct keep *keep)
{
    int r = 0;

    while (r == 0) {
        struct pollfd polls[2 + KEEPER_POLLS_MAX];
        uint64_t deadline_ns = next_look(keep);
        size_t n;

        polls[0] = (struct pollfd){ .fd = keep->box->pidfd, .events = POLLIN };
        polls[1] = (struct pollfd){ .fd = keep->listener_fd, .events = POLLIN };
        n = keeper_polls(&keep->keeper, polls + 2, &deadline_ns);
        if (poll(polls, (nfds_t)(2 + n), clock_poll_ms(deadline_ns)) < 0 && errno != EINTR)
            return -1;
        if (polls[0].revents || is_over(keep))
            return -1;
        r = keeper_serve(&keep->keeper, polls + 2, n);
        if (r == 0 && polls[1].revents)
            accept_one(keep);
    }
    return r > 0 ? keep->keeper.destroyer_fd : -1;
}

static void forget_below(int parent_fd, const char *name, int depth);

/* Without readdir(), which would allocate: a guard may find the heap in any state.
 * NOLINTNEXTLINE(misc-no-recursion): the depth is bounded */
static void forget_entries(int fd, int depth)
{
    const struct sys_dirent *entry;
    struct level level;
    int error;

    level_begin(&level, fd);
    while ((entry = level_next(&level, &error)) != NULL) {
        if (entry->type == DT_DIR && depth < FORGET_DEPTH)
            forget_below(fd, entry->name, depth + 1);
        else
            (void)unlinkat(fd, entry->name, 0);
    }
}

/* A client may be writing a file of its own in this moment: tried more than once.  What cannot be
 * removed stays, and is found dead by whoever looks.
 * NOLINTNEXTLINE(misc-no-recursion) */
static void forget_below(int parent_fd, const char *name, int depth)
{
    for (int i = 0; i < FORGET_TRIES; i++) {
        cleanup_close int fd =
            openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0)
            return;
        forget_entries(fd, depth);
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
            return;
    }
}

void keep_forget(struct keep *keep)
{
    if (keep->has_name)
        forget_below(keep->parent_fd, keep->name, 1);
    keep->has_name = false;
}
