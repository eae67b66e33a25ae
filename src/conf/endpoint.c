/* SPDX-License-Identifier: Apache-2.0 */
/* conf/endpoint.c - what stands between the user and a server. */
#include "conf/endpoint.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "conf/environment.h"
#include "net/url.h"

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
    char host[URL_HOST_MAX];

    if (!url_host(url, host) || url_is_here(url) || (list && is_excepted(host, list)))
        return NULL;
    return first_of(env, strncasecmp(url, "https:", 6) == 0 ? secure : plain);
}

const char *endpoint_ca_file(char *const *env)
{
    static const char *const names[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", NULL };

    return first_of(env, names);
}
