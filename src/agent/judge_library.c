/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_library.c - a library and its tests. */
#include <errno.h>

#include "agent/judge_inside.h"

static int collect(const struct judge_spec *spec, struct judge_tests *tests, struct gb_err *err)
{
    return gb_fail(err, -ENOSYS, GB_BLAME_BUG, "libraries cannot be judged");
}

static int prepare(struct judging *j, struct gb_err *err)
{
    return gb_fail(err, -ENOSYS, GB_BLAME_BUG, "libraries cannot be judged");
}

const struct judge_kind judge_library = { .collect = collect, .prepare = prepare };
