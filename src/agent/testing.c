/* SPDX-License-Identifier: Apache-2.0 */
/* agent/testing.c - the tests of a build.
 *
 * The tester's answer is read and listed in a box at once (an effect), so that a set that does not
 * load goes back to the one who wrote it.
 */
#include "agent/testing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/cases.h"
#include "agent/given.h"
#include "agent/journal.h"
#include "base/err.h"
#include "base/path.h"
#include "json/value.h"
#include "json/writer.h"

#define NAME_SIZE 96
#define LEAST     "3" /* tests of each class that are asked for */
#define SHARE     60  /* percent of the time that is left: the code needs some too */
#define TESTS_MAX (16 << 20)

struct testing {
    struct task *task;
    const char *unnoticed; /* NULL: the first tests */
    char path[AGENT_PATH_MAX + 1];
    unsigned tries;
    bool is_stopped;          /* the tests could not be listed, whatever they are */
    struct judge_tests tests; /* that were taken */
};

static bool is_library(const struct task *task)
{
    return task->out->contract.kind == CONTRACT_LIBRARY;
}

/* ---- listing -------------------------------------------------------------------------------- */

static int collect_text(void *user, struct buf *ret, struct gb_err *err)
{
    struct testing *testing = user;
    const struct agent_spec *spec = testing->task->spec;
    struct judge_spec judge = {
        .box = supply_box(testing->task),
        .contract = &testing->task->out->contract,
        .tests = &testing->tests,
        .inputs = spec->inputs,
        .n_inputs = spec->n_inputs,
        .jobs = 1,
        .cancel_fd = spec->cancel_fd,
        .deadline_ns = task_deadline(testing->task),
    };
    struct gb_err wrong = { 0 };
    struct json_writer w;
    int r = judge_collect(&judge, &testing->tests, &wrong);

    if (r < 0 && r != -EINVAL && err)
        *err = wrong;
    if (r == 0)
        return judge_tests_text(&testing->tests, ret);
    if (r != -EINVAL)
        return r;
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "problem", wrong.msg);
    json_object_end(&w);
    r = json_writer_end(&w);
    return r < 0 ? r : task_clean(testing->task, ret);
}

static int read_list(struct testing *testing, const struct buf *output, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    struct judge_tests listed = { 0 };
    const char *problem;
    int r = json_value_parse(output->data, output->len, TESTS_MAX, &value, err);

    if (r < 0)
        return r;
    problem = json_str(json_get(value, "problem"), NULL);
    if (problem)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "%s", problem);
    r = judge_tests_parse(output->data, output->len, &listed, err);
    if (r == 0) {
        judge_tests_clear(&testing->tests);
        testing->tests = listed;
    }
    return r;
}

static int list(struct testing *testing, const char *what, struct gb_err *err)
{
    cleanup_buf struct buf input = BUF_INIT(TESTS_MAX);
    cleanup_buf struct buf output = BUF_INIT(TESTS_MAX);
    const struct agent_files *code = &testing->task->out->code;
    char name[NAME_SIZE];
    int r = judge_tests_text(&testing->tests, &input);

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the tests");
    (void)snprintf(name, sizeof(name), "step-%u/%s-%u%s", testing->task->step,
                   testing->unnoticed ? "more-list" : "tests-list", testing->tries, what);
    r = supply_take(testing->task, code, code->n > 0, err);
    if (r == 0)
        r = task_do(testing->task, name, &input, collect_text, testing, &output, err);
    testing->is_stopped = r < 0;
    return r < 0 ? r : read_list(testing, &output, err);
}

/* ---- what the task gives -------------------------------------------------------------------- */

static int put_given_library(struct testing *testing, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(STATE_TEXT_MAX);
    int n = given_library(&testing->task->out->contract, &text);

    if (n > 0)
        n = agent_files_put(&testing->tests.files, GIVEN_FILE, text.data, text.len);
    return n < 0 ? gb_fail(err, n, GB_BLAME_HOST, "no memory for the examples") : 0;
}

/* An example that is no test of the contract's (it does not parse, say) must not keep the tester's
 * tests from loading. */
