/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_id.c - names of boxes, runs and tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

#include <cmocka.h>

#define N_IDS 2000

static void an_id_has_its_letter_and_26_characters(void **state)
{
    char id[ID_SIZE];

    (void)state;
    assert_int_equal(id_make('r', id), 0);
    assert_int_equal(strlen(id), 28);
    assert_memory_equal(id, "r_", 2);
    assert_int_equal(strspn(id + 2, "0123456789abcdefghjkmnpqrstvwxyz"), 26);
    assert_true(id_is_valid('r', id));
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, ID_SIZE);
}

static void no_two_are_equal(void **state)
{
    static char ids[N_IDS][ID_SIZE];

    (void)state;
    for (size_t i = 0; i < N_IDS; i++)
        assert_int_equal(id_make('b', ids[i]), 0);
    qsort(ids, N_IDS, ID_SIZE, compare);
    for (size_t i = 1; i < N_IDS; i++)
        assert_int_not_equal(compare(ids[i - 1], ids[i]), 0);
}

/* 128 random bits: the first 25 characters carry five each, so each of them takes every value. */
static void every_character_varies_over_the_whole_alphabet(void **state)
{
    uint8_t seen[26][256] = { { 0 } };
    char id[ID_SIZE];

    (void)state;
    for (size_t i = 0; i < N_IDS; i++) {
        assert_int_equal(id_make('t', id), 0);
        for (size_t j = 0; j < 26; j++)
            seen[j][(uint8_t)id[2 + j]] = 1;
    }
    for (size_t j = 0; j < 26; j++) {
        unsigned different = 0;

        for (size_t c = 0; c < 256; c++)
            different += seen[j][c];
        assert_int_equal(different, j < 25 ? 32 : 8);
    }
}

static void what_is_no_id_is_not_valid(void **state)
{
    static const char *const wrong[] = {
        "",
        "r",
        "r_",
        "r_0123456789abcdefghjkmnpqr",   /* one too few */
        "r_0123456789abcdefghjkmnpqrst", /* one too many */
        "b_0123456789abcdefghjkmnpqrs",  /* another letter */
        "r-0123456789abcdefghjkmnpqrs",  /* no underscore */
        "r_0123456789abcdefghjkmnpqrS",  /* upper case */
        "r_0123456789abcdefghjkmnpqri",  /* i, l, o and u are not digits */
        "r_0123456789abcdefghjkmnpqr/",  /* a way out */
    };

    (void)state;
    assert_true(id_is_valid('r', "r_0123456789abcdefghjkmnpqrs"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(id_is_valid('r', wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_has_its_letter_and_26_characters),
        cmocka_unit_test(no_two_are_equal),
        cmocka_unit_test(every_character_varies_over_the_whole_alphabet),
        cmocka_unit_test(what_is_no_id_is_not_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
