/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ask.c - one question to a model, as an effect.
 *
 * The prompt is made anew from variables, cleaned of secrets, and is the effect's input; the answer
 * is cleaned too before anybody sees it, because a server knows the key and may say it.
 */
#include "agent/ask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/folder.h"
#include "agent/journal.h"
#include "agent/redact.h"
#include "agent/state.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/model.h"
#include "store/store.h"

#define INPUT_MAX      (16 << 20)
#define OUTPUT_MAX     (64 << 20)
#define CLEAN_MAX      (64 << 10) /* of lines without their secrets */
#define LINE_KEEP      (16 << 10) /* of lines that are heard as they come and cannot be told apart */
#define LINE_SHOWN     (12 << 10) /* of more than that: the rest might end within a secret */
#define BYTES_TOKEN    3          /* at least, of any text that people write */
#define SMALL_CONTEXT  40000
#define CONTROL_TOKENS 2048
#define PROMPT_MIN     4096
#define SCHEMA_MAX     (64 << 10)
#define SHARED_MAX_MS  (24ULL * 3600 * 1000) /* tasks of days have time enough for everything */
#define SHORTER_MAX    3 /* times that a prompt is halved for a server that finds it too long */

struct asking {
    struct task *task;
    const struct question *question;
    const char *name;   /* with the number of the try */
    const char *schema; /* as this model gets it; NULL */
    uint64_t until_ms;  /* of the task's time: the end of its share; UINT64_MAX: none */
    struct buf system;
    struct buf user;
    struct buf lines[2]; /* of answer and reasoning as they come: told when they are whole */
};

static const enum event_kind kinds[] = { EVENT_TEXT, EVENT_REASONING };

/* ---- what is heard while it answers --------------------------------------------------------- */

static void hear(struct asking *asking, enum event_kind kind, const char *text, size_t len)
{
    struct agent_event event = {
        .kind = kind,
        .name = asking->question->doing,
        .text = text,
        .len = len,
    };

    task_tell(asking->task, &event);
}

/* A secret may come in pieces: what could be one is told whole. */
static void tell_lines(struct asking *asking, size_t which)
{
    struct buf *lines = &asking->lines[which];
    cleanup_buf struct buf clean = BUF_INIT(CLEAN_MAX);
    bool is_cut = lines->len == LINE_KEEP;

    if (lines->len > 0 && redact(asking->task->redactor, lines->data, lines->len, &clean) == 0)
        hear(asking, kinds[which], clean.data,
             is_cut && clean.len > LINE_SHOWN ? LINE_SHOWN : clean.len);
    buf_reset(lines);
}

/* Secrets in base64 or hex go on over the end of a line, in its next column; plain ones do not. */
static bool may_go_on(const struct buf *lines, char next)
{
    size_t end = lines->len;

    while (end > 0 && strchr("\r\n", lines->data[end - 1]))
        end--;
    if (end == 0 || end == lines->len)
        return end == lines->len;
    return (isalnum((unsigned char)next) || strchr("+/-_%\\\r\n", next)) &&
           (isalnum((unsigned char)lines->data[end - 1]) ||
            strchr("+/-_:, ", lines->data[end - 1]));
}

static void hear_lines(struct asking *asking, size_t which, const char *bytes, size_t len)
{
    struct buf *lines = &asking->lines[which];

    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end ? (size_t)(end - bytes) + 1 : len;
        size_t room;

        if (lines->len > 0 && !may_go_on(lines, *bytes))
            tell_lines(asking, which);
        room = LINE_KEEP - lines->len;
        (void)buf_add(lines, bytes, n < room ? n : room);
        bytes += n;
        len -= n;
    }
}

static void on_text(void *user, const char *bytes, size_t len)
{
    hear_lines(user, 0, bytes, len);
}

static void on_reasoning(void *user, const char *bytes, size_t len)
{
    hear_lines(user, 1, bytes, len);
}

static void on_again(void *user, const char *why, uint64_t wait_ms)
{
    struct asking *asking = user;

    (void)wait_ms;
    buf_reset(&asking->lines[0]);
    buf_reset(&asking->lines[1]);
    hear(asking, EVENT_AGAIN, why, strlen(why));
}

/* ---- the effect ----------------------------------------------------------------------------- */

/* Whatever the answer depends on but the model, which a resumed task may change. */
static int input_text(const struct asking *asking, struct buf *ret)
{
    const struct question *question = asking->question;
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_bytes(&w, "system", asking->system.data, asking->system.len);
    json_put_bytes(&w, "user", asking->user.data, asking->user.len);
    json_put_str(&w, "schema", question->schema_name);
    json_put_double(&w, "temperature", question->temperature, 3);
    json_put_u64(&w, "seed", question->seed);
    json_object_end(&w);
    return json_writer_end(&w);
}

