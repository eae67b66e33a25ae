/* SPDX-License-Identifier: Apache-2.0 */
/* glove/counts.h - what the box has used, from the groups that it sees as its own. */
#pragma once

struct glove;

/* Handler of USAGE. */
int counts_tell(struct glove *glove, const void *msg);
