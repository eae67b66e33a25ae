/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_socks.h - what SOCKS 5 says to the proxy (RFC 1928), and what it is told.
 *
 * No authentication, CONNECT only.  Pure: bytes in, bytes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glove/proxy_target.h"

#define SOCKS_VERSION   5
#define SOCKS_REPLY_LEN 10

enum socks_code {
    SOCKS_OK = 0,
    SOCKS_FAILURE = 1,
    SOCKS_REFUSED = 2,
    SOCKS_NO_NETWORK = 3,
    SOCKS_NO_HOST = 4,
    SOCKS_NO_CONNECTION = 5,
    SOCKS_TOO_LATE = 6,
    SOCKS_NO_SUCH_COMMAND = 7,
    SOCKS_NO_SUCH_ADDRESS = 8,
};

/* How many bytes the greeting, the request has; 0: not all that tells it is there. */
size_t socks_greeting_len(const uint8_t *bytes, size_t len);
size_t socks_request_len(const uint8_t *bytes, size_t len);

/* Does a greeting offer to go without authentication? */
bool socks_greets(const uint8_t *bytes, size_t len);

/* SOCKS_OK and where to, or with what the request is to be refused.  bytes are one whole
 * request. */
enum socks_code socks_request(const uint8_t *bytes, size_t len, struct proxy_target *ret);

void socks_reply(enum socks_code code, uint8_t ret[static SOCKS_REPLY_LEN]);

/* What an errno of the host means. */
enum socks_code socks_code_of(uint32_t error);
