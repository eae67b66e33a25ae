/* SPDX-License-Identifier: Apache-2.0 */
/* package/cache.h - layers of packages on the host, each made once and then only read.
 *
 *    DIR/layers/KEY/manifest.json   what it is (package/manifest.h), and when it was last used
 *    DIR/layers/KEY/tree/           what boxes are shown, read-only
 *    DIR/layers/KEY/etc/            what an interpreter needs besides; may be missing
 *    DIR/new/KEY/                   one that is being made
 *    DIR/locks/KEY                  held alone by who makes or removes it, shared by who uses it
 *    DIR/uses/                      boxes that live on and use one (package/uses.h)
 *
 * A lock goes with its layer, and with an attempt to make one.
 *
 * Invariants
 *  1. A layer appears whole, by one rename, after everything of it is on the disk.
 *  2. What lies in new/ under a lock that can be had alone has a dead owner, and is removed.
 *  3. Everything belongs to this user and nobody else may enter DIR; what does not is
 *     refused, never repaired.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "package/manifest.h"

struct gb_err;

struct cache {
    char *path; /* DIR */
    int layers_fd;
    int new_fd;
    int locks_fd;
    int uses_fd;
};

#define CACHE_INIT                                                    \
    (struct cache)                                                    \
    {                                                                 \
        .layers_fd = -1, .new_fd = -1, .locks_fd = -1, .uses_fd = -1, \
    }

/* Makes what is missing, and removes what dead owners left.  The caller owes a cache_close(). */
int cache_open(const char *dir, struct cache *ret, struct gb_err *err);
void cache_close(struct cache *cache);

/* A descriptor that holds the lock until it is closed.  -EBUSY when others have it and it is not
 * waited for; -ECANCELED when cancel_fd (or -1) became readable meanwhile. */
enum cache_lock {
    CACHE_SHARED,
    CACHE_ALONE,
};
int cache_lock(const struct cache *cache, const char *key, enum cache_lock how, bool waits,
               int cancel_fd, struct gb_err *err);

/* Turns one kind of lock into the other, without waiting; others may come in between. */
int cache_relock(int lock_fd, enum cache_lock how);

/* Reads and checks a layer and notes that it is used; under a lock.  -ENOENT: there is none. */
int cache_find(const struct cache *cache, const char *key, struct manifest *ret,
               struct gb_err *err);

/* The path of a layer's part: "tree", "etc"; NULL: no memory. */
char *cache_path(const struct cache *cache, const char *key, const char *part);

/* An empty directory for a layer that is being made; the lock is held alone. */
int cache_stage(const struct cache *cache, const char *key, struct gb_err *err);

/* Writes the manifest, has everything on the disk, and makes it visible. */
int cache_commit(const struct cache *cache, const struct manifest *manifest, struct gb_err *err);

/* Instead of cache_commit(): nothing is left, nor is the lock's name; the lock is held alone. */
void cache_abort(const struct cache *cache, const char *key);

/* What is known of a layer without a look at its files. */
struct cache_entry {
    struct manifest manifest;
    uint64_t used_s;
    bool is_damaged; /* only the key in the manifest is set */
    bool is_in_use;
};

/* All layers, the last used first; free with cache_entries_free(). */
int cache_list(const struct cache *cache, struct cache_entry **ret, size_t *ret_n,
               struct gb_err *err);
void cache_entries_free(struct cache_entry *entries, size_t n);

/* Removes layers, the one first that was not used for longest, until all together have at most
 * max_bytes; what is in use stays, and so does the one of that key. */
void cache_trim(const struct cache *cache, uint64_t max_bytes, const char *key);

/* -EBUSY: it is in use; -ENOENT. */
int cache_remove(const struct cache *cache, const char *key, struct gb_err *err);
