/* SPDX-License-Identifier: Apache-2.0 */
/* unit/place.h - a directory of a test's own, its files, and its end. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"

#include <cmocka.h>

struct place {
    char root[64];
    char path[PATH_MAX]; /* the last of place_path() */
    int fd;
};

static inline int place_make_in(void **state, const char *dir)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->root, sizeof(place->root), "%s/glovebox-place.XXXXXX", dir);
    assert_non_null(mkdtemp(place->root));
    place->fd = open(place->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->fd >= 0);
    *state = place;
    return 0;
}

static inline int place_make(void **state)
{
    return place_make_in(state, "/tmp");
}

/* Where fsync(2) costs nothing, if there is such a place; it may be small. */
static inline int place_make_quick(void **state)
{
    return place_make_in(state, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline int place_remove_entry(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st;
    (void)type;
    return ftw->level == 0 ? 0 : remove(path);
}

static inline void place_empty(const struct place *place)
{
    assert_int_equal(nftw(place->root, place_remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline int place_remove(void **state)
{
    struct place *place = *state;

    place_empty(place);
    close(place->fd);
    assert_int_equal(rmdir(place->root), 0);
    free(place);
    return 0;
}

static inline const char *place_path(struct place *place, const char *name)
{
    (void)snprintf(place->path, sizeof(place->path), "%s/%s", place->root, name);
    return place->path;
}

static inline void place_read(const struct place *place, const char *name, struct buf *ret)
{
    cleanup_close int fd = openat(place->fd, name, O_RDONLY | O_CLOEXEC);
    struct stat st;

    buf_reset(ret);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(buf_reserve(ret, (size_t)st.st_size + 1), 0);
    assert_int_equal(fd_read_full(fd, ret->data, (size_t)st.st_size), st.st_size);
    ret->len = (size_t)st.st_size;
    ret->data[ret->len] = '\0';
}

static inline void place_write(const struct place *place, const char *name, const void *bytes,
                               size_t len)
{
    cleanup_close int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, bytes, len), 0);
}

static inline unsigned place_mode(const struct place *place, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static inline int place_has(const struct place *place, const char *name)
{
    return faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#define IN_PLACE(test)       cmocka_unit_test_setup_teardown(test, place_make, place_remove)
#define IN_QUICK_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make_quick, place_remove)
