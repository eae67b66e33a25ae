/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_agent_report.c - reports, tests and mutants survive their JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/fence.h"
#include "agent/judge.h"
#include "base/buf.h"
#include "base/err.h"

#include <cmocka.h>

static char hours[] = "test_hours";
static char message[] = "expected 5400, got 0 \x01 \xc3\xa9";
static char summary[] = "1 of 2 failed";

static void a_report_survives(void **state)
{
    struct judge_row rows[] = {
        { .id = hours,
          .result = TEST_PASSED,
          .ms = 12,
          .memory_bytes = 1 << 20,
          .seen = summary,
          .is_together = true },
        { .id = hours, .result = TEST_TIMEOUT, .message = message, .is_suspect = true },
    };
    struct judge_report report = {
        .outcome = OUTCOME_FAILED,
        .diagnosis = DIAGNOSIS_TIMEOUT,
        .summary = summary,
        .rows = rows,
        .n_rows = 2,
        .coverage = 0.75,
        .ms = 99,
    };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct judge_report back;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(judge_report_text(&report, &text), 0);
    assert_int_equal(judge_report_parse(text.data, text.len, &back, &err), 0);
    assert_int_equal(back.outcome, OUTCOME_FAILED);
    assert_int_equal(back.diagnosis, DIAGNOSIS_TIMEOUT);
    assert_string_equal(back.summary, summary);
    assert_null(back.reason);
    assert_int_equal((int)(back.coverage * 100), 75);
    assert_int_equal(back.n_rows, 2);
    assert_int_equal(back.rows[0].memory_bytes, 1 << 20);
    assert_int_equal(back.rows[1].result, TEST_TIMEOUT);
    assert_string_equal(back.rows[1].message, message);
    assert_true(back.rows[1].is_suspect);
    assert_string_equal(back.rows[0].seen, summary);
    assert_true(back.rows[0].is_together && !back.rows[1].is_together);
    assert_null(back.rows[1].seen);
    judge_report_clear(&back);
    judge_report_clear(&back);
}

static void one_start_survives(void **state)
{
    static char out[] = "4\0 2\n";
    static char nothing[] = "";
    const struct judge_try try = {
        .diagnosis = DIAGNOSIS_CRASH,
        .summary = summary,
        .out = out,
        .out_len = sizeof(out) - 1,
        .errors = nothing,
        .is_cut = true,
        .exit_code = 139,
        .ms = 7,
        .memory_peak_bytes = 1 << 20,
    };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    cleanup_try struct judge_try back = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(judge_try_text(&try, &text), 0);
    assert_int_equal(judge_try_parse(text.data, text.len, &back, &err), 0);
    assert_int_equal(back.diagnosis, DIAGNOSIS_CRASH);
    assert_string_equal(back.summary, summary);
    assert_int_equal(back.out_len, sizeof(out) - 1);
    assert_memory_equal(back.out, out, sizeof(out));
    assert_int_equal(back.errors_len, 0);
    assert_non_null(back.errors);
    assert_true(back.is_cut && !back.is_timed_out);
    assert_int_equal(back.exit_code, 139);
    assert_int_equal(back.ms, 7);
    judge_try_clear(&back);
    assert_true(judge_try_parse("{\"diagnosis\":\"none\"}", 20, &back, &err) < 0);
}

static void what_is_not_known_stays_unknown(void **state)
{
    struct judge_report report = { .coverage = -1 };
    struct judge_mutation mutation = { .score = -1 };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(judge_report_text(&report, &text), 0);
    assert_non_null(strstr(text.data, "\"coverage\":null"));
    assert_int_equal(judge_report_parse(text.data, text.len, &report, &err), 0);
    assert_true(report.coverage < 0);
    buf_reset(&text);
    assert_int_equal(judge_mutation_text(&mutation, &text), 0);
    assert_int_equal(judge_mutation_parse(text.data, text.len, &mutation, &err), 0);
    assert_true(mutation.score < 0);
    assert_int_equal(mutation.n, 0);
}

static void withdrawn_tests_have_no_row_and_count_nowhere(void **state)
{
    struct judge_row rows[] = {
        { .id = hours, .result = TEST_PASSED },
        { .id = summary, .result = TEST_SKIPPED, .is_withdrawn = true },
    };
    struct judge_report report = { .rows = rows, .n_rows = 2 };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    cleanup_report struct judge_report back = { 0 };
    struct gb_err err = { 0 };
    size_t passed;

    (void)state;
    assert_int_equal(judge_report_text(&report, &text), 0);
    assert_int_equal(judge_report_parse(text.data, text.len, &back, &err), 0);
    assert_non_null(judge_report_row(&back, hours));
    assert_null(judge_report_row(&back, summary));
    assert_int_equal(judge_report_count(&back, &passed), 1);
    assert_int_equal(passed, 1);
}

static void a_set_of_tests_survives(void **state)
{
    struct judge_test item = { .id = hours, .class = CLASS_STRESS, .origin = ORIGIN_HELD_BACK };
    struct judge_tests tests = { .items = &item, .n = 1, .cases = summary };
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    struct judge_tests back;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(agent_files_put(&tests.files, "tests/test_a.py", "def test(): pass\n", 17), 0);
    assert_int_equal(judge_tests_text(&tests, &text), 0);
    assert_int_equal(judge_tests_parse(text.data, text.len, &back, &err), 0);
    assert_int_equal(back.n, 1);
    assert_int_equal(back.items[0].class, CLASS_STRESS);
    assert_int_equal(back.items[0].origin, ORIGIN_HELD_BACK);
    assert_true(!back.items[0].is_withdrawn);
    assert_string_equal(agent_files_find(&back.files, "tests/test_a.py")->text,
                        "def test(): pass\n");
    assert_string_equal(back.cases, summary);
    judge_tests_clear(&back);
    agent_files_clear(&tests.files);
}

static void damage_is_told(void **state)
{
    static const char *const damaged[] = {
        "",
        "[]",
        "{}",
        "{\"outcome\":\"great\"}",
        "{\"outcome\":\"passed\",\"diagnosis\":\"none\",\"coverage\":null,\"ms\":-1,"
        "\"memory_peak_bytes\":0,\"tests\":[]}",
        "{\"outcome\":\"passed\",\"diagnosis\":\"none\",\"coverage\":null,\"ms\":1,"
        "\"memory_peak_bytes\":0,\"tests\":[{\"result\":\"passed\",\"ms\":1,\"memory_bytes\":1}]}",
    };
    struct judge_report report;

    (void)state;
    for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
        struct gb_err err = { 0 };

        assert_true(judge_report_parse(damaged[i], strlen(damaged[i]), &report, &err) < 0);
        assert_true(err.msg[0]);
        assert_null(report.rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_survives),
        cmocka_unit_test(one_start_survives),
        cmocka_unit_test(what_is_not_known_stays_unknown),
        cmocka_unit_test(withdrawn_tests_have_no_row_and_count_nowhere),
        cmocka_unit_test(a_set_of_tests_survives),
        cmocka_unit_test(damage_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
