/* SPDX-License-Identifier: Apache-2.0 */
/* glove/list.h - what lies in a directory, told on a pipe.
 *
 * Runs in a porter, as the run user, while hostile programs may be changing the same directory.
 * Nothing is opened but the directories on the way, none of them through a link.  What disappears
 * meanwhile is left out.
 */
#pragma once

#include <stdint.h>

#include "wire/msg.h"

/* *ret_entries is how many were told. */
int list(const struct msg_list *msg, int pipe_fd, uint64_t *ret_entries, enum glove_step *ret_step);
