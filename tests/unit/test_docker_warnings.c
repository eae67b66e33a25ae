/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_docker_warnings.c - what an engine warns about, as walls that are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "box/docker/docker.h"

#include <cmocka.h>

static void limits_that_are_discarded_are_missing_walls(void **state)
{
    static const struct {
        const char *said;
        wall_set missing;
    } rows[] = {
        { "Your kernel does not support memory limit capabilities or the cgroup is not mounted. "
          "Limitation discarded.",
          1u << WALL_MEMORY },
        { "Your kernel does not support swap limit capabilities or the cgroup is not mounted. "
          "Memory limited without swap.",
          1u << WALL_MEMORY },
        { "Your kernel does not support PIDs limit capabilities or the cgroup is not mounted. PIDs "
          "limit discarded.",
          1u << WALL_PIDS },
        { "Your kernel does not support pids limit capabilities", 1u << WALL_PIDS },
        { "Your kernel does not support CPU CFS scheduler. CPU period/quota discarded.",
          1u << WALL_CPU },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(docker_missing_of(rows[i].said), rows[i].missing);
}

static void several_lines_add_up(void **state)
{
    (void)state;
    assert_int_equal(docker_missing_of("no memory limit capabilities\nno PIDs limit\n"),
                     1u << WALL_MEMORY | 1u << WALL_PIDS);
}

static void other_words_are_no_wall(void **state)
{
    (void)state;
    assert_int_equal(docker_missing_of(""), 0);
    assert_int_equal(docker_missing_of("IPv4 forwarding is disabled. Networking will not work.\n"
                                       "The requested image's platform (linux/arm64) does not "
                                       "match the detected host platform\n"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_that_are_discarded_are_missing_walls),
        cmocka_unit_test(several_lines_add_up),
        cmocka_unit_test(other_words_are_no_wall),
    };

    return cmocka_run_group_tests_name("docker_warnings", tests, NULL, NULL);
}
