/* SPDX-License-Identifier: Apache-2.0 */
/* box/ports.h - connections that come to ports of the host, carried into a box.
 *
 *    accepted ── DIAL ──► dialled ──► tied (tie.h) ──► both directions ended
 *                            └─ refused: reset
 *
 * It is a side of the link, as the carry is: whoever waits on the link serves it.  When as many
 * connections are open as may be, others wait where they listen.
 */
#pragma once

#include <stddef.h>

#include "box/port.h"

struct gb_err;
struct link;
struct ports;

#define PORTS_CONNS_MAX 256

/* Serves what listens.  The descriptors are taken over on success.  The link must be one that may
 * DIAL: a glove's own, or that of a keeper's server. */
int ports_new(struct link *link, const struct port *list, size_t n, struct ports **ret,
              struct gb_err *err);
void ports_free(struct ports *ports);
