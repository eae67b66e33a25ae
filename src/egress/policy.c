/* SPDX-License-Identifier: Apache-2.0 */
/* egress/policy.c - what a box may reach: names, ports, addresses. */
#include "egress/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host_name.h"
#include "base/num.h"

#define RULE_MAX 320

/* ---- names ---------------------------------------------------------------------------------- */

/* A last label of digits makes a name that some resolvers take for an address: "127.1",
 * "2130706433", "0x7f.1". */
static bool looks_like_address(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;

    return last[strspn(last, "0123456789")] == '\0' ||
           (last[0] == '0' && last[1] == 'x' &&
            last[2 + strspn(last + 2, "0123456789abcdef")] == '\0');
}

static bool is_below(const char *name, const char *parent)
{
    size_t len = strlen(name);
    size_t parent_len = strlen(parent);

    return len > parent_len + 1 && name[len - parent_len - 1] == '.' &&
           strcmp(name + len - parent_len, parent) == 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int fail_rule(struct gb_err *err, const char *rule, const char *why)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "--net: '%.100s' %s" GB_REMEDY
                   "say none, full, or names and addresses with commas between them: "
                   "example.org,*.example.org:443,10.1.0.0/16",
                   rule, why);
}

/* Cuts the text into host and port (0: none was said).  An address of IPv6 has colons of its own:
 * with a port it stands in brackets. */
static int split_port(char *text, char **ret_host, uint16_t *ret_port)
{
    char *colon = strchr(text, ':');
    char *rest = colon && !strchr(colon + 1, ':') ? colon : text + strlen(text);
    uint64_t port = 0;

    *ret_host = text;
    if (text[0] == '[') {
        char *end = strchr(text, ']');

        if (!end || !colon || colon > end)
            return -EINVAL;
        *ret_host = text + 1;
        rest = end + 1;
        *end = '\0';
    }
    if (*rest && (*rest != ':' || num_parse_u64(rest + 1, 1, UINT16_MAX, &port) < 0))
        return -EINVAL;
    *rest = '\0';
    *ret_port = (uint16_t)port;
    return 0;
}

int net_rule_parse(const char *text, struct net_rule *ret, struct gb_err *err)
{
    char copy[RULE_MAX];
    char *host;
    const char *name;

    if (!*text || strlen(text) >= sizeof(copy))
        return fail_rule(err, text, *text ? "is too long" : "is empty");
    memcpy(copy, text, strlen(text) + 1);
    *ret = (struct net_rule){ 0 };
    if (split_port(copy, &host, &ret->port) < 0)
        return fail_rule(err, text, "has no port from 1 to 65535 behind its colon");
    if (net_range_parse(host, &ret->address, &ret->bits) == 0) {
        ret->kind = NET_RULE_RANGE;
        return 0;
    }
    if (strchr(host, '/'))
        return fail_rule(err, text, "is no range of addresses: 10.1.0.0/16 is one");
    ret->kind = strncmp(host, "*.", 2) == 0 ? NET_RULE_BELOW : NET_RULE_NAME;
    name = ret->kind == NET_RULE_BELOW ? host + 2 : host;
    if (!host_name_clean(name, strlen(name), ret->name) || looks_like_address(ret->name))
        return fail_rule(err, text, "is neither a name nor an address");
    /* "host", "all", "ful": words that somebody took for one of ours. */
    if (ret->kind == NET_RULE_NAME && !strchr(ret->name, '.') && ret->port == 0)
        return fail_rule(
            err, text,
            "is no word that is known here; a name without a dot needs its port, such as db:5432");
    return 0;
}

static int parse_rules(char *text, struct net_policy *ret, struct gb_err *err)
{
    char *rest = text;
    char *rule;

    while ((rule = strsep(&rest, ",")) != NULL) {
        int r;

        if (ret->n_rules == NET_RULES_MAX)
            return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "--net: more than %d rules",
                           NET_RULES_MAX);
        if (strcmp(rule, "full") == 0) {
            ret->mode = NET_FULL;
            continue;
        }
        r = net_rule_parse(rule, &ret->rules[ret->n_rules], err);
        if (r < 0)
            return r;
        ret->n_rules++;
    }
    return 0;
}

int net_policy_parse(const char *text, struct net_policy *ret, struct gb_err *err)
{
    cleanup_free char *copy = NULL;
    int r;

    *ret = (struct net_policy){ .mode = NET_NONE };
    if (strcmp(text, "none") == 0)
        return 0;
    ret->mode = NET_RULES;
    copy = strdup(text);
    ret->rules = calloc(NET_RULES_MAX, sizeof(*ret->rules));
    r = copy && ret->rules ? parse_rules(copy, ret, err) : gb_no_memory(err);
    if (r < 0)
        net_policy_clear(ret);
    return r;
}

void net_policy_clear(struct net_policy *policy)
{
    free(policy->rules);
    *policy = (struct net_policy){ .mode = NET_NONE };
}

