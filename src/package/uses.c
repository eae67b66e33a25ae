/* SPDX-License-Identifier: Apache-2.0 */
/* package/uses.c - boxes that live on and use a layer. */
#include "package/uses.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/id.h"
#include "box/kept.h"

#define NAME_SIZE (NAME_MAX + 1)

int uses_add(int uses_fd, const char *key, const char *box, const char *state_dir,
             struct gb_err *err)
{
    cleanup_close int fd = -1;
    char name[NAME_SIZE];
    int r;

    (void)snprintf(name, sizeof(name), "%s.%s", key, box);
    fd = openat(uses_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : fd_write_full(fd, state_dir, strlen(state_dir));
    return r < 0
               ? gb_fail(err, r, GB_BLAME_HOST, "writing down who uses packages: %s", strerror(-r))
               : 0;
}

/* What cannot be told counts as alive. */
static bool is_alive(int uses_fd, const char *name, const char *box)
{
    cleanup_kept struct kept kept = { 0 };
    struct box *attached = NULL;
    struct box_news news;
    char state_dir[PATH_MAX];
    int r;

    if (!id_is_valid('b', box))
        return false;
    if (fd_read_text(uses_fd, name, state_dir, sizeof(state_dir)) < 0)
        return true;
    r = kept_find(state_dir, box, &kept, NULL);
    if (r == 0)
        r = kept_attach(state_dir, &kept, &attached, &news, NULL);
    if (r == 0)
        (void)box_close(attached);
    return r != -ENOENT;
}

bool uses_has(int uses_fd, const char *key)
{
    int fd = openat(uses_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    size_t len = strlen(key);
    bool is_used = false;

    if (!dir) {
        cleanup_close_fd(&fd);
        return true;
    }
    while (!is_used && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, key, len) != 0 || entry->d_name[len] != '.')
            continue;
        is_used = is_alive(uses_fd, entry->d_name, entry->d_name + len + 1);
        if (!is_used)
            (void)unlinkat(uses_fd, entry->d_name, 0);
    }
    closedir(dir);
    return is_used;
}
