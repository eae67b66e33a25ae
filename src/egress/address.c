/* SPDX-License-Identifier: Apache-2.0 */
/* egress/address.c - addresses of both families: read, written, told apart. */
#include "egress/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

#define V4_OFFSET 12
#define V4_BITS   96
#define RANGE_MAX 64

static const uint8_t v4_head[V4_OFFSET] = { [10] = 0xff, [11] = 0xff };

/* ---- text ----------------------------------------------------------------------------------- */

void net_address_of_v4(uint32_t number, struct net_address *ret)
{
    memcpy(ret->bytes, v4_head, sizeof(v4_head));
    for (size_t i = 0; i < 4; i++)
        ret->bytes[V4_OFFSET + i] = (uint8_t)(number >> (24 - 8 * i));
}

bool net_address_is_v4(const struct net_address *address)
{
    return memcmp(address->bytes, v4_head, sizeof(v4_head)) == 0;
}

/* inet_pton() has none of inet_aton()'s other forms, but takes "::ffff:1.2.3.4": that is the IPv4
 * address, and is treated as one everywhere. */
bool net_address_parse(const char *text, struct net_address *ret)
{
    memcpy(ret->bytes, v4_head, sizeof(v4_head));
    return inet_pton(AF_INET, text, ret->bytes + V4_OFFSET) == 1 ||
           inet_pton(AF_INET6, text, ret->bytes) == 1;
}

const char *net_address_text(const struct net_address *address,
                             char text[static NET_ADDRESS_TEXT_MAX])
{
    bool is_v4 = net_address_is_v4(address);

    return inet_ntop(is_v4 ? AF_INET : AF_INET6, address->bytes + (is_v4 ? V4_OFFSET : 0), text,
                     NET_ADDRESS_TEXT_MAX);
}

/* ---- ranges --------------------------------------------------------------------------------- */

bool net_range_has(const struct net_address *range, unsigned bits,
                   const struct net_address *address)
{
    size_t whole = bits / 8;
    unsigned rest = bits % 8;

    return memcmp(address->bytes, range->bytes, whole) == 0 &&
           (rest == 0 || (address->bytes[whole] ^ range->bytes[whole]) >> (8 - rest) == 0);
}

int net_range_parse(const char *text, struct net_address *ret, unsigned *ret_bits)
{
    char head[RANGE_MAX];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    uint64_t bits = 128;
    bool is_v4;

    if (len >= sizeof(head))
        return -EINVAL;
    memcpy(head, text, len);
    head[len] = '\0';
    if (!net_address_parse(head, ret))
        return -EINVAL;
    is_v4 = net_address_is_v4(ret) && !strchr(head, ':');
    if (slash && num_parse_u64(slash + 1, 0, is_v4 ? 32 : 128, &bits) < 0)
        return -EINVAL;
    *ret_bits = (unsigned)bits + (is_v4 && slash ? V4_BITS : 0);
    for (unsigned i = *ret_bits; i < 128; i++)
        if (ret->bytes[i / 8] >> (7 - i % 8) & 1)
            return -EINVAL;
    return 0;
}

static bool is_in_any(const char *const *ranges, size_t n, const struct net_address *address)
{
    for (size_t i = 0; i < n; i++) {
        struct net_address range;
        unsigned bits;

        if (net_range_parse(ranges[i], &range, &bits) < 0 || net_range_has(&range, bits, address))
            return true;
    }
    return false;
}

/* What the world's routers do not carry, or what leads somewhere else than it says: IANA's
 * registries of special addresses.  168.63.129.16 is how a cloud's machines reach their host. */
static const char *const not_public_v4[] = {
    "0.0.0.0/8",        "10.0.0.0/8",     "100.64.0.0/10",  "127.0.0.0/8",
    "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",  "192.0.0.0/24",
    "192.0.2.0/24",     "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24",  "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
};

/* Of 2000::/3; nothing else is given out.  Outside of it are the unique local, link-local and
 * multicast addresses, the ways to translate IPv4 (64:ff9b::/96, 64:ff9b:1::/48, ::ffff:0:0:0/96),
 * and what only discards (100::/64). */
static const char *const not_public_v6[] = {
    "2001::/23", /* Teredo, ORCHID and others */
    "2001:db8::/32",
    "2002::/16", /* 6to4 */
    "3fff::/20",
};

bool net_address_is_public(const struct net_address *address)
{
    if (net_address_is_v4(address))
        return !is_in_any(not_public_v4, N_ELEMENTS(not_public_v4), address);
    return address->bytes[0] >> 5 == 1 &&
           !is_in_any(not_public_v6, N_ELEMENTS(not_public_v6), address);
}

bool net_address_is_loopback(const struct net_address *address)
{
    static const char *const own[] = { "127.0.0.0/8", "::1/128" };

    return is_in_any(own, N_ELEMENTS(own), address);
}

/* ---- sockets -------------------------------------------------------------------------------- */

unsigned net_address_socket(const struct net_address *address, uint16_t port,
                            struct sockaddr_storage *ret)
{
    struct sockaddr_in *in = (void *)ret;
    struct sockaddr_in6 *in6 = (void *)ret;

    *ret = (struct sockaddr_storage){ 0 };
    if (net_address_is_v4(address)) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, address->bytes + V4_OFFSET, sizeof(in->sin_addr));
        return sizeof(*in);
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, address->bytes, sizeof(in6->sin6_addr));
    return sizeof(*in6);
}
