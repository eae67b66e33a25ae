/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_open.h - a new box that lives on, whichever process keeps it.
 *
 * A backend that keeps its boxes by itself gets the box handed over.  For the others a process of
 * ours is forked off, which makes the box and holds it (box/hold.h), or removes it again where the
 * caller was killed before it could be told.  One with rules for its network, or ports, gets a
 * switchboard besides (box/switchboard.h): the rules are in `kept`, not in the spec, and
 * ports[i].host is filled in.  The caller must have no other threads.  What fails leaves nothing
 * behind.
 */
#pragma once

#include <stddef.h>

#include "base/id.h"

struct box_spec;
struct gb_err;
struct kept_spec;
struct port;

/* The texts of ports in the record are made here; ports is NULL where there are none. */
int kept_open(const struct box_spec *spec, const struct kept_spec *kept, struct port *ports,
              size_t n_ports, char ret_id[static ID_SIZE], struct gb_err *err);
