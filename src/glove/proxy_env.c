/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_env.c - variables that tell programs of the proxy. */
#include "glove/proxy_env.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "glove/catch_ports.h"

#define HTTP  "http://" CATCH_PROXY_AUTHORITY
#define SOCKS "socks5h://" CATCH_PROXY_AUTHORITY
#define OWN   "localhost,127.0.0.1,::1"

static const char *const variables[PROXY_VARIABLES] = {
    "HTTP_PROXY=" HTTP, "http_proxy=" HTTP, "HTTPS_PROXY=" HTTP, "https_proxy=" HTTP,
    "ALL_PROXY=" SOCKS, "all_proxy=" SOCKS, "NO_PROXY=" OWN,     "no_proxy=" OWN,
};

static bool has_name(const char *const *env, const char *variable)
{
    size_t len = strcspn(variable, "=") + 1;

    for (; *env; env++)
        if (strncmp(*env, variable, len) == 0)
            return true;
    return false;
}

void proxy_env_add(const char **env)
{
    size_t n = 0;

    while (env[n])
        n++;
    for (size_t i = 0; i < PROXY_VARIABLES; i++) {
        if (has_name(env, variables[i]))
            continue;
        env[n++] = variables[i];
        env[n] = NULL;
    }
}
