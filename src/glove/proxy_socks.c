/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_socks.c - what SOCKS 5 says to the proxy, and what it is told. */
#include "glove/proxy_socks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define METHOD_NONE     0
#define COMMAND_CONNECT 1
#define ADDRESS_FOUR    1
#define ADDRESS_NAME    3
#define ADDRESS_SIX     4

/* Version, command, nothing, kind of address. */
#define HEAD_LEN 4
#define PORT_LEN 2

size_t socks_greeting_len(const uint8_t *bytes, size_t len)
{
    return len < 2 ? 0 : 2u + bytes[1];
}

/* Of a kind that nobody knows the head is all that can be read. */
size_t socks_request_len(const uint8_t *bytes, size_t len)
{
    if (len <= HEAD_LEN)
        return 0;
    switch (bytes[3]) {
    case ADDRESS_FOUR:
        return HEAD_LEN + 4 + PORT_LEN;
    case ADDRESS_NAME:
        return HEAD_LEN + 1u + bytes[HEAD_LEN] + PORT_LEN;
    case ADDRESS_SIX:
        return HEAD_LEN + 16 + PORT_LEN;
    default:
        return HEAD_LEN + 1;
    }
}

bool socks_greets(const uint8_t *bytes, size_t len)
{
    return bytes[0] == SOCKS_VERSION && memchr(bytes + 2, METHOD_NONE, len - 2);
}

static enum socks_code host_of(const uint8_t *bytes, struct proxy_target *ret)
{
    const uint8_t *at = bytes + HEAD_LEN;

    ret->name[0] = '\0';
    if (bytes[3] == ADDRESS_NAME)
        return target_host((const char *)at + 1, at[0], ret) == TARGET_OK ? SOCKS_OK
                                                                          : SOCKS_REFUSED;
    if (bytes[3] != ADDRESS_FOUR)
        return SOCKS_NO_SUCH_ADDRESS;
    ret->address = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return at[0] == 127 ? SOCKS_REFUSED : SOCKS_OK;
}

enum socks_code socks_request(const uint8_t *bytes, size_t len, struct proxy_target *ret)
{
    enum socks_code code;

    *ret = (struct proxy_target){ 0 };
    if (bytes[0] != SOCKS_VERSION || bytes[2] != 0)
        return SOCKS_FAILURE;
    if (bytes[1] != COMMAND_CONNECT)
        return SOCKS_NO_SUCH_COMMAND;
    code = host_of(bytes, ret);
    if (code != SOCKS_OK)
        return code;
    ret->port = (uint16_t)(bytes[len - 2] << 8 | bytes[len - 1]);
    return ret->port ? SOCKS_OK : SOCKS_REFUSED;
}

/* The address that follows is the one it is bound to: nobody's affair. */
void socks_reply(enum socks_code code, uint8_t ret[static SOCKS_REPLY_LEN])
{
    memset(ret, 0, SOCKS_REPLY_LEN);
    ret[0] = SOCKS_VERSION;
    ret[1] = (uint8_t)code;
    ret[3] = ADDRESS_FOUR;
}

enum socks_code socks_code_of(uint32_t error)
{
    static const struct {
        int error;
        enum socks_code code;
    } rows[] = {
        { 0, SOCKS_OK },
        { EACCES, SOCKS_REFUSED },
        { ENETUNREACH, SOCKS_NO_NETWORK },
        { ENOENT, SOCKS_NO_HOST },
        { EHOSTUNREACH, SOCKS_NO_HOST },
        { ECONNREFUSED, SOCKS_NO_CONNECTION },
        { ETIMEDOUT, SOCKS_TOO_LATE },
    };

    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if ((uint32_t)rows[i].error == error)
            return rows[i].code;
    return SOCKS_FAILURE;
}
