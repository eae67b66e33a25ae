/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_judge.c - the judge's pure parts: lines of the verdict channel, what a pair of boxes
 * says about a test, outcome and summary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/contract.h"
#include "agent/judge_inside.h"
#include "run/verdict.h"

#include <cmocka.h>

#define N "nonce "

static void read_lines(const char *text, struct guest_verdicts *ret)
{
    assert_int_equal(guest_verdicts_read(text, strlen(text), "nonce", ret), 0);
}

/* ---- the verdict channel -------------------------------------------------------------------- */

static void only_lines_with_the_nonce_count(void **state)
{
    struct guest_verdicts v;

    read_lines("{\"kind\":\"result\",\"id\":\"a\",\"outcome\":\"passed\"}\n"
               "nonc {\"kind\":\"end\"}\nnonce{\"kind\":\"end\"}\n x " N "{\"kind\":\"end\"}\n" N
               "{\"kind\":\"result\",\"id\":\"b\",\"outcome\":\"failed\",\"message\":\"m\","
               "\"flags\":[\"violation\",\"else\",3],\"duration_ms\":1.5}\n" N
               "{\"kind\":\"end\"}\n",
               &v);
    assert_int_equal(v.n_results, 1);
    assert_string_equal(v.results[0].id, "b");
    assert_int_equal(v.results[0].outcome, GUEST_FAILED);
    assert_int_equal(v.results[0].flags, GUEST_FLAG_VIOLATION | GUEST_FLAG_UNCOUNTED);
    assert_true(v.results[0].ms > 1.4 && v.has_end && !v.is_broken);
    guest_verdicts_clear(&v);
    guest_verdicts_clear(&v);
}

static void tests_come_with_their_class(void **state)
{
    struct guest_verdicts v;

    read_lines(N "{\"kind\":\"test\",\"id\":\"a\",\"class\":\"stress\"}\n" N
                 "{\"kind\":\"test\",\"id\":\"b\",\"class\":null}\n" N
                 "{\"kind\":\"problem\",\"message\":\"first\"}\n" N
                 "{\"kind\":\"problem\",\"message\":\"second\"}\n",
               &v);
    assert_int_equal(v.n_tests, 2);
    assert_true(v.tests[0].has_class && v.tests[0].class == CLASS_STRESS);
    assert_false(v.tests[1].has_class);
    assert_string_equal(v.problem, "first");
    guest_verdicts_clear(&v);
}

static void lines_that_no_runner_writes_break_the_channel(void **state)
{
    static const char *const lines[] = {
        N "no json\n",
        N "[]\n",
        N "{\"kind\":\"great\"}\n",
        N "{\"kind\":\"result\",\"outcome\":\"passed\"}\n",
        N "{\"kind\":\"result\",\"id\":\"a\",\"outcome\":\"splendid\"}\n",
        N "{\"kind\":\"test\"}\n",
        N "{\"kind\":\"end\"}\n" N "{\"kind\":\"end\"}\n",
        N "{\"kind\":\"end\"}\n" N "{\"kind\":\"result\",\"id\":\"a\",\"outcome\":\"passed\"}\n",
        N "{\"kind\":\"end\"}",
    };

    for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
        struct guest_verdicts v;

        read_lines(lines[i], &v);
        assert_true(v.is_broken);
        assert_int_equal(v.n_results, 0);
        guest_verdicts_clear(&v);
    }
}

static void half_a_pair_is_mended(void **state)
{
    struct guest_verdicts v;

    read_lines(N "{\"kind\":\"result\",\"id\":\"a\",\"outcome\":\"failed\",\"message\":"
                 "\"\\ud800 \\uDE00 \\ud83d\\ude00 \\\\ud800 \\u0000x\"}\n",
               &v);
    assert_false(v.is_broken);
    assert_string_equal(v.results[0].message,
                        "\xef\xbf\xbd \xef\xbf\xbd \xf0\x9f\x98\x80 \\ud800  x");
    guest_verdicts_clear(&v);
}

/* ---- one test ------------------------------------------------------------------------------- */

struct heard {
    const char *lines;
    struct trial_end runner;
    struct trial_end server;
    bool is_together;
    struct judge_row row;
    struct judge_note note;
};

