/* SPDX-License-Identifier: Apache-2.0 */
/* box/hold.c - a keeper in a process of ours. */
#include "box/hold.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/box.h"
#include "keeper/keeper.h"

#define BEAT_MS       1000
#define FULL_PAUSE_MS 20

struct hold {
    struct keeper keeper;
    const struct hold_spec *spec;
    int listener_fd;
    uint64_t end_ns;
    uint64_t beat_ns;
    uint64_t look_ns; /* when to look for its directory again */
    int asker_fd;     /* whoever wanted the end; -1: nobody */
};

/* The glove has been told already: runs without groups are killed by it. */
static void on_lost(void *user, uint32_t first, uint32_t n)
{
    (void)user;
    (void)first;
    (void)n;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as keeper_ops has it */
static void on_welcome(void *user, struct msg_welcome *ret, int *fds, size_t *n_fds)
{
    const struct hold *hold = user;
    uint64_t now = clock_now_ns();

    (void)fds;
    *n_fds = 0;
    if (hold->end_ns != CLOCK_NEVER_NS)
        ret->ttl_ms = hold->end_ns > now ? (hold->end_ns - now) / NS_PER_MS + 1 : 1;
}

static const struct keeper_ops keeper_ops = { .lost = on_lost, .welcome = on_welcome };

static void accept_one(struct hold *hold)
{
    int fd = accept4(hold->listener_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0)
        keeper_welcome(&hold->keeper, fd);
    else if (errno == EMFILE || errno == ENFILE)
        (void)poll(NULL, 0, FULL_PAUSE_MS);
}

/* Tells the glove that its host lives, and looks whether anybody can reach it. */
static int beat(struct hold *hold)
{
    uint64_t now = clock_now_ns();

    if (now < hold->beat_ns)
        return 0;
    hold->beat_ns = clock_after_ms(BEAT_MS);
    if (now >= hold->look_ns) {
        hold->look_ns = clock_after_ms(KEEPER_LOOK_MS);
        if (keeper_is_cut_off(&hold->keeper, hold->spec->parent_fd, hold->spec->name))
            return -ENOENT;
    }
    return keeper_beat(&hold->keeper);
}

/* One turn; other than 0 it is over. */
static int turn(struct hold *hold)
{
    struct pollfd polls[1 + KEEPER_POLLS_MAX];
    uint64_t deadline_ns = hold->beat_ns < hold->end_ns ? hold->beat_ns : hold->end_ns;
    size_t n;
    int r;

    polls[0] = (struct pollfd){ .fd = hold->listener_fd, .events = POLLIN };
    n = keeper_polls(&hold->keeper, polls + 1, &deadline_ns);
    if (poll(polls, (nfds_t)(1 + n), clock_poll_ms(deadline_ns)) < 0)
        return errno == EINTR ? 0 : -errno;
    if (clock_now_ns() >= hold->end_ns)
        return -ETIME;
    r = keeper_serve(&hold->keeper, polls + 1, n);
    if (r == 0)
        r = beat(hold);
    if (r == 0 && polls[0].revents)
        accept_one(hold);
    return r;
}

int box_hold(struct box *box, const struct hold_spec *spec, struct hold **ret, struct gb_err *err)
{
    const struct box_held *held = box_held(box);
    struct hold *hold = held ? calloc(1, sizeof(*hold)) : NULL;
    int r = 0;

    if (!hold)
        return gb_fail(err, held ? -ENOMEM : -EINVAL, GB_BLAME_BUG, "there is no box to hold");
    hold->spec = spec;
    hold->listener_fd = held->listener_fd;
    hold->end_ns = spec->ttl_ms ? clock_after_ms(spec->ttl_ms) : CLOCK_NEVER_NS;
    hold->beat_ns = clock_after_ms(BEAT_MS);
    hold->look_ns = clock_after_ms(KEEPER_LOOK_MS);
    hold->asker_fd = -1;
    keeper_init(&hold->keeper, held->link_fd, held->next_seq, held->next_channel, &keeper_ops,
                hold);
    while (r == 0)
        r = turn(hold);
    if (r > 0)
        hold->asker_fd = hold->keeper.destroyer_fd;
    *ret = hold;
    return 0;
}

void box_hold_end(struct hold *hold, uint32_t survivors)
{
    struct msg_gone gone = { .survivors = survivors };
    uint8_t frame[64];
    int n = msg_encode(MSG_GONE, 0, 0, &gone, frame, sizeof(frame));

    if (hold->asker_fd >= 0 && n > 0)
        (void)fd_send(hold->asker_fd, frame, (size_t)n, NULL, 0, 0);
    free(hold);
}
