/* SPDX-License-Identifier: Apache-2.0 */
/* glove/landlock.h - the second wall around the file system of a run.
 *
 * The mounts of a box already say what may be written; Landlock says it again.  The rules are made
 * once, at SETUP, and every run puts them on itself: reading and executing everywhere, everything
 * but making devices below the writable paths, writing to the few device nodes, and neither
 * abstract sockets nor signals across the wall where the kernel can do that.
 */
#pragma once

#include <stddef.h>

struct wire_strs;

/* The newest ABI of this kernel, or -errno when it has no Landlock. */
int landlock_abi(void);

/* A descriptor of the rules.  Writable paths that do not exist are left out. */
int landlock_rules(int abi, const struct wire_strs *writable);

/* The calling thread, for good.  Needs no_new_privs. */
int landlock_restrict(int rules_fd);
