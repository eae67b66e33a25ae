/* SPDX-License-Identifier: Apache-2.0 */
/* cli/events.h - what reaches a run while it is under way: signals for its program, which another
 * command asks for, and sizes of the terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct box_events;
struct gb_err;

/* From then on neither ends this process.  ret->fd is the caller's. */
int events_open(bool has_tty, struct box_events *ret, struct gb_err *err);

/* Asks the process behind a pidfd, which has opened its events, to send its program a signal.
 * 0 or a negative errno. */
int events_ask_signal(int pidfd, uint32_t signo);
