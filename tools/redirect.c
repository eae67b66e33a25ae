/* SPDX-License-Identifier: Apache-2.0 */
/* redirect.c - compiles the rules that catch a box's connections, at build time.
 *
 * Prints a C header with gb_redirect, a batch of nf_tables messages as bytes, on stdout.  libnftnl
 * and libmnl know how they are written; the glove only sends them (glove/catch.c), once, before
 * anything else runs.  In nft's own words:
 *
 *    table ip glovebox {
 *      chain catch { type nat hook output priority -100; policy accept;
 *        ip daddr 127.0.0.0/8 accept
 *        ip daddr 198.19.255.255 accept
 *        meta l4proto tcp redirect to :CATCH_TCP_PORT
 *        udp dport 53 redirect to :CATCH_DNS_PORT
 *      }
 *      chain last { type filter hook output priority 0; policy accept;
 *        ip daddr 127.0.0.0/8 accept
 *        ip daddr 198.19.255.255 accept
 *        reject with icmp type admin-prohibited
 *      }
 *    }
 *
 * What is caught arrives at 127.0.0.1; anything else that would leave (UDP, ICMP) fails at once.
 * There is no route for IPv6 in a box, and so no rule.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */
#endif
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glove/catch_ports.h"

#define TABLE "glovebox"
#define ROOM  65536

/* The greatest time that the kernel may need for a batch is none of ours: messages are numbered
 * from here, and the answers are told apart by these numbers. */
#define FIRST_SEQ 1

struct batch {
    struct mnl_nlmsg_batch *messages;
    uint32_t seq;
    unsigned n_acks;
};

static void fail(const char *what)
{
    fprintf(stderr, "redirect: %s\n", what);
    exit(1);
}

static void *must(void *made)
{
    if (!made)
        fail("out of memory");
    return made;
}

static struct nlmsghdr *begin(struct batch *b, uint16_t type, uint16_t flags)
{
    b->n_acks++;
    return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(b->messages), type, NFPROTO_IPV4,
                                 (uint16_t)(flags | NLM_F_ACK), b->seq++);
}

static void end(struct batch *b)
{
    if (!mnl_nlmsg_batch_next(b->messages))
        fail("the batch is full");
}

static void add_table(struct batch *b)
{
    struct nftnl_table *table = must(nftnl_table_alloc());

    nftnl_table_set_u32(table, NFTNL_TABLE_FAMILY, NFPROTO_IPV4);
    nftnl_table_set_str(table, NFTNL_TABLE_NAME, TABLE);
    nftnl_table_nlmsg_build_payload(begin(b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL), table);
    nftnl_table_free(table);
    end(b);
}

static void add_chain(struct batch *b, const char *name, const char *type, int32_t priority)
{
    struct nftnl_chain *chain = must(nftnl_chain_alloc());

    nftnl_chain_set_u32(chain, NFTNL_CHAIN_FAMILY, NFPROTO_IPV4);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, TABLE);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, name);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, type);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
    nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, priority);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
    nftnl_chain_nlmsg_build_payload(begin(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL), chain);
    nftnl_chain_free(chain);
    end(b);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static struct nftnl_expr *expr(struct nftnl_rule *rule, const char *name)
{
    struct nftnl_expr *e = must(nftnl_expr_alloc(name));

    nftnl_rule_add_expr(rule, e);
    return e;
}

static void load_payload(struct nftnl_rule *rule, uint32_t base, uint32_t offset, uint32_t len)
{
    struct nftnl_expr *e = expr(rule, "payload");

    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, len);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
}

static void load_protocol(struct nftnl_rule *rule)
{
    struct nftnl_expr *e = expr(rule, "meta");

    nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_L4PROTO);
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
}

static void mask(struct nftnl_rule *rule, uint32_t bits)
{
    struct nftnl_expr *e = expr(rule, "bitwise");
    uint32_t none = 0;

    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, sizeof(bits));
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &bits, sizeof(bits));
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &none, sizeof(none));
}

static void equals(struct nftnl_rule *rule, const void *value, uint32_t len)
{
    struct nftnl_expr *e = expr(rule, "cmp");

    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
    nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, len);
}

static void accept_it(struct nftnl_rule *rule)
{
    struct nftnl_expr *e = expr(rule, "immediate");

    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
}

