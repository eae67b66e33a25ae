/* SPDX-License-Identifier: Apache-2.0 */
/* agent/doubt.c - is the test wrong?  Asked once, about a derived test that two attempts failed
 * with the same values, of somebody who does not see the code.
 *
 * A wrong test is withdrawn, never edited, and stays in the list; at most a quarter of the derived
 * ones, and never the last of its class.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/build.h"
#include "agent/testing.h"
#include "base/err.h"
#include "json/value.h"

#define ASKED_MAX 3 /* tests that are doubted after one attempt */
#define WORD_SIZE 16

static const char schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"reason\",\"fault\"],"
    "\"properties\":{\"reason\":{\"type\":\"string\",\"maxLength\":400},"
    "\"fault\":{\"type\":\"string\",\"enum\":[\"code\",\"test\",\"ambiguous\"]}}}";

/* ---- which ---------------------------------------------------------------------------------- */

static int make_room(struct build *build, size_t n)
{
    struct doubt *more;

    if (n <= build->n_doubts)
        return 0;
    more = realloc(build->doubts, n * sizeof(*more));
    if (!more)
        return -ENOMEM;
    memset(more + build->n_doubts, 0, (n - build->n_doubts) * sizeof(*more));
    build->doubts = more;
    build->n_doubts = n;
    return 0;
}

/* Notes how the test ended, and tells whether it ended the same way before. */
static bool has_failed_alike(struct doubt *doubt, const struct judge_row *row)
{
    const char *message = row && row->result != TEST_PASSED ? row->message : NULL;
    bool is_alike = message && doubt->message && strcmp(message, doubt->message) == 0;

    if (is_alike)
        return true;
    free(doubt->message);
    doubt->message = message ? strdup(message) : NULL;
    return false;
}

static bool may_withdraw(const struct judge_tests *tests, size_t which)
{
    size_t derived = 0;
    size_t withdrawn = 0;
    size_t alike = 0; /* others of its class that count */

    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_test *test = &tests->items[i];

        derived += test->origin != ORIGIN_GIVEN;
        withdrawn += test->is_withdrawn;
        alike += i != which && !test->is_withdrawn && test->class == tests->items[which].class;
    }
    return (withdrawn + 1) * 4 <= derived && alike > 0;
}

/* ---- asking --------------------------------------------------------------------------------- */

struct ruling {
    char fault[WORD_SIZE];
    char *reason;
};

static int take_ruling(void *user, const char *text, size_t len, struct gb_err *err)
{
    struct ruling *ruling = user;
    cleanup_json struct json_value *value = NULL;
    const char *fault;
    const char *reason;
    int r;

    fence_json(text, len, &text, &len);
    r = json_value_parse(text, len, STATE_TEXT_MAX, &value, err);
    if (r < 0)
        return ask_taken(r);
    fault = json_str(json_get(value, "fault"), NULL);
    reason = json_str(json_get(value, "reason"), NULL);
    if (!fault || (strcmp(fault, "code") != 0 && strcmp(fault, "test") != 0 &&
                   strcmp(fault, "ambiguous") != 0))
        return ask_taken(gb_fail(err, -EINVAL, GB_BLAME_PEER,
                                 "\"fault\" must be \"code\", \"test\" or \"ambiguous\""));
    (void)snprintf(ruling->fault, sizeof(ruling->fault), "%s", fault);
    free(ruling->reason);
    ruling->reason = strdup(reason ? reason : "");
    return ruling->reason ? 0 : gb_no_memory(err);
}

static int ask_about(struct task *task, const char *name, const char *id, const char *message,
                     struct ruling *ruling, struct gb_err *err)
{
    cleanup_buf struct buf source = BUF_INIT(STATE_TEXT_MAX);
    struct prompt_var vars[TASK_VARS + 2];
    struct question question = {
        .name = name,
        .role = ROLE_TESTER,
        .doing = "doubting a test",
        .agent = "arbiter",
        .prompt = "arbiter",
        .vars = vars,
        .n_vars = N_ELEMENTS(vars),
        .schema_name = "ruling",
        .schema = schema,
        .seed = 1,
    };

    if (testing_source(&task->out->tests, id, &source) < 0) {
        buf_reset(&source);
        (void)buf_puts(&source, id);
    }
    task_vars(task, vars);
    vars[TASK_VARS] = (struct prompt_var){ "test", source.data, 0 };
    vars[TASK_VARS + 1] = (struct prompt_var){ "observed", message, 0 };
    return ask(task, &question, take_ruling, ruling, NULL, err);
}

/* 1 when the test is withdrawn. */
static int doubt_one(struct task *task, const char *prefix, size_t which, struct gb_err *err)
{
    struct judge_test *test = &task->out->tests.items[which];
    struct doubt *doubt = &task->build->doubts[which];
    struct ruling ruling = { 0 };
    char name[BUILD_NAME_SIZE];
    bool is_wrong;
    int r;

    doubt->is_asked = true;
    (void)snprintf(name, sizeof(name), "%s/doubt-%zu", prefix, which + 1);
    r = ask_about(task, name, test->id, doubt->message, &ruling, err);
    if (r == -EBADMSG) {
        task_note(task, "nobody can tell whether the test '%s' is right", test->id);
        r = 0;
    }
    is_wrong = r == 0 && strcmp(ruling.fault, "test") == 0;
    if (is_wrong && may_withdraw(&task->out->tests, which)) {
        test->is_withdrawn = true;
        task_note(task, "the test '%s' is withdrawn: %s", test->id, ruling.reason);
        r = 1;
    } else if (is_wrong) {
        task_note(task, "the test '%s' seems wrong, but too many would be withdrawn", test->id);
    }
    free(ruling.reason);
    return r;
}

int doubt_tests(struct task *task, const char *prefix, const struct judge_report *report,
                struct gb_err *err)
{
    const struct judge_tests *tests = &task->out->tests;
    struct build *build = task->build;
    unsigned asked = 0;
    int withdrawn = 0;

    if (make_room(build, tests->n) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for doubts");
    for (size_t i = 0; i < tests->n; i++) {
        const struct judge_test *test = &tests->items[i];
        bool is_alike = has_failed_alike(&build->doubts[i], judge_report_row(report, test->id));
        int r;

        if (!is_alike || build->doubts[i].is_asked || test->is_withdrawn ||
            test->origin == ORIGIN_GIVEN || asked == ASKED_MAX)
            continue;
        asked++;
        r = doubt_one(task, prefix, i, err);
        if (r < 0)
            return r;
        withdrawn |= r;
    }
    return withdrawn;
}
