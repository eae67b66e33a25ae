/* SPDX-License-Identifier: Apache-2.0 */
/* glove/dial.h - connections from the host to whoever listens on the box's own loopback.
 *
 * DIAL names a port and two channels.  The host may send behind it at once: what comes before the
 * connection stands waits in the channel.  127.0.0.1 is tried, then ::1; DIALLED tells, once.
 */
#pragma once

#include <stddef.h>

struct glove;
struct conn;

/* Handler of DIAL. */
int dial_begin(struct glove *glove, const void *msg);

/* A connection that was waited for stands, or cannot. */
int dial_ready(struct glove *glove, struct conn *conn);
