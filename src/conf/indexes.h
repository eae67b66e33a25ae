/* SPDX-License-Identifier: Apache-2.0 */
/* conf/indexes.h - where packages come from, as pip and npm are set up on this machine.
 *
 *    pip   PIP_*  >  PIP_CONFIG_FILE  >  the user's pip.conf  >  /etc/pip.conf
 *    npm   npm_config_*  >  the user's .npmrc (npm_config_userconfig)  >  /etc/npmrc
 *
 * Of both: indexes, certificates, proxy, credentials.  Files of the working directory are not read:
 * they come with cloned repositories.
 */
#pragma once

#include "package/index.h"

struct gb_err;

/* ret: `= { 0 }`; the caller owes an index_clear(), also after a failure. */
int indexes_load(enum package_kind kind, char *const *env, struct package_index *ret,
                 struct gb_err *err);
