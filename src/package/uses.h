/* SPDX-License-Identifier: Apache-2.0 */
/* package/uses.h - boxes that live on and use a layer, for longer than any process holds its lock.
 *
 *    DIR/uses/KEY.BOX   the directory in which that box is found (box/kept.h)
 *
 * Written while the lock is held; a box that has ended is forgotten by whoever asks.
 */
#pragma once

#include <stdbool.h>

struct gb_err;

int uses_add(int uses_fd, const char *key, const char *box, const char *state_dir,
             struct gb_err *err);

/* Does a box that lives use it? */
bool uses_has(int uses_fd, const char *key);
