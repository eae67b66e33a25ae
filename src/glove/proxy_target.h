/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_target.h - where a request to the proxy is meant to go.
 *
 * There is one reading of a host, for every protocol: a name of letters, digits, '-', '_' and dots,
 * or four decimal numbers.  What others could read otherwise (a NUL inside, percent signs, an '@',
 * bytes beyond ASCII) is none.  A name that only looks like an address ("127.1") stays a name: the
 * host refuses it, and its audit log has it.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/dns.h"

struct proxy_target {
    char name[DNS_NAME_MAX + 1]; /* small letters, no dot at the end; "": an address */
    uint32_t address;            /* most significant byte first */
    uint16_t port;
};

enum target_answer {
    TARGET_OK,
    TARGET_NONE, /* neither a name nor an address */
    TARGET_SIX,  /* an address of IPv6: there is no way to it */
    TARGET_OWN,  /* the box itself: no way leads out and back */
};

/* A host alone; the port is left as it is. */
enum target_answer target_host(const char *text, size_t len, struct proxy_target *ret);

/* "host:port" or "host"; the port is `otherwise` where none is said, and 0 there makes one
 * necessary.  Addresses of IPv6 stand in brackets. */
enum target_answer target_authority(const char *text, size_t len, uint16_t otherwise,
                                    struct proxy_target *ret);

bool target_is_same_host(const struct proxy_target *a, const struct proxy_target *b);

/* "example.org:443", "192.0.2.7:80". */
#define TARGET_TEXT_MAX (DNS_NAME_MAX + 16)
const char *target_text(const struct proxy_target *target, char text[static TARGET_TEXT_MAX]);
