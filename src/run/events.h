/* SPDX-License-Identifier: Apache-2.0 */
/* run/events.h - what reaches a run while it is under way: signals for its program, which another
 * command asks for, and sizes of a terminal. */
#pragma once

#include <stdint.h>

#include "box/box.h"

struct gb_err;

struct run_events {
    struct box_events source; /* for a run_request; source.fd is the owner's to close */
    void (*size)(uint32_t *ret_rows, uint32_t *ret_cols);
};

/* size: of the terminal, asked for whenever it has changed; NULL: there is none.  From then on no
 * such signal ends this process.  *ret stays where it is. */
int run_events_open(struct run_events *ret, void (*size)(uint32_t *ret_rows, uint32_t *ret_cols),
                    struct gb_err *err);

/* Asks the process behind a pidfd, which has opened its events, to send its program a signal.
 * 0 or a negative errno. */
int run_events_ask_signal(int pidfd, uint32_t signo);
