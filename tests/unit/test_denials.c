/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_denials.c - net.deny as the operator's files say it now. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conf/denials.h"
#include "conf_place.h"

/* 1: the rules are told, and are these. */
static void expect_told(struct denials *denials, const char *rules)
{
    cleanup_free char *told = NULL;

    assert_int_equal(denials_changed(denials, &told), 1);
    if (rules)
        assert_string_equal(told, rules);
    else
        assert_null(told);
}

/* As before, or why they cannot be read. */
static void expect_nothing(struct denials *denials, int r)
{
    char *told = NULL;

    assert_int_equal(denials_changed(denials, &told), r);
    assert_null(told);
}

static void files_are_read_when_they_are_others(void **state)
{
    struct place *place = *state;
    struct denials denials;

    put(place, SYSTEM, "net:\n  deny: one.org\n");
    load_ok(place);
    denials = place->settings.denials;
    expect_told(&denials, "one.org");
    expect_nothing(&denials, 0);
    put(place, SYSTEM, "net:\n  deny: other.org\n");
    expect_told(&denials, "other.org");
    expect_nothing(&denials, 0);
    put(place, SYSTEM, "");
    expect_told(&denials, NULL);
    expect_nothing(&denials, 0);
}

static void a_file_that_cannot_be_understood_is_looked_at_again(void **state)
{
    struct place *place = *state;
    struct denials denials;

    load_ok(place);
    denials = place->settings.denials;
    expect_told(&denials, NULL);
    put(place, USER, "net: [\n");
    expect_nothing(&denials, -EINVAL);
    expect_nothing(&denials, -EINVAL);
    put(place, USER, "net:\n  deny: one.org\n");
    expect_told(&denials, "one.org");
}

/* No more descriptors than there are. */
static void allow_no_file(struct rlimit *ret_before)
{
    struct rlimit few;
    int next = dup(STDIN_FILENO);

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
    few = *ret_before;
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* Programs of a box can take the descriptors of whoever serves their network. */
static void what_could_not_be_read_for_want_of_a_descriptor_is_read_later(void **state)
{
    struct place *place = *state;
    struct denials denials;
    struct rlimit before;

    load_ok(place);
    denials = place->settings.denials;
    expect_told(&denials, NULL);
    put(place, USER, "net:\n  deny: one.org\n");
    allow_no_file(&before);
    expect_nothing(&denials, -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_told(&denials, "one.org");
    expect_nothing(&denials, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_read_when_they_are_others),
        TEST(a_file_that_cannot_be_understood_is_looked_at_again),
        TEST(what_could_not_be_read_for_want_of_a_descriptor_is_read_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
