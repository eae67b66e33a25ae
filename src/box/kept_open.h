/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_open.h - a new box that lives on, whichever process keeps it.
 *
 * A backend that keeps its boxes by itself gets the box handed over.  For the others a process of
 * ours is forked off, which makes the box and holds it (box/hold.h); so the caller must have no
 * other threads then.
 */
#pragma once

#include "base/id.h"

struct box_spec;
struct gb_err;
struct kept_spec;

int kept_open(const struct box_spec *spec, const struct kept_spec *kept,
              char ret_id[static ID_SIZE], struct gb_err *err);
