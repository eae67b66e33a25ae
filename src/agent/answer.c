/* SPDX-License-Identifier: Apache-2.0 */
/* agent/answer.c - a task whose answer is what a short program prints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/folder.h"
#include "agent/state.h"
#include "agent/tryout.h"
#include "agent/write.h"
#include "base/err.h"

#define NAME_SIZE 64
#define ANEW      0.6 /* the temperature of a program that came back */

static void tell_ran(struct task *task, const struct agent_files *code, const struct judge_try *try)
{
    struct agent_event files = { .kind = EVENT_CODE, .files = code };
    struct agent_event output = { .kind = EVENT_OUTPUT, .text = try->out, .len = try->out_len };

    task_tell(task, &files);
    task_tell(task, &output);
}

static void keep(const struct task *task, unsigned iteration, const struct agent_files *code,
                 const struct judge_try *try)
{
    struct folder_step step = { iteration, "code" };
    struct folder_report report = {
        .is_timed_out = try->is_timed_out,
        .exit_code = try->exit_code,
        .output = try->out,
        .output_len = try->out_len,
        .errors = try->errors,
        .errors_len = try->errors_len,
    };

    files_keep(task, iteration, code);
    if (task->spec->folder)
        (void)folder_put_report(task->spec->folder, step, &report, NULL);
}

/* The length of what it printed without the newlines at its end. */
static size_t trimmed(const struct judge_try *try)
{
    size_t len = try->out_len;

    while (len > 0 && strchr("\r\n", try->out[len - 1]))
        len--;
    return len;
}

/* What it printed is the answer, without the newline at its end. */
static int settle(struct task *task, struct agent_files *code, const struct judge_try *try,
                  struct gb_err *err)
{
    struct agent_outcome *out = task->out;
    free(out->answer);
    out->answer = strndup(try->out, trimmed(try));
    agent_files_clear(&out->code);
    out->code = *code;
    *code = (struct agent_files){ 0 };
    out->outcome = OUTCOME_PASSED;
    return out->answer ? 0 : gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for the answer");
}

struct going {
    struct agent_files code; /* of the last attempt */
    struct judge_try try;
    bool has_try;
};

/* NULL: nothing. */
static const char *wrong_with(const struct judge_try *try)
{
    if (try->diagnosis != DIAGNOSIS_NONE)
        return try->summary ? try->summary : diagnosis_name(try->diagnosis);
    if (trimmed(try) == 0)
        return "It printed nothing.";
    if (try->is_cut)
        return "It printed more than an answer may have: print less.";
    return memchr(try->out, '\0', try->out_len) ? "It printed NUL bytes: print text." : NULL;
}

static bool is_known(const struct going *going, const struct agent_files *code)
{
    return going->has_try && files_are_equal(&going->code, code);
}

static int write_once(struct task *task, const struct going *going, unsigned number, bool is_anew,
                      struct agent_files *ret, unsigned *ret_iteration, struct gb_err *err)
{
    bool samples = task->models[ROLE_CODER].samples;
    char name[NAME_SIZE];
    struct writing writing = {
        .name = name,
        .prompt = is_anew && !samples ? "another_approach" : "answer",
        .diagnosis = going->has_try ? wrong_with(&going->try) : NULL,
        .seed = number + (is_anew ? 1000 : 0),
        .temperature = is_anew && samples ? ANEW : 0,
        .present = going->has_try ? &going->code : NULL,
    };

    (void)snprintf(name, sizeof(name), "step-%u/attempt-%u/code%s", task->step, number,
                   is_anew ? "-anew" : "");
    return write_code(task, &writing, ret, ret_iteration, err);
}

/* 1: another program than the one that failed.  0: there is none. */
static int write_new(struct task *task, const struct going *going, unsigned number,
                     struct agent_files *ret, unsigned *ret_iteration, struct gb_err *err)
{
    int r = write_once(task, going, number, false, ret, ret_iteration, err);

    if (r == 0 && is_known(going, ret)) {
        task_note(task, "the same program as before: asked anew");
        agent_files_clear(ret);
        r = write_once(task, going, number, true, ret, ret_iteration, err);
    }
    return r < 0 ? r : !is_known(going, ret);
}

static int one_attempt(struct task *task, struct going *going, unsigned number, bool *is_done,
                       struct gb_err *err)
{
    cleanup_files struct agent_files code = { 0 };
    char name[NAME_SIZE];
    unsigned iteration;
    int r;

    task_tell_attempt(task, going->has_try ? wrong_with(&going->try) : "");
    r = write_new(task, going, number, &code, &iteration, err);
    if (r <= 0)
        return r;
    (void)snprintf(name, sizeof(name), "step-%u/attempt-%u/run", task->step, number);
    judge_try_clear(&going->try);
    r = tryout(task, name, &code, NULL, &going->try, err);
    if (r < 0)
        return r;
    going->has_try = true;
    keep(task, iteration, &code, &going->try);
    tell_ran(task, &code, &going->try);
    *is_done = !wrong_with(&going->try);
    if (*is_done)
        return settle(task, &code, &going->try, err);
    agent_files_clear(&going->code);
    going->code = code;
    code = (struct agent_files){ 0 };
    return 0;
}

static void give_up(struct task *task, struct going *going)
{
    task->out->outcome = OUTCOME_FAILED;
    task_log(task, "the program for the answer did not work: %s",
             going->has_try ? wrong_with(&going->try) : "none could be used");
    agent_files_clear(&task->out->code);
    task->out->code = going->code;
    going->code = (struct agent_files){ 0 };
}

int answer_make(struct task *task, struct gb_err *err)
{
    struct going going = { 0 };
    struct gb_err over = { 0 };
    bool is_done = false;
    int r = 0;

    if (task->spec->candidates > 1)
        task_note(task, "an answer has no tests to compare several by: one program is written");
    while (r == 0 && !is_done && task_may(task, BUDGET_ATTEMPTS, &over) == 0) {
        budget_spend_attempt(&task->budget);
        r = one_attempt(task, &going, ++task->out->attempts, &is_done, err);
        if (r == -EBADMSG && !task->is_over) {
            task_note(task, "%s", err->msg);
            r = 0;
        }
    }
    if (r == 0 && !is_done)
        give_up(task, &going);
    agent_files_clear(&going.code);
    judge_try_clear(&going.try);
    return r;
}
