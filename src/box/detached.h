/* SPDX-License-Identifier: Apache-2.0 */
/* box/detached.h - a process that outlives the command which made it: a keeper, whoever does a run
 * that goes on.
 *
 * It is nobody's child, has a session of its own, and nothing of its maker's is open in it but the
 * pipe on which it tells once how it began: whoever reads the maker's output sees its end.
 */
#pragma once

#include <stddef.h>

/* Descriptors of the maker's that may stay open in it. */
#define DETACHED_FDS_MAX 300

/* r: 0, or what failed of leaving the maker.  Writes what told_fd is for; does not return. */
typedef void detached_body(void *user, int told_fd, int r);

/* Starts it and reads the size bytes that it tells.  The caller must have no other threads but
 * those of look-ups that were given up (egress/resolve.h), whose end is waited for.  -EPIPE: it
 * ended before it had told; -ETIMEDOUT: a look-up does not end. */
int detached_start(const char *name, detached_body *body, void *user, void *ret_told, size_t size);

/* The same with descriptors of the maker's that stay open in it, n of them. */
int detached_start_with(const char *name, detached_body *body, void *user, const int *fds, size_t n,
                        void *ret_told, size_t size);