static int hear(struct heard *h)
{
    const struct limits limits = limits_default();
    struct guest_verdicts v;
    struct gb_err err = { 0 };
    int r;

    read_lines(h->lines, &v);
    r = pair_judge(&(struct pair_seen){ .id = "t",
                                        .verdicts = &v,
                                        .limits = &limits,
                                        .runner = &h->runner,
                                        .server = h->is_together ? NULL : &h->server },
                   &h->row, &h->note, &err);
    guest_verdicts_clear(&v);
    return r;
}

static void forget(struct heard *h)
{
    free(h->row.message);
    free(h->row.detail);
    free(h->row.seen);
    free(h->note.against);
    free(h->note.function);
}

static const struct trial_end exited = {
    .verdict = VERDICT_OK, .end = { .has_exited = true, .disk_free = UINT64_MAX, .inodes_free = 1 }
};

#define RESULT(rest) N "{\"kind\":\"result\",\"id\":\"t\"," rest "}\n" N "{\"kind\":\"end\"}\n"

static void a_pass_needs_the_whole_word(void **state)
{
    static const struct {
        const char *lines;
        enum test_result result;
        bool is_tampered;
    } words[] = {
        { RESULT("\"outcome\":\"passed\""), TEST_PASSED, false },
        { RESULT("\"outcome\":\"passed\",\"flags\":[\"violation\"]"), TEST_FAILED, true },
        { N "{\"kind\":\"result\",\"id\":\"t\",\"outcome\":\"passed\"}\n", TEST_ERROR, false },
        { N "{\"kind\":\"result\",\"id\":\"u\",\"outcome\":\"passed\"}\n" N "{\"kind\":\"end\"}\n",
          TEST_FAILED, true },
        { N "{\"kind\":\"result\",\"id\":\"t\",\"outcome\":\"passed\"}\n" RESULT(
              "\"outcome\":\"passed\""),
          TEST_FAILED, true },
        { N "{\"kind\":\"problem\",\"message\":\"lost\"}\n" RESULT("\"outcome\":\"passed\""),
          TEST_FAILED, false },
        { "", TEST_ERROR, false },
    };

    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        struct heard h = { .lines = words[i].lines, .runner = exited, .server = exited };

        assert_int_equal(hear(&h), 0);
        assert_int_equal(h.row.result, words[i].result);
        assert_int_equal(h.note.is_tampered, words[i].is_tampered);
        assert_true(h.row.result == TEST_PASSED || h.row.message);
        forget(&h);
    }
}

static void a_runner_that_fails_after_its_word_has_not_passed(void **state)
{
    struct heard h = { .lines = RESULT("\"outcome\":\"passed\""), .server = exited };

    h.runner = exited;
    h.runner.verdict = VERDICT_NONZERO;
    h.runner.end.code = 3;
    assert_int_equal(hear(&h), 0);
    assert_int_equal(h.row.result, TEST_ERROR);
    forget(&h);
}

static void an_exception_is_an_answer_and_a_dead_process_is_a_crash(void **state)
{
    struct heard raises = {
        .lines = RESULT("\"outcome\":\"failed\",\"exception\":\"ZeroDivisionError\","
                        "\"message\":\"ZeroDivisionError: division by zero\""),
        .runner = exited,
        .server = exited,
    };
    struct heard dies = { .lines = RESULT("\"outcome\":\"server_lost\""), .runner = exited };

    assert_int_equal(hear(&raises), 0);
    assert_int_equal(raises.note.diagnosis, DIAGNOSIS_ASSERTION);
    assert_string_equal(raises.row.message, "ZeroDivisionError: division by zero");
    forget(&raises);
    dies.is_together = true;
    assert_int_equal(hear(&dies), 0);
    assert_int_equal(dies.note.diagnosis, DIAGNOSIS_CRASH);
    forget(&dies);
}

