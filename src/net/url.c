/* SPDX-License-Identifier: Apache-2.0 */
/* net/url.c - whose address a URL is, by its text alone. */
#include "net/url.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

bool url_host(const char *url, char host[static URL_HOST_MAX])
{
    const char *start = strstr(url, "://");
    size_t len;

    if (!start)
        return false;
    start += 3;
    len = strcspn(start, "/?#");
    /* Who stands before an @ is not the host, and none of ours has one. */
    if (memchr(start, '@', len) || memchr(start, '\\', len))
        return false;
    if (*start == '[') {
        start++;
        len = strcspn(start, "]");
        if (start[len] != ']' || !strchr(":/", start[len + 1]))
            return false;
    } else {
        const char *colon = memchr(start, ':', len);

        len = colon ? (size_t)(colon - start) : len;
    }
    if (len == 0 || len >= URL_HOST_MAX)
        return false;
    memcpy(host, start, len);
    host[len] = '\0';
    return true;
}

bool url_is_here(const char *url)
{
    char host[URL_HOST_MAX];
    struct in6_addr six;
    struct in_addr four;

    if (!url_host(url, host))
        return false;
    if (strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
