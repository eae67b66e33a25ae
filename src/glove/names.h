/* SPDX-License-Identifier: Apache-2.0 */
/* glove/names.h - addresses that stand for names.
 *
 * Every name that was looked up has an address of 198.18.0.0/15 for as long as the box lives; none
 * is ever given to another name, or a program that remembers an address would reach somebody else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "glove/dns.h"

#define NAMES_MAX 4096

struct names {
    size_t n;
    char all[NAMES_MAX][DNS_NAME_MAX + 1];
};

/* The address of a name, in network order; a new one where it has none.  0: there are too many. */
uint32_t names_give(struct names *names, const char *name);

/* The name behind an address (network order).  NULL: it stands for none. */
const char *names_find(const struct names *names, uint32_t address);
