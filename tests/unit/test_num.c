/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_num.c - numbers, sizes and durations that people write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/num.h"

#include <cmocka.h>

#define UNTOUCHED 12345u

struct row {
    const char *text;
    int result;
    uint64_t value; /* when result is 0 */
};

typedef int parse_fn(const char *text, uint64_t *ret);

static void check(parse_fn *parse, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = UNTOUCHED;

        print_message("# '%s'\n", rows[i].text);
        assert_int_equal(parse(rows[i].text, &value), rows[i].result);
        assert_int_equal(value, rows[i].result == 0 ? rows[i].value : UNTOUCHED);
    }
}

static int parse_any(const char *text, uint64_t *ret)
{
    return num_parse_u64(text, 0, UINT64_MAX, ret);
}

static int parse_from_5_to_10(const char *text, uint64_t *ret)
{
    return num_parse_u64(text, 5, 10, ret);
}

static void whole_numbers_are_digits_and_nothing_else(void **state)
{
    static const struct row rows[] = {
        { "0", 0, 0 },
        { "7", 0, 7 },
        { "007", 0, 7 },
        { "18446744073709551615", 0, UINT64_MAX },
        { "18446744073709551616", -ERANGE, 0 },
        { "99999999999999999999999", -ERANGE, 0 },
        { "", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "+1", -EINVAL, 0 },
        { " 1", -EINVAL, 0 },
        { "1 ", -EINVAL, 0 },
        { "1.0", -EINVAL, 0 },
        { "0x10", -EINVAL, 0 },
        { "1e3", -EINVAL, 0 },
        { "nan", -EINVAL, 0 },
        { "\xd9\xa3", -EINVAL, 0 },
    };

    (void)state;
    check(parse_any, rows, N_ELEMENTS(rows));
}

static void bounds_are_included(void **state)
{
    static const struct row rows[] = {
        { "4", -ERANGE, 0 },
        { "5", 0, 5 },
        { "10", 0, 10 },
        { "11", -ERANGE, 0 },
    };

    (void)state;
    check(parse_from_5_to_10, rows, N_ELEMENTS(rows));
}

static void sizes_have_suffixes_of_1024(void **state)
{
    static const struct row rows[] = {
        { "1", 0, 1 },
        { "1b", 0, 1 },
        { "512m", 0, 512ull << 20 },
        { "512M", 0, 512ull << 20 },
        { "512mb", 0, 512ull << 20 },
        { "512MiB", 0, 512ull << 20 },
        { "1.5g", 0, 3ull << 29 },
        { "64k", 0, 65536 },
        { "2t", 0, 2ull << 40 },
        { "0.0001k", 0, 1 },
        { "1.000000001", 0, 2 },
        { "0", -ERANGE, 0 },
        { "0.0g", -ERANGE, 0 },
        { "8388608t", -ERANGE, 0 },
        { "9223372036854775807", 0, INT64_MAX },
        { "9223372036854775808", -ERANGE, 0 },
        { "1.0000000001", -EINVAL, 0 },
        { "1.", -EINVAL, 0 },
        { ".5m", -EINVAL, 0 },
        { "64 KiB", -EINVAL, 0 },
        { "1kk", -EINVAL, 0 },
        { "1kbb", -EINVAL, 0 },
        { "1p", -EINVAL, 0 },
        { "-1m", -EINVAL, 0 },
        { "inf", -EINVAL, 0 },
        { "1e3m", -EINVAL, 0 },
        { "m", -EINVAL, 0 },
        { "", -EINVAL, 0 },
    };

    (void)state;
    check(num_parse_size, rows, N_ELEMENTS(rows));
}

static void durations_are_seconds_without_a_suffix_and_round_up(void **state)
{
    static const struct row rows[] = {
        { "30", 0, 30000 },
        { "0.5", 0, 500 },
        { "250ms", 0, 250 },
        { "0.0001", 0, 1 },
        { "0.5ms", 0, 1 },
        { "2s", 0, 2000 },
        { "3m", 0, 180000 },
        { "1h", 0, 3600000 },
        { "1.5h", 0, 5400000 },
        { "0", -ERANGE, 0 },
        { "0ms", -ERANGE, 0 },
        { "9223372036854775807", -ERANGE, 0 },
        { "9223372036854775807h", -ERANGE, 0 },
        { "99999999999999999999", -ERANGE, 0 },
        { "-1", -EINVAL, 0 },
        { "nan", -EINVAL, 0 },
        { "1S", -EINVAL, 0 },
        { "1d", -EINVAL, 0 },
        { "1 s", -EINVAL, 0 },
        { "1m30s", -EINVAL, 0 },
        { "", -EINVAL, 0 },
    };

    (void)state;
    check(num_parse_duration, rows, N_ELEMENTS(rows));
}

static void thousandths_have_no_suffix(void **state)
{
    static const struct row rows[] = {
        { "1", 0, 1000 },      { "0.5", 0, 500 },     { "0.0001", 0, 1 },
        { "0", -ERANGE, 0 },   { "1m", -EINVAL, 0 },  { "-0.5", -EINVAL, 0 },
        { "1,5", -EINVAL, 0 }, { "1e1", -EINVAL, 0 }, { "", -EINVAL, 0 },
    };

    (void)state;
    check(num_parse_milli, rows, N_ELEMENTS(rows));
}

static void sizes_are_shown_in_the_largest_unit(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        { 0, "0 B" },
        { 12, "12 B" },
        { 1023, "1023 B" },
        { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },
        { 512ull << 20, "512 MiB" },
        { 3ull << 29, "1.5 GiB" },
        { 1ull << 40, "1 TiB" },
        { 1ull << 61, "2097152 TiB" },
        { UINT64_MAX, "16777215.9 TiB" },
    };
    char text[NUM_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        assert_string_equal(num_size_text(rows[i].bytes, text), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_digits_and_nothing_else),
        cmocka_unit_test(bounds_are_included),
        cmocka_unit_test(sizes_have_suffixes_of_1024),
        cmocka_unit_test(durations_are_seconds_without_a_suffix_and_round_up),
        cmocka_unit_test(thousandths_have_no_suffix),
        cmocka_unit_test(sizes_are_shown_in_the_largest_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
