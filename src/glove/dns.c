/* SPDX-License-Identifier: Apache-2.0 */
/* glove/dns.c - questions of programs for names, and the answers they get. */
#include "glove/dns.h"

#include <errno.h>
#include <string.h>

#include "base/host_name.h"

#define HEAD_SIZE  12
#define TYPE_A     1
#define CLASS_IN   1
#define TTL_S      30
#define RECORD_LEN 16

/* Of the third and fourth byte of a head. */
#define IS_ANSWER   0x80
#define OPCODE_BITS 0x78
#define WANTS_MORE  0x01 /* recursion desired */
#define HAS_MORE    0x80 /* recursion available */

static unsigned u16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static void put_u16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Reads labels up to the empty one.  *ret_len is behind it; DNS_NO_NAME for a name that no host can
 * have, whose labels are passed over all the same; DNS_FORMAT where there are none. */
static int read_name(const uint8_t *bytes, size_t len, size_t *ret_len, char *name)
{
    size_t at = HEAD_SIZE;
    size_t n = 0;
    int code = DNS_OK;

    while (at < len && bytes[at] != 0) {
        size_t label = bytes[at++];

        if (label > HOST_NAME_LABEL_MAX || at + label >= len || n + label + 1 > DNS_NAME_MAX + 1)
            return DNS_FORMAT;
        for (size_t i = 0; i < label; i++) {
            name[n] = host_name_byte((char)bytes[at + i]);
            if (!name[n++])
                code = DNS_NO_NAME;
        }
        name[n++] = '.';
        at += label;
    }
    if (at >= len || n == 0)
        return DNS_FORMAT;
    name[n - 1] = '\0';
    *ret_len = at + 1;
    return code;
}

int dns_read(const uint8_t *bytes, size_t len, struct dns_question *ret)
{
    int code;

    *ret = (struct dns_question){ .len = HEAD_SIZE };
    if (len < HEAD_SIZE || bytes[2] & IS_ANSWER)
        return -EBADMSG;
    if (bytes[2] & OPCODE_BITS)
        return DNS_NOT_DONE;
    if (u16(bytes + 4) != 1)
        return DNS_FORMAT;
    code = read_name(bytes, len, &ret->len, ret->name);
    if (code == DNS_FORMAT || ret->len + 4 > len) {
        ret->len = HEAD_SIZE;
        return DNS_FORMAT;
    }
    ret->wants_address = u16(bytes + ret->len) == TYPE_A && u16(bytes + ret->len + 2) == CLASS_IN;
    ret->len += 4;
    return code;
}

size_t dns_write(const uint8_t *bytes, const struct dns_question *question, enum dns_code code,
                 const uint32_t *address, uint8_t ret[static DNS_ANSWER_MAX])
{
    uint8_t *record = ret + question->len;

    memcpy(ret, bytes, question->len);
    ret[2] = (uint8_t)(IS_ANSWER | (bytes[2] & (OPCODE_BITS | WANTS_MORE)));
    ret[3] = (uint8_t)(HAS_MORE | code);
    put_u16(ret + 4, question->len > HEAD_SIZE);
    put_u16(ret + 6, address != NULL);
    put_u16(ret + 8, 0);
    put_u16(ret + 10, 0);
    if (!address)
        return question->len;
    put_u16(record, 0xc000 | HEAD_SIZE); /* the name of the question */
    put_u16(record + 2, TYPE_A);
    put_u16(record + 4, CLASS_IN);
    put_u16(record + 6, 0);
    put_u16(record + 8, TTL_S);
    put_u16(record + 10, sizeof(*address));
    memcpy(record + 12, address, sizeof(*address));
    return question->len + RECORD_LEN;
}
