/* SPDX-License-Identifier: Apache-2.0 */
/* conf/endpoint.c - the address of a server: is it this machine, and what stands in between. */
#include "conf/endpoint.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "conf/environment.h"

#define HOST_MAX 256

/* The host of the URL, without brackets and port; false when it has none that could be told. */
static bool host_of(const char *url, char host[static HOST_MAX])
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
    if (len == 0 || len >= HOST_MAX)
        return false;
    memcpy(host, start, len);
    host[len] = '\0';
    return true;
}

bool endpoint_is_here(const char *url)
{
    char host[HOST_MAX];
    struct in6_addr six;
    struct in_addr four;

    if (!host_of(url, host))
        return false;
    if (strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

/* The first of these variables that is not empty; NULL. */
static const char *first_of(char *const *env, const char *const *names)
{
    for (; *names; names++) {
        const char *value = environment_get(env, *names);

        if (value && *value)
            return value;
    }
    return NULL;
}

/* "example.org" and ".example.org" mean that host and all below it, "*" means all. */
static bool is_excepted(const char *host, const char *list)
{
    size_t host_len = strlen(host);

    while (*list) {
        size_t len;

        list += strspn(list, " ,.");
        len = strcspn(list, " ,");
        if (len == 1 && *list == '*')
            return true;
        if (len > 0 && len <= host_len && strncasecmp(host + host_len - len, list, len) == 0 &&
            (len == host_len || host[host_len - len - 1] == '.'))
            return true;
        list += len;
    }
    return false;
}

const char *endpoint_proxy(char *const *env, const char *url)
{
    static const char *const secure[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                          NULL };
    static const char *const plain[] = { "http_proxy", "all_proxy", "ALL_PROXY", NULL };
    static const char *const excepted[] = { "no_proxy", "NO_PROXY", NULL };
    const char *list = first_of(env, excepted);
    char host[HOST_MAX];

    if (!host_of(url, host) || endpoint_is_here(url) || (list && is_excepted(host, list)))
        return NULL;
    return first_of(env, strncasecmp(url, "https:", 6) == 0 ? secure : plain);
}

const char *endpoint_ca_file(char *const *env)
{
    static const char *const names[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", NULL };

    return first_of(env, names);
}
