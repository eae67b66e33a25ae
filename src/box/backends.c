/* SPDX-License-Identifier: Apache-2.0 */
/* box/backends.c - the ways to make boxes, one row each. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "box/box.h"

static const struct box_ops *const backends[] = {
    &box_native,
    &box_docker,
    &box_disabled,
    NULL,
};

const struct box_ops *const *box_backends(void)
{
    return backends;
}

const struct box_ops *box_backend(const char *name, struct gb_err *err)
{
    char names[128] = "";

    for (size_t i = 0; backends[i]; i++) {
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
        strncat(names, i ? ", " : "", sizeof(names) - strlen(names) - 1);
        strncat(names, backends[i]->name, sizeof(names) - strlen(names) - 1);
    }
    (void)gb_fail(err, -EINVAL, GB_BLAME_CALLER, "unknown backend '%s' (there are: %s)", name,
                  names);
    return NULL;
}
