/* SPDX-License-Identifier: Apache-2.0 */
/* glove/remains.c - has a run left something behind that the next one could find?
 *
 * Times would not do for files: a page that was read through a shared mapping can be written to
 * without any of them changing.  Watches tell of it, when the file is closed.
 */
#include "glove/remains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/level.h"
#include "base/sys.h"
#include "wire/msg.h"

/* Larger trees are not watched. */
#define DEPTH_MAX   8
#define DIRS_MAX    256
#define ENTRIES_MAX 4096

#define CHANGES                                                                       \
    (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | \
     IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_ONLYDIR | IN_DONT_FOLLOW)

/* ---- files ---------------------------------------------------------------------------------- */

struct walk {
    int watch_fd;
    size_t depth;
    size_t n_dirs;
    size_t n_entries;
    struct level levels[DEPTH_MAX];
    size_t lens[DEPTH_MAX]; /* of the path, up to that level */
    char path[PATH_MAX];
};

static int enter(struct walk *w)
{
    int r;

    if (w->depth == DEPTH_MAX || w->n_dirs++ == DIRS_MAX)
        return -EFBIG;
    if (inotify_add_watch(w->watch_fd, w->path, CHANGES) < 0)
        return -errno;
    r = level_open(&w->levels[w->depth], AT_FDCWD, w->path);
    if (r < 0)
        return r;
    w->lens[w->depth++] = strlen(w->path);
    return 0;
}

static int look_at(struct walk *w, const struct sys_dirent *entry)
{
    size_t len = w->lens[w->depth - 1];
    size_t name_len = strlen(entry->name);

    if (w->n_entries++ == ENTRIES_MAX)
        return -EFBIG;
    if (entry->type != DT_DIR)
        return entry->type == DT_UNKNOWN ? -ENOTSUP : 0;
    if (len + 1 + name_len >= sizeof(w->path))
        return -ENAMETOOLONG;
    w->path[len] = '/';
    memcpy(w->path + len + 1, entry->name, name_len + 1);
    return enter(w);
}

static int walk(struct walk *w)
{
    int r = enter(w);

    while (r == 0 && w->depth > 0) {
        struct level *level = &w->levels[w->depth - 1];
        const struct sys_dirent *entry = level_next(level, &r);

        if (r == 0 && entry) {
            r = look_at(w, entry);
        } else if (r == 0) {
            close(level->fd);
            w->depth--;
        }
    }
    while (w->depth > 0)
        close(w->levels[--w->depth].fd);
    return r;
}

/* Where reading leaves its time nobody can tell what was read. */
static int watch_place(struct walk *w, const char *place)
{
    struct statvfs fs;

    if (statvfs(place, &fs) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!(fs.f_flag & ST_NOATIME))
        return -ENOTSUP;
    if (strlen(place) >= sizeof(w->path))
        return -ENAMETOOLONG;
    memcpy(w->path, place, strlen(place) + 1);
    return walk(w);
}

/* Terminals lie in no place that is the program's, but it may touch what is there. */
static int watch_places(struct remains *remains)
{
    static struct walk w;
    const char *place = remains->places;
    int r;

    remains->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (remains->watch_fd < 0)
        return -errno;
    w.watch_fd = remains->watch_fd;
    w.n_dirs = w.n_entries = 0;
    r = watch_place(&w, "/dev/pts");
    for (size_t i = 0; r == 0 && i < remains->n_places; i++) {
        r = watch_place(&w, place);
        place += strlen(place) + 1;
    }
    return r;
}

static bool has_events(int watch_fd)
{
    struct pollfd events = { .fd = watch_fd, .events = POLLIN };

    return poll(&events, 1, 0) != 0;
}

/* ---- numbers that the kernel gives ---------------------------------------------------------- */

/* The last field is the process that was started last, here. */
static pid_t newest_pid(void)
{
    char text[128];
    const char *last;

    if (fd_read_text(AT_FDCWD, "/proc/loadavg", text, sizeof(text)) <= 0)
        return -1;
    last = strrchr(text, ' ');
    return last ? (pid_t)strtol(last + 1, NULL, 10) : -1;
}

static int queue_id(void)
{
    int id = msgget(IPC_PRIVATE, 0600);

    return id < 0 || msgctl(id, IPC_RMID, NULL) < 0 ? -1 : id;
}

static int semaphore_id(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);

    return id < 0 || semctl(id, 0, IPC_RMID) < 0 ? -1 : id;
}

static int segment_id(void)
{
    int id = shmget(IPC_PRIVATE, 1, 0600);

    return id < 0 || shmctl(id, IPC_RMID, NULL) < 0 ? -1 : id;
}

/* Each kernel has its way from one number to the next; whichever it is, one that was given to
 * somebody else is missing. */
static int (*const ipc_next[REMAINS_IPC])(void) = { queue_id, semaphore_id, segment_id };

static int ipc_begin(struct remains *remains)
{
    for (size_t i = 0; i < REMAINS_IPC; i++) {
        int first = ipc_next[i]();
        int second = ipc_next[i]();

        if (first < 0 || second < 0)
            return -ENOTSUP;
        remains->ipc_ids[i] = second;
        remains->ipc_steps[i] = second - first;
    }
    return 0;
}

static bool ipc_is_same(struct remains *remains)
{
    for (size_t i = 0; i < REMAINS_IPC; i++) {
        int id = ipc_next[i]();

        if (id < 0 || id - remains->ipc_ids[i] != remains->ipc_steps[i])
            return false;
        remains->ipc_ids[i] = id;
    }
    return true;
}

/* ---- the network ---------------------------------------------------------------------------- */

/* Counters of all devices. */
static bool read_net(char text[static REMAINS_NET_SIZE])
{
    return fd_read_text(AT_FDCWD, "/proc/net/dev", text, REMAINS_NET_SIZE) > 0;
}

static bool net_is_same(const struct remains *remains)
{
    char now[REMAINS_NET_SIZE];

    return read_net(now) && strcmp(now, remains->net) == 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

void remains_places(struct remains *remains, const struct wire_strs *writable)
{
    const char *at = NULL;
    const char *place;
    size_t used = 0;

    while ((place = wire_strs_next(writable, &at)) != NULL) {
        size_t size = strlen(place) + 1;

        if (used + size > sizeof(remains->places)) {
            remains->is_lost = true;
            return;
        }
        memcpy(remains->places + used, place, size);
        used += size;
        remains->n_places++;
    }
}

static bool begin(struct remains *remains)
{
    remains->is_begun = true;
    return !remains->is_lost && watch_places(remains) == 0 && ipc_begin(remains) == 0 &&
           read_net(remains->net);
}

int remains_check(struct remains *remains)
{
    if (!remains->is_begun) {
        remains->is_lost = !begin(remains);
        return 0;
    }
    remains->is_lost = remains->is_lost || has_events(remains->watch_fd) ||
                       newest_pid() != remains->last_pid || !ipc_is_same(remains) ||
                       !net_is_same(remains);
    return remains->is_lost ? -ESTALE : 0;
}

void remains_started(struct remains *remains, pid_t pid)
{
    remains->last_pid = pid;
}
