/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept.c - the boxes that live on, as a directory. */
#include "box/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/kept_dir.h"
#include "box/kept_record.h"
#include "box/switchboard.h"

#define BOXES_MAX   4096
#define RECORD_FILE "box.json"
#define FILL_FILE   "filling"
#define NEW_PREFIX  ".new-"
#define LOCK_FILE   ".lock"

#define SWITCHBOARD_END_MS 5000
#define LOCK_STEP_MS       20

/* ---- making --------------------------------------------------------------------------------- */

/* Locked while it is made: one that is not has no maker any more. */
static int new_dir(int boxes, const char *name, struct gb_err *err)
{
    cleanup_close int fd = -1;

    if (mkdirat(boxes, name, 0700) < 0)
        return gb_fail_sys(err, "making the directory of a box");
    fd = openat(boxes, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return gb_fail_sys(err, "opening the directory of a box");
    return take_fd(&fd);
}

static int write_record(int dir, const struct kept *kept, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(KEPT_RECORD_MAX);
    cleanup_close int fd = -1;
    int r = kept_record_write(kept, &text);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "writing down a box: %s", strerror(-r));
    fd = openat(dir, RECORD_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return gb_fail_sys(err, "writing down a box");
    r = fd_write_full(fd, text.data, text.len);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing down a box: %s", strerror(-r)) : 0;
}

/* It is there before the box has its name, so nobody takes half a box for a whole one. */
static int write_mark(int dir, struct gb_err *err)
{
    cleanup_close int fd = openat(dir, FILL_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd < 0 ? gb_fail_sys(err, "writing down a box") : 0;
}

static uint64_t wall_clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return clock_ns_of(now) / NS_PER_MS;
}

/* A record of it has strings of its own. */
enum {
    TEXT_USER,
    TEXT_IMAGE,
    TEXT_WORKDIR,
    TEXT_RULES,
    TEXT_DENIED,
    TEXT_PORTS,
    N_TEXTS,
};

struct texts {
    char *all[N_TEXTS];
};

static void texts_clear(struct texts *texts)
{
    for (size_t i = 0; i < N_TEXTS; i++)
        free(texts->all[i]);
}

static int texts_copy(const struct kept_spec *spec, struct texts *ret)
{
    const char *const from[N_TEXTS] = { spec->user,      spec->image,           spec->workdir,
                                        spec->net_rules, spec->net_caps.denied, spec->ports };

    for (size_t i = 0; i < N_TEXTS; i++) {
        ret->all[i] = from[i] ? strdup(from[i]) : NULL;
        if (from[i] && !ret->all[i])
            return -ENOMEM;
    }
    return 0;
}

/* Borrowed strings: only to be written. */
static struct kept record_of(const struct kept_spec *spec, const struct box *box, const char *id,
                             const struct texts *texts)
{
    struct kept kept = {
        .user = texts->all[TEXT_USER],
        .image = texts->all[TEXT_IMAGE],
        .workdir = texts->all[TEXT_WORKDIR],
        .net_rules = texts->all[TEXT_RULES],
        .net_denied = texts->all[TEXT_DENIED],
        .net_caps = spec->net_caps,
        .ports = texts->all[TEXT_PORTS],
        .created_ms = wall_clock_ms(),
        .ttl_ms = spec->ttl_ms,
        .is_filling = spec->is_filled_later,
        .box = { .receipt = *box_receipt(box),
                 .path = box_path(box),
                 .python_path = *box_python_path(box) ? box_python_path(box) : NULL,
                 .variables = spec->variables },
    };

    memcpy(kept.id, id, ID_SIZE);
    return kept;
}

static int make_in(int boxes, const char *temp, const char *id, const struct kept *kept,
                   struct box *box, struct gb_err *err)
{
    cleanup_close int dir = new_dir(boxes, temp, err);
    cleanup_close int listener = -1;
    int r = dir < 0 ? dir : write_record(dir, kept, err);

    if (r == 0 && kept->is_filling)
        r = write_mark(dir, err);
    if (r == 0 && mkdirat(dir, KEPT_RUNS_DIR, 0700) < 0)
        r = gb_fail_sys(err, "making the directory of a box");
    if (r < 0)
        return r;
    listener = kept_dir_listen(dir, err);
    if (listener < 0)
        return listener;
    if (renameat(boxes, temp, boxes, id) < 0)
        return gb_fail_sys(err, "naming the directory of a box");
    return box_keep(
        box, &(struct box_keep_spec){ .listener_fd = listener, .parent_fd = boxes, .name = id },
        err);
}

int kept_make(const struct kept_spec *spec, struct box *box, char id[static ID_SIZE],
              struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(spec->state_dir, true, err);
    cleanup_with(texts_clear) struct texts texts = { 0 };
    char temp[sizeof(NEW_PREFIX) + ID_SIZE];
    struct kept kept;
    int r;

    if (boxes < 0)
        return boxes;
    if (texts_copy(spec, &texts) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
    (void)snprintf(temp, sizeof(temp), NEW_PREFIX "%s", id);
    kept = record_of(spec, box, id, &texts);
    r = make_in(boxes, temp, id, &kept, box, err);
    if (r < 0) {
        kept_dir_remove(boxes, temp);
        kept_dir_remove(boxes, id);
    }
    return r;
}

/* ---- looking -------------------------------------------------------------------------------- */

static int read_record(int boxes, const char *id, struct kept *ret, struct gb_err *err)
{
    char path[ID_SIZE + sizeof("/" RECORD_FILE)];
    cleanup_free char *text = malloc(KEPT_RECORD_MAX);
    ssize_t n;
    int r;

    if (!text)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a box");
    (void)snprintf(path, sizeof(path), "%s/" RECORD_FILE, id);
    n = fd_read_text(boxes, path, text, KEPT_RECORD_MAX);
    if (n < 0)
        return gb_fail(err, (int)n, GB_BLAME_HOST, "reading what box %s is: %s", id,
                       strerror((int)-n));
    r = kept_record_read(text, (size_t)n, ret, err);
    if (r < 0)
        return r;
    memcpy(ret->id, id, ID_SIZE);
    (void)snprintf(path, sizeof(path), "%s/" FILL_FILE, id);
    ret->is_filling = faccessat(boxes, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return 0;
}

/* Is somebody there?  The directory of a dead one is removed. */
static bool is_alive(int boxes, const char *id)
{
    cleanup_close int dir = openat(boxes, id, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    cleanup_close int fd = dir < 0 ? -ENOENT : kept_dir_connect(dir);

    if (fd == -ECONNREFUSED)
        kept_dir_remove(boxes, id);
    return fd >= 0 || fd == -EAGAIN;
}

/* What a maker left who was killed. */
static void sweep_new(int boxes, const char *name)
{
    cleanup_close int dir = openat(boxes, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
        kept_dir_remove(boxes, name);
}

struct names {
    char (*ids)[ID_SIZE];
    size_t n;
};

static int names_add(struct names *names, const char *id)
{
    char(*ids)[ID_SIZE];

    if (names->n == BOXES_MAX)
        return -E2BIG;
    ids = realloc(names->ids, (names->n + 1) * sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    names->ids = ids;
    memcpy(names->ids[names->n++], id, ID_SIZE);
    return 0;
}

/* The ids that begin so, dead ones included. */
static int names_find(int boxes, const char *prefix, struct names *ret)
{
    DIR *dir = kept_dir_entries(boxes);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0)
            sweep_new(boxes, entry->d_name);
        else if (id_is_valid('b', entry->d_name) &&
                 strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            r = names_add(ret, entry->d_name);
    }
    (void)closedir(dir);
    return r;
}

static int by_age(const void *a, const void *b)
{
    const struct kept *one = a;
    const struct kept *other = b;

    return one->created_ms < other->created_ms   ? -1
           : one->created_ms > other->created_ms ? 1
                                                 : strcmp(one->id, other->id);
}

/* The living ones among them. */
static int list_names(int boxes, const struct names *names, struct kept **ret, size_t *ret_n)
{
    struct kept *list = calloc(names->n + 1, sizeof(*list));
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < names->n; i++) {
        struct gb_err ignored = { 0 };

        if (is_alive(boxes, names->ids[i]) &&
            read_record(boxes, names->ids[i], &list[n], &ignored) == 0)
            n++;
    }
    qsort(list, n, sizeof(*list), by_age);
    *ret = list;
    *ret_n = n;
    return 0;
}

static int list_like(const char *state_dir, const char *prefix, struct kept **ret, size_t *ret_n,
                     struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(state_dir, false, err);
    struct names names = { 0 };
    int r;

    *ret = NULL;
    *ret_n = 0;
    if (boxes == -ENOENT && (!err || err->code == 0))
        return 0;
    if (boxes < 0)
        return boxes;
    r = names_find(boxes, prefix, &names);
    if (r == 0)
        r = list_names(boxes, &names, ret, ret_n);
    free(names.ids);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "looking for boxes: %s", strerror(-r)) : 0;
}

int kept_list(const char *state_dir, struct kept **ret, size_t *ret_n, struct gb_err *err)
{
    return list_like(state_dir, "", ret, ret_n, err);
}

static void list_free(struct kept *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kept_clear(&list[i]);
    free(list);
}

static int no_such_box(const char *id, struct gb_err *err)
{
    return gb_fail(err, -ENOENT, GB_BLAME_CALLER,
                   "there is no box '%.40s'" GB_REMEDY
                   "glovebox box list shows those there are; one ends with its time to live",
                   id);
}

/* By its whole id, without a look at the others.  Whether it lives is seen by who connects. */
static int find_exactly(const char *state_dir, const char *id, struct kept *ret, struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(state_dir, false, err);
    int r;

    if (boxes < 0)
        return boxes == -ENOENT && (!err || err->code == 0) ? no_such_box(id, err) : boxes;
    r = faccessat(boxes, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    return r < 0 ? no_such_box(id, err) : read_record(boxes, id, ret, err);
}

int kept_find(const char *state_dir, const char *id, struct kept *ret, struct gb_err *err)
{
    struct kept *list;
    size_t n;
    int r;

    if (id_is_valid('b', id))
        return find_exactly(state_dir, id, ret, err);
    if (!*id) /* a variable of the caller's that is empty means none, not any */
        return no_such_box(id, err);
    r = list_like(state_dir, id, &list, &n, err);
    if (r < 0)
        return r;
    if (n == 1) {
        *ret = list[0];
        free(list);
        return 0;
    }
    list_free(list, n);
    if (n > 1)
        return gb_fail(err, -EEXIST, GB_BLAME_CALLER,
                       "'%.40s' is the beginning of %zu boxes" GB_REMEDY "give more of its id", id,
                       n);
    return no_such_box(id, err);
}

int kept_find_user(const char *state_dir, const char *user, struct kept *ret, struct gb_err *err)
{
    struct kept *list;
    size_t n;
    int r = list_like(state_dir, "", &list, &n, err);
    bool is_found = false;

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (is_found || list[i].is_filling || !list[i].user || strcmp(list[i].user, user) != 0) {
            kept_clear(&list[i]);
            continue;
        }
        *ret = list[i];
        is_found = true;
    }
    free(list);
    return r < 0 ? r : !is_found;
}

/* ---- using ---------------------------------------------------------------------------------- */

int kept_dir(const char *state_dir, const struct kept *kept, struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(state_dir, false, err);
    int dir = boxes < 0 ? boxes
                        : openat(boxes, kept->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    return dir < 0 ? gb_fail(err, -ENOENT, GB_BLAME_CALLER, "box %s is gone", kept->id) : dir;
}

int kept_fill_done(const char *state_dir, const struct kept *kept, struct gb_err *err)
{
    cleanup_close int dir = kept_dir(state_dir, kept, err);

    if (dir < 0)
        return dir;
    return unlinkat(dir, FILL_FILE, 0) < 0 ? gb_fail_sys(err, "box %s", kept->id) : 0;
}

int kept_connect(const char *state_dir, const struct kept *kept, struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(state_dir, false, err);
    cleanup_close int dir =
        boxes < 0 ? boxes : openat(boxes, kept->id, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int fd = dir < 0 ? -ENOENT : kept_dir_connect(dir);

    if (fd >= 0)
        return fd;
    if (fd == -ECONNREFUSED)
        kept_dir_remove(boxes, kept->id);
    if (fd == -ECONNREFUSED || fd == -ENOENT)
        return no_such_box(kept->id, err);
    return gb_fail(err, fd, GB_BLAME_CALLER, "box %s is gone: %s", kept->id, strerror(-fd));
}

int kept_attach(const char *state_dir, const struct kept *kept, struct box **ret,
                struct box_news *ret_news, struct gb_err *err)
{
    int fd = kept_connect(state_dir, kept, err);

    return fd < 0 ? fd : box_attach(&kept->box, fd, ret, ret_news, err);
}

bool kept_is_gone(int r)
{
    return r == -ENOENT || r == -EPIPE || r == -ECONNRESET;
}

/* Its network goes with it; its ports are free when this returns. */
static void await_switchboard(int pidfd)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };

    if (pidfd >= 0)
        (void)poll(&end, 1, SWITCHBOARD_END_MS);
}

int kept_remove(const char *state_dir, const struct kept *kept, uint32_t *ret, struct gb_err *err)
{
    struct gb_err ignored = { 0 };
    cleanup_close int dir =
        kept->net_rules || kept->ports ? kept_dir(state_dir, kept, &ignored) : -1;
    cleanup_close int pidfd = -1;
    int fd;
    int r;

    if (dir >= 0)
        (void)switchboard_lives(dir, &pidfd);
    fd = kept_connect(state_dir, kept, err);
    if (fd < 0)
        return fd;
    r = box_unkeep(fd, ret, err);
    await_switchboard(pidfd);
    return r;
}

static int lock_open(const char *state_dir, const char *name, struct gb_err *err)
{
    cleanup_close int boxes = kept_dir_open(state_dir, true, err);
    int fd = boxes < 0 ? -1 : openat(boxes, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (boxes < 0)
        return boxes;
    return fd < 0 ? gb_fail_sys(err, "locking the boxes") : fd;
}

int kept_lock(const char *state_dir, struct gb_err *err)
{
    cleanup_close int fd = lock_open(state_dir, LOCK_FILE, err);
    int r = 0;

    if (fd < 0)
        return fd;
    while ((r = flock(fd, LOCK_EX)) < 0 && errno == EINTR)
        ;
    return r < 0 ? gb_fail_sys(err, "locking the boxes") : take_fd(&fd);
}

int kept_lock_user(const char *state_dir, const char *user, int cancel_fd, struct gb_err *err)
{
    char name[sizeof(LOCK_FILE "-") + KEPT_USER_MAX];
    struct pollfd wait = { .fd = cancel_fd, .events = POLLIN };
    cleanup_close int fd = -1;

    (void)snprintf(name, sizeof(name), LOCK_FILE "-%s", user);
    fd = lock_open(state_dir, name, err);
    if (fd < 0)
        return fd;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return gb_fail_sys(err, "locking the box of '%s'", user);
        if (poll(&wait, 1, LOCK_STEP_MS) == 1)
            return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    }
    return take_fd(&fd);
}

void kept_forget(const char *state_dir, const char *id)
{
    struct gb_err ignored = { 0 };
    cleanup_close int boxes = kept_dir_open(state_dir, false, &ignored);

    if (boxes >= 0)
        kept_dir_remove(boxes, id);
}
