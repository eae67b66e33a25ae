/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd_runs_work.c - `glovebox runs answer` and `replay`: a task of the store at work, by its
 * id.
 *
 * Both end as `glovebox run` would. */
#include <errno.h>
#include <string.h>

#include "agent/task.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/run_args.h"

/* ---- answer --------------------------------------------------------------------------------- */

struct work_args {
    struct run_args run;
    bool is_json;
    bool is_jsonl;
};

#define AT(field) .offset = offsetof(struct work_args, field)
static const struct opt answer_options[] = {
    { OPT_TEXT, "record", 0, AT(run.record), "FILE", "write everything that happens to a file" },
    { OPT_FLAG, "force", 0, AT(run.is_forced), NULL, "replace the file of --record" },
    { OPT_FLAG, "plain", 0, AT(run.is_plain), NULL, "line by line, also on a terminal" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document on stdout at the end" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL, "one JSON event a line on stdout as it happens" },
    { OPT_KEY, .key = KEY_MODEL },
    { OPT_KEY, .key = KEY_BASE_URL },
    { OPT_KEY, .key = KEY_CONTEXT },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static int answer_given(const struct call *call, struct work_args *args,
                        const struct parsed *parsed, struct gb_err *err)
{
    if (parsed->n_operands != 2 || parsed->has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "name a task and an answer: glovebox runs answer ID \"...\"");
    args->run.resume = parsed->operands[0];
    args->run.answer = parsed->operands[1];
    if (strlen(args->run.answer) > AGENT_ANSWER_MAX)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "an answer may have %d KiB",
                       AGENT_ANSWER_MAX >> 10);
    return run_task(call, &args->run, err);
}

/* Whatever works on a task or shows one at work. */
static int task_call(const struct call *call,
                     int (*given)(const struct call *call, struct work_args *args,
                                  const struct parsed *parsed, struct gb_err *err),
                     struct gb_err *err)
{
    struct work_args args = { 0 };
    struct parsed parsed = { 0 };
    int r = command_parse(call, &args, &parsed, err);

    r = run_take_style(call, r, args.is_json, args.is_jsonl, &args.run, err);
    args.run.parsed = &parsed;
    if (r == 0)
        r = given(call, &args, &parsed, err);
    else if (r > 0)
        r = 0;
    if (r < 0)
        run_refused(&args.run, err);
    parsed_clear(&parsed);
    return r;
}

static int answer_call(const struct call *call, struct gb_err *err)
{
    return task_call(call, answer_given, err);
}

/* ---- replay --------------------------------------------------------------------------------- */

static const struct opt replay_options[] = {
    { OPT_TEXT, "out", 0, AT(run.out), "DIR", "write code and tests there too" },
    { OPT_FLAG, "force", 0, AT(run.is_forced), NULL, "replace files of --out" },
    { OPT_FLAG, "plain", 0, AT(run.is_plain), NULL, "line by line, also on a terminal" },
    { OPT_FLAG, "json", 0, AT(is_json), NULL, "one JSON document on stdout at the end" },
    { OPT_FLAG, "jsonl", 0, AT(is_jsonl), NULL, "one JSON event a line on stdout as it happens" },
    { OPT_KEY, .key = KEY_COLOR },
    OPT_HELP_ROW,
    { 0 },
};

static int replay_given(const struct call *call, struct work_args *args,
                        const struct parsed *parsed, struct gb_err *err)
{
    if (parsed->n_operands != 1 || parsed->has_rest)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "name a task: glovebox runs replay ID; a file: glovebox run --replay FILE");
    args->run.replay = parsed->operands[0];
    args->run.replays_task = true;
    return run_task(call, &args->run, err);
}

static int replay_call(const struct call *call, struct gb_err *err)
{
    return task_call(call, replay_given, err);
}

/* ---- the commands --------------------------------------------------------------------------- */

const struct cmd cmd_runs_answer = {
    .name = "runs answer",
    .help = "Answer the question that a task waits with, and go on with it",
    .usages = { "[OPTIONS] ID ANSWER" },
    .options = answer_options,
    .run = answer_call,
};

const struct cmd cmd_runs_replay = {
    .name = "runs replay",
    .help = "Show a task at work once more, without model, box or network",
    .usages = { "[OPTIONS] ID" },
    .options = replay_options,
    .run = replay_call,
};
