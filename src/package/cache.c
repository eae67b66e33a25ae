/* SPDX-License-Identifier: Apache-2.0 */
/* package/cache.c - layers of packages on the host. */
#include "package/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "package/layer_tree.h"
#include "package/uses.h"
#include "store/digest.h"

#define MANIFEST_NAME "manifest.json"
#define ENTRIES_MAX   10000

/* A lock cannot be waited for together with anything else: it is asked for again so often. */
#define LOCK_STEP_MS 50

/* ---- opening -------------------------------------------------------------------------------- */

/* Ours, and nobody else may enter it. */
static int check_own(int fd, const char *path, struct gb_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return gb_fail_sys(err, "%s", path);
    if (st.st_uid != geteuid() || st.st_mode & 0022)
        return gb_fail(err, -EPERM, GB_BLAME_HOST,
                       "the cache '%.200s' can be written by others than this user" GB_REMEDY
                       "remove it, or set GLOVEBOX_CACHE_DIR",
                       path);
    return 0;
}

static int open_dir(int parent, const char *name, const char *path, struct gb_err *err)
{
    cleanup_close int fd = -1;
    int r;

    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return gb_fail_sys(err, "making the cache '%.200s'", path);
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return gb_fail_sys(err, "opening the cache '%.200s'", path);
    r = check_own(fd, path, err);
    return r < 0 ? r : take_fd(&fd);
}

static void sweep(const struct cache *cache);

int cache_open(const char *dir, struct cache *ret, struct gb_err *err)
{
    cleanup_close int top = -1;
    int r = dir_make_parents(dir, 0755);

    *ret = CACHE_INIT;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "making %s: %s", dir, strerror(-r));
    top = open_dir(AT_FDCWD, dir, dir, err);
    if (top < 0)
        return top;
    ret->path = strdup(dir);
    if (!ret->path)
        return gb_no_memory(err);
    ret->layers_fd = open_dir(top, "layers", dir, err);
    ret->new_fd = ret->layers_fd < 0 ? ret->layers_fd : open_dir(top, "new", dir, err);
    ret->locks_fd = ret->new_fd < 0 ? ret->new_fd : open_dir(top, "locks", dir, err);
    ret->uses_fd = ret->locks_fd < 0 ? ret->locks_fd : open_dir(top, "uses", dir, err);
    r = ret->uses_fd;
    if (r < 0) {
        cache_close(ret);
        return r;
    }
    sweep(ret);
    return 0;
}

void cache_close(struct cache *cache)
{
    drop_fd(&cache->layers_fd);
    drop_fd(&cache->new_fd);
    drop_fd(&cache->locks_fd);
    drop_fd(&cache->uses_fd);
    free(cache->path);
    cache->path = NULL;
}

static char *join(const struct cache *cache, const char *folder, const char *key, const char *part)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s/%s%s%s", cache->path, folder, key, *part ? "/" : "", part) < 0)
        return NULL;
    return path;
}

char *cache_path(const struct cache *cache, const char *key, const char *part)
{
    return join(cache, "layers", key, part);
}

static int remove_folder(const struct cache *cache, const char *folder, const char *key,
                         struct gb_err *err)
{
    cleanup_free char *path = join(cache, folder, key, "");

    return path ? layer_tree_remove(path, err) : gb_no_memory(err);
}

/* ---- locks ---------------------------------------------------------------------------------- */

/* Locks of open files, as flock(2)'s, which others can ask about without taking them. */
static struct flock lock_of(enum cache_lock how)
{
    return (struct flock){ .l_type = how == CACHE_ALONE ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };
}

