/* SPDX-License-Identifier: Apache-2.0 */
/* glove/processors.c - how many processors programs of a container are shown.
 *
 * C libraries and others that start a thread for each processor read these files, and find here
 * what the box may use instead of what the machine has.
 */
#include "glove/processors.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* The directory below another, made; -1 with errno. */
static int below(int dir, const char *name)
{
    return mkdirat(dir, name, 0755) < 0
               ? -1
               : openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int put(int dir, const char *name, const char *list)
{
    cleanup_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    int r = fd < 0 ? -errno : fd_write_full(fd, list, strlen(list));

    return r < 0 ? r : fd_write_full(fd, "\n", 1);
}

int processors_show(const char *devices, const char *list)
{
    cleanup_close int top = open(devices, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_close int system = top < 0 ? -1 : below(top, "system");
    cleanup_close int cpu = system < 0 ? -1 : below(system, "cpu");
    int r = cpu < 0 ? -errno : put(cpu, "online", list);

    return r < 0 ? r : put(cpu, "possible", list);
}
