/* SPDX-License-Identifier: Apache-2.0 */
/* box/port.h - ports of the host that lead to ports of a box: what people write, and listening. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct gb_err;

#define BOX_PORTS_MAX 64

/* "[LOOPBACK_IP:]HOST:BOX". */
struct port {
    char ip[INET6_ADDRSTRLEN]; /* of the host */
    uint16_t host;             /* 0: any that is free; port_listen() says which */
    uint16_t box;
    int fd; /* that listens, or -1 */
};

/* Reads one; without an address 127.0.0.1 is meant, ::1 stands in brackets.  -EPERM: an address
 * that is not this machine's own loopback.  A box is not put before a network by a word on a
 * command line. */
int port_parse(const char *text, struct port *ret, struct gb_err *err);

/* Binds and listens.  -EADDRINUSE and others name the port. */
int port_listen(struct port *port, struct gb_err *err);

/* "127.0.0.1:8080:3000", or with brackets; as port_parse() reads it. */
void port_put(const struct port *port, struct buf *ret);

/* A list with commas between them, as the record of a box has it; the number of them. */
int port_parse_list(const char *text, struct port ret[static BOX_PORTS_MAX], size_t *ret_n,
                    struct gb_err *err);
