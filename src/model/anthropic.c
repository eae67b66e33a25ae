/* SPDX-License-Identifier: Apache-2.0 */
/* model/anthropic.c - the Messages API of Anthropic.
 *
 * Always streamed.  No sampling parameters are sent: newer versions of the API refuse them.  The
 * last message is always the user's, because newer models do not go on from an assistant's. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/assemble.h"
#include "model/model.h"
#include "model/params.h"
#include "model/wire.h"

/* The wire wants a limit.  Every model of the last years takes the first, every one the second. */
#define MAX_TOKENS     32000
#define MAX_TOKENS_OLD 4096

/* ---- requests ------------------------------------------------------------------------------- */

/* The part that stays the same from call to call, so that the server reads it once. */
static void put_system(struct json_writer *w, const char *text)
{
    json_array_begin(w, "system");
    json_object_begin(w, NULL);
    json_put_str(w, "type", "text");
    json_put_str(w, "text", text);
    json_object_begin(w, "cache_control");
    json_put_str(w, "type", "ephemeral");
    json_object_end(w);
    json_object_end(w);
    json_array_end(w);
}

static void put_use(struct json_writer *w, const struct model_call *call)
{
    json_object_begin(w, NULL);
    json_put_str(w, "type", "tool_use");
    json_put_str(w, "id", call->id);
    json_put_str(w, "name", call->name);
    wire_put_arguments(w, "input", call);
    json_object_end(w);
}

static void put_result(struct json_writer *w, const struct model_message *message)
{
    json_object_begin(w, NULL);
    json_put_str(w, "type", "tool_result");
    json_put_str(w, "tool_use_id", message->call->id);
    json_put_str(w, "content", message->text);
    if (message->is_error)
        json_put_bool(w, "is_error", true);
    json_object_end(w);
}

/* An empty text block is refused. */
static void put_text(struct json_writer *w, const char *text)
{
    if (!text[0])
        return;
    json_object_begin(w, NULL);
    json_put_str(w, "type", "text");
    json_put_str(w, "text", text);
    json_object_end(w);
}

/* All results of a turn are one message, the user's. */
static size_t put_turn(struct json_writer *w, const struct model_message *messages, size_t n)
{
    bool is_result = messages->role == MODEL_TOOL;
    size_t taken = 1;

    json_object_begin(w, NULL);
    json_put_str(w, "role", is_result ? "user" : "assistant");
    json_array_begin(w, "content");
    if (!is_result)
        put_text(w, messages->text);
    for (size_t i = 0; i < messages->n_calls; i++)
        put_use(w, &messages->calls[i]);
    if (is_result)
        for (taken = 0; taken < n && messages[taken].role == MODEL_TOOL; taken++)
            put_result(w, &messages[taken]);
    json_array_end(w);
    json_object_end(w);
    return taken;
}

static int put_messages(struct json_writer *w, const struct wire_ask *ask, unsigned sent)
{
    cleanup_buf struct buf system = BUF_INIT(WIRE_BODY_MAX);
    int r = wire_system(ask, sent, &system);

    if (r < 0)
        return r;
    if (system.len > 0)
        put_system(w, system.data);
    json_array_begin(w, "messages");
    wire_put_turns(w, ask, sent, put_turn);
    json_array_end(w);
    return 0;
}

