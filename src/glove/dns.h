/* SPDX-License-Identifier: Apache-2.0 */
/* glove/dns.h - questions of programs for names, and the answers they get.
 *
 * One question a message, as every resolver sends them; its bytes are hostile.  The answer repeats
 * the question and has at most one address.  Pure: bytes in, bytes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_name.h"

#define DNS_NAME_MAX   HOST_NAME_LEN_MAX
#define DNS_ANSWER_MAX 512

/* What a message can be answered with, besides an address. */
enum dns_code {
    DNS_OK = 0, /* with an address, or with none: the name has no such record */
    DNS_FORMAT = 1,
    DNS_FAILURE = 2,
    DNS_NO_NAME = 3,
    DNS_NOT_DONE = 4,
};

struct dns_question {
    size_t len;                  /* of head and question together */
    bool wants_address;          /* of IPv4 */
    char name[DNS_NAME_MAX + 1]; /* small letters, no dot at the end */
};

/* 0 and a question; a positive enum dns_code with which it is to be answered at once; -EBADMSG for
 * what deserves no answer (too short, or an answer itself). */
int dns_read(const uint8_t *bytes, size_t len, struct dns_question *ret);

/* Writes the answer to such a question; its length.  address is in network order, NULL for none.
 * bytes are those that were read. */
size_t dns_write(const uint8_t *bytes, const struct dns_question *question, enum dns_code code,
                 const uint32_t *address, uint8_t ret[static DNS_ANSWER_MAX]);
