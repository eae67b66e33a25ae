/* SPDX-License-Identifier: Apache-2.0 */
/* glove/remains.h - has a run left something behind that the next one could find?
 *
 * For a host that would use a box again, but only as if it were a new one.  The first RUN with
 * RUN_FLAG_FRESH begins the watch; each later one is refused when since then
 *
 *    a file or directory of a writable place was opened for writing, made, removed, renamed, or had
 *    its attributes changed, message queues (mq_open) and terminals among them;
 *    a process or thread was started besides the programs that were asked for: the next number
 *    would tell;
 *    a System V queue, semaphore or segment was made, also one that is gone;
 *    something was sent over the loopback device: ports stay busy for a minute.
 *
 * What cannot be watched has changed.  Not seen: that there were runs before, how many and when.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define REMAINS_PLACES_SIZE 8192
#define REMAINS_NET_SIZE    2048
#define REMAINS_IPC         3

struct glove;
struct wire_strs;

struct remains {
    bool is_begun;
    bool is_lost; /* something has changed, or could not be watched */
    int watch_fd;
    pid_t last_pid; /* of the last program that was asked for */
    int ipc_ids[REMAINS_IPC];
    int ipc_steps[REMAINS_IPC];
    char net[REMAINS_NET_SIZE];
    char places[REMAINS_PLACES_SIZE]; /* the writable ones, as they were packed */
    size_t n_places;
};

/* The places that runs may write to. */
void remains_places(struct remains *remains, const struct wire_strs *writable);

/* 0: the box is as it was at the first call, which begins the watch; -ESTALE: it is not, or that
 * could not be told. */
int remains_check(struct remains *remains);

/* A program was started. */
void remains_started(struct remains *remains, pid_t pid);
