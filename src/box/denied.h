/* SPDX-License-Identifier: Apache-2.0 */
/* box/denied.h - what no program of a box reaches, whatever its rules say: what the operator denied
 * when the box was made, and what has been denied since.
 *
 * A box may live for long.  What its operator denies meanwhile holds from the next question on;
 * what was denied when it was made is denied to its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "egress/policy.h"

struct gb_err;

/* Where later denials come from.  changed(): 1 with the rules (the caller frees; NULL: none) when
 * they may be others than at the last call; 0: as before; negative: they cannot be read now, and
 * the next call tells.  NULL: nobody tells. */
struct denied_source {
    int (*changed)(void *user, char **ret_rules);
    void *user;
};

struct denied {
    struct net_policy first;
    struct net_policy since;
    struct denied_source source;
};

/* rules may be NULL.  Zeroed memory denies nothing and may be cleared. */
int denied_init(struct denied *denied, const char *rules, const struct denied_source *source,
                struct gb_err *err);
void denied_clear(struct denied *denied);

/* Asks the source.  What cannot be read leaves what held before. */
void denied_look(struct denied *denied);

/* Is this name (clean) denied?  port 0: on every port, as for a look-up. */
bool denied_has_name(const struct denied *denied, const char *name, uint16_t port);
bool denied_has_address(const struct denied *denied, const struct net_address *address,
                        uint16_t port);
