/* SPDX-License-Identifier: Apache-2.0 */
/* box/hold.h - a keeper in a process of ours, for boxes whose backend has none of its own.
 *
 * The same src/keeper that a spawner becomes, with what a process of the host has to do besides: it
 * tells the glove every second that it lives.  box_keep() gave it link and socket; box_hold()
 * serves until a client says DESTROY, the box's time is over, or the box has ended.
 */
#pragma once

#include <stdint.h>

struct box;
struct gb_err;

/* ttl_ms: 0 is for ever.  Afterwards box_close() is owed, and then box_hold_end() with what it
 * said, which tells whoever asked for the end. */
struct hold;
int box_hold(struct box *box, uint64_t ttl_ms, struct hold **ret, struct gb_err *err);
void box_hold_end(struct hold *hold, uint32_t survivors);
