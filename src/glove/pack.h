/* SPDX-License-Identifier: Apache-2.0 */
/* glove/pack.h - files of a directory into a crate on a pipe.
 *
 * Runs in a porter, as the run user, while hostile programs may be changing the same tree.  Only
 * regular files travel, and with GET_FLAG_KINDS links as they are and directories: links are not
 * followed, FIFOs, sockets and devices are passed over, and so is what the run user may not read or
 * what disappears on the way.  A name cannot hide a file: a tree too deep or a path
 * too long is an error.
 *
 * A file travels with the size it had when it was opened.  What is added later is left out; when
 * bytes are missing the crate cannot be kept, and the request fails with EAGAIN.
 */
#pragma once

#include <stdint.h>

#include "wire/msg.h"

/* *ret_files is the number of files that travelled. */
int pack(const struct msg_get *get, int pipe_fd, uint64_t *ret_files, enum glove_step *ret_step);
