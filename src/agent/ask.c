/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ask.c - one question to a model, as an effect.
 *
 * The prompt is made anew from variables, cleaned of secrets, and is the effect's input.
 */
#include "agent/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/ask_inside.h"
#include "agent/folder.h"
#include "agent/journal.h"
#include "agent/redact.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"
#include "store/store.h"

#define PROMPT_MIN    4096
#define SCHEMA_MAX    (64 << 10)
#define SHARED_MAX_MS (24ULL * 3600 * 1000) /* tasks of days have time enough for everything */
#define SHORTER_MAX   3 /* times that a prompt is halved for a server that finds it too long */

/* ---- the prompt ----------------------------------------------------------------------------- */

uint64_t ask_bytes_of(uint64_t context)
{
    return context * 6 / 10 * ASK_BYTES_TOKEN;
}

/* A schema that is told in words is a part of the prompt. */
static size_t room_for(const struct asking *asking, unsigned halvings)
{
    const struct model_facts *model = &asking->task->models[asking->question->role];
    uint64_t most = ask_bytes_of(model->context);
    uint64_t schema = asking->schema && model->told_schema ? strlen(asking->schema) : 0;
    uint64_t room;

    most = most > schema ? most - schema : 0;
    most = most > PROMPT_MAX ? PROMPT_MAX : most;
    room = most >> halvings;
    if (room < PROMPT_MIN)
        room = most < PROMPT_MIN ? most : PROMPT_MIN;
    return (size_t)room;
}

static int split(struct asking *asking, const struct buf *text, size_t stable)
{
    const struct redactor *redactor = asking->task->redactor;
    int r;

    buf_reset(&asking->system);
    buf_reset(&asking->user);
    r = redact(redactor, text->data, stable, &asking->system);
    return r < 0 ? r : redact(redactor, text->data + stable, text->len - stable, &asking->user);
}

static int make_prompt(struct asking *asking, const char *wrong, unsigned halvings,
                       struct gb_err *err)
{
    const struct question *question = asking->question;
    struct prompt_var vars[ASK_VARS_MAX + 1];
    cleanup_buf struct buf text = BUF_INIT(PROMPT_MAX);
    size_t stable = 0;
    int r;

    memcpy(vars, question->vars, question->n_vars * sizeof(vars[0]));
    vars[question->n_vars] = (struct prompt_var){ "wrong", wrong, 0 };
    r = prompt_render(question->prompt, vars, question->n_vars + 1, room_for(asking, halvings),
                      &text, &stable, err);
    if (r < 0)
        return r;
    r = split(asking, &text, stable);
    return r < 0 ? gb_fail(err, r, GB_BLAME_HOST, "no memory for a prompt") : 0;
}

/* ---- afterwards ----------------------------------------------------------------------------- */

/* A limit that does not hold must not look as if it did. */
static void note_unpriced(struct task *task, const struct asking *asking)
{
    if (!task->spent.has_cost)
        return;
    task->spent.has_cost = false;
    task_note(task,
              "the price of %s is not known: its calls do not count for --max-cost; --max-tokens "
              "bounds them",
              task->models[asking->question->role].label);
}

static void account(const struct asking *asking, const struct json_value *output)
{
    struct task *task = asking->task;
    struct agent_spent *spent = &task->spent;
    uint64_t tokens = 0;
    uint64_t cached = 0;
    uint64_t cost = 0;
    uint64_t wall_ms = 0;

    (void)json_u64(json_get(output, "tokens"), &tokens);
    (void)json_u64(json_get(output, "cached"), &cached);
    (void)json_u64(json_get(output, "wall_ms"), &wall_ms);
    if (!json_u64(json_get(output, "micro_dollars"), &cost))
        note_unpriced(task, asking);
    spent->calls++;
    spent->tokens += tokens;
    spent->cached += cached;
    spent->micro_dollars += cost;
    budget_spend_tokens(&task->budget, tokens);
    budget_spend_money(&task->budget, cost);
    task_spend_time(task, wall_ms);
}

/* A server may have refused temperature or schema; the same model may play several parts. */
static void learn(const struct asking *asking, const struct json_value *output)
{
    struct model_facts *models = asking->task->models;
    const struct model_facts *asked = &models[asking->question->role];
    bool samples;
    bool told_schema = asked->told_schema;

    if (!json_bool(json_get(output, "samples"), &samples))
        return;
    (void)json_bool(json_get(output, "told_schema"), &told_schema);
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(models[i].label, asked->label) == 0 &&
            strcmp(models[i].endpoint, asked->endpoint) == 0) {
            models[i].samples = samples;
            models[i].told_schema = told_schema;
        }
}

