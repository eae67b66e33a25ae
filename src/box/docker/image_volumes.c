/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/image_volumes.c - the volumes that an image asks for.
 *
 * An engine makes one for each VOLUME of an image: writable, on the engine's own disk, without a
 * limit, and no request can tell it to make none.  What an image says gives a box nothing: over our
 * own places they are covered, and elsewhere Landlock lets no program write.  An image that wants
 * one where neither holds is refused.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "box/docker/docker.h"
#include "json/value.h"

static bool is_ours(const struct docker_places *places, const char *name, const char *path)
{
    for (size_t i = 0; i < places->n; i++) {
        bool is_volume = places->volumes[i][0];

        if (is_volume ? name && strcmp(name, places->volumes[i]) == 0
                      : strcmp(path, places->paths[i]) == 0)
            return true;
    }
    return false;
}

/* Where programs may write, or what is the kernel's. */
static bool is_open(const struct box_spec *spec, const char *path)
{
    static const char *const kernels[] = { "/dev", "/proc", "/sys", NULL };

    for (const char *const *dir = box_writable; *dir; dir++)
        if (path_is_in(path, *dir))
            return true;
    for (const char *const *dir = kernels; *dir; dir++)
        if (path_is_in(path, *dir))
            return true;
    return spec->workdir && path_is_in(path, spec->workdir);
}

static int refuse(const char *path, const char *why, struct gb_err *err)
{
    return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                   "the image wants a volume at '%.100s', %s" GB_REMEDY
                   "use an image without this VOLUME",
                   path, why);
}

static int check(const struct json_value *mount, const struct box_spec *spec,
                 const struct docker_places *places, struct gb_err *err)
{
    const char *type = json_str(json_get(mount, "Type"), NULL);
    const char *path = json_str(json_get(mount, "Destination"), NULL);
    bool is_writable = true;

    (void)json_bool(json_get(mount, "RW"), &is_writable);
    if (!is_writable || (type && strcmp(type, "tmpfs") == 0))
        return 0;
    if (!path || !path_is_clean_absolute(path))
        return refuse(path ? path : "", "which is no clean path", err);
    if (is_ours(places, json_str(json_get(mount, "Name"), NULL), path))
        return 0;
    if (is_open(spec, path))
        return refuse(path, "where it would be a disk without a limit", err);
    if (spec->may_miss & 1u << WALL_LANDLOCK)
        return refuse(path, "and only the wall 'landlock', which may be missing, protects it", err);
    return 0;
}

int docker_volumes_check(const struct json_value *container, const struct box_spec *spec,
                         const struct docker_places *places, struct gb_err *err)
{
    const struct json_value *mounts = json_get(container, "Mounts");
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_count(mounts); i++)
        r = check(json_at(mounts, i), spec, places, err);
    return r;
}
