/* SPDX-License-Identifier: Apache-2.0 */
/* egress/resolve.h - names looked up by this machine's own resolver, without waiting for it.
 *
 * The C library's look-up blocks and knows everything that the machine is set up with (hosts file,
 * search order, its own name service): so it runs in a thread of its own, one for each look-up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/policy.h"

struct resolve;

#define RESOLVE_ADDRESSES_MAX 16

/* "192-0-2-7.address.internal" stands for 192.0.2.7 and is looked up nowhere: so a program in a box
 * can name an address that there would be the box's own, 127.0.0.1 of this machine.  It is judged
 * as any other: a rule must list the address. */
#define RESOLVE_ADDRESS_NAMES ".address.internal"
void resolve_name_of(const struct net_address *v4, char ret[static NET_NAME_MAX + 1]);
bool resolve_address_of(const char *name, struct net_address *ret);

/* Begins; resolve_fd() is readable when it is done.  -EAGAIN when no thread can be had. */
int resolve_begin(const char *name, struct resolve **ret);
int resolve_fd(const struct resolve *resolve);

/* The addresses, in the order in which they are to be tried; 0 of them and -ENOENT: there is no
 * such name; -EAGAIN: it could not be told. */
int resolve_take(struct resolve *resolve, struct net_address *ret, size_t *ret_n);

/* Why something could not be reached, its name or its address, for people. */
const char *resolve_error_text(int error);

/* Also while it is under way: its thread ends by itself. */
void resolve_free(struct resolve *resolve);

/* Waits until no thread of a look-up is left, given up or not: for who is about to fork, because a
 * child would find the resolver's locks as they were.  -ETIMEDOUT. */
int resolve_quiet(uint64_t deadline_ns);