static void put_clean(const struct asking *asking, struct json_writer *w, const char *key,
                      const char *text)
{
    cleanup_buf struct buf clean = BUF_INIT(OUTPUT_MAX);

    if (text && redact(asking->task->redactor, text, strlen(text), &clean) == 0)
        json_put_bytes(w, key, clean.data ? clean.data : "", clean.len);
    else
        json_put_null(w, key);
}

/* Of every answer, whether it could be used or not: what it took, and what was learnt of its model,
 * for whoever replays the task has none. */
static void put_facts(const struct asking *asking, struct json_writer *w,
                      const struct model_answer *answer, uint64_t wall_ms)
{
    const struct model *model = asking->task->spec->models[asking->question->role];
    const struct model_usage *usage = &answer->usage;

    json_put_u64(w, "tokens", usage->input + usage->output);
    json_put_u64(w, "cached", usage->cached);
    if (usage->has_cost)
        json_put_u64(w, "micro_dollars", usage->cost);
    else
        json_put_null(w, "micro_dollars");
    json_put_u64(w, "wall_ms", wall_ms);
    json_put_bool(w, "samples", model_samples(model));
}

static int output_text(const struct asking *asking, const struct model_answer *answer,
                       uint64_t wall_ms, struct buf *ret)
{
    const struct model *model = asking->task->spec->models[asking->question->role];
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_clean(asking, &w, "text", answer->text);
    put_clean(asking, &w, "reasoning", answer->reasoning);
    put_clean(asking, &w, "model", answer->model ? answer->model : model_label(model));
    put_facts(asking, &w, answer, wall_ms);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* That a prompt was too long must be remembered, or a replay would not know why a shorter one
 * follows. */
static int output_too_long(struct buf *ret)
{
    return buf_puts(ret, "{\"too_long\":true}");
}

/* Nor would it know that the time ran out here, or the share of it; or that an answer had no end.
 */
static int output_without(const struct asking *asking, const char *key, const struct gb_err *why,
                          const struct model_answer *answer, uint64_t wall_ms, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, key, why->msg);
    put_facts(asking, &w, answer, wall_ms);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* Servers quote keys in what they complain of. */
static void clean_error(const struct asking *asking, struct gb_err *err)
{
    cleanup_buf struct buf clean = BUF_INIT(4 * sizeof(err->msg));

    if (err && redact(asking->task->redactor, err->msg, strlen(err->msg), &clean) == 0)
        (void)snprintf(err->msg, sizeof(err->msg), "%s", clean.data ? clean.data : "");
}

/* A small model may never come to an end: it has what its context leaves beside the prompt, and for
 * an answer of a few lines not all of that.  Large ones have their own sense. */
static uint64_t most_tokens(const struct asking *asking)
{
    uint64_t context = asking->task->models[asking->question->role].context;
    uint64_t room = context * 4 / 10;

    if (context > SMALL_CONTEXT)
        return 0;
    return asking->question->schema && room > CONTROL_TOKENS ? CONTROL_TOKENS : room;
}

static uint64_t deadline_of(const struct asking *asking)
{
    uint64_t spent_ms = asking->task->budget.spent[BUDGET_TIME];
    uint64_t deadline_ns = task_deadline(asking->task);
    uint64_t share_ns;

    if (asking->until_ms == UINT64_MAX || deadline_ns == CLOCK_NEVER_NS)
        return deadline_ns;
    share_ns = clock_now_ns() + (asking->until_ms - spent_ms) * NS_PER_MS;
    return share_ns < deadline_ns ? share_ns : deadline_ns;
}

static int chat(void *user, struct buf *ret, struct gb_err *err)
{
    struct asking *asking = user;
    const struct question *question = asking->question;
    const struct agent_spec *spec = asking->task->spec;
    struct model *model = spec->models[question->role];
    const struct model_message messages[] = {
        { MODEL_SYSTEM, asking->system.data },
        { MODEL_USER, asking->user.data },
    };
    struct model_request request = {
        .messages = messages,
        .n_messages = N_ELEMENTS(messages),
        .schema_name = question->schema_name,
        .schema = asking->schema,
        .temperature = question->temperature,
        .seed = question->seed,
        .effort = spec->effort,
        .max_tokens = most_tokens(asking),
        .deadline_ns = deadline_of(asking),
        .cancel_fd = spec->cancel_fd,
        .text = on_text,
        .reasoning = on_reasoning,
        .again = on_again,
        .user = asking,
    };
    struct model_answer answer = { 0 };
    uint64_t started_ns = clock_now_ns();
    uint64_t wall_ms;
    int r;

    r = model_chat(model, &request, &answer, err);
    wall_ms = (clock_now_ns() - started_ns) / NS_PER_MS;

    if (r == 0 && answer.finish == MODEL_REFUSED)
        r = gb_fail(err, -EACCES, GB_BLAME_PEER, "%s refuses to answer", model_label(model));
    if (r < 0)
        clean_error(asking, err);
    if (r == 0) {
        tell_lines(asking, 1);
        tell_lines(asking, 0);
        r = output_text(asking, &answer, wall_ms, ret);
    } else if (r == -E2BIG) {
        r = output_too_long(ret);
    } else if (r == -ETIMEDOUT && err) {
        r = output_without(asking, asking->until_ms == UINT64_MAX ? "timed_out" : "share_over", err,
                           &answer, wall_ms, ret);
    } else if (r == -EMSGSIZE && answer.is_cut && err) {
        r = output_without(asking, "endless", err, &answer, wall_ms, ret);
    }
    model_answer_clear(&answer);
    return r;
}

/* ---- the prompt ----------------------------------------------------------------------------- */

/* At most 60 % of what the model can take in; the rest is for its answer. */
static size_t room_for(const struct model_facts *model, unsigned halvings)
{
    uint64_t room = model->context * 6 / 10 * BYTES_TOKEN;

    room = room > PROMPT_MAX ? PROMPT_MAX : room;
    room >>= halvings;
    return room < PROMPT_MIN ? PROMPT_MIN : (size_t)room;
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
    const struct model_facts *model = &asking->task->models[question->role];
    struct prompt_var vars[ASK_VARS_MAX + 1];
    cleanup_buf struct buf text = BUF_INIT(PROMPT_MAX);
    size_t stable = 0;
    int r;

    memcpy(vars, question->vars, question->n_vars * sizeof(vars[0]));
    vars[question->n_vars] = (struct prompt_var){ "wrong", wrong, 0 };
    r = prompt_render(question->prompt, vars, question->n_vars + 1, room_for(model, halvings),
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

/* A server may have refused the temperature; the same model may play several parts. */
static void learn(const struct asking *asking, const struct json_value *output)
{
    struct model_facts *models = asking->task->models;
    const struct model_facts *asked = &models[asking->question->role];
    bool samples;

    if (!json_bool(json_get(output, "samples"), &samples))
        return;
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(models[i].label, asked->label) == 0 &&
            strcmp(models[i].endpoint, asked->endpoint) == 0)
            models[i].samples = samples;
}

static void keep_input(const struct asking *asking, unsigned iteration)
{
    const struct question *question = asking->question;
    struct folder_step step = { iteration, question->agent };
    cleanup_buf struct buf text = BUF_INIT(INPUT_MAX);
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
        put_clean(asking, &w, "execution_feedback", question->feedback);
    json_object_end(&w);
    if (json_writer_end(&w) == 0 && asking->task->spec->folder)
        (void)folder_put(asking->task->spec->folder, step, FOLDER_INPUT, text.data, text.len, NULL);
}

static void keep_output(const struct asking *asking, unsigned iteration,
                        const struct json_value *output)
{
    struct folder_step step = { iteration, asking->question->agent };
    cleanup_buf struct buf text = BUF_INIT(OUTPUT_MAX);
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

/* The remembered or new output of one effect; 1 when it says that the prompt was too long. */
static int one_effect(struct asking *asking, struct json_value **ret, struct gb_err *err)
{
    struct task *task = asking->task;
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    cleanup_buf struct buf output = BUF_INIT(OUTPUT_MAX);
    bool is_too_long = false;
    int r = input_text(asking, &input);
    int was_there;

    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "a prompt of more than 16 MiB");
    if (!journal_has(task->spec->journal, asking->name))
        tell_asking(asking);
    was_there = journal_do(task->spec->journal, asking->name, input.data, input.len, chat, asking,
                           &output, err);
    if (was_there < 0)
        return was_there;
    r = json_value_parse(output.data, output.len, OUTPUT_MAX, ret, err);
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
    if (json_get(output, "endless")) {
        (void)gb_fail(err, -EINVAL, GB_BLAME_PEER, "it did not come to an end: be shorter");
        return 1;
    }
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
    if (!question->schema || asking->task->models[question->role].context <= SMALL_CONTEXT)
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
        .lines = { BUF_INIT(LINE_KEEP), BUF_INIT(LINE_KEEP) },
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
