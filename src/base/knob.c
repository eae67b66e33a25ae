/* SPDX-License-Identifier: Apache-2.0 */
/* base/knob.c - settings of the kernel that are files. */
#include "base/knob.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/fd.h"

int knob_write(int dir_fd, const char *knob)
{
    const char *equals = strchr(knob, '=');
    char file[NAME_MAX + 1];
    size_t len;

    if (!equals)
        return -EINVAL;
    len = (size_t)(equals - knob);
    if (len >= sizeof(file))
        return -EINVAL;
    memcpy(file, knob, len);
    file[len] = '\0';
    return fd_write_text(dir_fd, file, equals + 1);
}
