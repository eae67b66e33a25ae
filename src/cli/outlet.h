/* SPDX-License-Identifier: Apache-2.0 */
/* cli/outlet.h - a stream of ours that a run's output goes to, and the patience with its reader.
 *
 * What is added is written before the program goes on: a reader who waits makes the program wait,
 * and nothing is kept for it.  Two things end that patience, so that a reader who is stuck cannot
 * keep a run alive: a request to end, and a deadline.  What is unwritten then, and that is at most
 * what the box had already sent, goes out at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct outlet {
    int fd;
    bool is_own;          /* a terminal, opened once more */
    int cancel_fd;        /* readable: nobody is waited for any more; -1 */
    uint64_t deadline_ns; /* the same */
    struct buf pending;
    size_t sent; /* of pending */
    int error;   /* of the write that failed */
};

/* The descriptors stay the caller's, who owes outlet_clear().  No deadline is set. */
void outlet_init(struct outlet *ret, int fd, int cancel_fd);
void outlet_clear(struct outlet *outlet);

/* Writes what has been put behind `pending`.  0, or why nobody can be told any more. */
int outlet_push(struct outlet *outlet);

/* The last call: waits for the reader, but once there is a request to end only for as long as it
 * goes on reading.  -ETIMEDOUT: it did not, and nothing more should be written there. */
int outlet_finish(struct outlet *outlet);