static void a_lost_server_is_judged_by_its_box(void **state)
{
    struct trial_end end = exited;
    struct heard exits = { .lines = RESULT("\"outcome\":\"server_lost\""), .runner = exited };
    struct heard cut = exits;
    struct heard fails = exits;
    struct heard eats = exits;

    exits.server = end;
    assert_int_equal(hear(&exits), 0);
    assert_true(exits.note.is_tampered);
    forget(&exits);

    end.end.code = 3;
    fails.server = end;
    assert_int_equal(hear(&fails), 0);
    assert_true(!fails.note.is_tampered && fails.note.diagnosis == DIAGNOSIS_CRASH);
    forget(&fails);

    end.end.code = 0;
    end.end.signo = 9;
    end.end.oom_kills = 1;
    end.end.kill = BOX_KILL_CANCEL; /* the runner ended before anybody looked */
    eats.server = end;
    assert_int_equal(hear(&eats), 0);
    assert_true(!eats.note.is_tampered && eats.note.diagnosis == DIAGNOSIS_MEMORY);
    forget(&eats);

    cut.server = exited;
    cut.runner.is_cut[2] = true;
    assert_int_equal(hear(&cut), 0);
    assert_int_not_equal(cut.row.result, TEST_PASSED);
    forget(&cut);
}

static void an_early_exit_together_is_tampering(void **state)
{
    struct heard h = { .lines = "", .runner = exited, .is_together = true };

    assert_int_equal(hear(&h), 0);
    assert_true(h.note.is_tampered);
    forget(&h);
}

static void the_source_of_an_assert_is_not_told(void **state)
{
    struct heard values = { .lines = RESULT(
                                "\"outcome\":\"failed\",\"exception\":\"AssertionError\","
                                "\"message\":\"f(1) == 2 is False\",\"source\":\"f(1) == 2\","
                                "\"expected\":\"2\",\"actual\":\"3\",\"where\":\"a.py:1 in f > "
                                "b.py:2 in g\""),
                            .runner = exited,
                            .server = exited };
    struct heard truth = { .lines =
                               RESULT("\"outcome\":\"failed\",\"exception\":\"AssertionError\","
                                      "\"message\":\"x < f(1): x = 4\",\"source\":\"x < f(1)\""),
                           .runner = exited,
                           .server = exited };

    assert_int_equal(hear(&values), 0);
    assert_string_equal(values.row.message, "expected 2, got 3");
    assert_string_equal(values.note.function, "f");
    assert_int_equal(values.note.diagnosis, DIAGNOSIS_ASSERTION);
    assert_int_equal(hear(&truth), 0);
    assert_string_equal(truth.row.message, "the condition: x = 4");
    assert_string_not_equal(truth.row.seen, values.row.seen);
    forget(&values);
    forget(&truth);
}

static void flags_keep_a_pass_from_counting(void **state)
{
    struct heard h = { .lines = RESULT("\"outcome\":\"passed\",\"flags\":[\"handle_equality\"]"),
                       .runner = exited,
                       .server = exited };
    struct heard counts = { .lines = RESULT("\"outcome\":\"passed\",\"counts\":true"),
                            .runner = exited,
                            .server = exited };
    struct heard silent = { .lines = RESULT("\"outcome\":\"passed\""),
                            .runner = exited,
                            .server = exited };
    struct heard needs = { .lines = RESULT("\"outcome\":\"needs_together\""),
                           .runner = exited,
                           .server = exited };

    assert_int_equal(hear(&h), 0);
    assert_true(h.row.result == TEST_PASSED && h.row.is_suspect && h.note.against);
    assert_false(h.note.is_tampered);
    assert_int_equal(hear(&needs), 1);
    assert_int_equal(hear(&counts), 0);
    assert_true(counts.row.result == TEST_PASSED && !counts.row.is_suspect);
    assert_int_equal(hear(&silent), 0);
    assert_true(silent.row.is_suspect);
    forget(&h);
    forget(&counts);
    forget(&silent);
}

/* ---- outcome and summary -------------------------------------------------------------------- */

#define MOST 64

struct court {
    struct judge_test tests[MOST];
    struct judge_row rows[MOST];
    struct judge_note notes[MOST];
    char ids[MOST][16];
    struct contract_name name;
    struct contract contract;
    struct judge_spec spec;
    struct judge_report report;
    struct judging judging;
    struct gb_err err;
};

static char public_name[] = "Stack.push";

/* n tests that pass, the third, sixth … of them held back. */
static void convene(struct court *c, size_t n)
{
    memset(c, 0, sizeof(*c));
    c->name.name = public_name;
    c->contract = (struct contract){ .names = &c->name, .n_names = 1 };
    c->spec.contract = &c->contract;
    c->report = (struct judge_report){ .rows = c->rows, .n_rows = n };
    c->judging = (struct judging){ .spec = &c->spec, .report = &c->report, .notes = c->notes };
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(c->ids[i], sizeof(c->ids[i]), "test_%zu", i);
        c->tests[i].origin = i % 3 == 2 ? ORIGIN_HELD_BACK : ORIGIN_DERIVED;
        c->tests[i].class = (enum test_class)(i % N_CLASSES);
        c->rows[i].id = c->ids[i];
        c->notes[i].test = &c->tests[i];
    }
}

