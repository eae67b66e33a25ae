/* SPDX-License-Identifier: Apache-2.0 */
/* glove/remove.h - files and trees out of the way.
 *
 * Runs in a porter, as the run user, while hostile programs may be changing the same tree: names
 * are removed, never followed, and each is looked up in the directory that was opened on the way.
 * A program that makes names faster than they go meets a bound.
 */
#pragma once

#include <stdint.h>

#include "wire/msg.h"

/* *ret_removed is how many names are gone, also after a failure. */
int remove_path(const struct msg_remove *msg, uint64_t *ret_removed, enum glove_step *ret_step);
