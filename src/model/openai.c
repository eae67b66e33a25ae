/* SPDX-License-Identifier: Apache-2.0 */
/* model/openai.c - the Chat Completions API, as OpenAI and its many clones speak it.
 *
 * Always streamed.  What differs between servers is in providers.def and params.h; reading is
 * lenient where it is harmless: reasoning under two names, usage in three places, tool calls with
 * or without numbers, errors in the middle of a stream, a whole answer where a stream was asked. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "json/utf8.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/assemble.h"
#include "model/model.h"
#include "model/params.h"
#include "model/wire.h"

/* ---- requests ------------------------------------------------------------------------------- */

static void put_calls(struct json_writer *w, const struct model_message *message)
{
    json_array_begin(w, "tool_calls");
    for (size_t i = 0; i < message->n_calls; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "id", message->calls[i].id);
        json_put_str(w, "type", "function");
        json_object_begin(w, "function");
        json_put_str(w, "name", message->calls[i].name);
        json_put_str(w, "arguments", message->calls[i].arguments);
        json_object_end(w);
        json_object_end(w);
    }
    json_array_end(w);
}

static size_t put_turn(struct json_writer *w, const struct model_message *messages, size_t n)
{
    bool is_result = messages->role == MODEL_TOOL;

    (void)n;
    json_object_begin(w, NULL);
    json_put_str(w, "role", is_result ? "tool" : "assistant");
    json_put_str(w, "content", messages->text);
    if (is_result)
        json_put_str(w, "tool_call_id", messages->call->id);
    else
        put_calls(w, messages);
    json_object_end(w);
    return 1;
}

static void put_format(struct json_writer *w, const struct model_request *request, unsigned sent)
{
    if (!(sent & (PARAM_SCHEMA | PARAM_JSON_MODE)))
        return;
    json_object_begin(w, "response_format");
    json_put_str(w, "type", sent & PARAM_SCHEMA ? "json_schema" : "json_object");
    if (sent & PARAM_SCHEMA) {
        json_object_begin(w, "json_schema");
        json_put_str(w, "name", request->schema_name ? request->schema_name : "answer");
        json_put_bool(w, "strict", true);
        json_put_raw(w, "schema", request->schema);
        json_object_end(w);
    }
    json_object_end(w);
}

static void put_params(struct json_writer *w, const struct model_request *request, unsigned sent)
{
    if (sent & PARAM_TEMPERATURE)
        json_put_double(w, "temperature", request->temperature, 3);
    if (sent & PARAM_SEED)
        json_put_u64(w, "seed", request->seed);
    if (sent & PARAM_NEW_MAX)
        json_put_u64(w, "max_completion_tokens", request->max_tokens);
    if (sent & PARAM_OLD_MAX)
        json_put_u64(w, "max_tokens", request->max_tokens);
    if (sent & PARAM_EFFORT)
        json_put_str(w, "reasoning_effort", request->effort);
    if (sent & PARAM_USAGE_OPTION) {
        json_object_begin(w, "stream_options");
        json_put_bool(w, "include_usage", true);
        json_object_end(w);
    }
}

static int openai_body(const struct wire_ask *ask, struct buf *ret, struct gb_err *err)
{
    unsigned sent = params_sent(ask->provider, ask->request, ask->partial, ask->left_out);
    struct json_writer w;
    int r;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "model", ask->model);
    r = wire_put_messages(&w, ask, sent, put_turn);
    if (r < 0)
        return wire_no_body(r, err);
    wire_put_functions(&w, ask->request);
    put_format(&w, ask->request, sent);
    put_params(&w, ask->request, sent);
    json_put_bool(&w, "stream", true);
    json_object_end(&w);
    r = json_writer_end(&w);
    return r < 0 ? wire_no_body(r, err) : 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static void read_usage(struct assembly *assembly, const struct json_value *usage)
{
    uint64_t input = 0;
    uint64_t cached = 0;
    uint64_t output = 0;
    uint64_t total = 0;
    double cost = 0;

    if (json_kind(usage) != JSON_OBJECT || !json_u64(json_get(usage, "prompt_tokens"), &input))
        return;
    (void)json_u64(json_get(usage, "completion_tokens"), &output);
    (void)json_u64(json_get(usage, "total_tokens"), &total);
    if (!json_u64(json_path(usage, "prompt_tokens_details/cached_tokens"), &cached))
        (void)json_u64(json_get(usage, "prompt_cache_hit_tokens"), &cached);
    assembly_usage(assembly, input, cached, output, total);
    /* OpenRouter's credits are dollars. */
    if (json_double(json_get(usage, "cost"), &cost) && cost >= 0 && cost < 1e6) {
        assembly->usage.has_cost = true;
        assembly->usage.cost = (uint64_t)(cost * 1e6 + 0.5);
    }
}

