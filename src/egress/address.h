/* SPDX-License-Identifier: Apache-2.0 */
/* egress/address.h - addresses of both families: read, written, told apart.  Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sockaddr_storage;

/* Of an IPv4 address the last four bytes; the others are those of ::ffff:0:0/96. */
struct net_address {
    uint8_t bytes[16];
};

/* Addresses from text, in the one form that everybody reads alike: "192.0.2.1" with four decimal
 * numbers without leading zeros, "2001:db8::1". */
bool net_address_parse(const char *text, struct net_address *ret);
void net_address_of_v4(uint32_t number, struct net_address *ret); /* most significant byte first */
bool net_address_is_v4(const struct net_address *address);

#define NET_ADDRESS_TEXT_MAX 48
const char *net_address_text(const struct net_address *address,
                             char text[static NET_ADDRESS_TEXT_MAX]);

/* "10.0.0.0/8", "::1"; *ret_bits of 128 count.  -EINVAL also for a range with bits behind its
 * length. */
int net_range_parse(const char *text, struct net_address *ret, unsigned *ret_bits);
bool net_range_has(const struct net_address *range, unsigned bits,
                   const struct net_address *address);

/* Do the world's routers carry it, and to nobody else than it says?  Addresses of tunnels that
 * carry another one (6to4, Teredo, NAT64, SIIT) and services of clouds for their guests are none.
 */
bool net_address_is_public(const struct net_address *address);

/* 127.0.0.0/8 and ::1. */
bool net_address_is_loopback(const struct net_address *address);

/* For connect() and bind(); the length. */
unsigned net_address_socket(const struct net_address *address, uint16_t port,
                            struct sockaddr_storage *ret);
