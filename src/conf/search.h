/* SPDX-License-Identifier: Apache-2.0 */
/* conf/search.h - which search server a task may ask, and with which key.
 *
 * search.provider names one; auto takes Tavily when there is a key for it, else SearXNG when its
 * address is known.  The rule of conf/models.h holds here too: an address that comes with a project
 * is asked with a key of the same file, or on this machine and then without one.
 */
#pragma once

#include "net/search.h"

struct gb_err;
struct secrets;
struct settings;

/* 1 with *ret filled, 0 when there is none and none was asked for.  A server that was named but is
 * not set up is an error with its remedy (-ENOKEY), what a project's file may not say too (-EPERM).
 * Strings are of the settings, the secrets and the environment. */
int search_choose(const struct settings *settings, const struct secrets *secrets, char *const *env,
                  struct search_spec *ret, struct gb_err *err);