int net_policy_check(const char *text, struct gb_err *err)
{
    cleanup_with(net_policy_clear) struct net_policy policy = { 0 };

    return text ? net_policy_parse(text, &policy, err) : 0;
}

/* ---- deciding ------------------------------------------------------------------------------- */

const char *net_answer_text(enum net_answer answer)
{
    static const char *const texts[N_NET_ANSWERS] = {
        [NET_YES] = "allowed",
        [NET_NO_NETWORK] = "no network",
        [NET_NO_NAME] = "not a name",
        [NET_NOT_LISTED] = "not listed",
        [NET_NOT_PUBLIC] = "not a public address",
        [NET_NOT_LOOKED_UP] = "an address that was never looked up",
        [NET_OWN] = "an address of this machine",
        [NET_OVER_CONNECTIONS] = "the box has had all its connections",
        [NET_OVER_BYTES] = "the box has had all its bytes",
        [NET_OVER_NAMES] = "the box has had all its names",
        [NET_LONG_NAME] = "too long for a name that no rule lists",
        [NET_DENIED] = "denied by the operator",
    };

    return texts[answer];
}

static bool names(const struct net_rule *rule, const char *name)
{
    return (rule->kind == NET_RULE_NAME && strcmp(rule->name, name) == 0) ||
           (rule->kind == NET_RULE_BELOW && is_below(name, rule->name));
}

bool net_lists_name(const struct net_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].kind == NET_RULE_NAME && strcmp(policy->rules[i].name, name) == 0)
            return true;
    return false;
}

/* port 0: any one will do. */
static enum net_answer may_name(const struct net_policy *policy, const char *name, uint16_t port)
{
    if (policy->mode == NET_NONE)
        return NET_NO_NETWORK;
    if (looks_like_address(name))
        return NET_NO_NAME;
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct net_rule *rule = &policy->rules[i];

        if (names(rule, name) && (port == 0 || rule->port == 0 || rule->port == port))
            return NET_YES;
    }
    return policy->mode == NET_FULL ? NET_YES : NET_NOT_LISTED;
}

enum net_answer net_may_ask(const struct net_policy *policy, const char *name)
{
    return may_name(policy, name, 0);
}

enum net_answer net_may_reach(const struct net_policy *policy, const char *name, uint16_t port)
{
    return port == 0 ? NET_NOT_LISTED : may_name(policy, name, port);
}

bool net_denies(const struct net_policy *denied, const char *name, uint16_t port)
{
    for (size_t i = 0; i < denied->n_rules; i++) {
        const struct net_rule *rule = &denied->rules[i];

        if (names(rule, name) && (rule->port == 0 || rule->port == port))
            return true;
    }
    return denied->mode == NET_FULL;
}

bool net_lists(const struct net_policy *policy, const struct net_address *address, uint16_t port)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct net_rule *rule = &policy->rules[i];

        if (rule->kind == NET_RULE_RANGE && net_range_has(&rule->address, rule->bits, address) &&
            (rule->port == 0 || rule->port == port))
            return true;
    }
    return false;
}

enum net_answer net_may_dial(const struct net_policy *policy, const char *name,
                             const struct net_address *address, uint16_t port)
{
    if (policy->mode == NET_NONE)
        return NET_NO_NETWORK;
    if (port == 0)
        return NET_NOT_LISTED;
    if (net_lists(policy, address, port))
        return NET_YES;
    if (!net_address_is_public(address))
        return NET_NOT_PUBLIC;
    return name || policy->mode == NET_FULL ? NET_YES : NET_NOT_LISTED;
}

/* ---- rules against rules -------------------------------------------------------------------- */

bool net_rule_is_public(const struct net_rule *rule)
{
    return rule->kind != NET_RULE_RANGE ||
           (rule->bits == 128 && net_address_is_public(&rule->address));
}

static bool covers(const struct net_rule *wide, const struct net_rule *narrow)
{
    if (wide->port != 0 && wide->port != narrow->port)
        return false;
    if (narrow->kind == NET_RULE_RANGE)
        return wide->kind == NET_RULE_RANGE && wide->bits <= narrow->bits &&
               net_range_has(&wide->address, wide->bits, &narrow->address);
    if (narrow->kind == NET_RULE_NAME)
        return names(wide, narrow->name);
    return wide->kind == NET_RULE_BELOW &&
           (strcmp(wide->name, narrow->name) == 0 || is_below(narrow->name, wide->name));
}

bool net_policy_covers(const struct net_policy *policy, const struct net_rule *rule)
{
    for (size_t i = 0; i < policy->n_rules; i++)
        if (covers(&policy->rules[i], rule))
            return true;
    return policy->mode == NET_FULL && net_rule_is_public(rule);
}

bool net_denies_rule(const struct net_policy *denied, const struct net_rule *rule)
{
    for (size_t i = 0; i < denied->n_rules; i++)
        if (covers(&denied->rules[i], rule))
            return true;
    return denied->mode == NET_FULL;
}