static void keep_input(const struct asking *asking, unsigned iteration)
{
    const struct question *question = asking->question;
    struct folder_step step = { iteration, question->agent };
    cleanup_buf struct buf text = BUF_INIT(ASK_INPUT_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_str(&w, "effect", asking->name);
    json_put_str(&w, "prompt_name", question->prompt);
    json_put_u64(&w, "prompt_version", prompt_version(question->prompt));
    json_put_str(&w, "model", asking->task->models[question->role].label);
    json_put_bytes(&w, "system", asking->system.data, asking->system.len);
    json_put_bytes(&w, "prompt", asking->user.data, asking->user.len);
    if (question->command)
        json_put_str(&w, "command", question->command);
    if (question->previous)
        json_put_raw(&w, "previous_result", question->previous);
    if (question->feedback)
        ask_put_clean(asking, &w, "execution_feedback", question->feedback);
    json_object_end(&w);
    if (json_writer_end(&w) == 0 && asking->task->spec->folder)
        (void)folder_put(asking->task->spec->folder, step, FOLDER_INPUT, text.data, text.len, NULL);
}

static void keep_output(const struct asking *asking, unsigned iteration,
                        const struct json_value *output)
{
    struct folder_step step = { iteration, asking->question->agent };
    cleanup_buf struct buf text = BUF_INIT(ASK_OUTPUT_MAX);
    struct json_writer w;

    json_writer_init(&w, &text, true);
    json_object_begin(&w, NULL);
    json_put_str(&w, "answer", json_str(json_get(output, "text"), NULL));
    json_put_str(&w, "reasoning", json_str(json_get(output, "reasoning"), NULL));
    json_put_str(&w, "model", json_str(json_get(output, "model"), NULL));
    json_object_end(&w);
    if (json_writer_end(&w) == 0 && asking->task->spec->folder)
        (void)folder_put(asking->task->spec->folder, step, FOLDER_OUTPUT, text.data, text.len,
                         NULL);
}

static void tell_answered(const struct asking *asking, bool is_remembered)
{
    struct agent_event event = {
        .kind = EVENT_ANSWERED,
        .name = asking->question->doing,
        .is_remembered = is_remembered,
        .spent = asking->task->spent,
    };

    task_tell(asking->task, &event);
}

static void tell_asking(const struct asking *asking)
{
    const char *label = asking->task->models[asking->question->role].label;
    struct agent_event event = {
        .kind = EVENT_ASK,
        .name = asking->question->doing,
        .text = label,
        .len = strlen(label),
    };

    task_tell(asking->task, &event);
}

/* ---- one try -------------------------------------------------------------------------------- */

/* An answer that did not come in time is the end of the task. */
static int end_of_time(const struct asking *asking, const struct json_value *output,
                       struct gb_err *err)
{
    const char *why = json_str(json_get(output, "timed_out"), NULL);

    if (!why)
        return 0;
    account(asking, output);
    asking->task->is_over = true;
    return gb_fail(err, -ETIMEDOUT, GB_BLAME_CALLER, "%s", why);
}

/* One that did not come within its share only ends the question. */
static int end_of_share(const struct asking *asking, const struct json_value *output,
                        struct gb_err *err)
{
    const char *why = json_str(json_get(output, "share_over"), NULL);

    if (!why)
        return 0;
    account(asking, output);
    return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "%s, which is its share of the task's", why);
}

/* What was taken by calls that failed and that nothing followed from: NAME.lost-1, NAME.lost-2, …
 * A task that is resumed asks once more, but not as if that had been for nothing. */
static void lost_name(const struct asking *asking, unsigned n, char ret[static STORE_NAME_MAX])
{
    (void)snprintf(ret, STORE_NAME_MAX, "%.150s.lost-%u", asking->name, n);
}

static int put_lost(void *user, struct buf *ret, struct gb_err *err)
{
    const struct asking *asking = user;

    (void)err;
    return buf_add(ret, asking->lost.data, asking->lost.len);
}

