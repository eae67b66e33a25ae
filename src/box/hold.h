/* SPDX-License-Identifier: Apache-2.0 */
/* box/hold.h - a keeper in a process of ours, for boxes whose backend has none of its own.
 *
 * The same src/keeper that a spawner becomes, with what a process of the host has to do besides: it
 * tells the glove every second that it lives.  box_keep() gave it link and socket; box_hold()
 * serves until a client says DESTROY, the box's time is over, the box has ended, or nobody is there
 * and nobody can find it any more.
 */
#pragma once

#include <stdint.h>

struct box;
struct gb_err;

struct hold_spec {
    uint64_t ttl_ms;  /* 0: for ever */
    int parent_fd;    /* the directory of boxes, and … */
    const char *name; /* … the box's own in it */
};

/* Afterwards box_close() is owed, and then box_hold_end() with what it said, which tells whoever
 * asked for the end. */
struct hold;
int box_hold(struct box *box, const struct hold_spec *spec, struct hold **ret, struct gb_err *err);
void box_hold_end(struct hold *hold, uint32_t survivors);