int cache_relock(int lock_fd, enum cache_lock how)
{
    struct flock wanted = lock_of(how);

    if (fcntl(lock_fd, F_OFD_SETLK, &wanted) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

/* Has anybody the lock?  Whoever asks disturbs nobody. */
static bool is_locked(const struct cache *cache, const char *key)
{
    cleanup_close int fd = openat(cache->locks_fd, key, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct flock found = lock_of(CACHE_ALONE);

    return fd >= 0 && (fcntl(fd, F_OFD_GETLK, &found) < 0 || found.l_type != F_UNLCK);
}

/* Whoever removed a layer removed its lock too: then another file has that name by now. */
static bool is_current(const struct cache *cache, const char *key, int fd)
{
    struct stat held;
    struct stat named;

    return fstat(fd, &held) == 0 &&
           fstatat(cache->locks_fd, key, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static bool is_cancelled(int cancel_fd)
{
    struct pollfd wait = { .fd = cancel_fd, .events = POLLIN };

    return poll(&wait, 1, LOCK_STEP_MS) == 1;
}

int cache_lock(const struct cache *cache, const char *key, enum cache_lock how, bool waits,
               int cancel_fd, struct gb_err *err)
{
    for (;;) {
        cleanup_close int fd =
            openat(cache->locks_fd, key, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        int r = fd < 0 ? -errno : cache_relock(fd, how);

        if (r == 0 && is_current(cache, key, fd))
            return take_fd(&fd);
        if (r < 0 && r != -EBUSY)
            return gb_fail(err, r, GB_BLAME_HOST, "locking a layer of packages: %s", strerror(-r));
        if (r == -EBUSY && !waits)
            return gb_fail(err, -EBUSY, GB_BLAME_CALLER, "'%.12s' is in use", key);
        if (r == -EBUSY && is_cancelled(cancel_fd))
            return gb_fail(err, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    }
}

static bool has_layer(const struct cache *cache, const char *key)
{
    struct stat st;

    return fstatat(cache->layers_fd, key, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The name of a lock that is held alone, and of which no layer is left: whoever waits for it looks
 * for the name again. */
static void forget_lock(const struct cache *cache, const char *key)
{
    if (!has_layer(cache, key))
        (void)unlinkat(cache->locks_fd, key, 0);
}

/* What dead owners left in new/; a live one has its lock. */
static void sweep(const struct cache *cache)
{
    int fd = openat(cache->new_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!dir && fd >= 0)
        close(fd);
    while (dir && (entry = readdir(dir)) != NULL) {
        cleanup_close int lock = -1;

        if (!digest_is_valid(entry->d_name))
            continue;
        lock = cache_lock(cache, entry->d_name, CACHE_ALONE, false, -1, NULL);
        if (lock < 0)
            continue;
        (void)remove_folder(cache, "new", entry->d_name, NULL);
        forget_lock(cache, entry->d_name);
    }
    if (dir)
        closedir(dir);
}

/* ---- using ---------------------------------------------------------------------------------- */

static int surprise(const char *key, const char *what, struct gb_err *err)
{
    return gb_fail(err, -EBADMSG, GB_BLAME_HOST,
                   "the layer of packages %.12s is not as it was made: %s" GB_REMEDY
                   "glovebox cache rm %.12s",
                   key, what, key);
}

/* A layer's own directories are what cache_commit() left. */
static int check_dirs(int layer_fd, const char *key, struct gb_err *err)
{
    struct stat layer;
    struct stat tree;

    if (fstat(layer_fd, &layer) < 0 || fstatat(layer_fd, "tree", &tree, AT_SYMLINK_NOFOLLOW) < 0)
        return surprise(key, "it has no files", err);
    if (layer.st_uid != geteuid() || (layer.st_mode & 07777) != 0700)
        return surprise(key, "its owner or mode", err);
    if (!S_ISDIR(tree.st_mode) || tree.st_uid != geteuid() || (tree.st_mode & 07777) != 0755)
        return surprise(key, "its files' owner or mode", err);
    return 0;
}

static int read_manifest(int layer_fd, const char *key, struct manifest *ret, uint64_t *ret_used,
                         bool notes_use, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MANIFEST_TEXT_MAX);
    cleanup_close int fd =
        openat(layer_fd, MANIFEST_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return surprise(key, "it has no manifest", err);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 07777) != 0600)
        return surprise(key, "its manifest's owner or mode", err);
    r = file_read(fd, &text);
    if (r == 0)
        r = manifest_read(text.data ? text.data : "", text.len, ret, err);
    if (r < 0)
        return surprise(key, "its manifest", err);
    *ret_used = (uint64_t)st.st_mtim.tv_sec;
    if (strcmp(ret->key, key) != 0) {
        manifest_clear(ret);
        return surprise(key, "its manifest is another's", err);
    }
    if (notes_use)
        (void)futimens(fd, NULL); /* a disk that is full or read-only has other worries */
    return 0;
}

int cache_find(const struct cache *cache, const char *key, struct manifest *ret, struct gb_err *err)
{
    cleanup_close int fd =
        openat(cache->layers_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uint64_t used;
    int r;

    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0)
        return surprise(key, strerror(errno), err);
    r = check_dirs(fd, key, err);
    return r < 0 ? r : read_manifest(fd, key, ret, &used, true, err);
}

/* ---- making --------------------------------------------------------------------------------- */

int cache_stage(const struct cache *cache, const char *key, struct gb_err *err)
{
    cleanup_close int fd = -1;
    int r = remove_folder(cache, "new", key, err);

    if (r < 0)
        return r;
    if (mkdirat(cache->new_fd, key, 0700) < 0)
        return gb_fail_sys(err, "making room for packages in '%.200s'", cache->path);
    fd = openat(cache->new_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || mkdirat(fd, "tree", 0755) < 0)
        return gb_fail_sys(err, "making room for packages in '%.200s'", cache->path);
    return take_fd(&fd);
}

static int write_manifest(int stage_fd, const struct manifest *manifest, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MANIFEST_TEXT_MAX);
    cleanup_close int fd =
        openat(stage_fd, MANIFEST_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = manifest_write(manifest, &text);

    if (r == 0)
        r = fd < 0 ? -errno : fd_write_full(fd, text.data, text.len);
    if (r == 0 && fchmod(fd, 0600) < 0)
        r = -errno;
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "writing a manifest: %s", strerror(-r)) : 0;
}

int cache_commit(const struct cache *cache, const struct manifest *manifest, struct gb_err *err)
{
    const char *key = manifest->key;
    cleanup_close int fd =
        openat(cache->new_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? gb_fail_sys(err, "a new layer") : write_manifest(fd, manifest, err);

    if (r < 0)
        return r;
    if (fchmod(fd, 0700) < 0 || syncfs(fd) < 0)
        return gb_fail_sys(err, "writing packages to the disk");
    if (renameat(cache->new_fd, key, cache->layers_fd, key) < 0)
        return gb_fail_sys(err, "keeping the packages");
    /* It is there.  A name that a crash would take back costs another installation, no more. */
    (void)fsync(cache->layers_fd);
    return 0;
}

void cache_abort(const struct cache *cache, const char *key)
{
    (void)remove_folder(cache, "new", key, NULL);
    forget_lock(cache, key);
}

/* ---- looking and removing ------------------------------------------------------------------- */

static void look(const struct cache *cache, const char *key, struct cache_entry *ret)
{
    cleanup_close int fd =
        openat(cache->layers_fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    *ret =
        (struct cache_entry){ .is_in_use = is_locked(cache, key) || uses_has(cache->uses_fd, key) };
    ret->is_damaged =
        fd < 0 || read_manifest(fd, key, &ret->manifest, &ret->used_s, false, NULL) < 0;
    (void)snprintf(ret->manifest.key, sizeof(ret->manifest.key), "%.64s", key);
}

static int by_use(const void *a, const void *b)
{
    const struct cache_entry *one = a;
    const struct cache_entry *other = b;

    if (one->used_s != other->used_s)
        return one->used_s > other->used_s ? -1 : 1;
    return strcmp(one->manifest.key, other->manifest.key);
}

int cache_list(const struct cache *cache, struct cache_entry **ret, size_t *ret_n,
               struct gb_err *err)
{
    int fd = openat(cache->layers_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct cache_entry *list = NULL;
    const struct dirent *found;
    size_t n = 0;

    if (!dir) {
        cleanup_close_fd(&fd);
        return gb_fail_sys(err, "reading the cache");
    }
    while (n < ENTRIES_MAX && (found = readdir(dir)) != NULL) {
        struct cache_entry *grown;

        if (!digest_is_valid(found->d_name))
            continue;
        grown = reallocarray(list, n + 1, sizeof(*list));
        if (!grown) {
            closedir(dir);
            cache_entries_free(list, n);
            return gb_no_memory(err);
        }
        list = grown;
        look(cache, found->d_name, &list[n++]);
    }
    closedir(dir);
    if (n)
        qsort(list, n, sizeof(*list), by_use);
    *ret = list;
    *ret_n = n;
    return 0;
}

void cache_entries_free(struct cache_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        manifest_clear(&entries[i].manifest);
    free(entries);
}

/* It leaves layers/ by one rename: nobody sees half of it. */
int cache_remove(const struct cache *cache, const char *key, struct gb_err *err)
{
    cleanup_close int lock = cache_lock(cache, key, CACHE_ALONE, false, -1, err);
    int r;

    if (lock < 0)
        return lock;
    if (uses_has(cache->uses_fd, key))
        return gb_fail(err, -EBUSY, GB_BLAME_CALLER, "'%.12s' is in use by a box that lives on",
                       key);
    r = remove_folder(cache, "new", key, err);
    if (r < 0)
        return r;
    if (renameat(cache->layers_fd, key, cache->new_fd, key) < 0)
        r = errno == ENOENT ? gb_fail(err, -ENOENT, GB_BLAME_CALLER, "no layer '%.64s'", key)
                            : gb_fail_sys(err, "removing a layer");
    else
        r = remove_folder(cache, "new", key, err);
    forget_lock(cache, key);
    return r;
}

void cache_trim(const struct cache *cache, uint64_t max_bytes, const char *key)
{
    struct cache_entry *entries = NULL;
    uint64_t bytes = 0;
    size_t n = 0;

    if (cache_list(cache, &entries, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        bytes += entries[i].manifest.bytes;
    for (size_t i = n; i-- > 0 && bytes > max_bytes;) {
        const struct manifest *oldest = &entries[i].manifest;

        if (strcmp(oldest->key, key) != 0 && !entries[i].is_in_use &&
            cache_remove(cache, oldest->key, NULL) == 0)
            bytes -= oldest->bytes;
    }
    cache_entries_free(entries, n);
}
