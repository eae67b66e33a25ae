/* SPDX-License-Identifier: Apache-2.0 */
/* base/dir.h - directories that are made on the way, and directories that nothing leads out of.
 *
 * Functions return 0 or a descriptor (O_PATH, close-on-exec, the caller's), or a negative errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes what is missing of the directories above path. */
int dir_make_parents(const char *path, unsigned mode);

/* Opens a directory beneath base_fd: no link on the way (-ELOOP), no way out (-EXDEV).  more:
 * further SYS_RESOLVE_* rules. */
int dir_open_beneath(int base_fd, const char *path, uint64_t more);

/* The same for the first len bytes of path, 0 of which mean base_fd itself; makes what is missing,
 * with mode 0755. */
int dir_make_beneath(int base_fd, const char *path, size_t len, uint64_t more);
