/* SPDX-License-Identifier: Apache-2.0 */
/* agent/answer.c - a task whose answer is what a short program prints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/attempt.h"
#include "agent/folder.h"
#include "agent/state.h"
#include "agent/tryout.h"
#include "agent/user_box.h"
#include "agent/write.h"
#include "base/err.h"

#define NAME_SIZE 64

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
    struct task *task;
    struct agent_files code; /* of the last attempt */
    struct judge_try try;
    bool has_try;
    bool is_done;
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

static int write_once(void *user, bool is_anew, struct agent_files *ret, unsigned *ret_iteration,
                      struct gb_err *err)
{
    const struct going *going = user;
    struct task *task = going->task;
    char name[NAME_SIZE];
    struct writing writing = {
        .name = name,
        .prompt = "answer",
        .diagnosis = going->has_try ? wrong_with(&going->try) : NULL,
        .seed = task->out->attempts,
        .present = going->has_try ? &going->code : NULL,
    };

    (void)snprintf(name, sizeof(name), "step-%u/attempt-%u/code%s", task->step, task->out->attempts,
                   is_anew ? "-anew" : "");
    if (is_anew)
        attempt_ask_anew(task, &writing);
    return write_code(task, &writing, ret, ret_iteration, err);
}

static int one_attempt(void *user, struct gb_err *err)
{
    struct going *going = user;
    struct task *task = going->task;
    cleanup_files struct agent_files code = { 0 };
    char name[NAME_SIZE];
    unsigned iteration;
    int r;

    task->out->attempts++;
    task_tell_attempt(task, going->has_try ? wrong_with(&going->try) : "");
    r = attempt_new(task, write_once, going, &code, &iteration, err);
    if (r <= 0)
        return r;
    r = attempt_remember(task, &code, err);
    if (r < 0)
        return r;
    (void)snprintf(name, sizeof(name), "step-%u/attempt-%u/run", task->step, task->out->attempts);
    judge_try_clear(&going->try);
    r = tryout(task, name, &code, NULL, &going->try, err);
    if (r < 0)
        return r;
    going->has_try = true;
    keep(task, iteration, &code, &going->try);
    tell_ran(task, &code, &going->try);
    going->is_done = !wrong_with(&going->try);
    agent_files_clear(&going->code);
    going->code = code;
    code = (struct agent_files){ 0 };
    return 1;
}

static bool is_done(const void *user)
{
    const struct going *going = user;

    return going->is_done;
}

/* What was wrong with it is not told: the next one begins from the last that ran. */
static void lose_attempt(void *user, const char *why)
{
    (void)user;
    (void)why;
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
    struct going going = { .task = task };
    const struct attempting how = { is_done, one_attempt, lose_attempt, &going };
    int r;

    if (task->spec->candidates > 1)
        task_note(task, "an answer has no tests to compare several by: one program is written");
    r = attempts_make(task, &how, err);
    if (r == 0 && going.is_done)
        r = settle(task, &going.code, &going.try, err);
    if (r == 0 && going.is_done)
        r = user_box_keep(task, true, err);
    if (r == 0 && !going.is_done)
        give_up(task, &going);
    agent_files_clear(&going.code);
    judge_try_clear(&going.try);
    return r;
}
