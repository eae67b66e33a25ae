/* SPDX-License-Identifier: Apache-2.0 */
/* glove/limits.h - resource limits of runs.
 *
 * The host's LIMITS message, cut down to the hard limits that the glove itself was started with: a
 * process without CAP_SYS_RESOURCE can only go down, and a request for more is no reason to fail.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

struct msg_limits;

#define LIMITS_MAX 10

struct limits {
    bool is_set;
    struct rlimit values[LIMITS_MAX];
};

int limits_set(struct limits *limits, const struct msg_limits *msg);

/* In the child: puts them on. */
int limits_apply(const struct limits *limits);
