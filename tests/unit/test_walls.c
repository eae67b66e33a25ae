/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_walls.c - names and sets of walls. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "box/walls.h"

#include <cmocka.h>

static void the_walls_are_the_documented_ones(void **state)
{
    char text[WALLS_TEXT_MAX];

    (void)state;
    assert_string_equal(walls_text(WALLS_ALL, text),
                        "user_ns,uid_range,mount,pid,net,ipc,uts,cgroup_ns,seccomp,landlock,caps,"
                        "memory,cpu,pids,disk,kill");
}

static void every_wall_says_what_it_keeps_and_how_to_mend_it(void **state)
{
    (void)state;
    for (enum wall wall = 0; wall < N_WALLS; wall++) {
        assert_true(strlen(wall_name(wall)) > 0);
        assert_true(strlen(wall_keeps(wall)) > 10);
        assert_true(strlen(wall_remedy(wall)) > 10);
    }
    assert_string_equal(wall_name(WALL_SECCOMP), "seccomp");
}

static void a_remedy_names_the_user_it_is_for(void **state)
{
    char text[WALL_REMEDY_MAX];
    char long_name[300];

    (void)state;
    assert_non_null(strstr(wall_remedy_for(WALL_MEMORY, "anna", text), "doctor --delegate anna'"));
    assert_non_null(strstr(wall_remedy_for(WALL_UID_RANGE, "anna", text), "-165535 anna"));
    for (enum wall wall = 0; wall < N_WALLS; wall++)
        assert_null(strstr(wall_remedy_for(wall, "anna", text), "USER"));
    assert_string_equal(wall_remedy_for(WALL_IPC, "anna", text), wall_remedy(WALL_IPC));
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_true(strlen(wall_remedy_for(WALL_MEMORY, long_name, text)) < WALL_REMEDY_MAX);
}

static void sets_are_read_as_they_are_shown(void **state)
{
    (void)state;
    for (enum wall wall = 0; wall < N_WALLS; wall++) {
        wall_set sets[] = { 1u << wall, WALLS_ALL & ~(1u << wall), 1u << wall | 1u };

        for (size_t i = 0; i < 3; i++) {
            char text[WALLS_TEXT_MAX];
            wall_set back = 0;

            assert_int_equal(walls_parse(walls_text(sets[i], text), &back, NULL), 0);
            assert_int_equal(back, sets[i]);
        }
    }
}

static void all_and_none_stand_for_sets(void **state)
{
    char text[WALLS_TEXT_MAX];
    wall_set walls = 7;

    (void)state;
    assert_int_equal(walls_parse("none", &walls, NULL), 0);
    assert_int_equal(walls, 0);
    assert_string_equal(walls_text(0, text), "none");
    assert_int_equal(walls_parse("all", &walls, NULL), 0);
    assert_int_equal(walls, WALLS_ALL);
}

static void an_unknown_name_is_refused_with_the_known_ones(void **state)
{
    static const char *const wrong[] = { "",        ",",       "memory,",     ",memory",
                                         "Memory",  "mem",     "memory,,cpu", "memory cpu",
                                         "all,cpu", "memoryx", " memory" };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gb_err err = { 0 };
        wall_set walls = 7;

        assert_int_equal(walls_parse(wrong[i], &walls, &err), -EINVAL);
        assert_int_equal(walls, 7);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
        assert_non_null(strstr(err.msg, "no wall is named '"));
        assert_non_null(strstr(err.msg, "user_ns,uid_range,"));
        assert_non_null(strstr(err.msg, ",kill"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_walls_are_the_documented_ones),
        cmocka_unit_test(every_wall_says_what_it_keeps_and_how_to_mend_it),
        cmocka_unit_test(a_remedy_names_the_user_it_is_for),
        cmocka_unit_test(sets_are_read_as_they_are_shown),
        cmocka_unit_test(all_and_none_stand_for_sets),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_known_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
