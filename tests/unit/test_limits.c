/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_limits.c - what a run may use. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/limits.h"

#include <cmocka.h>

static const size_t offsets[N_LIMITS] = {
    [LIMIT_WALL] = offsetof(struct limits, wall_ms),
    [LIMIT_CPU_TIME] = offsetof(struct limits, cpu_ms),
    [LIMIT_MEMORY] = offsetof(struct limits, memory_bytes),
    [LIMIT_CPUS] = offsetof(struct limits, cpu_milli),
    [LIMIT_PIDS] = offsetof(struct limits, pids),
    [LIMIT_DISK] = offsetof(struct limits, disk_bytes),
    [LIMIT_INODES] = offsetof(struct limits, inodes),
    [LIMIT_OUTPUT_KEEP] = offsetof(struct limits, output_keep),
    [LIMIT_OUTPUT_MAX] = offsetof(struct limits, output_max),
};

static uint64_t *field(struct limits *limits, enum limit limit)
{
    return (uint64_t *)(void *)((char *)limits + offsets[limit]);
}

static void the_defaults_are_the_documented_ones(void **state)
{
    struct limits limits = limits_default();

    (void)state;
    assert_int_equal(limits.wall_ms, 30000);
    assert_int_equal(limits.cpu_ms, 30000);
    assert_int_equal(limits.memory_bytes, 512 << 20);
    assert_int_equal(limits.cpu_milli, 1000);
    assert_int_equal(limits.pids, 128);
    assert_int_equal(limits.disk_bytes, 256 << 20);
    assert_int_equal(limits.inodes, 65536);
    assert_int_equal(limits.output_keep, 8 << 20);
    assert_int_equal(limits.output_max, 1 << 30);
    assert_int_equal(limits_check(&limits, NULL), 0);
}

static void what_is_not_said_is_taken_from_elsewhere(void **state)
{
    struct limits otherwise = limits_default();
    struct limits limits = limits_or((struct limits){ 0 }, otherwise);

    (void)state;
    assert_memory_equal(&limits, &otherwise, sizeof(limits));
    for (enum limit i = 0; i < N_LIMITS; i++) {
        struct limits said = { 0 };

        *field(&said, i) = 77;
        limits = limits_or(said, otherwise);
        for (enum limit j = 0; j < N_LIMITS; j++) {
            if (j == i)
                assert_int_equal(*field(&limits, j), 77);
            else if (j != LIMIT_CPU_TIME && j != LIMIT_OUTPUT_KEEP)
                assert_int_equal(*field(&limits, j), *field(&otherwise, j));
        }
    }
}

static void cpu_time_follows_wall_time_and_cpus(void **state)
{
    struct limits otherwise = limits_default();

    (void)state;
    assert_int_equal(limits_or((struct limits){ .wall_ms = 60000 }, otherwise).cpu_ms, 60000);
    assert_int_equal(limits_or((struct limits){ .cpu_milli = 500 }, otherwise).cpu_ms, 15000);
    assert_int_equal(
        limits_or((struct limits){ .wall_ms = 1, .cpu_milli = 1001 }, otherwise).cpu_ms, 2);
    assert_int_equal(limits_or((struct limits){ .wall_ms = 60000, .cpu_ms = 5 }, otherwise).cpu_ms,
                     5);
    otherwise.cpu_ms = 1234;
    assert_int_equal(limits_or((struct limits){ .wall_ms = 60000 }, otherwise).cpu_ms, 1234);
}

static void no_more_is_kept_than_may_be_written(void **state)
{
    struct limits otherwise = limits_default();
    struct limits said = { .output_max = 1000 };

    (void)state;
    assert_int_equal(limits_or(said, otherwise).output_keep, 1000);
    said.output_keep = 2000;
    assert_int_equal(limits_or(said, otherwise).output_keep, 2000);
}

static void the_smaller_of_each_is_in_force(void **state)
{
    struct limits a = limits_default();
    struct limits b = limits_default();

    (void)state;
    for (enum limit i = 0; i < N_LIMITS; i++)
        *field(i % 2 ? &a : &b, i) -= 1;
    a = limits_min(a, b);
    b = limits_default();
    for (enum limit i = 0; i < N_LIMITS; i++)
        assert_int_equal(*field(&a, i), *field(&b, i) - 1);
}

static const struct {
    enum limit limit;
    uint64_t min;
    uint64_t max;
    const char *name;
} bounds[] = {
    { LIMIT_WALL, 1, 86400000ull, "wall time: " },
    { LIMIT_CPU_TIME, 1, 86400000ull * 1024, "CPU time: " },
    { LIMIT_MEMORY, 1 << 20, 64ull << 40, "memory: " },
    { LIMIT_CPUS, 10, 1024000, "CPUs: " },
    { LIMIT_PIDS, 1, 32768, "processes: " },
    { LIMIT_DISK, 64 << 10, 64ull << 40, "disk space: " },
    { LIMIT_INODES, 16, UINT32_MAX, "files: " },
    { LIMIT_OUTPUT_KEEP, 1, 1 << 30, "kept output: " },
    { LIMIT_OUTPUT_MAX, 8 << 20, 64ull << 40, NULL },
};