static int take_lost(struct asking *asking, const char *name, struct gb_err *err)
{
    cleanup_buf struct buf output = BUF_INIT(ASK_OUTPUT_MAX);
    cleanup_json struct json_value *lost = NULL;
    int r = journal_do(asking->task->spec->journal, name, "", 0, put_lost, asking, &output, err);

    if (r >= 0)
        r = json_value_parse(output.data, output.len, ASK_OUTPUT_MAX, &lost, err);
    if (r >= 0)
        account(asking, lost);
    return r;
}

/* Accounts for those of lives before; *ret is the number of the next. */
static int recall_lost(struct asking *asking, unsigned *ret, struct gb_err *err)
{
    char name[STORE_NAME_MAX];
    int r = 0;

    for (*ret = 1; r == 0; (*ret)++) {
        lost_name(asking, *ret, name);
        if (!journal_has(asking->task->spec->journal, name))
            return 0;
        r = take_lost(asking, name, err);
        if (r >= 0)
            r = task_may(asking->task, BUDGET_TOKENS, err);
    }
    return r;
}

/* The call itself; what a failed one took is remembered, its failure is not. */
static int call_model(struct asking *asking, const struct buf *input, struct buf *output,
                      struct gb_err *err)
{
    char name[STORE_NAME_MAX];
    unsigned n;
    int r = recall_lost(asking, &n, err);

    if (r < 0)
        return r;
    buf_reset(&asking->lost);
    r = journal_do(asking->task->spec->journal, asking->name, input->data, input->len, ask_chat,
                   asking, output, err);
    if (r < 0 && asking->lost.len > 0) {
        lost_name(asking, n, name);
        (void)take_lost(asking, name, NULL); /* the error that is told is the call's */
    }
    return r;
}

/* The remembered or new output of one effect; 1 when it says that the prompt was too long. */
static int one_effect(struct asking *asking, struct json_value **ret, struct gb_err *err)
{
    struct task *task = asking->task;
    cleanup_buf struct buf input = BUF_INIT(ASK_INPUT_MAX);
    cleanup_buf struct buf output = BUF_INIT(ASK_OUTPUT_MAX);
    bool is_too_long = false;
    int r = ask_input(asking, &input);
    int was_there;

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "a prompt of more than 16 MiB");
    if (!journal_has(task->spec->journal, asking->name))
        tell_asking(asking);
    was_there = call_model(asking, &input, &output, err);
    if (was_there < 0)
        return was_there;
    r = json_value_parse(output.data, output.len, ASK_OUTPUT_MAX, ret, err);
    if (r < 0)
        return gb_wrap(err, r, "the answer '%s' that was remembered", asking->name);
    learn(asking, *ret);
    if (json_bool(json_get(*ret, "too_long"), &is_too_long) && is_too_long)
        return 1;
    r = end_of_time(asking, *ret, err);
    if (r == 0)
        r = end_of_share(asking, *ret, err);
    if (r < 0)
        return r;
    account(asking, *ret);
    tell_answered(asking, was_there == 1);
    return 0;
}

/* NAME, NAME.2, NAME.3 …; the name itself for the first. */
static void numbered(const char *name, const char *what, unsigned n,
                     char ret[static STORE_NAME_MAX])
{
    if (n == 0)
        (void)snprintf(ret, STORE_NAME_MAX, "%s", name);
    else
        (void)snprintf(ret, STORE_NAME_MAX, "%.160s.%s%u", name, what, n + 1);
}

/* Halves the prompt for a server that finds it too long. */
static int one_answer(struct asking *asking, const char *name, const char *wrong,
                      struct json_value **ret, struct gb_err *err)
{
    char effect[STORE_NAME_MAX];
    int r = 1;

    for (unsigned halvings = 0; r == 1 && halvings <= SHORTER_MAX; halvings++) {
        numbered(name, "short-", halvings, effect);
        asking->name = effect;
        json_value_free(ret);
        r = make_prompt(asking, wrong, halvings, err);
        if (r == 0)
            r = one_effect(asking, ret, err);
    }
    asking->name = name;
    if (r == 1)
        r = gb_fail(err, -E2BIG, GB_BLAME_CALLER,
                    "the prompt is too long for %s" GB_REMEDY "choose a model with more context",
                    asking->task->models[asking->question->role].label);
    return r;
}

