/* SPDX-License-Identifier: Apache-2.0 */
/* conf/package_host.c - what packages_open() needs of the operator. */
#include "conf/package_host.h"

#include "conf/indexes.h"
#include "conf/settings.h"

void package_host_load(const struct settings *settings, char *const *env, struct package_host *ret)
{
    *ret = (struct package_host){
        .cache_dir = settings->cache_dir,
        .cache_max = settings->cache_max,
        .hosts = settings->package_hosts,
        .denied = settings->net_caps.denied,
        .limits = settings->installing,
    };
    for (enum package_kind kind = 0; kind < N_PACKAGE_KINDS; kind++)
        (void)indexes_load(kind, env, &ret->indexes[kind], &ret->unread[kind]);
}
