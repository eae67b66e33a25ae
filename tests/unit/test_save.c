/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_save.c - files of a box on the host: whole or not at all, beneath or not at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "run/save.h"

#include <cmocka.h>

static char dir_path[64];
static char outside[64];
static int base = -1;

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir_path, sizeof(dir_path), "/tmp/glovebox-save-XXXXXX");
    (void)snprintf(outside, sizeof(outside), "/tmp/glovebox-outside-XXXXXX");
    if (!mkdtemp(dir_path) || !mkdtemp(outside))
        return -1;
    base = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return base < 0 ? -1 : 0;
}

static unsigned entries(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    unsigned n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

/* Two levels are all that these tests make. */
static void empty(int fd)
{
    DIR *dir = fdopendir(dup(fd)); /* NOLINT(android-cloexec-dup): closed at once */
    const struct dirent *entry;

    assert_non_null(dir);
    rewinddir(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) < 0)
            (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    for (const char *const *name = (const char *const[]){ "a/b", "a", "dir", NULL }; *name;
         name++) {
        cleanup_close int fd = openat(base, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0)
            empty(fd);
    }
    empty(base);
    close(base);
    return rmdir(dir_path) | rmdir(outside);
}

static int save(int at, const char *path, unsigned mode, const char *text)
{
    struct gb_err err = { 0 };
    struct save s;
    int r = save_begin(&s, at, path, mode, &err);

    if (r == 0)
        r = save_add(&s, text, strlen(text), &err);
    if (r == 0)
        return save_commit(&s, &err);
    save_abort(&s);
    assert_int_equal(err.code, r);
    return r;
}

static void file_is(const char *path, const char *text, unsigned mode)
{
    char got[256];
    struct stat st;

    assert_true(fd_read_text(base, path, got, sizeof(got)) >= 0);
    assert_string_equal(got, text);
    assert_int_equal(fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static void files_and_their_directories_are_made(void **state)
{
    (void)state;
    (void)umask(022);
    assert_int_equal(save(base, "x", 0644, "one"), 0);
    file_is("x", "one", 0644);
    assert_int_equal(save(base, "x", 0777, "two"), 0);
    file_is("x", "two", 0755); /* executable or not is all that a mode says */
    assert_int_equal(save(base, "a/b/c", 04600, ""), 0);
    file_is("a/b/c", "", 0644);
    assert_int_equal(entries(dir_path), 2);
}

static void paths_that_lead_out_are_refused(void **state)
{
    static const char *const paths[] = { "", "/x", "../x", "a/../../x", ".", "..", "a//b", "a/" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(paths); i++)
        assert_int_equal(save(base, paths[i], 0644, "x"), -EPROTO);
    assert_int_equal(entries(dir_path), 0);
}

/* Whatever an earlier run, or anybody, put there. */
static void links_are_never_followed(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(symlinkat(outside, base, "way"), 0);
    assert_int_equal(save(base, "way/x", 0644, "x"), -ELOOP);
    assert_int_equal(entries(outside), 0);
    assert_int_equal(mkdirat(base, "dir", 0755), 0);
    assert_int_equal(symlinkat("..", base, "dir/up"), 0);
    assert_int_equal(save(base, "dir/up/x", 0644, "x"), -ELOOP);
    /* A link at the end is replaced, not written through. */
    assert_int_equal(symlinkat("/etc/passwd", base, "file"), 0);
    assert_int_equal(save(base, "file", 0644, "mine"), 0);
    assert_int_equal(fstatat(base, "file", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(st.st_mode));
}

static void what_is_in_the_way_stays(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(base, "dir", 0755), 0);
    assert_true(save(base, "dir", 0644, "x") < 0);
    assert_int_equal(save(base, "x", 0644, "x"), 0);
    assert_true(save(base, "x/y", 0644, "x") < 0);
    file_is("x", "x", 0644);
    assert_int_equal(entries(dir_path), 2);
}

static void a_save_that_is_given_up_leaves_the_old_file(void **state)
{
    struct gb_err err = { 0 };
    struct save s;

    (void)state;
    assert_int_equal(save(base, "x", 0644, "old"), 0);
    assert_int_equal(save_begin(&s, base, "x", 0644, &err), 0);
    assert_int_equal(save_add(&s, "new", 3, &err), 0);
    file_is("x", "old", 0644);
    save_abort(&s);
    save_abort(&s);
    file_is("x", "old", 0644);
    assert_int_equal(entries(dir_path), 1);
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    struct gb_err err = { 0 };
    struct save s;

    (void)state;
    assert_int_equal(save_begin(&s, base, "x", 0644, &err), 0);
    close(s.fd);
    s.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(save_add(&s, "x", 1, &err), -ENOSPC);
    assert_int_equal(err.blame, GB_BLAME_HOST);
    save_abort(&s);
    assert_int_equal(entries(dir_path), 0);
}

/* A path of the caller's own is resolved as usual. */
static void a_path_of_the_callers_is_taken_as_it_is(void **state)
{
    struct stat st;
    char path[128];

    (void)state;
    assert_int_equal(symlinkat(outside, base, "way"), 0);
    (void)snprintf(path, sizeof(path), "%s/way/x", dir_path);
    assert_int_equal(save(-1, path, 0644, "x"), 0);
    assert_int_equal(entries(outside), 1);
    (void)snprintf(path, sizeof(path), "%s/x", outside);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(save(-1, "/no/such/place/x", 0644, "x"), -ENOENT);
}

static const char *in_dir(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", dir_path, name);
    return path;
}

/* As `>` would: the link stays, its target is replaced in its own directory. */
static void a_link_of_the_callers_stays_one(void **state)
{
    struct gb_err err = { 0 };
    struct stat st;
    char target[128];

    (void)state;
    (void)umask(022);
    assert_int_equal(mkdirat(base, "dir", 0755), 0);
    assert_int_equal(save(base, "dir/real", 0644, "old"), 0);
    assert_int_equal(symlinkat("dir/real", base, "link"), 0);
    assert_int_equal(save_check(in_dir("link"), &err), 0);
    assert_int_equal(save(-1, in_dir("link"), 0644, "new"), 0);
    assert_int_equal(fstatat(base, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    file_is("dir/real", "new", 0644);
    assert_int_equal(entries(dir_path), 2);
    (void)snprintf(target, sizeof(target), "%s/real", outside);
    assert_int_equal(save(-1, target, 0644, "old"), 0);
    assert_int_equal(symlinkat(target, base, "out"), 0);
    assert_int_equal(save_check(in_dir("out"), &err), -EXDEV);
    assert_non_null(strstr(err.msg, target));
    assert_int_equal(save(-1, in_dir("out"), 0644, "x"), -EXDEV);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(unlinkat(base, "out", 0), 0);
    assert_int_equal(symlinkat("nowhere", base, "dangling"), 0);
    assert_int_equal(save_check(in_dir("dangling"), &err), -ENOENT);
    assert_non_null(strstr(err.msg, "leads nowhere"));
    assert_int_equal(save(-1, in_dir("dangling"), 0644, "x"), -ENOENT);
    assert_int_equal(entries(dir_path), 3);
}

static void devices_and_pipes_are_written_through(void **state)
{
    struct gb_err err = { 0 };
    struct stat st;
    char got[8] = "";
    cleanup_close int reader = -1;

    (void)state;
    assert_int_equal(save_check("/dev/null", &err), 0);
    assert_int_equal(save(-1, "/dev/null", 0644, "x"), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(mkfifoat(base, "pipe", 0600), 0);
    assert_int_equal(save_check(in_dir("pipe"), &err), 0);
    assert_int_equal(save(-1, in_dir("pipe"), 0644, "x"), -ENXIO); /* nobody reads it */
    reader = openat(base, "pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(save(-1, in_dir("pipe"), 0644, "text"), 0);
    assert_int_equal(read(reader, got, sizeof(got)), 4);
    assert_string_equal(got, "text");
    assert_int_equal(entries(dir_path), 1);
}

static void what_cannot_be_written_is_refused_beforehand(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(save_check(dir_path, &err), -EINVAL);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_int_equal(save_check(in_dir(""), &err), -EINVAL);
    assert_int_equal(save_check(in_dir("no/x"), &err), -ENOENT);
    assert_int_equal(save_check("/dev/ptmx", &err), 0); /* known when it is opened: */
    assert_int_equal(save(-1, "/dev/ptmx", 0644, "x"), -EINVAL);
}

static void names_too_long_are_refused(void **state)
{
    char name[NAME_MAX + 8];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_true(save(base, name, 0644, "x") < 0);
    name[NAME_MAX] = '\0';
    assert_int_equal(save(base, name, 0644, "x"), 0);
    assert_int_equal(entries(dir_path), 1);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(files_and_their_directories_are_made),
        IN_DIR(paths_that_lead_out_are_refused),
        IN_DIR(links_are_never_followed),
        IN_DIR(what_is_in_the_way_stays),
        IN_DIR(a_save_that_is_given_up_leaves_the_old_file),
        IN_DIR(a_write_that_fails_leaves_nothing),
        IN_DIR(a_path_of_the_callers_is_taken_as_it_is),
        IN_DIR(a_link_of_the_callers_stays_one),
        IN_DIR(devices_and_pipes_are_written_through),
        IN_DIR(what_cannot_be_written_is_refused_beforehand),
        IN_DIR(names_too_long_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
