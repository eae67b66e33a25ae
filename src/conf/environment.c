/* SPDX-License-Identifier: Apache-2.0 */
/* conf/environment.c - looking up a name in a given environment. */
#include "conf/environment.h"

#include <stddef.h>
#include <string.h>

const char *environment_get(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}
