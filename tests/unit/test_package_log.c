/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_package_log.c - an installer's lines: whole, cut, of two streams, never secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "package/index.h"
#include "package/install_log.h"

#include <cmocka.h>

#define SECRET "hunter2-is-planted"

static struct package_index index_with_secret(void)
{
    struct package_index index = { .kind = PACKAGE_PYTHON };

    assert_int_equal(index_add_secret(&index, SECRET), 0);
    return index;
}

static void fill(struct install_log *log, char byte, size_t n)
{
    while (n--)
        install_log_add(log, 1, &byte, 1);
}

static void add(struct install_log *log, int stream, const char *text)
{
    install_log_add(log, stream, text, strlen(text));
}

/* However long the line is before it, and wherever it is cut: no part of the secret is shown. */
static void test_a_secret_at_the_cut_is_masked(void **state)
{
    struct package_index index = index_with_secret();

    (void)state;
    for (size_t before = INSTALL_LINE_SHOWN - 2 * strlen(SECRET); before <= INSTALL_LINE_SHOWN + 2;
         before++) {
        struct install_log log;

        install_log_init(&log, &index);
        fill(&log, 'x', before);
        add(&log, 1, SECRET " behind\n");
        assert_null(strstr(log.text.data, "hunt"));
        assert_true(log.text.len <= INSTALL_LINE_SHOWN + 1);
        install_log_clear(&log);
    }
    index_clear(&index);
}

/* A line that is longer than what is read of it, and shrinks when it is masked. */
static void test_a_line_without_end_shows_no_part_either(void **state)
{
    struct package_index index = index_with_secret();

    (void)state;
    for (size_t before = 0; before < strlen(SECRET); before++) {
        struct install_log log;

        install_log_init(&log, &index);
        fill(&log, 'x', before);
        for (size_t i = 0; i < 4000; i++)
            add(&log, 1, SECRET);
        add(&log, 1, "\nnext\n");
        assert_null(strstr(log.text.data, "hunt"));
        assert_non_null(strstr(log.text.data, "\nnext\n"));
        install_log_clear(&log);
    }
    index_clear(&index);
}

static void test_two_streams_do_not_break_each_others_lines(void **state)
{
    struct package_index index = index_with_secret();
    struct install_log log;

    (void)state;
    install_log_init(&log, &index);
    add(&log, 1, "out hunter2-is");
    add(&log, 2, "error on another stream\n");
    add(&log, 1, "-planted\nlast");
    install_log_end(&log);
    assert_null(strstr(log.text.data, "hunt"));
    assert_non_null(strstr(log.text.data, "error on another stream\nout "));
    assert_non_null(strstr(log.text.data, "\nlast\n"));
    install_log_clear(&log);
    index_clear(&index);
}

static void test_the_end_of_much_output_is_kept(void **state)
{
    struct package_index index = index_with_secret();
    struct install_log log;

    (void)state;
    install_log_init(&log, &index);
    for (size_t i = 0; i < 2000; i++) {
        fill(&log, 'x', 100);
        add(&log, 1, "\n");
    }
    add(&log, 1, "why\n");
    assert_true(log.text.len <= INSTALL_LOG_MAX);
    assert_string_equal(log.text.data + log.text.len - 5, "\nwhy\n");
    install_log_clear(&log);
    index_clear(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_secret_at_the_cut_is_masked),
        cmocka_unit_test(test_a_line_without_end_shows_no_part_either),
        cmocka_unit_test(test_two_streams_do_not_break_each_others_lines),
        cmocka_unit_test(test_the_end_of_much_output_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
