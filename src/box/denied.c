/* SPDX-License-Identifier: Apache-2.0 */
/* box/denied.c - what no program of a box reaches, whatever its rules say. */
#include "box/denied.h"

#include "base/cleanup.h"
#include "base/err.h"

int denied_init(struct denied *denied, const char *rules, const struct denied_source *source,
                struct gb_err *err)
{
    denied->source = *source;
    return rules ? net_policy_parse(rules, &denied->first, err) : 0;
}

void denied_clear(struct denied *denied)
{
    net_policy_clear(&denied->first);
    net_policy_clear(&denied->since);
}

void denied_look(struct denied *denied)
{
    cleanup_free char *rules = NULL;
    struct net_policy since = { 0 };
    struct gb_err ignored = { 0 };

    if (!denied->source.changed || denied->source.changed(denied->source.user, &rules) <= 0 ||
        (rules && net_policy_parse(rules, &since, &ignored) < 0))
        return;
    net_policy_clear(&denied->since);
    denied->since = since;
}

bool denied_has_name(const struct denied *denied, const char *name, uint16_t port)
{
    return net_denies(&denied->first, name, port) || net_denies(&denied->since, name, port);
}

static bool has_address(const struct net_policy *policy, const struct net_address *address,
                        uint16_t port)
{
    return policy->mode == NET_FULL || net_lists(policy, address, port);
}

bool denied_has_address(const struct denied *denied, const struct net_address *address,
                        uint16_t port)
{
    return has_address(&denied->first, address, port) || has_address(&denied->since, address, port);
}
