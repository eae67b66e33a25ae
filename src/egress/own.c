/* SPDX-License-Identifier: Apache-2.0 */
/* egress/own.c - addresses of this machine itself. */
#include "egress/own.h"

#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const void *)a;
    const struct sockaddr_in *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a;
    const struct sockaddr_in6 *b6 = (const void *)b;

    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* A datagram socket is connected without a word on the wire; to itself a machine speaks from the
 * address that it speaks to. */
bool net_is_own(const struct sockaddr_storage *to, socklen_t len)
{
    cleanup_close int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage from = { 0 };
    socklen_t from_len = sizeof(from);

    return fd >= 0 && connect(fd, (const struct sockaddr *)to, len) == 0 &&
           getsockname(fd, (struct sockaddr *)&from, &from_len) == 0 && is_same(&from, to);
}
