/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/slot.c - the lock file that owns a native box on this host. */
#include "spawner/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"

static int slot_open(int dir_fd, uint32_t number)
{
    char name[16];
    int fd;

    (void)snprintf(name, sizeof(name), "%u", number);
    fd = openat(dir_fd, name, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    return fd < 0 ? -errno : fd;
}

static int slot_lock(int dir_fd, uint32_t number, struct slot *ret,
                     char record[static SLOT_RECORD_MAX], size_t *ret_len)
{
    cleanup_close int fd = slot_open(dir_fd, number);
    ssize_t n;

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -errno;
    n = pread(fd, record, SLOT_RECORD_MAX, 0);
    if (n < 0)
        return -errno;
    *ret_len = (size_t)n;
    ret->number = number; /* first: a guard believes it as soon as there is a descriptor */
    ret->fd = take_fd(&fd);
    return 0;
}

int slot_take(int dir_fd, uint32_t first, uint32_t n_slots, struct slot *ret,
              char record[static SLOT_RECORD_MAX], size_t *ret_len)
{
    for (uint32_t i = 0; i < n_slots; i++) {
        int r = slot_lock(dir_fd, (first + i) % n_slots, ret, record, ret_len);

        if (r != -EWOULDBLOCK)
            return r;
    }
    return -EUSERS;
}

int slot_write(const struct slot *slot, const char *record, size_t len)
{
    ssize_t n = pwrite(slot->fd, record, len, 0);

    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -ENOSPC;
}

void slot_release(struct slot *slot)
{
    static const char empty[] = "\n";

    if (slot->fd < 0)
        return;
    /* A record that could not be emptied is swept by the next taker: harmless. */
    if (pwrite(slot->fd, empty, 1, 0) < 0)
        errno = 0;
    slot_drop(slot);
}

/* Forgotten first: whoever is killed in between holds no number that means something else. */
void slot_drop(struct slot *slot)
{
    int fd = take_fd(&slot->fd);

    if (fd >= 0)
        close(fd);
}
