/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_group_line.c - lines of /proc/PID/cgroup. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/group_line.h"

#include <cmocka.h>

static const char hybrid[] = "12:cpu,cpuacct:/a/glovebox-1\n"
                             "no line at all\n"
                             "5:name=systemd:/x:y\n"
                             "4:memory:/\n"
                             "0::/glovebox-12/glove";

static void expect_path(const char *text, const char *controller, const char *path)
{
    struct group_line line;

    assert_true(group_line_find(text, controller, &line));
    assert_int_equal(line.n_path, strlen(path));
    assert_memory_equal(line.path, path, line.n_path);
}

static void a_controller_is_found_by_its_whole_name(void **state)
{
    struct group_line line;

    (void)state;
    expect_path(hybrid, "cpu", "/a/glovebox-1");
    expect_path(hybrid, "cpuacct", "/a/glovebox-1");
    expect_path(hybrid, "name=systemd", "/x:y");
    expect_path(hybrid, "memory", "/");
    expect_path(hybrid, "", "/glovebox-12/glove");
    assert_false(group_line_find(hybrid, "cpuset", &line));
    assert_false(group_line_find(hybrid, "mem", &line));
    assert_false(group_line_find("4:memory:/x\n", "", &line));
    assert_false(group_line_find("", "", &line));
}

static void components_are_whole(void **state)
{
    struct group_line line;

    (void)state;
    assert_true(group_line_find(hybrid, "", &line));
    assert_true(group_line_has(&line, "glovebox-12"));
    assert_true(group_line_has(&line, "glove"));
    assert_false(group_line_has(&line, "glovebox-1"));
    assert_false(group_line_has(&line, "12"));
    assert_true(group_line_ends(&line, "/glovebox-12/glove"));
    assert_true(group_line_ends(&line, "/glove"));
    assert_false(group_line_ends(&line, "/glovebox-12"));
    assert_false(group_line_ends(&line, "/b/glovebox-12/glove"));
}

static void one_reads_ones_own_and_others(void **state)
{
    char own[8192];
    char same[8192];

    (void)state;
    assert_int_equal(group_lines_read(0, own, sizeof(own)), 0);
    assert_int_equal(group_lines_read(getpid(), same, sizeof(same)), 0);
    assert_string_equal(own, same);
    assert_int_equal(group_lines_read(0x7fffffff, same, sizeof(same)), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_controller_is_found_by_its_whole_name),
        cmocka_unit_test(components_are_whole),
        cmocka_unit_test(one_reads_ones_own_and_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
