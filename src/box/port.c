/* SPDX-License-Identifier: Apache-2.0 */
/* box/port.c - ports of the host that lead to ports of a box: what people write, and listening. */
#include "box/port.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "egress/address.h"

#define LOOPBACK "127.0.0.1"

/* More than the box takes at a time wait here. */
#define BACKLOG 1024

/* ---- what people write ---------------------------------------------------------------------- */

static int no_port(const char *text, int why, struct gb_err *err)
{
    if (why == -EPERM)
        return gb_fail(err, why, GB_BLAME_CALLER,
                       "'%.80s' is not this machine's own loopback" GB_REMEDY
                       "leave the address out, 127.0.0.1 is meant; whom others are to reach gets "
                       "a reverse proxy of your own before it",
                       text);
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "'%.80s' is no port of this machine and one of the box" GB_REMEDY
                   "such as 8080:3000, 0:3000 for any that is free, or 127.0.0.1:8080:3000",
                   text);
}

static int parse_number(const char *text, size_t len, uint64_t least, uint16_t *ret)
{
    char digits[sizeof("65535")];
    uint64_t number;

    if (len == 0 || len >= sizeof(digits))
        return -EINVAL;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (num_parse_u64(digits, least, UINT16_MAX, &number) < 0)
        return -EINVAL;
    *ret = (uint16_t)number;
    return 0;
}

/* What stands before the two numbers: nothing, "ADDRESS:" or "[ADDRESS]:".  -EPERM: an address that
 * others can reach. */
static int parse_ip(const char *text, size_t len, char ret[static INET6_ADDRSTRLEN])
{
    bool is_six = len > 2 && text[0] == '[' && text[len - 1] == ']';
    struct net_address address;

    if (is_six) {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= INET6_ADDRSTRLEN)
        return -EINVAL;
    memcpy(ret, text, len);
    ret[len] = '\0';
    if (!net_address_parse(ret, &address) || !strchr(ret, ':') == is_six)
        return -EINVAL;
    return net_address_is_loopback(&address) ? 0 : -EPERM;
}

static int parse(const char *text, size_t len, struct port *ret)
{
    const char *box = memrchr(text, ':', len);
    size_t before = box ? (size_t)(box - text) : 0;
    const char *host = box ? memrchr(text, ':', before) : NULL;
    size_t host_at = host ? (size_t)(host - text) + 1 : 0;

    if (!box || parse_number(box + 1, len - before - 1, 1, &ret->box) < 0 ||
        parse_number(text + host_at, before - host_at, 0, &ret->host) < 0)
        return -EINVAL;
    ret->fd = -1;
    if (!host)
        memcpy(ret->ip, LOOPBACK, sizeof(LOOPBACK));
    return host ? parse_ip(text, host_at - 1, ret->ip) : 0;
}

int port_parse(const char *text, struct port *ret, struct gb_err *err)
{
    int r = parse(text, strlen(text), ret);

    return r < 0 ? no_port(text, r, err) : 0;
}

int port_parse_list(const char *text, struct port ret[static BOX_PORTS_MAX], size_t *ret_n,
                    struct gb_err *err)
{
    size_t n = 0;

    while (*text) {
        size_t len = strcspn(text, ",");
        int r = n == BOX_PORTS_MAX ? -EINVAL : parse(text, len, &ret[n]);

        if (r < 0)
            return no_port(text, r, err);
        n++;
        text += len + (text[len] == ',');
    }
    *ret_n = n;
    return 0;
}

void port_put(const struct port *port, struct buf *ret)
{
    bool is_six = strchr(port->ip, ':');

    (void)buf_printf(ret, "%s%s%s:%u:%u", is_six ? "[" : "", port->ip, is_six ? "]" : "",
                     port->host, port->box);
}

/* ---- listening ------------------------------------------------------------------------------ */

static int listen_at(struct port *port)
{
    struct net_address at;
    struct sockaddr_storage address;
    socklen_t len;
    cleanup_close int fd = -1;
    int on = 1;

    if (!net_address_parse(port->ip, &at))
        return -EINVAL;
    len = net_address_socket(&at, port->host, &address);
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return -errno;
    port->host =
        ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&address)->sin_port
                                           : ((struct sockaddr_in6 *)(void *)&address)->sin6_port);
    port->fd = take_fd(&fd);
    return 0;
}

int port_listen(struct port *port, struct gb_err *err)
{
    int r = listen_at(port);

    if (r == -EADDRINUSE)
        return gb_fail(err, r, GB_BLAME_CALLER,
                       "port %u of %s is in use already" GB_REMEDY
                       "name another, or 0 for any that is free",
                       port->host, port->ip);
    if (r == -EACCES || r == -EADDRNOTAVAIL)
        return gb_fail(err, r, GB_BLAME_CALLER, "port %u of %s cannot be had: %s", port->host,
                       port->ip, strerror(-r));
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "listening on port %u of %s: %s", port->host,
                           port->ip, strerror(-r))
                 : 0;
}
