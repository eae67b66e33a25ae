/* SPDX-License-Identifier: Apache-2.0 */
/* tool/ports.h - the port_bindings of an environment. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "box/box.h"
#include "box/port.h"

struct gb_err;

/* The same ports, as an engine binds them and as a switchboard does. */
struct port_bindings {
    size_t n;
    bool has_udp; /* which only an engine can */
    struct box_port engine[BOX_PORTS_MAX + 1];
    struct port link[BOX_PORTS_MAX];
    struct port_texts {
        char port[sizeof("65535/tcp")];
        char ip[INET_ADDRSTRLEN];
        char host_port[sizeof("65535")];
    } texts[BOX_PORTS_MAX];
};

/* Port of the box to port of the host, pairs: "3000", "3000/tcp" or "53/udp" to "8080", which is
 * one of 127.0.0.1, or "127.0.0.2:8080".  A port of another address than the machine's own loopback
 * is refused: whoever asks is a model.  *ret is the caller's to free. */
int port_bindings_parse(char *const *bindings, struct port_bindings **ret, struct gb_err *err);
