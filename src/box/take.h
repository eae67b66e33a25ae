/* SPDX-License-Identifier: Apache-2.0 */
/* box/take.h - a request whose answer comes on a channel: taken to its end, whatever it holds.
 *
 * What is not taken would stay in the box, and so would the process that wants to send it: also
 * when feed() has failed the rest is read and thrown away.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct box;
struct gb_err;

struct box_take {
    uint8_t type;
    void *msg;         /* of that type */
    uint32_t *channel; /* its field for the channel */
    uint64_t most;     /* bytes that may come */
    int (*feed)(void *user, const uint8_t *bytes, size_t len);
    void *user;
};

/* 0; or negative: the box is lost or silent and err says so, or *ret_is_refused and err is the
 * caller's to set: the glove's own refusal, -EFBIG for too much, or what feed() returned. */
int box_take(struct box *box, const struct box_take *take, bool *ret_is_refused,
             struct gb_err *err);
