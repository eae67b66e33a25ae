/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy_env.h - variables that tell programs of the proxy.
 *
 * Only where there is no other way out: where connections are caught, programs do best without
 * them. The glove adds them because it alone knows when a run is started; a run is asked for before
 * its box stands.
 */
#pragma once

#define PROXY_VARIABLES 8

/* Adds those whose names are not there yet.  env is NULL-terminated and has room for all. */
void proxy_env_add(const char **env);
