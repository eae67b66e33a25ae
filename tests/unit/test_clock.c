/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_clock.c - monotonic time. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

#include <cmocka.h>

static void time_is_the_monotonic_clock_and_never_goes_back(void **state)
{
    struct timespec ts;
    uint64_t before = clock_now_ns();
    uint64_t between;

    (void)state;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
    between = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
    assert_true(before > 0);
    assert_true(before <= between);
    assert_true(between <= clock_now_ns());
}

static void deadlines_lie_ahead_by_what_was_asked(void **state)
{
    uint64_t before = clock_now_ns();
    uint64_t deadline = clock_after_ms(1500);

    (void)state;
    assert_true(deadline >= before + 1500 * NS_PER_MS);
    assert_true(deadline <= clock_now_ns() + 1500 * NS_PER_MS);
}

static void deadlines_saturate_at_never(void **state)
{
    (void)state;
    assert_true(clock_after_ms(UINT64_MAX) == CLOCK_NEVER_NS);
    assert_true(clock_after_ms(UINT64_MAX / NS_PER_MS) == CLOCK_NEVER_NS);
    assert_true(clock_after_ms(1000ull * 3600 * 24 * 365) < CLOCK_NEVER_NS);
}

static void poll_gets_rounded_up_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(clock_poll_ms(CLOCK_NEVER_NS), -1);
    assert_int_equal(clock_poll_ms(0), 0);
    assert_int_equal(clock_poll_ms(clock_now_ns()), 0);
    assert_int_equal(clock_poll_ms(CLOCK_NEVER_NS - 1), INT_MAX);
    assert_in_range(clock_poll_ms(clock_now_ns() + 3600 * NS_PER_S + 1), 3590000, 3600001);
}

/* Rounded down it would be 0, and a loop that polls until its deadline would spin. */
static void a_deadline_ahead_is_never_0_milliseconds_away(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t deadline = clock_now_ns() + NS_PER_MS / 2;
        int ms = clock_poll_ms(deadline);

        assert_true(ms == 1 || clock_now_ns() >= deadline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_the_monotonic_clock_and_never_goes_back),
        cmocka_unit_test(deadlines_lie_ahead_by_what_was_asked),
        cmocka_unit_test(deadlines_saturate_at_never),
        cmocka_unit_test(poll_gets_rounded_up_milliseconds),
        cmocka_unit_test(a_deadline_ahead_is_never_0_milliseconds_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
