/* SPDX-License-Identifier: Apache-2.0 */
/* conf/package_host.h - what packages_open() needs of the operator: settings, and the indexes that
 * pip and npm are set up with. */
#pragma once

#include "package/provide.h"

struct settings;

/* Texts are the settings'.  An index that cannot be read is told by whoever needs it; the caller
 * owes a package_host_clear(). */
void package_host_load(const struct settings *settings, char *const *env, struct package_host *ret);
