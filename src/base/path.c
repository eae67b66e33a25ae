/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.c - paths as text. */
#include "base/path.h"

#include <limits.h>
#include <string.h>

static bool component_is_plain(const char *name, size_t len)
{
    if (len == 0 || len > NAME_MAX)
        return false;
    return !(len == 1 && name[0] == '.') && !(len == 2 && name[0] == '.' && name[1] == '.');
}

bool path_is_below(const char *path)
{
    if (strlen(path) >= PATH_MAX)
        return false;
    for (;;) {
        size_t len = strcspn(path, "/");

        if (!component_is_plain(path, len))
            return false;
        if (!path[len])
            return true;
        path += len + 1;
    }
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *path_ending(const char *path)
{
    const char *base = path_base(path);
    const char *dot = strrchr(base, '.');

    return dot && dot != base ? dot + 1 : "";
}

bool path_is_clean_absolute(const char *path)
{
    if (path[0] != '/')
        return false;
    return path[1] == '\0' || path_is_below(path + 1);
}

bool path_is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (len == 1)
        return path[0] == '/';
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
