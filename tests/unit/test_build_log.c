/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_build_log.c - what a build said is kept, and where it failed is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "image/build_log.h"

#include <cmocka.h>

static void add(struct build_log *log, const char *text)
{
    build_log_add(log, text, strlen(text));
}

static void expect_summary(const struct build_log *log, const char *wanted)
{
    char text[BUILD_LOG_SUMMARY];

    assert_string_equal(build_log_summary(log, text), wanted);
}

static void the_failed_layer_is_the_step_that_ran(void **state)
{
    cleanup_build_log struct build_log *log = build_log_new();

    (void)state;
    add(log, "Step 1/3 : FROM a");
    add(log, "\n");
    add(log, " ---> 0123\nStep 2/3 : RUN ");
    add(log, "false\n");
    add(log, " ---> Running in 4567\n");
    assert_null(build_log_failed_layer(log));
    build_log_fail(log, "The command '/bin/sh -c false' returned 1");
    build_log_fail(log, "again");
    assert_string_equal(build_log_failed_layer(log), "Step 2/3 : RUN false");
    expect_summary(log, "Step 1/3 : FROM a\n ---> 0123\nStep 2/3 : RUN false\n"
                        " ---> Running in 4567\nThe command '/bin/sh -c false' returned 1");
}

static void a_build_that_fails_before_its_first_step_has_no_layer(void **state)
{
    cleanup_build_log struct build_log *log = build_log_new();

    (void)state;
    build_log_fail(log, "no such image");
    assert_null(build_log_failed_layer(log));
    expect_summary(log, "no such image");
}

static void a_program_that_prints_steps_is_not_believed(void **state)
{
    static const char *const forged[] = {
        "Step 1/4 : x\n",      "Step 2/4 : x\n",  "Step 4/4 : x\n",  "Step 3/5 : x\n",
        "Step 3/4 x\n",        "xStep 3/4 : x\n", "Step 3/ 4 : x\n", "Step 99999999999/4 : x\n",
        "[1/1] STEP 3/4: x\n", "Step -3/4 : x\n",
    };
    cleanup_build_log struct build_log *log = build_log_new();

    (void)state;
    add(log, "Step 1/4 : FROM a\nStep 2/4 : RUN b\n");
    for (size_t i = 0; i < N_ELEMENTS(forged); i++)
        add(log, forged[i]);
    build_log_fail(log, "e");
    assert_string_equal(build_log_failed_layer(log), "Step 2/4 : RUN b");
}

static void the_steps_of_buildah_are_known(void **state)
{
    cleanup_build_log struct build_log *log = build_log_new();

    (void)state;
    add(log, "[1/2] STEP 1/2: FROM a AS b\n[1/2] STEP 2/2: RUN x\n[2/2] STEP 1/2: FROM c\n");
    add(log, "[2/2] STEP 2/2: RUN y\n");
    build_log_fail(log, "e");
    assert_string_equal(build_log_failed_layer(log), "[2/2] STEP 2/2: RUN y");
}

static void the_summary_of_a_build_that_worked_is_its_last_line(void **state)
{
    cleanup_build_log struct build_log *log = build_log_new();

    (void)state;
    expect_summary(log, "");
    add(log, "Step 1/1 : FROM a\nSuccessfully built 01\nSuccessfully tagged x:1\n\n  \n");
    expect_summary(log, "Successfully tagged x:1");
    add(log, "10%\r55%\r100%\r\x1b[31mdone\t");
    expect_summary(log, " [31mdone ");
    assert_null(build_log_failed_layer(log));
}

static void long_lines_are_cut_and_few_are_told(void **state)
{
    cleanup_build_log struct build_log *log = build_log_new();
    char text[BUILD_LOG_SUMMARY];
    char line[1000];
    unsigned n = 1;

    (void)state;
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    for (int i = 0; i < 30; i++) {
        add(log, line);
        add(log, "\n");
    }
    build_log_fail(log, line);
    build_log_summary(log, text);
    for (const char *c = text; *c; c++)
        n += *c == '\n';
    assert_int_equal(n, BUILD_LOG_LINES);
    assert_int_equal(strlen(text), BUILD_LOG_LINES * (BUILD_LOG_LINE + 1) - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_failed_layer_is_the_step_that_ran),
        cmocka_unit_test(a_build_that_fails_before_its_first_step_has_no_layer),
        cmocka_unit_test(a_program_that_prints_steps_is_not_believed),
        cmocka_unit_test(the_steps_of_buildah_are_known),
        cmocka_unit_test(the_summary_of_a_build_that_worked_is_its_last_line),
        cmocka_unit_test(long_lines_are_cut_and_few_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
