/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_box_usage.c - what a box uses, read from groups of either version. */
#include <errno.h>
#include <fcntl.h>
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
#include "base/fd.h"
#include "box/box.h"
#include "box/native/usage.h"

#include <cmocka.h>

struct counter {
    const char *file;
    const char *text;
};

/* A directory with such files, which is gone but for its descriptor's sake when the test ends. */
static int group(const struct counter *counters, size_t n)
{
    char path[] = "/tmp/box-usage-XXXXXX";
    int dir;

    assert_non_null(mkdtemp(path));
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    for (size_t i = 0; i < n; i++) {
        cleanup_close int fd = openat(dir, counters[i].file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(fd_write_full(fd, counters[i].text, strlen(counters[i].text)), 0);
    }
    return dir;
}

static void group_remove(int dir, const struct counter *counters, size_t n)
{
    char link[64];
    char path[64] = "";

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    assert_true(readlink(link, path, sizeof(path) - 1) > 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(unlinkat(dir, counters[i].file, 0), 0);
    close(dir);
    assert_int_equal(rmdir(path), 0);
}

static void test_one_tree_counts_all(void **state)
{
    static const struct counter v2[] = {
        { "memory.current", "4096\n" },
        { "memory.peak", "8192\n" },
        { "memory.stat", "anon 1\nnot_shmem 2\nshmem 2048\nfile 9\n" },
        { "cpu.stat", "usage_usec 5\nuser_usec 3\n" },
        { "pids.current", "3\n" },
    };
    struct box_usage usage;
    int dir = group(v2, N_ELEMENTS(v2));

    (void)state;
    usage_read(&dir, 1, &usage);
    assert_int_equal(usage.memory_bytes, 4096);
    assert_int_equal(usage.memory_peak, 8192);
    assert_int_equal(usage.memory_files, 2048);
    assert_int_equal(usage.cpu_ns, 5000);
    assert_int_equal(usage.processes, 3);
    assert_int_equal(usage_memory_bytes(&dir, 1, &usage.memory_bytes), 0);
    assert_int_equal(usage.memory_bytes, 4096);
    group_remove(dir, v2, N_ELEMENTS(v2));
}

static void test_each_tree_counts_its_own(void **state)
{
    static const struct counter memory[] = {
        { "memory.usage_in_bytes", "4096\n" },
        { "memory.max_usage_in_bytes", "8192\n" },
        { "memory.stat", "shmem 1\ntotal_shmem 2048\n" },
    };
    static const struct counter cpu[] = {
        { "cpuacct.usage", "77\n" },
        { "cpu.stat", "nr_periods 0\n" },
    };
    static const struct counter pids[] = { { "pids.current", "2\n" } };
    struct box_usage usage;
    int dirs[] = { group(pids, 1), group(cpu, 2), group(memory, 3) };

    (void)state;
    usage_read(dirs, 3, &usage);
    assert_int_equal(usage.memory_bytes, 4096);
    assert_int_equal(usage.memory_peak, 8192);
    assert_int_equal(usage.memory_files, 2048);
    assert_int_equal(usage.cpu_ns, 77);
    assert_int_equal(usage.processes, 2);
    assert_int_equal(usage_memory_bytes(dirs, 3, &usage.memory_bytes), 0);
    assert_int_equal(usage.memory_bytes, 4096);
    group_remove(dirs[0], pids, 1);
    group_remove(dirs[1], cpu, 2);
    group_remove(dirs[2], memory, 3);
}

static void test_what_nobody_counts_is_nothing(void **state)
{
    static const struct counter odd[] = {
        { "memory.current", "max\n" },
        { "memory.stat", "" },
        { "cpu.stat", "usage_usec\n" },
    };
    struct box_usage usage;
    int dir = group(odd, N_ELEMENTS(odd));

    (void)state;
    usage_read(&dir, 1, &usage);
    assert_int_equal(usage.memory_bytes | usage.memory_files | usage.cpu_ns | usage.processes, 0);
    assert_int_equal(usage_memory_bytes(&dir, 1, &usage.memory_bytes), -ENOENT);
    group_remove(dir, odd, N_ELEMENTS(odd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_tree_counts_all),
        cmocka_unit_test(test_each_tree_counts_its_own),
        cmocka_unit_test(test_what_nobody_counts_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
