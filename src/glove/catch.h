/* SPDX-License-Identifier: Apache-2.0 */
/* glove/catch.h - a network that leads nowhere but to the glove.
 *
 * In the box's network namespace there is one device, lo.  An address and the default route lie on
 * it, and rules (tools/redirect.c) turn every outgoing TCP connection and every question to a name
 * server around: they arrive at two sockets of the glove, and what a program meant is told by the
 * kernel.  Everything else that would leave fails at once.
 *
 * Where the kernel has no such rules, or gives none to this box, there is no way out but the proxy
 * (proxy.h), which is there in any case.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

struct catch
{
    bool is_transparent; /* connections are caught */
    int tcp_fd;          /* listens; -1: nothing is caught */
    int dns_fd;          /* -1: nobody answers */
    int proxy_fd;        /* listens */
};

/* Sets all of it up: needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE of the namespace's owner, which
 * the glove has until SETUP is done.  Without them or without the kernel's rules it is not
 * transparent, and that is no failure.  0 or a negative errno; then nothing is open. */
int catch_set(struct catch *ret);

/* Where an accepted connection was meant to go.  -ENOENT for one that was made to our own port. */
int catch_target(int fd, struct sockaddr_in *ret);
