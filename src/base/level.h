/* SPDX-License-Identifier: Apache-2.0 */
/* base/level.h - one open directory of a walk, with a piece of its entries.
 *
 * A walk is a stack of them: no recursion, no allocation, and a depth that is known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEVELS_MAX         64
#define LEVEL_ENTRIES_SIZE 4096

struct sys_dirent;

struct level {
    int fd;
    size_t start; /* entries not yet looked at: [start, end) */
    size_t end;
    _Alignas(8) uint8_t entries[LEVEL_ENTRIES_SIZE];
};

/* Of a directory that is open already, from where it stands. */
void level_begin(struct level *level, int fd);

/* Opens a directory without following a link; fd is the caller's to close. */
int level_open(struct level *level, int dir_fd, const char *name);

/* The next entry, "." and ".." apart; it lies there until the next call.  NULL at
 * the end; a directory that was removed has ended. */
const struct sys_dirent *level_next(struct level *level, int *ret_error);
