/* SPDX-License-Identifier: Apache-2.0 */
/* box/run_dir.h - the run directory: what boxes of this user have on this machine while they live.
 *
 * Nobody else can write to it or swap it.  Descriptors are close-on-exec and the caller's.
 */
#pragma once

struct gb_err;

/* Makes it where it is not there.  -EPERM: it is another user's, or others can write to it. */
int run_dir_open(const char *path, struct gb_err *err);

/* A directory in it, in the same way. */
int run_dir_below(int run_dir_fd, const char *path, const char *name, struct gb_err *err);
