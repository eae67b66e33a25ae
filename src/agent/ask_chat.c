/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ask_chat.c - one call of a model, as it is heard and as it is remembered.
 *
 * The answer is cleaned of secrets before anybody sees it, because a server knows the key and may
 * say it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/ask_inside.h"
#include "agent/redact.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/writer.h"
#include "model/model.h"

#define CLEAN_MAX      (64 << 10) /* of lines without their secrets */
#define LINE_SHOWN     (12 << 10) /* of more than ASK_LINE_KEEP: the rest might end within a secret */
#define CONTROL_TOKENS 2048

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
    bool is_cut = lines->len == ASK_LINE_KEEP;

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
        room = ASK_LINE_KEEP - lines->len;
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

int ask_input(const struct asking *asking, struct buf *ret)
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

void ask_put_clean(const struct asking *asking, struct json_writer *w, const char *key,
                   const char *text)
{
    cleanup_buf struct buf clean = BUF_INIT(ASK_OUTPUT_MAX);

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
    json_put_bool(w, "told_schema", !model_holds_schema(model));
}

static int output_text(const struct asking *asking, const struct model_answer *answer,
                       uint64_t wall_ms, struct buf *ret)
{
    const struct model *model = asking->task->spec->models[asking->question->role];
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    ask_put_clean(asking, &w, "text", answer->text);
    ask_put_clean(asking, &w, "reasoning", answer->reasoning);
    ask_put_clean(asking, &w, "model", answer->model ? answer->model : model_label(model));
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

/* Nor would it know that the time ran out here, or the share of it; or that an answer had no end,
 * or was refused. */
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
    uint64_t context = model_context(asking->task->spec->models[asking->question->role]);
    uint64_t room = context * 4 / 10;

    if (context > ASK_SMALL_CONTEXT)
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

/* Under which key a failure is remembered; NULL: it is not, and the task stops. */
static const char *failure_key(const struct asking *asking, int r)
{
    if (r == -ETIMEDOUT)
        return asking->until_ms == UINT64_MAX ? "timed_out" : "share_over";
    if (r == -EMSGSIZE)
        return "endless";
    if (r == -EACCES)
        return "refused";
    return asking->question->is_optional && r != -ECANCELED && r != -ENOMEM ? "failed" : NULL;
}

/* What came of the call, as the effect's output. */
static int remember(struct asking *asking, int r, const struct gb_err *why,
                    const struct model_answer *answer, uint64_t wall_ms, struct buf *ret)
{
    const char *key = r < 0 ? failure_key(asking, r) : NULL;

    if (r == 0) {
        tell_lines(asking, 1);
        tell_lines(asking, 0);
        return output_text(asking, answer, wall_ms, ret);
    }
    if (r == -E2BIG)
        return output_too_long(ret);
    if (key && why)
        return output_without(asking, key, why, answer, wall_ms, ret);
    /* A user who stops a task and goes on ends as if it had not been stopped. */
    if (r != -ECANCELED && why && answer->usage.input + answer->usage.output > 0)
        (void)output_without(asking, "lost", why, answer, wall_ms, &asking->lost);
    return r;
}

/* Prompts have the length that the task began with, so that those which were answered are the same
 * again.  A model that takes in less now is not asked with one that it has no room for: it is made
 * shorter, as if its server had said so. */
static bool is_over(const struct asking *asking, const struct model *model)
{
    return model_context(model) < asking->task->models[asking->question->role].context &&
           asking->system.len + asking->user.len > ask_bytes_of(model_context(model));
}

int ask_chat(void *user, struct buf *ret, struct gb_err *err)
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

    if (is_over(asking, model))
        return output_too_long(ret);
    r = model_chat(model, &request, &answer, err);
    wall_ms = (clock_now_ns() - started_ns) / NS_PER_MS;

    if (r == 0 && answer.finish == MODEL_REFUSED)
        r = gb_fail(err, -EACCES, GB_BLAME_PEER, "%s refuses to answer", model_label(model));
    if (r < 0)
        clean_error(asking, err);
    r = remember(asking, r, err, &answer, wall_ms, ret);
    model_answer_clear(&answer);
    return r;
}
