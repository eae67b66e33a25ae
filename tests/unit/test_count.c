/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_count.c - counters of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count.h"
#include "base/fd.h"

#include <cmocka.h>

#define UNTOUCHED 12345u

static uint64_t count_in(const char *text, const char *key)
{
    char path[] = "/tmp/test-count-XXXXXX";
    cleanup_close int fd = mkostemp(path, O_CLOEXEC);
    uint64_t value = UNTOUCHED;
    int r;

    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
    r = count_read(AT_FDCWD, path, key, &value);
    (void)unlink(path);
    assert_int_equal(r, value == UNTOUCHED ? -ENODATA : 0);
    return value;
}

static void test_a_number_alone_or_behind_its_key(void **state)
{
    static const struct {
        const char *text;
        const char *key;
        uint64_t value;
    } table[] = {
        { "42\n", NULL, 42 },
        { "18446744073709551615\n", NULL, UINT64_MAX },
        { "max\n", NULL, UNTOUCHED },
        { "", NULL, UNTOUCHED },
        { "oom 1\noom_kill 7\n", "oom_kill", 7 },
        { "oom_kill_disable 0\nunder_oom 0\noom_kill 2", "oom_kill", 2 },
        { "oom_kill_disable 0\n", "oom_kill", UNTOUCHED },
        { "total_shmem 9\nshmem 3\n", "shmem", 3 },
        { "max\n", "max", UNTOUCHED },
        { "max ", "max", UNTOUCHED },
        { "max x", "max", UNTOUCHED },
        { "", "max", UNTOUCHED },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        assert_int_equal(count_in(table[i].text, table[i].key), table[i].value);
}

static void test_what_cannot_be_read_is_no_count(void **state)
{
    uint64_t value = UNTOUCHED;

    (void)state;
    assert_int_equal(count_read(AT_FDCWD, "/no/such/file", NULL, &value), -ENOENT);
    assert_int_equal(count_read(-1, "pids.current", NULL, &value), -EBADF);
    assert_int_equal(value, UNTOUCHED);
    assert_int_equal(count_read(AT_FDCWD, "/proc/stat", "processes", &value), 0);
    assert_true(value > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_alone_or_behind_its_key),
        cmocka_unit_test(test_what_cannot_be_read_is_no_count),
    };

    return cmocka_run_group_tests_name("count", tests, NULL, NULL);
}