static char secret[] = "expected 1234, got 4321";

static void lose(struct court *c, size_t i, enum diagnosis diagnosis)
{
    c->rows[i].result = TEST_FAILED;
    c->rows[i].message = secret;
    c->notes[i].diagnosis = diagnosis;
}

static void adjourn(struct court *c)
{
    free(c->report.summary);
    free(c->report.reason);
}

static void all_that_count_must_pass(void **state)
{
    struct court c;

    convene(&c, 4);
    c.tests[1].is_withdrawn = true;
    c.rows[1].result = TEST_SKIPPED;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_PASSED);
    assert_null(c.report.summary);
    adjourn(&c);

    convene(&c, 4);
    c.rows[1].result = TEST_SKIPPED;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_FAILED);
    adjourn(&c);

    convene(&c, 0);
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_ERROR);
    adjourn(&c);
}

static void together_does_not_suffice(void **state)
{
    struct court c;

    convene(&c, 2);
    c.notes[0].is_together = c.notes[1].is_together = true;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_SUSPECT);
    adjourn(&c);
    convene(&c, 4);
    c.notes[0].is_together = true;
    c.tests[0].class = c.tests[1].class;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_PASSED);
    adjourn(&c);
    convene(&c, 3); /* more than a quarter */
    c.notes[0].is_together = true;
    c.tests[0].class = c.tests[1].class;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_SUSPECT);
    adjourn(&c);
    convene(&c, 4); /* all of a class */
    c.notes[0].is_together = true;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_SUSPECT);
    adjourn(&c);
}

static void the_most_fundamental_failure_is_the_diagnosis(void **state)
{
    static const enum diagnosis order[] = {
        DIAGNOSIS_SYNTAX,  DIAGNOSIS_INTERFACE, DIAGNOSIS_MODULE,    DIAGNOSIS_MEMORY,
        DIAGNOSIS_TIMEOUT, DIAGNOSIS_CRASH,     DIAGNOSIS_ASSERTION,
    };

    for (size_t i = 0; i + 1 < N_ELEMENTS(order); i++) {
        struct court c;

        convene(&c, 3);
        lose(&c, 0, order[i + 1]);
        lose(&c, 1, order[i]);
        assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
        assert_int_equal(c.report.diagnosis, order[i]);
        adjourn(&c);
    }
}

static void tampering_outweighs_all(void **state)
{
    static char why[] = "forged";
    struct court c;

    convene(&c, 3);
    lose(&c, 0, DIAGNOSIS_SYNTAX);
    c.notes[2].against = why;
    c.notes[2].is_tampered = true;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_int_equal(c.report.outcome, OUTCOME_TAMPERED);
    assert_string_equal(c.report.reason, why);
    adjourn(&c);
}

static void held_back_tests_keep_their_names_and_values(void **state)
{
    static char function[] = "push";
    struct court c;

    convene(&c, 3);
    lose(&c, 2, DIAGNOSIS_CRASH);
    c.notes[2].function = function;
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    assert_null(strstr(c.report.summary, "test_2"));
    assert_null(strstr(c.report.summary, "1234"));
    assert_non_null(strstr(c.report.summary, "1 test that you do not see fails: 1 invalid"));
    assert_non_null(strstr(c.report.summary, public_name));
    assert_non_null(strstr(c.report.summary, "crash"));
    adjourn(&c);
}

