/* SPDX-License-Identifier: Apache-2.0 */
/* run/room.h - do the files of a request fit into its box?
 *
 * They lie on a disk of memory: both limits count them.  A box whose memory its files have filled
 * cannot even tell so, therefore it is worked out before they are sent.
 */
#pragma once

#include <stdint.h>

struct gb_err;
struct limits;

/* What a file of that size takes: whole pages. */
uint64_t room_of(uint64_t size);

/* -EFBIG, and the limit that has to grow, when so many bytes do not fit.  shared: how many of them
 * lie in shared memory, which has a limit of its own. */
int room_check(const struct limits *limits, uint64_t bytes, uint64_t shared, struct gb_err *err);
