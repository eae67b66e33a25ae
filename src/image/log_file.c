/* SPDX-License-Identifier: Apache-2.0 */
/* image/log_file.c - the log of a build as a file. */
#include "image/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/id.h"
#include "base/path.h"

#define LETTER    'l'
#define NAME_SIZE 80
#define SWEEP_MAX 1000 /* files that one call takes away at most */

/* "0001789000000-l_….log" */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits == 13 && name[digits] == '-' && name[digits + 1] == LETTER &&
           strcmp(path_ending(name), "log") == 0 && strlen(name) < NAME_SIZE;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* How many there are, and the oldest. */
static size_t look(const char *path, char oldest[static NAME_SIZE], int *ret_fd)
{
    cleanup_with(close_dir) DIR *dir = opendir(path);
    const struct dirent *entry;
    size_t n = 0;

    oldest[0] = '\0';
    while (dir && (entry = readdir(dir))) {
        if (!is_ours(entry->d_name))
            continue;
        if (n++ == 0 || strcmp(entry->d_name, oldest) < 0)
            (void)snprintf(oldest, NAME_SIZE, "%s", entry->d_name);
    }
    *ret_fd = dir ? fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 3) : -1;
    return n;
}

/* Logs that cannot be removed are no reason not to build. */
static void sweep(const char *path)
{
    for (size_t i = 0; i < SWEEP_MAX; i++) {
        cleanup_close int fd = -1;
        char oldest[NAME_SIZE];

        if (look(path, oldest, &fd) < LOG_FILE_KEPT || fd < 0 || unlinkat(fd, oldest, 0) < 0)
            return;
    }
}

int log_file_open(const char *dir, uint64_t unix_time, char ret_path[static PATH_MAX],
                  struct gb_err *err)
{
    char id[ID_SIZE];
    int r = id_make(LETTER, id);
    int fd;

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no randomness: %s", strerror(-r));
    if (snprintf(ret_path, PATH_MAX, "%s/%013" PRIu64 "-%s.log", dir, unix_time, id) >= PATH_MAX)
        return gb_fail(err, -ENAMETOOLONG, GB_BLAME_CALLER, "'%.100s…' is too long", dir);
    r = dir_make_parents(ret_path, 0700);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making '%.200s' for the log: %s", dir, strerror(-r));
    sweep(dir);
    fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0600);
    return fd < 0 ? gb_fail_sys(err, "making the log '%.300s'", ret_path) : fd;
}
