/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/v2_parent.h - in which group of a v2 tree the groups of boxes are made.
 *
 * Two rules of the kernel decide.  Whoever starts a process in a group needs rights on the nearest
 * group that holds both: a user's session and a group at the top of the tree have only the root of
 * it in common.  So an ordinary user's boxes are made in the present group, or in the delegated one
 * if the present group lies in it.  And a group with processes of its own passes no controller on:
 * when this process is in it, it steps into a leaf first.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "box/native/hierarchy.h"

/* The leaf's name: a process that finds itself in one has stepped aside, or is a child of one that
 * has. */
#define V2_LEAF "glovebox-self"

/* The directory below `top` for the boxes of a user whose present group is `present`, a line of
 * /proc/self/cgroup.  *ret_is_present: this process is in that very group.  false: there is none.
 */
bool v2_parent_choose(const char *top, const char *present, uid_t uid,
                      char dir[static GROUP_DIR_SIZE], bool *ret_is_present);

/* Has the group pass on each controller that it can (NULL-terminated names).  With is_present this
 * process may move into the leaf; it is back where it was when that did not help.  0, or the last
 * controller's -errno; -EBUSY: other processes are in the group. */
int v2_parent_enable(const char *dir, bool is_present, const char *const *controllers);
