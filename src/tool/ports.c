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
#include "box/box.h"

#define LOOPBACK     "127.0.0.1"
#define LOOPBACK_NET 127
#define ADDRESS_MAX  15
#define PORT_MAX     65535

/* One binding, and the texts that it points to. */
struct binding {
    char port[sizeof("65535/tcp")];
    char ip[ADDRESS_MAX + 1];
    char host_port[sizeof("65535")];
};

static bool is_port(const char *text, size_t len, char ret[static sizeof("65535")])
{
    uint64_t port;

    if (len >= sizeof("65535"))
        return false;
    memcpy(ret, text, len);
    ret[len] = '\0';
    return num_parse_u64(ret, 1, PORT_MAX, &port) == 0;
}

static bool read_box_port(const char *text, struct binding *ret)
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
static int read_host_port(const char *text, struct binding *ret)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    size_t len = colon ? (size_t)(colon - text) : strlen(LOOPBACK);
    struct in_addr address;

    if (len > ADDRESS_MAX || !is_port(port, strlen(port), ret->host_port))
        return -EINVAL;
    memcpy(ret->ip, colon ? text : LOOPBACK, len);
    ret->ip[len] = '\0';
    if (inet_pton(AF_INET, ret->ip, &address) != 1)
        return -EINVAL;
    return ntohl(address.s_addr) >> 24 == LOOPBACK_NET ? 0 : 1;
}

static int read_one(const char *box_port, const char *host_port, struct binding *ret,
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

int ports_parse(char *const *bindings, struct box_port **ret, struct gb_err *err)
{
    size_t n = 0;
    int r = 0;
    cleanup_with(ports_free) struct box_port *ports = NULL;
    struct binding *texts;

    while (bindings && bindings[2 * n])
        n++;
    if (n > PORTS_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "port_bindings: at most %d", PORTS_MAX);
    /* One piece: the list, its end, the texts. */
    ports = calloc(1, (n + 1) * sizeof(*ports) + n * sizeof(*texts));
    if (!ports)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");
    texts = (struct binding *)(void *)(ports + n + 1);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = read_one(bindings[2 * i], bindings[2 * i + 1], &texts[i], err);
        ports[i] = (struct box_port){ texts[i].port, texts[i].ip, texts[i].host_port };
    }
    if (r == 0)
        *ret = take_ptr(ports);
    return r;
}

void ports_free(struct box_port **ports)
{
    free(*ports);
}