static void check(enum limit limit, uint64_t value, const char *says)
{
    struct limits limits = limits_default();
    struct gb_err err = { 0 };

    *field(&limits, limit) = value;
    if (!says) {
        assert_int_equal(limits_check(&limits, &err), 0);
        return;
    }
    assert_int_equal(limits_check(&limits, &err), -ERANGE);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    if (strncmp(err.msg, says, strlen(says)) != 0)
        fail_msg("'%s' does not begin with '%s'", err.msg, says);
}

static void every_limit_has_bounds_and_zero_is_outside(void **state)
{
    (void)state;
    assert_int_equal(N_ELEMENTS(bounds), N_LIMITS);
    for (size_t i = 0; i < N_ELEMENTS(bounds); i++) {
        check(bounds[i].limit, bounds[i].min, NULL);
        check(bounds[i].limit, bounds[i].max, NULL);
        check(bounds[i].limit, 0, bounds[i].name ? bounds[i].name : "output: ");
        check(bounds[i].limit, bounds[i].min - 1,
              bounds[i].name ? bounds[i].name : "kept output: ");
        check(bounds[i].limit, bounds[i].max + 1, bounds[i].name ? bounds[i].name : "output: ");
        check(bounds[i].limit, UINT64_MAX, bounds[i].name ? bounds[i].name : "output: ");
        check(bounds[i].limit, 1ull << 63, bounds[i].name ? bounds[i].name : "output: ");
    }
}

static void a_refusal_says_what_was_given_and_what_is_allowed(void **state)
{
    (void)state;
    check(LIMIT_MEMORY, 1000, "memory: 1000 B is out of range, 1 MiB to 64 TiB is allowed");
    check(LIMIT_WALL, 0, "wall time: 0 ms is out of range, 1 ms to 86400 s is allowed");
    check(LIMIT_CPUS, 9, "CPUs: 0.009 is out of range, 0.01 to 1024 is allowed");
    check(LIMIT_PIDS, 40000, "processes: 40000 is out of range, 1 to 32768 is allowed");
    check(LIMIT_OUTPUT_MAX, 1024, "kept output: 8 MiB is more than the 1 KiB that may be written");
}

static void limits_are_shown_as_people_write_them(void **state)
{
    static const struct {
        enum limit limit;
        uint64_t value;
        const char *text;
    } rows[] = {
        { LIMIT_WALL, 250, "250 ms" },
        { LIMIT_WALL, 1000, "1 s" },
        { LIMIT_WALL, 30000, "30 s" },
        { LIMIT_WALL, 1500, "1.5 s" },
        { LIMIT_WALL, 1005, "1.005 s" },
        { LIMIT_CPUS, 500, "0.5" },
        { LIMIT_CPUS, 1000, "1" },
        { LIMIT_CPUS, 2250, "2.25" },
        { LIMIT_MEMORY, 512 << 20, "512 MiB" },
        { LIMIT_PIDS, 128, "128" },
        { LIMIT_CPUS, 1050, "1.05" },
    };
    char text[NUM_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct limits limits = { 0 };

        *field(&limits, rows[i].limit) = rows[i].value;
        assert_string_equal(limit_text(&limits, rows[i].limit, text), rows[i].text);
    }
    assert_string_equal(limit_flag(LIMIT_WALL), "--timeout");
    assert_null(limit_flag(LIMIT_INODES));
}

/* What the manual and errors tell is what limits_check() lets pass. */
static void ranges_are_told_as_they_are(void **state)
{
    char text[LIMIT_RANGE_MAX];

    (void)state;
    assert_string_equal(limit_range(LIMIT_MEMORY, text), "1 MiB to 64 TiB");
    assert_string_equal(limit_range(LIMIT_DISK, text), "64 KiB to 64 TiB");
    assert_string_equal(limit_range(LIMIT_PIDS, text), "1 to 32768");
    assert_string_equal(limit_range(LIMIT_CPUS, text), "0.01 to 1024");
    assert_string_equal(limit_range(LIMIT_WALL, text), "1 ms to 86400 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_the_documented_ones),
        cmocka_unit_test(what_is_not_said_is_taken_from_elsewhere),
        cmocka_unit_test(cpu_time_follows_wall_time_and_cpus),
        cmocka_unit_test(no_more_is_kept_than_may_be_written),
        cmocka_unit_test(the_smaller_of_each_is_in_force),
        cmocka_unit_test(every_limit_has_bounds_and_zero_is_outside),
        cmocka_unit_test(a_refusal_says_what_was_given_and_what_is_allowed),
        cmocka_unit_test(limits_are_shown_as_people_write_them),
        cmocka_unit_test(ranges_are_told_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
