/* SPDX-License-Identifier: Apache-2.0 */
/* box/switchboard.h - the network of a box that lives on: a process beside its keeper.
 *
 *    programs ── glove ── link ── keeper ── switchboard ── the world, by the box's rules (carry.h)
 *                                                  ◄────── ports of this machine (ports.h)
 *
 * It is a client of the keeper, the one that said SERVE.  When the box goes, so does it; when it
 * goes, the box lives on without a network: every connection ends, every question is answered with
 * no, and nothing listens any more.  It is made with the box and never again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct denied_source;
struct gb_err;
struct kept;
struct port;

/* Starts one for a box that stands, and returns when it serves.  ports listen; their descriptors
 * stay the caller's, who must have no other threads.  It has the caller's memory as it was: the
 * source of later denials is asked there. */
int switchboard_start(const char *state_dir, const struct kept *kept,
                      const struct denied_source *denied_later, const struct port *ports,
                      size_t n_ports, struct gb_err *err);

/* Does the switchboard of the box in this directory live?  With ret_pidfd a hold on it, which is
 * readable when it has ended, or -1. */
bool switchboard_lives(int dir_fd, int *ret_pidfd);
