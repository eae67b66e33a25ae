/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_run_deliver.c - what a task hands over: which files, never over somebody's work, and
 * how to run them. */
#include <errno.h>

#include "agent/task.h"
#include "base/err.h"
#include "cli/run_deliver.h"
#include "cli/run_lines.h"
#include "cli/test_table.h"
#include "place.h"
#include "store/digest.h"

#include <cmocka.h>

/* ---- a task that has ended ------------------------------------------------------------------ */

static void make_outcome(struct agent_outcome *outcome, const char *contract)
{
    struct gb_err err = { 0 };

    if (contract_parse(contract, strlen(contract), &outcome->contract, &err) < 0)
        fail_msg("%s", err.msg);
    outcome->has_contract = true;
}

static void add_test(struct agent_outcome *outcome, const char *id, enum test_class class,
                     enum test_result result)
{
    struct judge_tests *tests = &outcome->tests;
    struct judge_report *report = &outcome->report;

    tests->items = reallocarray(tests->items, tests->n + 1, sizeof(*tests->items));
    report->rows = reallocarray(report->rows, report->n_rows + 1, sizeof(*report->rows));
    assert_true(tests->items && report->rows);
    tests->items[tests->n++] = (struct judge_test){ .id = strdup(id), .class = class };
    report->rows[report->n_rows++] = (struct judge_row){ .id = strdup(id), .result = result };
}

static void clear_outcome(struct agent_outcome *outcome)
{
    contract_clear(&outcome->contract);
    agent_files_clear(&outcome->code);
    judge_tests_clear(&outcome->tests);
    judge_report_clear(&outcome->report);
}

static void put(struct agent_files *files, const char *path, const char *text)
{
    assert_int_equal(agent_files_put(files, path, text, strlen(text)), 0);
}

static void make_library(struct agent_outcome *outcome)
{
    make_outcome(outcome, "{\"kind\":\"library\",\"language\":\"python\",\"module\":\"d.py\","
                          "\"files\":[\"d.py\"],\"names\":[{\"name\":\"f\","
                          "\"signature\":\"()\"}],\"summary\":\"s\"}");
    put(&outcome->code, "d.py", "def f(): pass\n");
    put(&outcome->tests.files, "test_d.py", "import d\n");
    add_test(outcome, "test_d.py::test_a", CLASS_NORMAL, TEST_PASSED);
    add_test(outcome, "test_d.py::test_b[it's]", CLASS_EDGE, TEST_FAILED);
    add_test(outcome, "test_d.py::test_c", CLASS_EDGE, TEST_FAILED);
}

static const struct deliverable_file *find(const struct deliverable *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i].path, path) == 0)
            return &all->items[i];
    return NULL;
}

/* ---- which files ---------------------------------------------------------------------------- */

static void a_library_has_its_tests_below_and_pytest_finds_them(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    make_library(&outcome);
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    assert_int_equal(all.n, 3);
    assert_string_equal(find(&all, "d.py")->text, "def f(): pass\n");
    assert_string_equal(find(&all, "tests/test_d.py")->text, "import d\n");
    assert_null(strstr(find(&all, "pytest.ini")->text, "addopts"));
    clear_outcome(&outcome);
}

static void a_module_is_found_where_it_lies(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    make_library(&outcome);
    free(outcome.contract.module);
    outcome.contract.module = strdup("src/my lib/d.py");
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    assert_non_null(strstr(find(&all, "pytest.ini")->text, "pythonpath = . 'src/my lib'\n"));
    clear_outcome(&outcome);
}

static void a_withdrawn_test_is_deselected(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };
    const char *ini;

    (void)state;
    make_library(&outcome);
    outcome.tests.items[1].is_withdrawn = true;
    outcome.tests.items[2].is_withdrawn = true;
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    ini = find(&all, "pytest.ini")->text;
    assert_non_null(strstr(ini, "addopts =\n    '--deselect=tests/test_d.py::test_b'\n"
                                "    '--deselect=tests/test_d.py::test_c'\n"));
    clear_outcome(&outcome);
}

