/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/fuzz_net_policy.c - rules of a network, a NUL, and a name.
 *
 * What may be reached may be asked for; an address that is not public is never dialled by its name
 * unless a rule lists it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "egress/policy.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *nul = size ? memchr(text, '\0', size) : NULL;
    char name[NET_NAME_MAX + 1];
    struct net_policy policy;
    struct net_address address;
    struct gb_err err = { 0 };

    if (!nul)
        return 0;
    if (net_policy_parse(text, &policy, &err) < 0) {
        must(err.msg[0] && !policy.rules);
        return 0;
    }
    if (host_name_clean(nul + 1, (size_t)(text + size - nul - 1), name)) {
        if (net_may_reach(&policy, name, 443) == NET_YES)
            must(net_may_ask(&policy, name) == NET_YES);
        must(policy.mode != NET_NONE || net_may_ask(&policy, name) == NET_NO_NETWORK);
    }
    net_address_of_v4(0x7f000001, &address);
    if (policy.n_rules == 0)
        must(net_may_dial(&policy, "a.org", &address, 80) != NET_YES);
    net_policy_clear(&policy);
    return 0;
}
