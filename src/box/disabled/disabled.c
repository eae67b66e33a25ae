/* SPDX-License-Identifier: Apache-2.0 */
/* box/disabled/disabled.c - the backend that refuses: nothing runs where the operator said so. */
#include <errno.h>

#include "base/err.h"
#include "box/box.h"

static int disabled_probe(const struct box_spec *spec, struct gb_err *err)
{
    (void)spec;
    return gb_fail(err, -EPERM, GB_BLAME_CALLER,
                   "code execution is disabled by the configuration (backend: disabled)");
}

static int disabled_start(struct box *box, const struct box_spec *spec, int *ret_link_fd,
                          struct gb_err *err)
{
    (void)box;
    *ret_link_fd = -1;
    return disabled_probe(spec, err);
}

static uint32_t disabled_destroy(struct box *box)
{
    (void)box;
    return 0;
}

/* No box is ever made, so the other functions are never reached. */
const struct box_ops box_disabled = {
    .name = "disabled",
    .probe = disabled_probe,
    .start = disabled_start,
    .destroy = disabled_destroy,
};
