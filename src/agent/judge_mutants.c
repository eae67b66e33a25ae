/* SPDX-License-Identifier: Apache-2.0 */
/* agent/judge_mutants.c - the tests against changed code. */
#include <errno.h>

#include "agent/judge_inside.h"

int judge_mutate(const struct judge_spec *spec, struct judge_mutation *ret, struct gb_err *err)
{
    return gb_fail(err, -ENOSYS, GB_BLAME_BUG, "mutants cannot be made");
}
