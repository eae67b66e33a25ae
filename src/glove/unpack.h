/* SPDX-License-Identifier: Apache-2.0 */
/* glove/unpack.h - a crate from a pipe into a directory.
 *
 * Runs in a porter, as the run user, while hostile programs may be changing the same tree.  Every
 * directory on the way is opened below its parent without following links; a file or a link is made
 * under a new name and renamed into place.  So a link, a FIFO or a hard link that was planted where
 * a file belongs is replaced and never written through, nobody sees half a file, and a program that
 * is running is not in the way.
 *
 * Files that are complete stay when a later one fails.
 */
#pragma once

#include <stdint.h>

#include "wire/msg.h"

/* Reads the pipe to its end.  *ret_mark is a time by the clock of that file system, after the last
 * change made here and not after any later one. */
int unpack(const struct msg_put *put, int pipe_fd, uint64_t *ret_mark, enum glove_step *ret_step);
