/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/keep.h - a spawner that has become the keeper of its box.
 *
 * Its host has gone on purpose.  The box lives until its time is over, a client says DESTROY, its
 * PID 1 ends, or the keeper dies; with it goes its directory, in which others find it.  When
 * somebody has removed that one, it ends with its last client: nobody could reach it any more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/keeper.h"
#include "spawner/box.h"

#define KEEP_STALE_MAX KEEPER_CLIENTS_MAX

#define KEEP_FDS 3 /* the host's end of the link, the listening socket, the directory of boxes */

/* Of zeroed memory; a guard believes parent_fd and name as soon as has_name is set. */
struct keep {
    struct box *box;
    int listener_fd;
    int parent_fd;
    volatile bool has_name;
    char name[64];
    uint64_t end_ns;  /* when its time is over */
    uint64_t look_ns; /* when to look for its directory again */
    struct keep_stale {
        uint32_t first;
        uint32_t n;
    } stale[KEEP_STALE_MAX]; /* runs whose groups could not be removed yet; n 0: none */
    size_t next_stale;
    struct keeper keeper;
};

/* Takes the descriptors over.  -EPROTO when the message makes no sense. */
int keep_begin(struct keep *keep, struct box *box, const struct msg_keep *msg, const int *fds,
               size_t n_fds, uint64_t end_ns);

/* Serves until the box must end or has ended.  Where to tell of its end, or -1. */
int keep_serve(struct keep *keep);

/* Removes the box's directory, if it has one. */
void keep_forget(struct keep *keep);
