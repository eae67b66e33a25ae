/* SPDX-License-Identifier: Apache-2.0 */
/* model/driver.c - model.h as a program, for tests that bring their own server.
 *
 * usage: model_driver PLAN        (a file of JSON)
 *
 *    {"spec": {"provider", "name", "base_url", "key", "key_is_token", "context"},
 *     "requests": [{"messages": [{"role", "text", "calls": [{"id", "name", "arguments"}],
 *                                 "is_error"}], "schema_name", "schema": {}, "tools":
 *                   [{"name", "description", "schema": {}}], "temperature", "seed", "max_tokens",
 *                   "effort", "timeout_ms", "may_cancel", "cannot_forget", "is_quiet"}]}
 *
 * Each thing that happens is a line of JSON on stdout: "open", "text", "reasoning", "again",
 * "answer", "error", and at the end "end".  All requests are of one model, one after another.  With
 * may_cancel, whatever comes on stdin cancels, its end too.  The exit status is 0 when every
 * request was made, however it ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/model.h"

#define PLAN_MAX     (80 << 20)
#define LINE_MAX     (64 << 20)
#define MESSAGES_MAX 16
#define TOOLS_MAX    8

/* ---- lines ---------------------------------------------------------------------------------- */

struct line {
    struct buf buf;
    struct json_writer w;
};

static void line_begin(struct line *line, const char *event)
{
    *line = (struct line){ .buf = BUF_INIT(LINE_MAX) };
    json_writer_init(&line->w, &line->buf, false);
    json_object_begin(&line->w, NULL);
    json_put_str(&line->w, "event", event);
}

static void line_end(struct line *line)
{
    json_object_end(&line->w);
    if (json_writer_end(&line->w) < 0 || puts(line->buf.data) == EOF || fflush(stdout) == EOF)
        exit(125);
    buf_clear(&line->buf);
}

static void put_usage(struct json_writer *w, const struct model_answer *answer)
{
    json_put_u64(w, "requests", answer->requests);
    if (!answer->usage.is_known)
        return;
    json_object_begin(w, "usage");
    json_put_u64(w, "input", answer->usage.input);
    json_put_u64(w, "output", answer->usage.output);
    json_put_u64(w, "cached", answer->usage.cached);
    json_object_end(w);
}

static void tell_error(const struct gb_err *err, const struct model_answer *answer)
{
    static const char *const blames[] = { "none", "caller", "host", "peer", "bug" };
    struct line line;

    line_begin(&line, "error");
    json_put_str(&line.w, "code", strerrorname_np(-err->code));
    json_put_str(&line.w, "blame", blames[err->blame]);
    json_put_str(&line.w, "message", err->msg);
    if (answer)
        put_usage(&line.w, answer);
    line_end(&line);
}

static void tell_answer(const struct model_answer *answer)
{
    static const char *const finishes[] = { "stop", "tools", "refused" };
    struct line line;

    line_begin(&line, "answer");
    json_put_str(&line.w, "text", answer->text);
    json_put_str(&line.w, "reasoning", answer->reasoning);
    json_put_str(&line.w, "finish", finishes[answer->finish]);
    json_put_str(&line.w, "model", answer->model);
    put_usage(&line.w, answer);
    json_array_begin(&line.w, "calls");
    for (size_t i = 0; i < answer->n_calls; i++) {
        json_object_begin(&line.w, NULL);
        json_put_str(&line.w, "id", answer->calls[i].id);
        json_put_str(&line.w, "name", answer->calls[i].name);
        json_put_str(&line.w, "arguments", answer->calls[i].arguments);
        json_object_end(&line.w);
    }
    json_array_end(&line.w);
    line_end(&line);
}

static void tell_open(const struct model *model)
{
    struct line line;

    line_begin(&line, "open");
    json_put_str(&line.w, "label", model_label(model));
    json_put_str(&line.w, "endpoint", model_endpoint(model));
    json_put_u64(&line.w, "context", model_context(model));
    json_put_bool(&line.w, "samples", model_samples(model));
    line_end(&line);
}

