/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_target.c - where a request to the proxy is meant to go. */
#include "glove/proxy_target.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/host_name.h"

#define PORT_CHARS 5

/* RFC 6761: every name below localhost is this machine. */
static bool is_localhost(const char *name)
{
    static const char last[] = "localhost";
    size_t len = strlen(name);
    size_t last_len = sizeof(last) - 1;

    return len >= last_len && strcmp(name + len - last_len, last) == 0 &&
           (len == last_len || name[len - last_len - 1] == '.');
}

enum target_answer target_host(const char *text, size_t len, struct proxy_target *ret)
{
    struct in_addr address;

    ret->address = 0;
    if (!host_name_clean(text, len, ret->name)) {
        ret->name[0] = '\0';
        return TARGET_NONE;
    }
    if (inet_pton(AF_INET, ret->name, &address) != 1)
        return is_localhost(ret->name) ? TARGET_OWN : TARGET_OK;
    ret->name[0] = '\0';
    ret->address = ntohl(address.s_addr);
    return ret->address >> 24 == 127 ? TARGET_OWN : TARGET_OK;
}

/* In the one form that everybody reads alike: no sign, no zero before it. */
static uint16_t port_of(const char *text, size_t len)
{
    uint32_t port = 0;

    if (len == 0 || len > PORT_CHARS || text[0] == '0')
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        port = port * 10 + (uint32_t)(text[i] - '0');
    }
    return port > UINT16_MAX ? 0 : (uint16_t)port;
}

enum target_answer target_authority(const char *text, size_t len, uint16_t otherwise,
                                    struct proxy_target *ret)
{
    const char *colon = len > 0 ? memchr(text, ':', len) : NULL;
    size_t host_len = colon ? (size_t)(colon - text) : len;

    ret->port = otherwise;
    if (len > 0 && text[0] == '[') {
        ret->name[0] = '\0';
        return TARGET_SIX;
    }
    if (colon)
        ret->port = port_of(colon + 1, len - host_len - 1);
    return ret->port ? target_host(text, host_len, ret) : TARGET_NONE;
}

bool target_is_same_host(const struct proxy_target *a, const struct proxy_target *b)
{
    return strcmp(a->name, b->name) == 0 && a->address == b->address;
}

const char *target_text(const struct proxy_target *target, char text[static TARGET_TEXT_MAX])
{
    uint32_t at = target->address;

    if (target->name[0])
        (void)snprintf(text, TARGET_TEXT_MAX, "%s:%u", target->name, target->port);
    else
        (void)snprintf(text, TARGET_TEXT_MAX, "%u.%u.%u.%u:%u", at >> 24, at >> 16 & 0xff,
                       at >> 8 & 0xff, at & 0xff, target->port);
    return text;
}
