/* SPDX-License-Identifier: Apache-2.0 */
/* tool/ports.h - the port_bindings of an environment. */
#pragma once

struct box_port;
struct gb_err;

#define PORTS_MAX 64

/* Port of the box to port of the host, pairs: "3000", "3000/tcp" or "53/udp" to "8080", which is
 * one of 127.0.0.1, or "127.0.0.2:8080".  A port of another address than the machine's own loopback
 * is refused: whoever asks is a model.  The list, and what it points to, goes with ports_free(). */
int ports_parse(char *const *bindings, struct box_port **ret, struct gb_err *err);
void ports_free(struct box_port **ports);