static void put_tools(struct json_writer *w, const struct model_request *request)
{
    if (request->n_tools == 0)
        return;
    json_array_begin(w, "tools");
    for (size_t i = 0; i < request->n_tools; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "name", request->tools[i].name);
        json_put_str(w, "description", request->tools[i].description);
        json_put_raw(w, "input_schema", request->tools[i].schema);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_output_config(struct json_writer *w, const struct model_request *request,
                              unsigned sent)
{
    if (!(sent & (PARAM_SCHEMA | PARAM_EFFORT)))
        return;
    json_object_begin(w, "output_config");
    if (sent & PARAM_EFFORT)
        json_put_str(w, "effort", request->effort);
    if (sent & PARAM_SCHEMA) {
        json_object_begin(w, "format");
        json_put_str(w, "type", "json_schema");
        json_put_raw(w, "schema", request->schema);
        json_object_end(w);
    }
    json_object_end(w);
}

static uint64_t limit_of(const struct model_request *request, unsigned sent)
{
    uint64_t most = sent & PARAM_OLD_MAX ? MAX_TOKENS : MAX_TOKENS_OLD;

    if (sent & PARAM_OLD_MAX && request->max_tokens)
        return request->max_tokens;
    return request->max_tokens && request->max_tokens < most ? request->max_tokens : most;
}

static int anthropic_body(const struct wire_ask *ask, struct buf *ret, struct gb_err *err)
{
    unsigned sent = params_sent(ask->provider, ask->request, ask->partial, ask->left_out);
    struct json_writer w;
    int r;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    json_put_str(&w, "model", ask->model);
    json_put_u64(&w, "max_tokens", limit_of(ask->request, sent));
    r = put_messages(&w, ask, sent);
    if (r < 0)
        return wire_no_body(r, err);
    put_tools(&w, ask->request);
    put_output_config(&w, ask->request, sent);
    json_put_bool(&w, "stream", true);
    json_object_end(&w);
    r = json_writer_end(&w);
    return r < 0 ? wire_no_body(r, err) : 0;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Later events repeat what they know better; some leave out what was told before. */
static void read_usage(struct assembly *assembly, const struct json_value *usage)
{
    uint64_t input = assembly->usage.input;
    uint64_t cached = assembly->usage.cached;
    uint64_t output = assembly->usage.output;
    uint64_t sum = 0;
    uint64_t written = 0;

    if (json_kind(usage) != JSON_OBJECT)
        return;
    if (json_u64(json_get(usage, "input_tokens"), &sum)) {
        (void)json_u64(json_get(usage, "cache_read_input_tokens"), &cached);
        (void)json_u64(json_get(usage, "cache_creation_input_tokens"), &written);
        if (__builtin_add_overflow(sum, cached, &sum) || __builtin_add_overflow(sum, written, &sum))
            sum = MODEL_TOKENS_MAX;
        input = sum > input ? sum : input;
    }
    (void)json_u64(json_get(usage, "output_tokens"), &output);
    assembly_usage(assembly, input, cached, output, 0);
}

static int read_text(struct assembly *assembly, const struct json_value *text,
                     int (*put)(struct assembly *assembly, const char *bytes, size_t len))
{
    size_t len = 0;
    const char *bytes = json_str(text, &len);

    return bytes ? put(assembly, bytes, len) : 0;
}

/* Arguments of a call that come whole. */
static int read_input(struct assembly *assembly, const struct assembly_piece *call,
                      const struct json_value *input)
{
    cleanup_buf struct buf text = BUF_INIT(ASSEMBLY_TEXT_MAX);
    struct assembly_piece piece = *call;
    int r = json_count(input) > 0 ? json_value_text(input, &text) : 0;

    if (r < 0)
        return assembly_fail(assembly, FAULT_SIZE, "a tool call that is too large");
    piece.arguments = text.data;
    piece.arguments_len = text.len;
    return assembly_call(assembly, &piece);
}

static int read_block(struct assembly *assembly, const struct json_value *block, uint64_t index)
{
    const char *type = json_str(json_get(block, "type"), NULL);
    struct assembly_piece piece = {
        .has_index = true,
        .index = index,
        .id = json_str(json_get(block, "id"), NULL),
        .name = json_str(json_get(block, "name"), NULL),
    };

    if (!type)
        return 0;
    if (strcmp(type, "text") == 0)
        return read_text(assembly, json_get(block, "text"), assembly_text);
    if (strcmp(type, "thinking") == 0)
        return read_text(assembly, json_get(block, "thinking"), assembly_reasoning);
    if (strcmp(type, "tool_use") == 0)
        return read_input(assembly, &piece, json_get(block, "input"));
    return 0;
}

static int read_stop(struct assembly *assembly, const struct json_value *reason)
{
    const char *word = json_str(reason, NULL);

    return word && word[0] ? assembly_reason(assembly, word) : 0;
}

static int on_message_start(struct assembly *assembly, const struct json_value *event)
{
    wire_model(assembly, json_path(event, "message/model"));
    read_usage(assembly, json_path(event, "message/usage"));
    return 0;
}

static int on_block_start(struct assembly *assembly, const struct json_value *event)
{
    uint64_t index = 0;

    (void)json_u64(json_get(event, "index"), &index);
    return read_block(assembly, json_get(event, "content_block"), index);
}

static int on_block_delta(struct assembly *assembly, const struct json_value *event)
{
    const struct json_value *delta = json_get(event, "delta");
    struct assembly_piece piece = { .has_index = true };
    int r = read_text(assembly, json_get(delta, "text"), assembly_text);

    if (r == 0)
        r = read_text(assembly, json_get(delta, "thinking"), assembly_reasoning);
    piece.arguments = json_str(json_get(delta, "partial_json"), &piece.arguments_len);
    if (r < 0 || !piece.arguments)
        return r;
    (void)json_u64(json_get(event, "index"), &piece.index);
    return assembly_call(assembly, &piece);
}

static int on_message_delta(struct assembly *assembly, const struct json_value *event)
{
    read_usage(assembly, json_get(event, "usage"));
    return read_stop(assembly, json_path(event, "delta/stop_reason"));
}

static int on_message_stop(struct assembly *assembly, const struct json_value *event)
{
    (void)event;
    assembly->is_done = true;
    return 0;
}

static int on_error(struct assembly *assembly, const struct json_value *event)
{
    fault_read(&assembly->fault, 0, event);
    return -EREMOTEIO;
}

/* An answer that was not streamed. */
static int on_message(struct assembly *assembly, const struct json_value *message)
{
    const struct json_value *content = json_get(message, "content");
    int r = 0;

    wire_model(assembly, json_get(message, "model"));
    read_usage(assembly, json_get(message, "usage"));
    for (size_t i = 0; i < json_count(content) && r == 0; i++)
        r = read_block(assembly, json_at(content, i), i);
    return r < 0 ? r : read_stop(assembly, json_get(message, "stop_reason"));
}

/* Other types (ping, content_block_stop, what the future brings) say nothing that is needed. */
static const struct {
    const char *type;
    int (*on)(struct assembly *assembly, const struct json_value *event);
} handlers[] = {
    { "content_block_delta", on_block_delta },
    { "content_block_start", on_block_start },
    { "message_start", on_message_start },
    { "message_delta", on_message_delta },
    { "message_stop", on_message_stop },
    { "error", on_error },
    { "message", on_message },
};

/* llama-server sends its errors bare: their own type stands where the event's should be. */
static bool is_bare_error(const char *type)
{
    size_t len = strlen(type);

    return len > 6 && strcmp(type + len - 6, "_error") == 0;
}

static int anthropic_event(struct assembly *assembly, const char *data, size_t len)
{
    cleanup_json struct json_value *json = NULL;
    const char *type;
    int r = wire_parse(assembly, data, len, &json);

    if (r < 0)
        return r;
    type = json_str(json_get(json, "type"), NULL);
    if (!type && wire_member(json, "error"))
        return on_error(assembly, json);
    for (size_t i = 0; type && i < N_ELEMENTS(handlers); i++)
        if (strcmp(handlers[i].type, type) == 0)
            return handlers[i].on(assembly, json);
    return type && is_bare_error(type) ? on_error(assembly, json) : 0;
}

const struct wire wire_anthropic = {
    .chat_path = "/v1/messages",
    .list_path = "/v1/models?limit=1000",
    .key_header = "x-api-key: ",
    .header = "anthropic-version: 2023-06-01",
    .body = anthropic_body,
    .event = anthropic_event,
};
