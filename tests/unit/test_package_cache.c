/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_package_cache.c - layers on the host: whole or not there, locked, checked. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "package/cache.h"
#include "package/layer_tree.h"

#include <cmocka.h>

#define KEY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char dir[64];
static char top[96];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/gb-cache-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(top, sizeof(top), "%s/a/b", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return layer_tree_remove(dir, NULL);
}

static struct cache open_cache(void)
{
    struct cache cache;
    struct gb_err err = { 0 };

    if (cache_open(top, &cache, &err) < 0)
        fail_msg("%s", err.msg);
    return cache;
}

static struct manifest manifest_of(const char *key)
{
    struct manifest manifest = { .kind = PACKAGE_PYTHON, .files = 1, .bytes = 5 };

    (void)snprintf(manifest.key, sizeof(manifest.key), "%s", key);
    manifest.basis = strdup("format 1\npackage six six\n");
    assert_int_equal(manifest_add(&manifest, "six", "1.16.0", "sha256:00"), 0);
    return manifest;
}

static void make(const struct cache *cache, const char *key)
{
    struct manifest manifest = manifest_of(key);
    cleanup_close int stage = cache_stage(cache, key, NULL);
    cleanup_close int fd = -1;

    assert_true(stage >= 0);
    fd = openat(stage, "tree/six.py", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, "x = 1", 5), 0);
    assert_int_equal(cache_commit(cache, &manifest, NULL), 0);
    manifest_clear(&manifest);
}

static bool exists(const char *name)
{
    char path[256];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s", top, name);
    return lstat(path, &st) == 0;
}

static void test_a_layer_appears_whole(void **state)
{
    struct cache cache = open_cache();
    struct manifest found = { 0 };
    cleanup_close int stage = -1;

    (void)state;
    assert_int_equal(cache_find(&cache, KEY_A, &found, NULL), -ENOENT);
    stage = cache_stage(&cache, KEY_A, NULL);
    assert_true(stage >= 0);
    assert_int_equal(cache_find(&cache, KEY_A, &found, NULL), -ENOENT);
    make(&cache, KEY_A);
    assert_int_equal(cache_find(&cache, KEY_A, &found, NULL), 0);
    assert_string_equal(found.basis, "format 1\npackage six six\n");
    assert_int_equal(found.n_done, 1);
    assert_string_equal(found.done[0].hash, "sha256:00");
    assert_false(exists("new/" KEY_A));
    manifest_clear(&found);
    cache_close(&cache);
}

