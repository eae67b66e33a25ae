/* SPDX-License-Identifier: Apache-2.0 */
/* tool/ports.c - the port_bindings of an environment. */
#include "tool/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"

#define LOOPBACK     "127.0.0.1"
#define LOOPBACK_NET 127
#define PORT_MAX     65535

static bool is_port(const char *text, size_t len, char ret[static sizeof("65535")])
{
    uint64_t port;

    if (len >= sizeof("65535"))
        return false;
    memcpy(ret, text, len);
    ret[len] = '\0';
    return num_parse_u64(ret, 1, PORT_MAX, &port) == 0;
}

static bool read_box_port(const char *text, struct port_texts *ret)
{
    char digits[sizeof("65535")];
    size_t len = strcspn(text, "/");
    const char *protocol = text[len] ? text + len : "/tcp";

    if (!is_port(text, len, digits) ||
        (strcmp(protocol, "/tcp") != 0 && strcmp(protocol, "/udp") != 0))
        return false;
    (void)snprintf(ret->port, sizeof(ret->port), "%s%s", digits, protocol);
    return true;
}

/* 1 when it is an address, but none of the loopback's. */
static int read_host_port(const char *text, struct port_texts *ret)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    size_t len = colon ? (size_t)(colon - text) : strlen(LOOPBACK);
    struct in_addr address;

    if (len >= INET_ADDRSTRLEN || !is_port(port, strlen(port), ret->host_port))
        return -EINVAL;
    memcpy(ret->ip, colon ? text : LOOPBACK, len);
    ret->ip[len] = '\0';
    if (inet_pton(AF_INET, ret->ip, &address) != 1)
        return -EINVAL;
    return ntohl(address.s_addr) >> 24 == LOOPBACK_NET ? 0 : 1;
}

static int read_one(const char *box_port, const char *host_port, struct port_texts *ret,
                    struct gb_err *err)
{
    int r = read_box_port(box_port, ret) ? read_host_port(host_port, ret) : -EINVAL;

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_CALLER,
                       "port_bindings: '%.40s' to '%.40s' are no two ports" GB_REMEDY
                       "such as \"3000\": \"8080\"",
                       box_port, host_port);
    if (r > 0)
        return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                       "port_bindings: '%.40s' is not this machine's own loopback" GB_REMEDY
                       "leave the address out: 127.0.0.1 is meant",
                       host_port);
    return 0;
}

/* The texts are good. */
static struct port link_port(const struct port_texts *texts)
{
    struct port port = { .fd = -1 };

    port.box = (uint16_t)strtoul(texts->port, NULL, 10);
    port.host = (uint16_t)strtoul(texts->host_port, NULL, 10);
    memcpy(port.ip, texts->ip, sizeof(texts->ip));
    return port;
}

int port_bindings_parse(char *const *bindings, struct port_bindings **ret, struct gb_err *err)
{
    cleanup_free struct port_bindings *all = calloc(1, sizeof(*all));
    int r = 0;

    if (!all)
        return gb_no_memory(err);
    for (size_t i = 0; r == 0 && bindings && bindings[2 * i]; i++) {
        struct port_texts *texts = &all->texts[i];

        if (i == BOX_PORTS_MAX)
            return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "port_bindings: at most %d",
                           BOX_PORTS_MAX);
        r = read_one(bindings[2 * i], bindings[2 * i + 1], texts, err);
        all->engine[i] = (struct box_port){ texts->port, texts->ip, texts->host_port };
        all->link[i] = link_port(texts);
        all->has_udp = all->has_udp || strstr(texts->port, "/udp");
        all->n = i + 1;
    }
    if (r == 0)
        *ret = take_ptr(all);
    return r;
}
