/* SPDX-License-Identifier: Apache-2.0 */
/* egress/own.h - addresses of this machine itself.
 *
 * A machine may have a public address on its own device; what listens there is this machine's, and
 * no box reaches it because the world may.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* Would the kernel keep a connection to it on this machine?  Nothing is sent.  Where that cannot be
 * told it is not, and cannot be dialled either. */
bool net_is_own(const struct sockaddr_storage *to, socklen_t len);