static void code_that_has_tests_of_its_own_keeps_them(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };

    (void)state;
    make_library(&outcome);
    put(&outcome.code, "tests/test_d.py", "mine\n");
    put(&outcome.code, "pytest.ini", "mine\n");
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    assert_string_equal(find(&all, "tests/test_d.py")->text, "mine\n");
    assert_string_equal(find(&all, "tests_2/test_d.py")->text, "import d\n");
    assert_string_equal(find(&all, "pytest.ini")->text, "mine\n");
    assert_int_equal(all.n, 4);
    clear_outcome(&outcome);
}

static void the_same_ini_as_the_judge_tries(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    cleanup_buf struct buf guest = BUF_INIT(1 << 20);
    cleanup_buf struct buf quoted = BUF_INIT(1 << 20);
    struct gb_err err = { 0 };
    char path[PATH_MAX];
    cleanup_close int fd = -1;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/guest/python/pytest_compat.py", getenv("SOURCE_ROOT"));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && buf_reserve(&guest, 1 << 16) == 0);
    guest.len = (size_t)fd_read_full(fd, guest.data, 1 << 16);
    guest.data[guest.len] = '\0';
    make_library(&outcome);
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    (void)buf_printf(&quoted, "INI = \"\"\"%s\"\"\"", find(&all, "pytest.ini")->text);
    assert_non_null(strstr(guest.data, quoted.data));
    clear_outcome(&outcome);
}

static void a_program_has_its_cases_without_those_withdrawn(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };
    const struct deliverable_file *cases;

    (void)state;
    make_outcome(&outcome, "{\"kind\":\"program\",\"language\":\"python\",\"files\":[\"m.py\"],"
                           "\"summary\":\"s\"}");
    put(&outcome.code, "m.py", "print(1)\n");
    outcome.tests.cases =
        strdup("[{\"name\":\"one\",\"class\":\"normal\",\"expect\":{\"stdout\":\"1\"}},"
               "{\"name\":\"two\",\"class\":\"edge\",\"expect\":{\"stdout\":\"2\"}}]");
    add_test(&outcome, "one", CLASS_NORMAL, TEST_PASSED);
    add_test(&outcome, "two", CLASS_EDGE, TEST_FAILED);
    outcome.tests.items[1].is_withdrawn = true;
    if (deliverable_make(&outcome, &all, &err) < 0)
        fail_msg("%s", err.msg);
    cases = find(&all, "tests/cases.json");
    assert_non_null(cases);
    assert_non_null(strstr(cases->text, "\"one\""));
    assert_null(strstr(cases->text, "\"two\""));
    assert_null(strstr(find(&all, "pytest.ini")->text, "deselect"));
    clear_outcome(&outcome);
}

static void a_program_tells_pytest_how_it_is_started(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    const struct judge_input input = { .path = "in/d.csv" };
    struct gb_err err = { 0 };
    const char *recipe;

    (void)state;
    make_outcome(&outcome,
                 "{\"kind\":\"program\",\"language\":\"c\",\"files\":[\"m.c\"],"
                 "\"command\":[\"./m\",\"/workspace/x\",\"/workspaces\"],\"summary\":\"s\"}");
    put(&outcome.code, "m.c", "int main(void) {}\n");
    put(&outcome.code, "n.c", "\n");
    outcome.inputs = &input;
    outcome.n_inputs = 1;
    outcome.tests.cases =
        strdup("[{\"name\":\"one\",\"class\":\"normal\",\"expect\":{\"stdout\":\"1\"}}]");
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    assert_non_null(strstr(find(&all, "tests/test_cases.py")->text, "def test_case("));
    recipe = find(&all, "tests/program.json")->text;
    assert_non_null(strstr(recipe, "\"{work}/.build/program\""));
    assert_non_null(strstr(recipe, "\"{work}/m.c\""));
    assert_non_null(strstr(recipe, "\"name\": \"m\""));
    assert_non_null(strstr(recipe, "\"in/d.csv\""));
    assert_non_null(strstr(recipe, "\"{work}/x\""));
    assert_non_null(strstr(recipe, "\"/workspaces\""));
    clear_outcome(&outcome);
}