static int without_given(struct testing *testing, struct gb_err *err)
{
    struct agent_files *files = &testing->tests.files;
    struct agent_files kept = { 0 };
    int r = 0;

    for (size_t i = 0; i < files->n && r == 0; i++)
        if (strcmp(files->items[i].path, GIVEN_FILE) != 0)
            r = agent_files_put(&kept, files->items[i].path, files->items[i].text,
                                files->items[i].len);
    agent_files_clear(files);
    *files = kept;
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "no memory for the tests");
    task_note(testing->task, "the examples of the contract cannot be run as tests");
    return list(testing, "-own", err);
}

/* ---- the tester's answer -------------------------------------------------------------------- */

/* Once: a tester who leaves a class out twice may have a reason. */
static int check_classes(const struct testing *testing, struct gb_err *err)
{
    unsigned n[N_CLASSES] = { 0 };

    for (size_t i = 0; i < testing->tests.n; i++)
        n[testing->tests.items[i].class]++;
    for (int class = 0; class < N_CLASSES && testing->tries == 1 && !testing->unnoticed; class ++)
        if (n[class] == 0)
            return gb_fail(err, -EINVAL, GB_BLAME_PEER, "there is no test of the class \"%s\"",
                           test_class_name((enum test_class) class));
    return 0;
}

static bool blames_given(const struct gb_err *err)
{
    return strstr(err->msg, GIVEN_FILE) != NULL;
}

static bool has_text(const struct agent_files *files, const struct agent_file *file)
{
    for (size_t i = 0; i < files->n; i++)
        if (files->items[i].len == file->len &&
            memcmp(files->items[i].text, file->text, file->len) == 0)
            return true;
    return false;
}

static int take_library(struct testing *testing, const char *text, size_t len, struct gb_err *err)
{
    cleanup_files struct agent_files said = { 0 };
    struct gb_err wrong = { 0 };
    int r = fence_scan(text, len, testing->path, &said, err);

    if (r < 0)
        return r;
    if (said.n != 1)
        return gb_fail(err, -EINVAL, GB_BLAME_PEER, "one file is wanted, with the path %s",
                       testing->path);
    if (has_text(&testing->tests.files, &said.items[0]))
        return gb_fail(err, -EINVAL, GB_BLAME_PEER,
                       "these tests are there already: write new ones");
    r = agent_files_put(&testing->tests.files, testing->path, said.items[0].text,
                        said.items[0].len);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_PEER, "the file is too long");
    r = list(testing, "", &wrong);
    if (r == -EINVAL && blames_given(&wrong))
        return without_given(testing, err);
    if (r < 0 && err)
        *err = wrong;
    return r;
}

/* The cases there are, then the new ones, as one list. */
static int put_cases(struct json_writer *w, const char *json, struct gb_err *err)
{
    cleanup_json struct json_value *value = NULL;
    const struct json_value *cases;
    int r = json_value_parse(json, strlen(json), CASES_TEXT_MAX, &value, err);

    if (r < 0)
        return r;
    cases = json_get(value, "cases");
    for (size_t i = 0; i < json_count(cases); i++) {
        cleanup_buf struct buf item = BUF_INIT(CASES_TEXT_MAX);

        if (json_value_text(json_at(cases, i), &item) < 0)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the cases");
        json_put_raw(w, NULL, item.data);
    }
    return 0;
}

static int join_cases(const struct testing *testing, const struct program_cases *said,
                      struct buf *ret, struct gb_err *err)
{
    cleanup_buf struct buf own = BUF_INIT(CASES_TEXT_MAX);
    cleanup_buf struct buf given = BUF_INIT(CASES_TEXT_MAX);
    struct json_writer w;
    int r = cases_text(said, &own);

    if (r == 0 && !testing->unnoticed)
        r = given_program(&testing->task->out->contract, &given);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_PEER, "the cases are too long");
    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "cases");
    r = put_cases(&w, testing->unnoticed ? testing->task->out->tests.cases : given.data, err);
    if (r == 0)
        r = put_cases(&w, own.data, err);
    json_array_end(&w);
    json_object_end(&w);
    return r < 0 ? r : json_writer_end(&w);
}