static void test_what_a_dead_owner_left_is_swept(void **state)
{
    struct cache cache = open_cache();
    cleanup_close int lock = cache_lock(&cache, KEY_B, CACHE_ALONE, false, -1, NULL);
    pid_t child;
    int status;

    (void)state;
    assert_true(lock >= 0);
    close(cache_stage(&cache, KEY_B, NULL));
    child = fork();
    if (child == 0) {
        int own = cache_lock(&cache, KEY_A, CACHE_ALONE, false, -1, NULL);
        int stage = cache_stage(&cache, KEY_A, NULL);

        (void)raise(own < 0 || stage < 0 ? SIGABRT : SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(exists("new/" KEY_A));
    cache_close(&cache);
    cache = open_cache();
    assert_false(exists("new/" KEY_A));
    assert_true(exists("new/" KEY_B)); /* its owner lives */
    cache_close(&cache);
}

static void test_locks_are_shared_or_alone(void **state)
{
    struct cache cache = open_cache();
    cleanup_close int one = cache_lock(&cache, KEY_A, CACHE_SHARED, false, -1, NULL);
    cleanup_close int two = cache_lock(&cache, KEY_A, CACHE_SHARED, false, -1, NULL);
    int fds[2];

    (void)state;
    assert_true(one >= 0 && two >= 0);
    assert_int_equal(cache_lock(&cache, KEY_A, CACHE_ALONE, false, -1, NULL), -EBUSY);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(cache_lock(&cache, KEY_A, CACHE_ALONE, true, fds[0], NULL), -ECANCELED);
    close(fds[0]);
    close(fds[1]);
    drop_fd(&one);
    drop_fd(&two);
    one = cache_lock(&cache, KEY_A, CACHE_ALONE, false, -1, NULL);
    assert_true(one >= 0);
    assert_int_equal(cache_relock(one, CACHE_SHARED), 0);
    cache_close(&cache);
}

static void test_nothing_in_use_is_removed(void **state)
{
    struct cache cache = open_cache();
    struct manifest found = { 0 };
    cleanup_close int lock = -1;

    (void)state;
    make(&cache, KEY_A);
    lock = cache_lock(&cache, KEY_A, CACHE_SHARED, false, -1, NULL);
    assert_int_equal(cache_remove(&cache, KEY_A, NULL), -EBUSY);
    assert_int_equal(cache_find(&cache, KEY_A, &found, NULL), 0);
    manifest_clear(&found);
    drop_fd(&lock);
    assert_int_equal(cache_remove(&cache, KEY_A, NULL), 0);
    assert_int_equal(cache_find(&cache, KEY_A, &found, NULL), -ENOENT);
    assert_int_equal(cache_remove(&cache, KEY_A, NULL), -ENOENT);
    assert_false(exists("locks/" KEY_A) || exists("new/" KEY_A));
    cache_close(&cache);
}

/* A change that nobody of ours makes, and what it does to the layer. */
static void test_a_layer_that_was_changed_is_refused(void **state)
{
    static const struct {
        const char *path;
        mode_t mode; /* 0: removed */
    } rows[] = {
        { "layers/" KEY_A, 0755 },
        { "layers/" KEY_A "/tree", 0777 },
        { "layers/" KEY_A "/manifest.json", 0644 },
        { "layers/" KEY_A "/manifest.json", 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct cache cache = open_cache();
        struct manifest found = { 0 };
        struct gb_err err = { 0 };
        struct cache_entry *entries = NULL;
        char path[256];
        size_t n = 0;

        make(&cache, KEY_A);
        (void)snprintf(path, sizeof(path), "%s/%s", top, rows[i].path);
        assert_int_equal(rows[i].mode ? chmod(path, rows[i].mode) : unlink(path), 0);
        assert_int_equal(cache_find(&cache, KEY_A, &found, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, "glovebox cache rm"));
        assert_int_equal(cache_list(&cache, &entries, &n, NULL), 0);
        assert_int_equal(n, 1);
        assert_string_equal(entries[0].manifest.key, KEY_A);
        cache_entries_free(entries, n);
        assert_int_equal(cache_remove(&cache, KEY_A, NULL), 0);
        cache_close(&cache);
    }
}

static void test_a_manifest_of_another_layer_is_refused(void **state)
{
    struct cache cache = open_cache();
    struct manifest found = { 0 };
    char from[256];
    char to[256];

    (void)state;
    make(&cache, KEY_A);
    (void)snprintf(from, sizeof(from), "%s/layers/" KEY_A, top);
    (void)snprintf(to, sizeof(to), "%s/layers/" KEY_B, top);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(cache_find(&cache, KEY_B, &found, NULL), -EBADMSG);
    cache_close(&cache);
}

static void test_a_cache_that_others_can_write_is_refused(void **state)
{
    struct cache cache = open_cache();
    struct gb_err err = { 0 };

    (void)state;
    cache_close(&cache);
    assert_int_equal(chmod(top, 0777), 0);
    assert_int_equal(cache_open(top, &cache, &err), -EPERM);
    assert_int_equal(chmod(top, 0700), 0);
}

static void test_a_tree_is_sealed_or_refused(void **state)
{
    char path[128];
    char inside[256];
    uint64_t files;
    uint64_t bytes;
    struct stat st;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/tree", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(inside, sizeof(inside), "%s/x", path);
    close(open(inside, O_WRONLY | O_CREAT | O_CLOEXEC, 04700));
    assert_int_equal(chmod(inside, 04700), 0);
    assert_int_equal(layer_tree_seal(path, &files, &bytes, NULL), 0);
    assert_int_equal(files, 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat(inside, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    (void)snprintf(inside, sizeof(inside), "%s/link", path);
    assert_int_equal(symlink("/etc/passwd", inside), 0);
    assert_int_equal(layer_tree_seal(path, &files, &bytes, NULL), -EBADMSG);
    assert_int_equal(unlink(inside), 0);
    assert_int_equal(mkfifo(inside, 0600), 0);
    assert_int_equal(layer_tree_seal(path, &files, &bytes, NULL), -EBADMSG);
}

static void test_reports_of_installers(void **state)
{
    static const char pip[] =
        "{\"version\":\"1\",\"install\":[{\"metadata\":{\"name\":\"six\",\"version\":\"1.16.0\"},"
        "\"download_info\":{\"url\":\"x\",\"archive_info\":{\"hash\":\"sha256="
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}}]}";
    static const char npm[] =
        "{\"packages\":{\"\":{},\"node_modules/a/node_modules/@s/b\":{\"version\":\"2.0.0\","
        "\"integrity\":\"sha512-xx==\"}}}";
    static const char *const bad[] = {
        "",
        "[]",
        "{\"install\":1}",
        "{\"install\":[{}]}",
        "{\"install\":[{\"metadata\":{\"name\":\"a\\u001b\",\"version\":\"1\"}}]}",
    };
    struct manifest manifest = { 0 };

    (void)state;
    assert_int_equal(manifest_take_report(PACKAGE_PYTHON, pip, sizeof(pip) - 1, &manifest, NULL),
                     0);
    assert_int_equal(manifest_take_report(PACKAGE_NODE, npm, sizeof(npm) - 1, &manifest, NULL), 0);
    assert_int_equal(manifest.n_done, 2);
    assert_int_equal(strncmp(manifest.done[0].hash, "sha256:0123", 11), 0);
    assert_string_equal(manifest.done[1].name, "@s/b");
    assert_string_equal(manifest.done[1].hash, "sha512-xx==");
    manifest_clear(&manifest);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        assert_true(manifest_take_report(PACKAGE_PYTHON, bad[i], strlen(bad[i]), &manifest, NULL) <
                    0);
        manifest_clear(&manifest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_layer_appears_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_dead_owner_left_is_swept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locks_are_shared_or_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_in_use_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_layer_that_was_changed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_manifest_of_another_layer_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_cache_that_others_can_write_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_tree_is_sealed_or_refused, setup, teardown),
        cmocka_unit_test(test_reports_of_installers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