/* A string, or an array of parts that have texts. */
static int read_content(struct assembly *assembly, const struct json_value *content)
{
    size_t len = 0;
    const char *text = json_str(content, &len);
    int r = text ? assembly_text(assembly, text, len) : 0;

    if (json_kind(content) != JSON_ARRAY)
        return r;
    for (size_t i = 0; i < json_count(content) && r == 0; i++) {
        text = json_str(json_get(json_at(content, i), "text"), &len);
        r = text ? assembly_text(assembly, text, len) : 0;
    }
    return r;
}

static int read_reasoning(struct assembly *assembly, const struct json_value *delta)
{
    static const char *const keys[] = { "reasoning_content", "reasoning" };

    for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
        size_t len = 0;
        const char *text = json_str(json_get(delta, keys[i]), &len);

        /* Some servers send it under both. */
        if (text && len > 0)
            return assembly_reasoning(assembly, text, len);
    }
    return 0;
}

static int read_calls(struct assembly *assembly, const struct json_value *calls)
{
    int r = 0;

    for (size_t i = 0; i < json_count(calls) && r == 0; i++) {
        const struct json_value *call = json_at(calls, i);
        struct assembly_piece piece = {
            .id = json_str(json_get(call, "id"), NULL),
            .name = json_str(json_path(call, "function/name"), NULL),
        };

        piece.has_index = json_u64(json_get(call, "index"), &piece.index);
        piece.arguments = json_str(json_path(call, "function/arguments"), &piece.arguments_len);
        r = assembly_call(assembly, &piece);
    }
    return r;
}

static int read_refusal(struct assembly *assembly, const struct json_value *refusal)
{
    size_t len = 0;
    const char *text = json_str(refusal, &len);

    if (!text || len == 0)
        return 0;
    assembly->end = ASSEMBLY_REFUSED;
    return assembly_text(assembly, text, len);
}

static int read_choice(struct assembly *assembly, const struct json_value *choice)
{
    const struct json_value *delta = wire_member(choice, "delta");
    const char *reason = json_str(json_get(choice, "finish_reason"), NULL);
    int r;

    if (!delta)
        delta = wire_member(choice, "message");
    r = read_reasoning(assembly, delta);
    if (r == 0)
        r = read_content(assembly, json_get(delta, "content"));
    if (r == 0)
        r = read_refusal(assembly, json_get(delta, "refusal"));
    if (r == 0)
        r = read_calls(assembly, json_get(delta, "tool_calls"));
    if (r == 0 && reason && reason[0])
        r = assembly_reason(assembly, reason);
    return r;
}

/* An event like the one before: only its text is read. */
static int read_repeated(struct assembly *assembly, const char *literal, size_t len)
{
    cleanup_json struct json_value *json = NULL;
    const char *text = literal + 1;
    size_t text_len = len - 2;
    int r;

    if (!memchr(literal, '\\', len) && utf8_is_valid(text, text_len))
        return assembly_text(assembly, text, text_len);
    r = wire_parse(assembly, literal, len, &json);
    if (r < 0)
        return r;
    text = json_str(json, &text_len);
    return text ? assembly_text(assembly, text, text_len) : 0;
}

/* Remembers an event of which nothing but its text matters. */
static void learn(struct assembly *assembly, const struct json_value *json, const char *data,
                  size_t len)
{
    const struct json_value *choice = json_path(json, "choices/0");
    const struct json_value *delta = wire_member(choice, "delta");
    size_t text_len = 0;
    const char *text = json_str(json_get(delta, "content"), &text_len);

    if (!text || assembly->repeat.n_holes > 0 || wire_member(choice, "finish_reason") ||
        wire_member(json, "usage") || wire_member(json, "x_groq") ||
        wire_member(delta, "tool_calls") || wire_member(delta, "refusal") ||
        wire_member(delta, "reasoning") || wire_member(delta, "reasoning_content"))
        return;
    repeat_learn(&assembly->repeat, data, len, text, text_len);
}

static int openai_event(struct assembly *assembly, const char *data, size_t len)
{
    cleanup_json struct json_value *json = NULL;
    const struct json_value *usage;
    const char *literal = NULL;
    size_t literal_len = 0;
    int r;

    if (repeat_fits(&assembly->repeat, data, len, &literal, &literal_len))
        return read_repeated(assembly, literal, literal_len);
    assembly->repeat.n_holes = 0;

    if (len == strlen("[DONE]") && memcmp(data, "[DONE]", len) == 0) {
        assembly->is_done = true;
        return 0;
    }
    r = wire_parse(assembly, data, len, &json);
    if (r < 0)
        return r;
    if (wire_member(json, "error")) {
        fault_read(&assembly->fault, 0, json);
        return -EREMOTEIO;
    }
    wire_model(assembly, json_get(json, "model"));
    usage = wire_member(json, "usage");
    read_usage(assembly, usage ? usage : json_path(json, "x_groq/usage"));
    learn(assembly, json, data, len);
    return read_choice(assembly, json_path(json, "choices/0"));
}

const struct wire wire_openai = {
    .chat_path = "/chat/completions",
    .list_path = "/models",
    .key_header = "Authorization: Bearer ",
    .body = openai_body,
    .event = openai_event,
};