static void a_program_that_cannot_be_started_is_delivered_all_the_same(void **state)
{
    static const char *const files[] = { "other.c", "m.txt" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(files); i++) {
        struct agent_outcome outcome = { 0 };
        cleanup_deliverable struct deliverable all = { 0 };
        struct gb_err err = { 0 };

        make_outcome(&outcome, "{\"kind\":\"program\",\"language\":\"go\",\"files\":[\"m.txt\"],"
                               "\"summary\":\"s\"}");
        put(&outcome.code, files[i], "x\n");
        outcome.tests.cases =
            strdup("[{\"name\":\"o\",\"class\":\"normal\",\"expect\":{\"stdout\":\"1\"}}]");
        assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
        assert_non_null(strstr(find(&all, "tests/program.json")->text, "\"run\": null"));
        clear_outcome(&outcome);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

static void only_an_empty_directory_will_do_unless_forced(void **state)
{
    struct place *place = *state;
    struct gb_err err = { 0 };
    cleanup_free char *missing = NULL;
    cleanup_free char *forced = NULL;
    char *none = NULL;

    assert_int_equal(deliver_check(place_path(place, "new"), false, &missing, &err), 0);
    assert_true(missing[0] == '/');
    place_write(place, "f", "x", 1);
    assert_int_equal(deliver_check(place->root, false, &none, &err), -ENOTEMPTY);
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_int_equal(deliver_check(place->root, true, &forced, &err), 0);
    assert_int_equal(deliver_check(place_path(place, "f"), true, &none, &err), -ENOTDIR);
    assert_int_equal(deliver_check("", true, &none, &err), -ENOENT);
    assert_null(none);
}

static void somebodys_file_is_not_replaced(void **state)
{
    struct place *place = *state;
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    cleanup_buf struct buf got = BUF_INIT(1 << 20);
    char digest[DIGEST_SIZE];
    char name[] = "d.py";
    char *known[] = { name, digest, NULL };
    struct gb_err err = { 0 };

    make_library(&outcome);
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    place_write(place, "d.py", "mine\n", 5);
    assert_int_equal(deliver_write(&all, place->root, false, NULL, &err), -EEXIST);
    assert_non_null(strstr(err.msg, "d.py"));
    assert_int_not_equal(access(place_path(place, "pytest.ini"), F_OK), 0);
    assert_int_equal(digest_of("mine\n", 5, digest, &err), 0);
    assert_int_equal(deliver_write(&all, place->root, false, known, &err), 0);
    place_read(place, "d.py", &got);
    assert_string_equal(got.data, "def f(): pass\n");
    assert_int_equal(deliver_write(&all, place->root, false, NULL, &err), 0);
    clear_outcome(&outcome);
}

static void no_link_leads_out_of_the_directory(void **state)
{
    struct place *place = *state;
    struct agent_outcome outcome = { 0 };
    cleanup_deliverable struct deliverable all = { 0 };
    struct gb_err err = { 0 };

    assert_int_equal(mkdir(place_path(place, "out"), 0755), 0);
    assert_int_equal(mkdir(place_path(place, "elsewhere"), 0755), 0);
    assert_int_equal(symlinkat("../elsewhere", place->fd, "out/tests"), 0);
    make_library(&outcome);
    assert_int_equal(deliverable_make(&outcome, &all, &err), 0);
    assert_true(deliver_write(&all, place_path(place, "out"), true, NULL, &err) < 0);
    assert_int_not_equal(access(place_path(place, "elsewhere/test_d.py"), F_OK), 0);
    clear_outcome(&outcome);
}

/* ---- lines for people ----------------------------------------------------------------------- */

static void a_program_is_run_as_it_was_tested(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_buf struct buf run = BUF_INIT(4096);
    char file[] = "/data/it's.csv:in/d.csv";
    char *files[] = { file, NULL };

    (void)state;
    make_outcome(&outcome, "{\"kind\":\"program\",\"language\":\"python\",\"files\":[\"m.py\"],"
                           "\"summary\":\"s\"}");
    put(&outcome.code, "m.py", "print(1)\n");
    outcome.tests.cases = strdup(
        "[{\"name\":\"e\",\"class\":\"edge\",\"argv\":[\"no\"],\"expect\":{\"stdout\":\"1\"}},"
        "{\"name\":\"w\",\"class\":\"normal\",\"argv\":[\"no\"],\"expect\":{\"stdout\":\"1\"}},"
        "{\"name\":\"c\",\"class\":\"normal\",\"argv\":[\"\\u001b\"],\"expect\":{\"stdout\":\"1\"}},"
        "{\"name\":\"n\",\"class\":\"normal\",\"argv\":[\"-n\",\"a b\"],"
        "\"stdin\":\"5 %\\n'\\\\\\n\",\"expect\":{\"stdout\":\"1\"}}]");
    add_test(&outcome, "w", CLASS_NORMAL, TEST_FAILED);
    outcome.tests.items[0].is_withdrawn = true;
    assert_int_equal(line_to_run(&outcome, "/o", files, &run), 0);
    assert_string_equal(run.data, "printf '5 %%\\n'\\''\\\\\\n' | glovebox exec --stdin "
                                  "--file '/data/it'\\''s.csv:in/d.csv' /o/m.py -- -n 'a b'");
    clear_outcome(&outcome);
}

static void lines_can_be_pasted_into_a_shell(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_buf struct buf run = BUF_INIT(4096);
    cleanup_buf struct buf test = BUF_INIT(4096);
    cleanup_buf struct buf none = BUF_INIT(4096);

    (void)state;
    make_outcome(&outcome, "{\"kind\":\"program\",\"language\":\"python\",\"files\":[\"m.py\"],"
                           "\"summary\":\"s\"}");
    put(&outcome.code, "m.py", "print(1)\n");
    assert_int_equal(line_to_run(&outcome, "/tmp/it's", NULL, &run), 0);
    assert_string_equal(run.data, "glovebox exec '/tmp/it'\\''s/m.py'");
    put(&outcome.code, "n.py", "");
    buf_reset(&run);
    assert_int_equal(line_to_run(&outcome, "/tmp/o", NULL, &run), 0);
    assert_string_equal(run.data, "glovebox exec --workspace /tmp/o /tmp/o/m.py");
    assert_int_equal(line_to_test(&outcome, "/tmp/o", &none), 0);
    assert_int_equal(none.len, 0);
    outcome.tests.cases = strdup("[]");
    assert_int_equal(line_to_test(&outcome, "/tmp/p", &none), 0);
    assert_string_equal(none.data, "cd /tmp/p && python3 -m pytest");
    clear_outcome(&outcome);
    outcome = (struct agent_outcome){ 0 };
    make_library(&outcome);
    assert_int_equal(line_to_test(&outcome, "/tmp/o", &test), 0);
    assert_string_equal(test.data, "cd /tmp/o && python3 -m pytest");
    clear_outcome(&outcome);
}

static void tests_are_counted_by_class(void **state)
{
    struct agent_outcome outcome = { 0 };
    cleanup_buf struct buf table = BUF_INIT(4096);

    (void)state;
    make_library(&outcome);
    outcome.tests.items[2].is_withdrawn = true;
    outcome.tests.items[0].origin = ORIGIN_HELD_BACK;
    add_test(&outcome, "test_d.py::test_d", CLASS_EDGE, TEST_PASSED);
    free(outcome.report.rows[--outcome.report.n_rows].id); /* it was not run */
    assert_int_equal(test_table(&outcome, &table), 0);
    assert_non_null(
        strstr(table.data, "\nnormal         1       0        0          0          1\n"));
    assert_non_null(
        strstr(table.data, "\nedge           0       1        1          1          0\n"));
    assert_non_null(
        strstr(table.data, "\nall            1       1        1          1          1"));
    clear_outcome(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_has_its_tests_below_and_pytest_finds_them),
        cmocka_unit_test(a_module_is_found_where_it_lies),
        cmocka_unit_test(a_withdrawn_test_is_deselected),
        cmocka_unit_test(code_that_has_tests_of_its_own_keeps_them),
        cmocka_unit_test(the_same_ini_as_the_judge_tries),
        cmocka_unit_test(a_program_has_its_cases_without_those_withdrawn),
        cmocka_unit_test(a_program_tells_pytest_how_it_is_started),
        cmocka_unit_test(a_program_that_cannot_be_started_is_delivered_all_the_same),
        IN_PLACE(only_an_empty_directory_will_do_unless_forced),
        IN_PLACE(somebodys_file_is_not_replaced),
        IN_PLACE(no_link_leads_out_of_the_directory),
        cmocka_unit_test(a_program_is_run_as_it_was_tested),
        cmocka_unit_test(lines_can_be_pasted_into_a_shell),
        cmocka_unit_test(tests_are_counted_by_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