static void redirect_to(struct nftnl_rule *rule, uint16_t port)
{
    struct nftnl_expr *number = expr(rule, "immediate");
    struct nftnl_expr *e;
    uint16_t wire = htons(port);

    nftnl_expr_set_u32(number, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
    nftnl_expr_set(number, NFTNL_EXPR_IMM_DATA, &wire, sizeof(wire));
    e = expr(rule, "redir");
    nftnl_expr_set_u32(e, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_REDIR_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED);
}

static void reject_it(struct nftnl_rule *rule)
{
    struct nftnl_expr *e = expr(rule, "reject");

    nftnl_expr_set_u32(e, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMP_UNREACH);
    nftnl_expr_set_u8(e, NFTNL_EXPR_REJECT_CODE, ICMP_PKT_FILTERED);
}

/* ---- rules ---------------------------------------------------------------------------------- */

static struct nftnl_rule *rule_of(const char *chain)
{
    struct nftnl_rule *rule = must(nftnl_rule_alloc());

    nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, NFPROTO_IPV4);
    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, TABLE);
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
    return rule;
}

static void add_rule(struct batch *b, struct nftnl_rule *rule)
{
    nftnl_rule_nlmsg_build_payload(begin(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND), rule);
    nftnl_rule_free(rule);
    end(b);
}

static void spare(struct batch *b, const char *chain, const char *address, uint32_t bits)
{
    struct nftnl_rule *rule = rule_of(chain);
    struct in_addr at;

    if (inet_pton(AF_INET, address, &at) != 1)
        fail(address);
    load_payload(rule, NFT_PAYLOAD_NETWORK_HEADER, offsetof(struct iphdr, daddr), sizeof(at));
    mask(rule, htonl(UINT32_MAX << (32 - bits)));
    equals(rule, &at, sizeof(at));
    accept_it(rule);
    add_rule(b, rule);
}

/* The program's own servers. */
static void spare_own(struct batch *b, const char *chain)
{
    spare(b, chain, "127.0.0.0", 8);
    spare(b, chain, CATCH_ADDRESS, 32);
}

static void catch_tcp(struct batch *b)
{
    struct nftnl_rule *rule = rule_of("catch");
    uint8_t protocol = IPPROTO_TCP;

    load_protocol(rule);
    equals(rule, &protocol, sizeof(protocol));
    redirect_to(rule, CATCH_TCP_PORT);
    add_rule(b, rule);
}

static void catch_names(struct batch *b)
{
    struct nftnl_rule *rule = rule_of("catch");
    uint8_t protocol = IPPROTO_UDP;
    uint16_t port = htons(53);

    load_protocol(rule);
    equals(rule, &protocol, sizeof(protocol));
    load_payload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, offsetof(struct udphdr, uh_dport),
                 sizeof(port));
    equals(rule, &port, sizeof(port));
    redirect_to(rule, CATCH_DNS_PORT);
    add_rule(b, rule);
}

static void reject_rest(struct batch *b)
{
    struct nftnl_rule *rule = rule_of("last");

    reject_it(rule);
    add_rule(b, rule);
}

static void print_bytes(const struct batch *b)
{
    const uint8_t *bytes = mnl_nlmsg_batch_head(b->messages);
    size_t len = mnl_nlmsg_batch_size(b->messages);

    printf("/* Written by tools/redirect.c. */\n#pragma once\n\n#include <stdint.h>\n\n"
           "#define GB_REDIRECT_ACKS %u\n\n_Alignas(4) static const uint8_t gb_redirect[] = {",
           b->n_acks);
    for (size_t i = 0; i < len; i++)
        printf("%s0x%02x,", i % 16 ? " " : "\n    ", bytes[i]);
    printf("\n};\n");
}

int main(void)
{
    static char room[2 * ROOM];
    struct batch b = { .seq = FIRST_SEQ };

    b.messages = must(mnl_nlmsg_batch_start(room, ROOM));
    nftnl_batch_begin(mnl_nlmsg_batch_current(b.messages), b.seq++);
    end(&b);
    add_table(&b);
    add_chain(&b, "catch", "nat", -100);
    add_chain(&b, "last", "filter", 0);
    spare_own(&b, "catch");
    catch_tcp(&b);
    catch_names(&b);
    spare_own(&b, "last");
    reject_rest(&b);
    nftnl_batch_end(mnl_nlmsg_batch_current(b.messages), b.seq++);
    end(&b);
    print_bytes(&b);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
