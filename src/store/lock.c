/* SPDX-License-Identifier: Apache-2.0 */
/* store/lock.c - which process works on a task: locks/ID beside the database, held with a lock of
 * its open file (F_OFD_SETLK), which others can ask about without taking it.
 *
 * The kernel lets go of it when the process dies; the file stays then, and the next one locks the
 * same.  Whoever lets go in order removes the file first.  So a file that could be locked may
 * already be gone from its directory, and another one stand in its place: then it counts for
 * nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "store/inside.h"
#include "store/store.h"

#define LOCKS     "locks"
#define TRIES_MAX 100

static int open_locks(const struct store *store)
{
    if (mkdirat(store->dir_fd, LOCKS, 0700) == 0 && fchmodat(store->dir_fd, LOCKS, 0700, 0) < 0)
        return -1; /* the umask had taken something off */
    return openat(store->dir_fd, LOCKS, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_in_place(int locks, const char *id, int fd)
{
    struct stat held;
    struct stat named;

    return fstat(fd, &held) == 0 && fstatat(locks, id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static struct flock whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

/* The locked file; -1 and EAGAIN when it was taken away in between. */
static int try_lock(int locks, const char *id)
{
    cleanup_close int fd =
        openat(locks, id, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

    struct flock lock = whole_file();

    if (fd < 0)
        return -1;
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            errno = EBUSY;
        return -1;
    }
    if (is_in_place(locks, id, fd))
        return take_fd(&fd);
    errno = EAGAIN;
    return -1;
}

int store_task_lock(struct store *store, const char *id, int *ret_fd, struct gb_err *err)
{
    cleanup_close int locks = -1;
    int r = store_check_id(id, err);
    int fd = -1;

    if (r < 0)
        return r;
    locks = open_locks(store);
    if (locks < 0)
        return gb_fail_sys(err, "opening '%s/" LOCKS "'", store->dir);
    for (int i = 0; i < TRIES_MAX && fd < 0; i++) {
        fd = try_lock(locks, id);
        if (fd < 0 && errno != EAGAIN)
            break;
    }
    if (fd < 0 && (errno == EBUSY || errno == EAGAIN))
        return gb_fail(err, -EBUSY, GB_BLAME_CALLER, "another process works on task '%s'", id);
    if (fd < 0)
        return gb_fail_sys(err, "locking '%s/" LOCKS "/%s'", store->dir, id);
    *ret_fd = fd;
    return 0;
}

bool store_task_is_locked(struct store *store, const char *id)
{
    struct flock lock = whole_file();
    cleanup_close int fd = -1;
    char path[64];

    if (store_check_id(id, NULL) < 0)
        return false;
    (void)snprintf(path, sizeof(path), LOCKS "/%s", id);
    fd = openat(store->dir_fd, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void store_task_unlock(struct store *store, const char *id, int *fd)
{
    char path[64];

    if (*fd < 0 || store_check_id(id, NULL) < 0)
        return;
    (void)snprintf(path, sizeof(path), LOCKS "/%s", id);
    (void)unlinkat(store->dir_fd, path, 0); /* a file that stays is as good as none */
    drop_fd(fd);
}
