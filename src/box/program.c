/* SPDX-License-Identifier: Apache-2.0 */
/* box/program.c - is there a program of that name on the box's PATH?
 *
 * Asked on the host, before anything is started: image `host` shows the host's own files under
 * their own paths.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "box/box.h"

bool box_path_has(const char *path, const char *name, char ret_found[static PATH_MAX])
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, ":");

        if (snprintf(ret_found, PATH_MAX, "%.*s/%s", (int)len, at, name) < PATH_MAX &&
            access(ret_found, X_OK) == 0)
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}