static void a_few_are_told_in_full(void **state)
{
    struct court c;
    size_t n = 0;

    convene(&c, 40);
    for (size_t i = 0; i < 40; i++)
        lose(&c, i, DIAGNOSIS_ASSERTION);
    assert_int_equal(judging_conclude(&c.judging, &c.err), 0);
    for (const char *at = c.report.summary; (at = strstr(at, "1234")); at++)
        n++;
    assert_int_equal(n, 8);
    assert_non_null(strstr(c.report.summary, "40 of 40 tests fail."));
    assert_non_null(strstr(c.report.summary, "test_39"));
    assert_non_null(strstr(c.report.summary, "13 tests that you do not see fail too"));
    adjourn(&c);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void a_line_is_one_line(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    char many[2000];

    words_line(&text, "a\nb\x1b[2J\xff", 8, 100);
    assert_string_equal(text.data, "a b\\x1b[2J\\xff");
    buf_reset(&text);
    memset(many, 'x', sizeof(many));
    words_line(&text, many, sizeof(many), 100);
    assert_true(text.len <= 104);
}

static void long_output_is_head_and_tail(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(1 << 16);
    char many[10000];

    memset(many, '.', sizeof(many));
    memcpy(many, "first", 5);
    memcpy(many + sizeof(many) - 4, "last", 4);
    words_output(&text, "stderr", many, sizeof(many), 200);
    assert_non_null(strstr(text.data, "first"));
    assert_non_null(strstr(text.data, "last"));
    assert_non_null(strstr(text.data, "9800 bytes"));
    assert_true(text.len < 300);
    buf_reset(&text);
    words_output(&text, "stderr", "\n\n", 2, 200);
    assert_int_equal(text.len, 0);
}

/* ---- check and coverage --------------------------------------------------------------------- */

static void the_check_tells_the_first_kind_of_complaint(void **state)
{
    static const char json[] =
        "{\"syntax\":[],\"interface\":[{\"name\":\"f\",\"message\":\"'f' is missing\"}],"
        "\"missing_modules\":[{\"module\":\"m\",\"file\":\"a.py\",\"line\":3}],"
        "\"lint\":[{\"file\":\"a.py\",\"line\":1,\"code\":\"F1\",\"message\":\"odd\"}],"
        "\"missing_packages\":[\"p\",3],"
        "\"hints\":[{\"kind\":\"curious\",\"message\":\"x\"},"
        "{\"kind\":\"constant_equality\",\"file\":\"a.py\",\"line\":2,\"message\":\"answers\"}]}";
    struct check check = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(check_read(json, strlen(json), NULL, &check, &err), 0);
    assert_int_equal(check.diagnosis, DIAGNOSIS_INTERFACE);
    assert_non_null(strstr(check.summary, "'f' is missing"));
    assert_null(strstr(check.summary, "a.py:3"));
    assert_string_equal(check.lint, "a.py:1: F1 odd\n");
    assert_string_equal(check.hint, "a.py:2: answers");
    assert_non_null(strstr(check.packages, "not there: 'p', ''. Do without"));
    check_clear(&check);
    assert_true(check_read("nothing", 7, NULL, &check, &err) < 0);
    check_clear(&check);
}

#define CASE(input, answer) "{\"inputs\":[\"word\",\"" input "\"],\"answer\":\"" answer "\"}"
#define SPECIAL(cases)                                                      \
    "{\"hints\":[{\"kind\":\"special_cases\",\"file\":\"a.py\",\"line\":2," \
    "\"message\":\"answers\",\"cases\":[" cases "]}]}"

/* What tests ask for, each with what they expect; and not much more than that. */
static void constants_are_special_cases_where_tests_have_them(void **state)
{
    static char text[] = "def test_it():\n    assert parse('1h 30m') == 5400\n"
                         "@pytest.mark.parametrize('a, b', [(7, 5040), ('2s', 2)])\n";
    static char path[] = "test_it.py";
    static char cases[] = "{\"cases\":[{\"argv\":[\"1\\n2\"],\"expect\":{\"stdout\":\"3\"}}]}";
    static const struct {
        const char *json;
        bool is_special;
    } table[] = {
        { SPECIAL(CASE("1h 30m", "5400") "," CASE("7", "5040") "," CASE("2s", "2")), true },
        { SPECIAL(CASE("1h 30m", "5400") "," CASE("7", "5040") "," CASE("1\\n2", "3")), true },
        { SPECIAL(CASE("1h 30m", "") "," CASE("7", "") "," CASE("2s", "")), true },
        { SPECIAL(
              CASE("1h 30m", "5400") "," CASE("7", "5040") "," CASE("2s", "2") "," CASE("8", "4")),
          true },
        { SPECIAL(CASE("1h 30m", "5400") "," CASE("7", "5040") "," CASE("2s", "2") "," CASE(
              "8", "4") "," CASE("9", "4")),
          false },
        { SPECIAL(CASE("1h 30m", "5400") "," CASE("7", "5041") "," CASE("2s", "2")), false },
        { SPECIAL(CASE("1h 30m", "5400") "," CASE("7", "5040")), false },
        { SPECIAL(""), false },
        { SPECIAL("1,null,{\"inputs\":7,\"answer\":[]},{\"inputs\":[{}]}"), false },
    };
    struct agent_file file = { .path = path, .text = text, .len = sizeof(text) - 1 };
    const struct judge_tests tests = { .files = { .items = &file, .n = 1 }, .cases = cases };

    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        struct check check = { 0 };

        assert_int_equal(check_read(table[i].json, strlen(table[i].json), &tests, &check, NULL), 0);
        assert_int_equal(check.hint != NULL, table[i].is_special);
        check_clear(&check);
        assert_int_equal(check_read(table[i].json, strlen(table[i].json), NULL, &check, NULL), 0);
        assert_null(check.hint);
        check_clear(&check);
    }
}