static int64_t us_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* Since the exec: what getrusage() knows begins with the size of whoever started us. */
static int64_t peak_kib(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char text[256];
    long kib = -1;

    while (status && fgets(text, sizeof(text), status))
        if (sscanf(text, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        (void)fclose(status);
    return kib;
}

static void tell_end(void)
{
    struct rusage usage = { 0 };
    struct line line;

    (void)getrusage(RUSAGE_SELF, &usage);
    line_begin(&line, "end");
    json_put_i64(&line.w, "peak_kib", peak_kib());
    json_put_i64(&line.w, "cpu_us", us_of(usage.ru_utime) + us_of(usage.ru_stime));
    line_end(&line);
}

/* ---- what comes while it comes -------------------------------------------------------------- */

static void tell_piece(const char *event, const char *bytes, size_t len)
{
    struct line line;

    line_begin(&line, event);
    json_put_bytes(&line.w, "bytes", bytes, len);
    line_end(&line);
}

static void on_text(void *user, const char *bytes, size_t len)
{
    (void)user;
    tell_piece("text", bytes, len);
}

static void on_reasoning(void *user, const char *bytes, size_t len)
{
    (void)user;
    tell_piece("reasoning", bytes, len);
}

static void on_again(void *user, const char *why, uint64_t wait_ms)
{
    struct line line;

    (void)user;
    line_begin(&line, "again");
    json_put_str(&line.w, "why", why);
    json_put_u64(&line.w, "wait_ms", wait_ms);
    line_end(&line);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void bad_plan(const char *what)
{
    (void)fprintf(stderr, "model_driver: %s\n", what);
    exit(2);
}

static const char *text_of(const struct json_value *object, const char *key)
{
    return json_str(json_get(object, key), NULL);
}

static uint64_t number_of(const struct json_value *object, const char *key, uint64_t usual)
{
    (void)json_u64(json_get(object, key), &usual);
    return usual;
}

static bool is_set(const struct json_value *object, const char *key)
{
    bool is = false;

    (void)json_bool(json_get(object, key), &is);
    return is;
}

/* A part of the plan as JSON text, for free(); NULL when it is not there. */
static char *json_of(const struct json_value *object, const char *key)
{
    struct buf text = BUF_INIT(PLAN_MAX);

    if (!json_get(object, key))
        return NULL;
    if (json_value_text(json_get(object, key), &text) < 0)
        bad_plan("no memory");
    return buf_take(&text);
}

static enum model_role role_of(const char *name)
{
    static const char *const roles[] = { "system", "user", "assistant", "tool" };

    for (size_t i = 0; name && i < N_ELEMENTS(roles); i++)
        if (strcmp(name, roles[i]) == 0)
            return (enum model_role)i;
    bad_plan("a message needs a role");
    return MODEL_USER;
}

struct question {
    struct model_request request;
    struct model_message messages[MESSAGES_MAX];
    struct model_call calls[MESSAGES_MAX][TOOLS_MAX];
    struct model_tool tools[TOOLS_MAX];
    char *schema;
    char *tool_schemas[TOOLS_MAX];
};

static void question_clear(struct question *q)
{
    free(q->schema);
    for (size_t i = 0; i < TOOLS_MAX; i++)
        free(q->tool_schemas[i]);
}

/* An assistant's calls, or the one that a tool's result is of.  The strings stay the plan's. */
static void read_calls(const struct json_value *json, struct model_call *calls,
                       struct model_message *message)
{
    const struct json_value *list = json_get(json, "calls");

    if (json_count(list) > TOOLS_MAX)
        bad_plan("too many calls");
    for (size_t i = 0; i < json_count(list); i++)
        calls[i] = (struct model_call){
            /* A request does not change what it is given. */
            .id = (char *)(uintptr_t)text_of(json_at(list, i), "id"),
            .name = (char *)(uintptr_t)text_of(json_at(list, i), "name"),
            .arguments = (char *)(uintptr_t)text_of(json_at(list, i), "arguments"),
        };
    if (message->role == MODEL_TOOL) {
        message->call = calls;
        message->is_error = is_set(json, "is_error");
        return;
    }
    message->calls = calls;
    message->n_calls = json_count(list);
}

static void read_lists(const struct json_value *json, struct question *q)
{
    const struct json_value *messages = json_get(json, "messages");
    const struct json_value *tools = json_get(json, "tools");

    if (json_count(messages) > MESSAGES_MAX || json_count(tools) > TOOLS_MAX)
        bad_plan("too many messages or tools");
    for (size_t i = 0; i < json_count(messages); i++) {
        const struct json_value *message = json_at(messages, i);
        const char *text = text_of(message, "text");

        q->messages[i] = (struct model_message){ role_of(text_of(message, "role")), text ?: "" };
        read_calls(message, q->calls[i], &q->messages[i]);
    }
    for (size_t i = 0; i < json_count(tools); i++) {
        const struct json_value *tool = json_at(tools, i);

        q->tool_schemas[i] = json_of(tool, "schema");
        q->tools[i] = (struct model_tool){ text_of(tool, "name"), text_of(tool, "description"),
                                           q->tool_schemas[i] };
    }
    q->request.n_messages = json_count(messages);
    q->request.n_tools = json_count(tools);
}

static void read_question(const struct json_value *json, struct question *q)
{
    uint64_t timeout_ms = number_of(json, "timeout_ms", 0);
    bool cannot_forget = is_set(json, "cannot_forget");
    double temperature = -1;

    (void)json_double(json_get(json, "temperature"), &temperature);
    q->schema = json_of(json, "schema");
    q->request = (struct model_request){
        .messages = q->messages,
        .tools = q->tools,
        .schema_name = text_of(json, "schema_name"),
        .schema = q->schema,
        .temperature = temperature,
        .seed = number_of(json, "seed", 0),
        .max_tokens = number_of(json, "max_tokens", 0),
        .effort = text_of(json, "effort"),
        .deadline_ns = timeout_ms ? clock_after_ms(timeout_ms) : CLOCK_NEVER_NS,
        .cancel_fd = is_set(json, "may_cancel") ? STDIN_FILENO : -1,
        .text = is_set(json, "is_quiet") ? NULL : on_text,
        .reasoning = is_set(json, "is_quiet") ? NULL : on_reasoning,
        .again = cannot_forget ? NULL : on_again,
    };
    read_lists(json, q);
}

/* ---- asking --------------------------------------------------------------------------------- */

static void ask(struct model *model, const struct json_value *json)
{
    cleanup_with(question_clear) struct question question = { 0 };
    struct model_answer answer = { 0 };
    struct gb_err err = { 0 };

    read_question(json, &question);
    if (model_chat(model, &question.request, &answer, &err) < 0)
        tell_error(&err, &answer);
    else
        tell_answer(&answer);
    model_answer_clear(&answer);
}

static void follow(const struct json_value *plan)
{
    const struct json_value *json = json_get(plan, "spec");
    const struct json_value *requests = json_get(plan, "requests");
    const struct model_spec spec = {
        .provider = text_of(json, "provider") ?: "openai-compatible",
        .name = text_of(json, "name"),
        .base_url = text_of(json, "base_url"),
        .key = text_of(json, "key"),
        .key_is_token = is_set(json, "key_is_token"),
        .context = number_of(json, "context", 0),
    };
    cleanup_model struct model *model = NULL;
    struct gb_err err = { 0 };

    if (model_open(&spec, &model, &err) < 0) {
        tell_error(&err, NULL);
        return;
    }
    if (is_set(json, "learns") && model_learn_context(model, -1, &err) < 0)
        tell_error(&err, NULL);
    tell_open(model);
    for (size_t i = 0; i < json_count(requests); i++)
        ask(model, json_at(requests, i));
}

static void read_plan(const char *path, struct buf *ret)
{
    FILE *file = fopen(path, "re");
    char piece[65536];
    size_t len;

    if (!file)
        bad_plan("the plan cannot be read");
    while ((len = fread(piece, 1, sizeof(piece), file)) > 0)
        if (buf_add(ret, piece, len) < 0)
            bad_plan("the plan is too long");
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    cleanup_buf struct buf text = BUF_INIT(PLAN_MAX);
    cleanup_json struct json_value *plan = NULL;
    struct gb_err err = { 0 };

    if (argc != 2)
        bad_plan("usage: model_driver PLAN");
    read_plan(argv[1], &text);
    if (!text.data || json_value_parse(text.data, text.len, PLAN_MAX, &plan, &err) < 0)
        bad_plan(err.msg);
    follow(plan);
    tell_end();
    return 0;
}
