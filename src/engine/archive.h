/* SPDX-License-Identifier: Apache-2.0 */
/* engine/archive.h - files of a container as tar, in and out.
 *
 * What is put below a tmpfs of the container never reaches its processes, and a read-only root is
 * refused: volumes and an ordinary root are what archives are for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct engine;
struct gb_err;

/* Unpacks a tar into a directory that exists.  source: the next bytes, 0 at the end, negative ends
 * it all with that code. */
int archive_put(struct engine *engine, const char *container, const char *directory,
                ssize_t (*source)(void *user, void *bytes, size_t size), void *user,
                uint64_t total_ms, struct gb_err *err);

/* Gives a file or directory as tar, of at most max bytes.  Negative of data ends it. */
int archive_get(struct engine *engine, const char *container, const char *path, size_t max,
                int (*data)(void *user, const char *bytes, size_t len), void *user,
                uint64_t total_ms, struct gb_err *err);
