/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/spawn.h - the host's end of a spawner.
 *
 * The spawner is a static program that travels inside this one; it is started from a sealed memfd
 * by posix_spawn(), so it is safe from any thread, and gets nothing but its control socket.  When
 * it is killed, its guard (spawner/guard.h) removes the box and says so in its place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct answer;
struct buf;
struct gb_err;

#define SPAWN_GROUPS_MAX 8

struct spawn {
    bool is_there;
    pid_t pid;             /* our child's; 0: it is not our child */
    bool has_plan;         /* it may have made something */
    int control_fd;        /* -1: none */
    struct answer *answer; /* what came over it */
    int slots_fd;          /* directory of slots, -1: none */
    uint32_t n_slots;
    size_t n_groups;
    int groups[SPAWN_GROUPS_MAX]; /* directories, in the order of the plan's GROUPs */
    uint32_t slot;
    int failed_wall; /* set when the plan failed: the wall, or -1 */
};

#define SPAWN_INIT                                           \
    {                                                        \
        .control_fd = -1, .slots_fd = -1, .failed_wall = -1, \
    }

/* Opens (and makes, 0700) the directory of slots below run_dir; it must be ours. */
int spawn_slots(const char *run_dir, struct spawn *spawn, struct gb_err *err);

/* Three steps, so that both sides work at the same time: the program starts while the host looks
 * at the machine; the box is built while the host makes the groups of the first run and fills the
 * link.  spawn_end() is owed after the first, whatever came of it.  One that is to become a keeper
 * is an orphan from the start: its end is no zombie of the caller's. */
int spawn_launch(struct spawn *spawn, bool is_orphan, struct gb_err *err);

/* Sends the plan and waits for the groups; *ret_link_fd is the host's end of the link. */
int spawn_begin(struct spawn *spawn, const struct buf *plan, int *ret_link_fd, struct gb_err *err);

/* The control socket has something to say, or the link was lost: tells why there is no box.  A
 * failure of a wall is told as such, with its remedy.  Always negative. */
int spawn_lost(struct spawn *spawn, struct gb_err *err);

/* An orphan becomes the keeper of its box; spawn_end() has nothing left to do. */
struct msg_keep;
int spawn_keep(struct spawn *spawn, const struct msg_keep *msg, const int *fds, size_t n_fds,
               struct gb_err *err);

/* Tells it to remove everything and goes; negative when it is not there to do it. */
int spawn_leave(struct spawn *spawn);

/* Has it removed everything.  The number of surviving processes. */
uint32_t spawn_end(struct spawn *spawn);
