/* SPDX-License-Identifier: Apache-2.0 */
/* base/dir.c - directories that are made on the way, and directories that nothing leads out of. */
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sys.h"

static int copy_part(char part[static PATH_MAX], const char *path, size_t len)
{
    if (len >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(part, path, len);
    part[len] = '\0';
    return 0;
}

int dir_make_parents(const char *path, unsigned mode)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int r = copy_part(part, path, (size_t)(slash - path));

        if (r < 0)
            return r;
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

int dir_open_beneath(int base_fd, const char *path, uint64_t more)
{
    struct sys_open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS | SYS_RESOLVE_NO_MAGICLINKS | more,
    };
    int fd = sys_openat2(base_fd, path, &how);

    return fd < 0 ? -errno : fd;
}

/* One component after the other: mkdirat() follows no link at the end, and there is nothing else
 * on its way. */
static int make_each(int base_fd, char *path, uint64_t more)
{
    cleanup_close int fd = dir_open_beneath(base_fd, ".", more);

    for (char *at = path; fd >= 0;) {
        size_t len = strcspn(at, "/");
        bool is_last = at[len] == '\0';
        int next;

        at[len] = '\0';
        if (mkdirat(fd, at, 0755) < 0 && errno != EEXIST)
            return -errno;
        next = dir_open_beneath(fd, at, more);
        close(fd);
        fd = next;
        if (is_last)
            break;
        at += len + 1;
    }
    return take_fd(&fd);
}

int dir_make_beneath(int base_fd, const char *path, size_t len, uint64_t more)
{
    char part[PATH_MAX];
    int r = len > 0 ? copy_part(part, path, len) : copy_part(part, ".", 1);

    if (r == 0)
        r = dir_open_beneath(base_fd, part, more);
    return r == -ENOENT ? make_each(base_fd, part, more) : r;
}