/* 1: another try may bring an answer that can be used. */
static int why_unusable(const struct json_value *output, struct gb_err *err)
{
    const char *failed = json_str(json_get(output, "failed"), NULL);

    if (failed)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "%s", failed);
    if (json_get(output, "endless"))
        (void)gb_fail(err, -EINVAL, GB_BLAME_PEER, "it did not come to an end: be shorter");
    else if (json_get(output, "refused"))
        (void)gb_fail(err, -EINVAL, GB_BLAME_PEER, "it was refused");
    else
        return 0;
    return 1;
}

static int one_try(struct asking *asking, const char *name, const char *wrong, ask_take take,
                   void *user, struct gb_err *err)
{
    cleanup_json struct json_value *output = NULL;
    unsigned iteration = ++asking->task->iteration;
    const char *text;
    size_t len;
    int r = task_may(asking->task, BUDGET_TOKENS, err);

    if (r == 0)
        r = one_answer(asking, name, wrong, &output, err);
    if (r < 0)
        return r;
    keep_input(asking, iteration);
    keep_output(asking, iteration, output);
    r = why_unusable(output, err);
    if (r != 0)
        return r;
    text = json_str(json_get(output, "text"), &len);
    if (!text)
        return gb_fail(err, -EINVAL, GB_BLAME_HOST,
                       "the answer '%s' that was remembered is damaged", name);
    return take(user, text, len, err);
}

int ask_unbounded(const char *schema, struct buf *ret)
{
    static const char *const bounds[] = { ",\"maxLength\":", ",\"maxItems\":" };

    while (*schema) {
        size_t skip = 0;

        for (size_t i = 0; i < N_ELEMENTS(bounds); i++)
            if (strncmp(schema, bounds[i], strlen(bounds[i])) == 0)
                skip = strlen(bounds[i]);
        if (skip > 0)
            schema += skip + strspn(schema + skip, "0123456789");
        else
            (void)buf_putc(ret, *schema++);
    }
    return buf_error(ret);
}

/* What this model gets of the schema, and how much of the time. */
static int begin(struct asking *asking, struct buf *schema, struct gb_err *err)
{
    const struct question *question = asking->question;
    const struct budget *budget = &asking->task->budget;
    uint64_t left_ms = budget_left(budget, BUDGET_TIME);

    asking->until_ms = UINT64_MAX;
    if (question->share > 0 && left_ms <= SHARED_MAX_MS)
        asking->until_ms = budget->spent[BUDGET_TIME] + left_ms * question->share / 100;
    asking->schema = question->schema;
    if (!question->schema || asking->task->models[question->role].context <= ASK_SMALL_CONTEXT)
        return 0;
    if (ask_unbounded(question->schema, schema) < 0)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a schema");
    asking->schema = schema->data;
    return 0;
}

static bool has_time(const struct asking *asking)
{
    return asking->task->budget.spent[BUDGET_TIME] < asking->until_ms;
}

int ask_taken(int r)
{
    return r < 0 && r != -ENOMEM ? 1 : r;
}

int ask(struct task *task, const struct question *question, ask_take take, void *user,
        unsigned *ret_iteration, struct gb_err *err)
{
    struct asking asking = {
        .task = task,
        .question = question,
        .system = BUF_INIT(PROMPT_MAX),
        .user = BUF_INIT(PROMPT_MAX),
        .lost = BUF_INIT(ASK_LINE_KEEP),
        .lines = { BUF_INIT(ASK_LINE_KEEP), BUF_INIT(ASK_LINE_KEEP) },
    };
    cleanup_buf struct buf schema = BUF_INIT(SCHEMA_MAX);
    char name[STORE_NAME_MAX];
    struct gb_err wrong = { 0 };
    int r = begin(&asking, &schema, err);

    if (r < 0)
        return r;
    r = 1;
    for (unsigned try = 1; r == 1 && try <= ASK_TRIES && has_time(&asking); try++) {
        struct gb_err problem = { 0 };

        numbered(question->name, "", try - 1, name);
        r = one_try(&asking, name, wrong.msg, take, user, &problem);
        wrong = problem;
    }
    buf_clear(&asking.system);
    buf_clear(&asking.user);
    buf_clear(&asking.lost);
    buf_clear(&asking.lines[0]);
    buf_clear(&asking.lines[1]);
    if (ret_iteration)
        *ret_iteration = task->iteration;
    if (r == 1)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "no answer of %s could be used: %s",
                       task->models[question->role].label, wrong.msg);
    if (r < 0 && err)
        *err = wrong;
    return r;
}
