/* SPDX-License-Identifier: Apache-2.0 */
/* glove/drop.h - giving up privileges, and the system call filters.
 *
 * The glove is box root with every capability of the box's user namespace when it starts, and keeps
 * CAP_KILL, CAP_SETUID and CAP_SETGID: without them it can neither become the run user nor kill
 * what that user runs.  A run has none, in any set.
 */
#pragma once

#include <stdbool.h>

/* The glove, once: securebits locked, bounding set emptied, capabilities cut down, no new
 * privileges.  may_mount leaves CAP_SYS_ADMIN, for runs in namespaces of their own. */
int drop_glove(bool may_mount);

/* A child: no capability left. */
int drop_all(void);

/* One that only kills: CAP_KILL, if it was there. */
int drop_to_kill(void);

/* Seccomp filters; both are inherited and add up. */
int filter_glove(void);
int filter_run(void);
