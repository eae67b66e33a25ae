/* SPDX-License-Identifier: Apache-2.0 */
/* net/alert.h - does a server of TLS hang up because of our certificate?  For net/ alone.
 *
 * With TLS 1.3 it says so after the handshake is over for us.  Whoever has begun to send by then is
 * told by the kernel that the connection is gone, and never reads the reason.
 */
#pragma once

#include <stdbool.h>

struct http_request;

/* Connects as the request does, sends nothing and waits for a moment.  A server that ends a
 * connection on which nothing was asked has nothing against it but who we are. */
bool alert_ends_it(const struct http_request *request);