static int take_program(struct testing *testing, const char *text, size_t len, struct gb_err *err)
{
    cleanup_cases struct program_cases said = { 0 };
    cleanup_cases struct program_cases all = { 0 };
    cleanup_buf struct buf joined = BUF_INIT(CASES_TEXT_MAX);
    int r = cases_parse(text, len, &said, err);

    if (r == 0)
        r = join_cases(testing, &said, &joined, err);
    if (r == 0)
        r = cases_parse(joined.data, joined.len, &all, err);
    if (r < 0)
        return r;
    free(testing->tests.cases);
    testing->tests.cases = buf_take(&joined);
    if (!testing->tests.cases)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the cases");
    return list(testing, "", err);
}

/* A fresh copy of what there is, for the answer to be added to. */
static int begin_tests(struct testing *testing, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(TESTS_MAX);
    int r;

    judge_tests_clear(&testing->tests);
    if (!testing->unnoticed)
        return is_library(testing->task) ? put_given_library(testing, err) : 0;
    r = judge_tests_text(&testing->task->out->tests, &text);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for the tests")
                 : judge_tests_parse(text.data, text.len, &testing->tests, err);
}

static int take_tests(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct testing *testing = user;
    int r = begin_tests(testing, err);

    testing->tries++;
    if (r == 0)
        r = is_library(testing->task) ? take_library(testing, text, len, err)
                                      : take_program(testing, text, len, err);
    if (r == 0)
        r = check_classes(testing, err);
    return testing->is_stopped ? r : ask_taken(r);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* test_duration.py of src/duration.py; test_duration_more.py for what is added. */
static void choose_path(struct testing *testing)
{
    const struct contract *contract = &testing->task->out->contract;
    const char *base = contract->module ? path_base(contract->module) : "program";

    (void)snprintf(testing->path, sizeof(testing->path), "test_%.*s%s.py", (int)strcspn(base, "."),
                   base, testing->unnoticed ? "_more" : "");
    if (strcmp(testing->path, GIVEN_FILE) == 0) /* of a module named given */
        (void)snprintf(testing->path, sizeof(testing->path), "test_of_given.py");
}

static int tests_text(const struct testing *testing, struct buf *ret)
{
    const struct judge_tests *tests = &testing->task->out->tests;
    int r = 0;

    if (!testing->unnoticed)
        return 0;
    if (tests->cases)
        return buf_puts(ret, tests->cases);
    for (size_t i = 0; i < tests->files.n && r == 0; i++)
        r = fence_write(tests->files.items[i].path, tests->files.items[i].text,
                        tests->files.items[i].len, ret);
    return r;
}

static int ask_tester(struct testing *testing, struct gb_err *err)
{
    struct task *task = testing->task;
    cleanup_buf struct buf present = BUF_INIT(STATE_FILES_MAX);
    bool is_lib = is_library(task);
    struct prompt_var vars[TASK_VARS + 4];
    char name[NAME_SIZE];
    struct question question = {
        .name = name,
        .role = ROLE_TESTER,
        .doing = testing->unnoticed ? "adding tests" : "writing tests",
        .agent = "tests",
        .prompt = is_lib ? "tests_library" : "tests_program",
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .schema_name = is_lib ? NULL : "cases",
        .schema = is_lib ? NULL : cases_schema,
        .seed = 1,
        .share = SHARE,
    };

    if (tests_text(testing, &present) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the tests");
    (void)snprintf(name, sizeof(name), "step-%u/%s", task->step,
                   testing->unnoticed ? "more-tests" : "tests");
    task_vars(task, vars);
    vars[TASK_VARS] = (struct prompt_var){ "tests", present.data, 0 };
    vars[TASK_VARS + 1] = (struct prompt_var){ "unnoticed", testing->unnoticed, 0 };
    vars[TASK_VARS + 2] = (struct prompt_var){ "path", testing->path, 0 };
    vars[TASK_VARS + 3] = (struct prompt_var){ "least", testing->unnoticed ? NULL : LEAST, 0 };
    return ask(task, &question, take_tests, testing, NULL, err);
}

/* The examples of the task are tests too when the tester has none; 0 when there are some. */
static int only_given(struct testing *testing, struct gb_err *err)
{
    cleanup_buf struct buf cases = BUF_INIT(CASES_TEXT_MAX);
    struct gb_err why = { 0 };
    int r = begin_tests(testing, err);

    if (r < 0)
        return r;
    if (!is_library(testing->task) && testing->task->out->contract.n_examples > 0) {
        if (given_program(&testing->task->out->contract, &cases) < 0)
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the examples");
        testing->tests.cases = buf_take(&cases);
    }
    if (testing->tests.files.n == 0 && !testing->tests.cases)
        return -EBADMSG;
    r = list(testing, "-given", &why);
    if (r < 0 && r != -EINVAL && err)
        *err = why;
    return r == -EINVAL ? -EBADMSG : r;
}

int testing_write(struct task *task, const char *unnoticed, struct gb_err *err)
{
    struct testing testing = { .task = task, .unnoticed = unnoticed };
    struct agent_event event = { .kind = EVENT_TESTS, .tests = &task->out->tests };
    int r;

    choose_path(&testing);
    r = ask_tester(&testing, err);
    if (r == -EBADMSG && !unnoticed && !task->is_over)
        r = only_given(&testing, err);
    if (r < 0) {
        judge_tests_clear(&testing.tests);
        return r;
    }
    judge_tests_clear(&task->out->tests);
    task->out->tests = testing.tests;
    task_tell(task, &event);
    return 0;
}

/* ---- one test ------------------------------------------------------------------------------- */

static int case_source(const char *cases, const char *id, struct buf *ret)
{
    cleanup_json struct json_value *value = NULL;
    const struct json_value *list;

    if (json_value_parse(cases, strlen(cases), CASES_TEXT_MAX, &value, NULL) < 0)
        return -EINVAL;
    list = json_get(value, "cases");
    for (size_t i = 0; i < json_count(list); i++) {
        const char *name = json_str(json_get(json_at(list, i), "name"), NULL);

        if (name && strcmp(name, id) == 0)
            return json_value_text(json_at(list, i), ret);
    }
    return -ENOENT;
}

/* "test_hours" of "test_duration.py::Test::test_hours[1-2]". */
static size_t function_of(const char *id, const char **ret)
{
    size_t len = strcspn(id, "[");
    const char *at = id;

    for (size_t i = 0; i + 1 < len; i++)
        if (id[i] == ':' && id[i + 1] == ':')
            at = id + i + 2;
    *ret = at;
    return (size_t)(id + len - at);
}

/* The lines of a function with the decorators above it: up to the next line that is indented no
 * more than its `def`. */
static int function_source(const char *text, const char *name, size_t len, struct buf *ret)
{
    const char *begin = NULL; /* of the decorators, or of the def */
    const char *line = text;
    size_t depth = 0;
    bool is_in = false;

    while (*line) {
        size_t n = strcspn(line, "\n");
        size_t indent = strspn(line, " \t");
        const char *word = line + indent;

        if (is_in && n > indent && indent <= depth)
            break;
        if (!is_in && strncmp(word, "@", 1) == 0 && !begin)
            begin = line;
        if (!is_in && strncmp(word, "def ", 4) == 0) {
            is_in = strncmp(word + 4, name, len) == 0 && word[4 + len] == '(';
            begin = is_in && !begin ? line : begin;
            begin = is_in ? begin : NULL;
            depth = indent;
        }
        line += n + (line[n] == '\n');
    }
    return is_in ? buf_add(ret, begin, (size_t)(line - begin)) : -ENOENT;
}

int testing_source(const struct judge_tests *tests, const char *id, struct buf *ret)
{
    const char *name;
    size_t len = function_of(id, &name);

    if (tests->cases)
        return case_source(tests->cases, id, ret);
    for (size_t i = 0; i < tests->files.n; i++) {
        const struct agent_file *file = &tests->files.items[i];
        size_t path_len = strlen(file->path);

        if (strncmp(id, file->path, path_len) == 0 && strncmp(id + path_len, "::", 2) == 0)
            return function_source(file->text, name, len, ret);
    }
    return -ENOENT;
}
