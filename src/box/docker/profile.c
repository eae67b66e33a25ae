/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/profile.c - the outer system call profile, and masks, as an engine takes them.
 *
 * Docker reads both in the request.  Podman reads the name of a profile's file on its own machine:
 * where that is this one, the file is written once into the run directory, under a name that its
 * contents give it.  The list of masked paths it passes over; it has an option of its own for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/sha256.h"
#include "box/docker/docker.h"
#include "box/run_dir.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "gen/filters.h"

#define PROFILE_MAX (1 << 20)
#define ID_LETTER   's'

static const char profile[] = "seccomp=" gb_filter_engine;
static const char profile_rules[] = "seccomp=" gb_filter_engine_rules;

#define OPTION_LEN (sizeof("seccomp=") - 1)

static bool has_contents(int dir_fd, const char *name, const char *text)
{
    cleanup_close int fd = openat(dir_fd, name, O_RDONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_buf struct buf found = BUF_INIT(PROFILE_MAX);
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) &&
           file_read(fd, &found) == 0 && strcmp(found.data, text) == 0;
}

/* Whole or not at all: others may look for it, and write it, at the same time. */
static int write_profile(int dir_fd, const char *name, const char *text)
{
    char id[ID_SIZE];
    char temp[ID_SIZE + 16];
    cleanup_close int fd = -1;
    int r = id_make(ID_LETTER, id);

    if (r < 0)
        return r;
    (void)snprintf(temp, sizeof(temp), ".seccomp-%s", id);
    fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, text, strlen(text));
    if (r == 0 && renameat(dir_fd, temp, dir_fd, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(dir_fd, temp, 0);
    return r;
}

static int in_a_file(const struct box_spec *spec, const char *option, struct docker_profile *ret,
                     struct gb_err *err)
{
    const char *text = option + OPTION_LEN;
    cleanup_close int dir_fd = run_dir_open(spec->run_dir, err);
    char hash[SHA256_HEX_SIZE];
    char name[64];
    int r = 0;

    if (dir_fd < 0)
        return dir_fd;

    sha256_hex(text, strlen(text), hash);
    (void)snprintf(name, sizeof(name), "seccomp-%.32s.json", hash);
    if (r == 0 && !has_contents(dir_fd, name, text))
        r = write_profile(dir_fd, name, text);
    if (r == 0 && snprintf(ret->path, sizeof(ret->path), "seccomp=%s/%s", spec->run_dir, name) >=
                      (int)sizeof(ret->path))
        r = -ENAMETOOLONG;
    ret->options[1] = ret->path;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "the system call profile in '%s': %s",
                           spec->run_dir, strerror(-r))
                 : 0;
}

static int mask_by_option(struct docker_profile *ret, struct gb_err *err)
{
    size_t used = (size_t)snprintf(ret->masks, sizeof(ret->masks), "mask");
    char before = '=';

    for (const char *const *path = docker_masks; *path && used < sizeof(ret->masks); path++) {
        used +=
            (size_t)snprintf(ret->masks + used, sizeof(ret->masks) - used, "%c%s", before, *path);
        before = DOCKER_MASKS_SEPARATOR;
    }
    ret->options[2] = ret->masks;
    return used < sizeof(ret->masks)
               ? 0
               : gb_fail(err, -E2BIG, GB_BLAME_HOST, "too many paths to mask for one option");
}

int docker_profile_make(const struct engine *engine, const struct box_spec *spec,
                        struct docker_profile *ret, struct gb_err *err)
{
    const char *option = spec->net ? profile_rules : profile;
    int r;

    *ret = (struct docker_profile){ .options = { "no-new-privileges:true", option, NULL } };
    if (!engine_is_podman(engine))
        return 0;
    r = mask_by_option(ret, err);
    if (r < 0)
        return r;
    if (engine_endpoint(engine)->socket[0])
        return in_a_file(spec, option, ret, err);
    if (spec->ret_broken)
        *spec->ret_broken = WALL_SECCOMP;
    return gb_fail(
        err, -ENOTSUP, GB_BLAME_HOST,
        "the wall 'seccomp' cannot be built: Podman reads system call profiles from files "
        "of its own machine" GB_REMEDY
        "use a Podman on this machine, a Docker Engine, or --backend native");
}
