/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_dir.c - directories that are made on the way, and that nothing leads out of. */
#include <errno.h>
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

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/sys.h"

#include <cmocka.h>

struct place {
    char root[32];
    int fd;
};

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->root, sizeof(place->root), "/tmp/glovebox-dir.XXXXXX");
    assert_non_null(mkdtemp(place->root));
    place->fd = open(place->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->fd >= 0);
    *state = place;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int place_remove(void **state)
{
    struct place *place = *state;

    close(place->fd);
    assert_int_equal(nftw(place->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(place);
    return 0;
}

/* What fd names is the directory at path below the place's. */
static void expect_same(const struct place *place, int fd, const char *path)
{
    struct stat is;
    struct stat wanted;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &is), 0);
    assert_int_equal(fstatat(place->fd, path, &wanted, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISDIR(is.st_mode));
    assert_int_equal(is.st_ino, wanted.st_ino);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static void parents_are_made_with_their_mode_and_the_last_is_not(void **state)
{
    struct place *place = *state;
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/a/b/c", place->root);
    assert_int_equal(dir_make_parents(path, 0700), 0);
    assert_int_equal(fstatat(place->fd, "a/b", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(faccessat(place->fd, "a/b/c", F_OK, 0), -1);
    assert_int_equal(dir_make_parents(path, 0755), 0);
    assert_int_equal(fstatat(place->fd, "a/b", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void parents_that_cannot_be_made_are_an_error(void **state)
{
    struct place *place = *state;
    char path[PATH_MAX + 64];

    close(openat(place->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    (void)snprintf(path, sizeof(path), "%s/file/b/c", place->root);
    assert_int_equal(dir_make_parents(path, 0700), -ENOTDIR);
    memset(path, 'a', sizeof(path));
    memcpy(path + PATH_MAX, "/b", 3);
    path[0] = '/';
    assert_int_equal(dir_make_parents(path, 0700), -ENAMETOOLONG);
}

static void beneath_means_by_no_link_and_not_outside(void **state)
{
    static const struct {
        const char *path;
        int error;
    } rows[] = {
        { "none", -ENOENT },   { "file", -ENOTDIR },    { "link", -ELOOP },
        { "link/in", -ELOOP }, { "..", -EXDEV },        { "/", -EXDEV },
        { "/tmp", -EXDEV },    { "dir/../..", -EXDEV }, { "file/x", -ENOTDIR },
    };
    struct place *place = *state;

    close(openat(place->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(mkdirat(place->fd, "dir", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "dir/in", 0700), 0);
    assert_int_equal(symlinkat("dir", place->fd, "link"), 0);
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        assert_int_equal(dir_open_beneath(place->fd, rows[i].path, 0), rows[i].error);
    expect_same(place, dir_open_beneath(place->fd, ".", 0), ".");
    expect_same(place, dir_open_beneath(place->fd, "dir/in", SYS_RESOLVE_NO_XDEV), "dir/in");
}

static void further_rules_hold_too(void **state)
{
    cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = dir_open_beneath(root, "proc", 0);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(dir_open_beneath(root, "proc", SYS_RESOLVE_NO_XDEV), -EXDEV);
    assert_int_equal(dir_make_beneath(root, "proc/x", 4, SYS_RESOLVE_NO_XDEV), -EXDEV);
}

static void what_is_missing_beneath_is_made(void **state)
{
    struct place *place = *state;
    const char *path = "a/b/c/file";
    mode_t before = umask(022);
    struct stat st;

    expect_same(place, dir_make_beneath(place->fd, path, 0, 0), ".");
    expect_same(place, dir_make_beneath(place->fd, path, 1, 0), "a");
    expect_same(place, dir_make_beneath(place->fd, path, 5, 0), "a/b/c");
    expect_same(place, dir_make_beneath(place->fd, path, 5, 0), "a/b/c");
    assert_int_equal(fstatat(place->fd, "a/b", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(faccessat(place->fd, path, F_OK, 0), -1);
    (void)umask(before);
}

static void nothing_is_made_through_a_link_or_outside(void **state)
{
    struct place *place = *state;
    char longest[PATH_MAX + 1];

    close(openat(place->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(mkdirat(place->fd, "dir", 0700), 0);
    assert_int_equal(symlinkat("dir", place->fd, "link"), 0);
    assert_int_equal(symlinkat("nowhere", place->fd, "dangling"), 0);
    assert_int_equal(dir_make_beneath(place->fd, "link/new", 8, 0), -ELOOP);
    assert_int_equal(dir_make_beneath(place->fd, "dangling/new", 12, 0), -ELOOP);
    assert_int_equal(dir_make_beneath(place->fd, "dir/x/../../../y", 16, 0), -EXDEV);
    assert_int_equal(dir_make_beneath(place->fd, "file/new", 8, 0), -ENOTDIR);
    assert_int_equal(faccessat(place->fd, "dir/new", F_OK, 0), -1);
    assert_int_equal(faccessat(place->fd, "nowhere", F_OK, 0), -1);
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(dir_make_beneath(place->fd, longest, PATH_MAX, 0), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parents_are_made_with_their_mode_and_the_last_is_not,
                                        place_make, place_remove),
        cmocka_unit_test_setup_teardown(parents_that_cannot_be_made_are_an_error, place_make,
                                        place_remove),
        cmocka_unit_test_setup_teardown(beneath_means_by_no_link_and_not_outside, place_make,
                                        place_remove),
        cmocka_unit_test(further_rules_hold_too),
        cmocka_unit_test_setup_teardown(what_is_missing_beneath_is_made, place_make, place_remove),
        cmocka_unit_test_setup_teardown(nothing_is_made_through_a_link_or_outside, place_make,
                                        place_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