static void coverage_is_the_union_of_all_tests(void **state)
{
    static const char text[] =
        "noise\nnonce {\"cover\":{\"a.py\":{\"statements\":[1,2,3,4],\"ran\":[1,2]}}}\n"
        "nonce {\"cover\":{\"a.py\":{\"statements\":[1,2,3,4],\"ran\":[1,4,9]}}}\n"
        "nonce {\"cover\":{\"a.py\":{\"statements\":[1e30,-1],\"ran\":\"x\"}}}\nnonce junk\n"
        "other {\"cover\":{\"a.py\":{\"statements\":[3],\"ran\":[3]}}}\n";

    struct agent_files code = { 0 };

    assert_int_equal(agent_files_put(&code, "a.py", "1\n2\n3\n4", 7), 0);
    assert_int_equal((int)(coverage_read(text, strlen(text), "nonce", &code, "") * 100), 75);
    assert_true(coverage_read("", 0, "nonce", &code, "") < 0);
    agent_files_clear(&code);
}

static void coverage_is_of_lines_that_the_code_has(void **state)
{
    static const char text[] =
        "nonce {\"cover\":{\"a.py\":{\"statements\":[0,1,2,3],\"ran\":[0,1,3]},"
        "\"b.py\":{\"statements\":[1,2],\"ran\":[1,2]},"
        "\"../a.py\":{\"statements\":[1],\"ran\":[1]}}}\n";
    struct agent_files code = { 0 };

    assert_int_equal(agent_files_put(&code, "src/a.py", "1\n2", 3), 0);
    assert_int_equal((int)(coverage_read(text, strlen(text), "nonce", &code, "src/") * 100), 50);
    assert_true(coverage_read(text, strlen(text), "nonce", &code, "") < 0);
    agent_files_clear(&code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lines_with_the_nonce_count),
        cmocka_unit_test(tests_come_with_their_class),
        cmocka_unit_test(lines_that_no_runner_writes_break_the_channel),
        cmocka_unit_test(half_a_pair_is_mended),
        cmocka_unit_test(a_pass_needs_the_whole_word),
        cmocka_unit_test(a_runner_that_fails_after_its_word_has_not_passed),
        cmocka_unit_test(an_exception_is_an_answer_and_a_dead_process_is_a_crash),
        cmocka_unit_test(a_lost_server_is_judged_by_its_box),
        cmocka_unit_test(an_early_exit_together_is_tampering),
        cmocka_unit_test(the_source_of_an_assert_is_not_told),
        cmocka_unit_test(flags_keep_a_pass_from_counting),
        cmocka_unit_test(all_that_count_must_pass),
        cmocka_unit_test(together_does_not_suffice),
        cmocka_unit_test(the_most_fundamental_failure_is_the_diagnosis),
        cmocka_unit_test(tampering_outweighs_all),
        cmocka_unit_test(held_back_tests_keep_their_names_and_values),
        cmocka_unit_test(a_few_are_told_in_full),
        cmocka_unit_test(a_line_is_one_line),
        cmocka_unit_test(long_output_is_head_and_tail),
        cmocka_unit_test(the_check_tells_the_first_kind_of_complaint),
        cmocka_unit_test(constants_are_special_cases_where_tests_have_them),
        cmocka_unit_test(coverage_is_the_union_of_all_tests),
        cmocka_unit_test(coverage_is_of_lines_that_the_code_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
