/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_run.c - programs started by a glove: how they start, end and are seen. */
#include "glove_box.h"

static void a_program_runs_and_its_exit_code_is_told(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "exit 7", "");

    (void)state;
    assert_int_equal(box_answer(box, run.seq), 0);
    assert_true(box->ok.value > 1);
    assert_int_equal(box_exit(box, &run), 7);
    assert_true(box->exit.disk_free > 0);
    box_down(box);
}

static void output_comes_on_the_channels_and_ends_with_fin(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "echo out; echo err >&2", "oe");

    (void)state;
    assert_string_equal(box_text(box, run.out), "out\n");
    assert_string_equal(box_text(box, run.err), "err\n");
    assert_int_equal(box_exit(box, &run), 0);
    box_down(box);
}

static void input_goes_to_the_program(void **state)
{
    const char *argv[] = { "cat", NULL };
    struct box *box = box_up();
    struct box_run run = box_start(box, argv, "/", "io");

    (void)state;
    box_send_data(box, run.in, "hello ", 6, false);
    box_send_data(box, run.in, "box", 3, true);
    assert_string_equal(box_text(box, run.out), "hello box");
    assert_int_equal(box_exit(box, &run), 0);
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_and_its_exit_code_is_told),
        cmocka_unit_test(output_comes_on_the_channels_and_ends_with_fin),
        cmocka_unit_test(input_goes_to_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
