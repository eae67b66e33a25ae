/* SPDX-License-Identifier: Apache-2.0 */
/* model/ollama.c - Ollama's own chat API.
 *
 * It speaks OpenAI's too, but only here can be said how many tokens are to fit in: there it is a
 * few thousand, whatever the model takes, and what is longer is cut without a word.  Always
 * streamed, a line of JSON an event; calls come whole. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/assemble.h"
#include "model/model.h"
#include "model/params.h"
#include "model/wire.h"

/* ---- requests ------------------------------------------------------------------------------- */

static size_t put_turn(struct json_writer *w, const struct model_message *messages, size_t n)
{
    bool is_result = messages->role == MODEL_TOOL;

    (void)n;
    json_object_begin(w, NULL);
    json_put_str(w, "role", is_result ? "tool" : "assistant");
    json_put_str(w, "content", messages->text);
    if (is_result) {
        json_put_str(w, "tool_name", messages->call->name);
        json_put_str(w, "tool_call_id", messages->call->id);
    } else {
        json_array_begin(w, "tool_calls");
        for (size_t i = 0; i < messages->n_calls; i++) {
            json_object_begin(w, NULL);
            json_put_str(w, "id", messages->calls[i].id);
            json_object_begin(w, "function");
            json_put_str(w, "name", messages->calls[i].name);
            wire_put_arguments(w, "arguments", &messages->calls[i]);
            json_object_end(w);
            json_object_end(w);
        }
        json_array_end(w);
    }
    json_object_end(w);
    return 1;
}

static void put_options(struct json_writer *w, const struct wire_ask *ask, unsigned sent)
{
    const struct model_request *request = ask->request;

    json_object_begin(w, "options");
    json_put_u64(w, "num_ctx", ask->context);
    if (sent & PARAM_TEMPERATURE)
        json_put_double(w, "temperature", request->temperature, 3);
    if (sent & PARAM_SEED)
        json_put_u64(w, "seed", request->seed);
    if (sent & PARAM_OLD_MAX)
        json_put_u64(w, "num_predict", request->max_tokens);
    json_object_end(w);
}

static int ollama_body(const struct wire_ask *ask, struct buf *ret, struct gb_err *err)
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
    if (sent & PARAM_SCHEMA)
        json_put_raw(&w, "format", ask->request->schema);
    else if (sent & PARAM_JSON_MODE)
        json_put_str(&w, "format", "json");
    if (sent & PARAM_EFFORT)
        json_put_str(&w, "think", ask->request->effort);
    put_options(&w, ask, sent);
    /* A prompt that does not fit is an error and not a shorter one; old servers do not know it. */
    json_put_bool(&w, "truncate", false);
    json_put_bool(&w, "stream", true);
    json_object_end(&w);
    r = json_writer_end(&w);
    return r < 0 ? wire_no_body(r, err) : 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static int read_calls(struct assembly *assembly, const struct json_value *calls)
{
    int r = 0;

    for (size_t i = 0; i < json_count(calls) && r == 0; i++) {
        const struct json_value *call = json_at(calls, i);
        const struct json_value *arguments = json_path(call, "function/arguments");
        cleanup_buf struct buf text = BUF_INIT(ASSEMBLY_TEXT_MAX);
        struct assembly_piece piece = {
            .has_index = true, /* each is whole, and another one */
            .index = assembly->n_calls,
            .id = json_str(json_get(call, "id"), NULL),
            .name = json_str(json_path(call, "function/name"), NULL),
        };

        if (arguments && json_value_text(arguments, &text) < 0)
            return assembly_fail(assembly, FAULT_SIZE, "a tool call that is too large");
        piece.arguments = text.data;
        piece.arguments_len = text.len;
        r = assembly_call(assembly, &piece);
    }
    return r;
}

static int read_message(struct assembly *assembly, const struct json_value *message)
{
    size_t len = 0;
    const char *text = json_str(json_get(message, "thinking"), &len);
    int r = text ? assembly_reasoning(assembly, text, len) : 0;

    text = json_str(json_get(message, "content"), &len);
    if (r == 0 && text)
        r = assembly_text(assembly, text, len);
    return r == 0 ? read_calls(assembly, json_get(message, "tool_calls")) : r;
}

static int read_end(struct assembly *assembly, const struct json_value *json)
{
    const char *reason = json_str(json_get(json, "done_reason"), NULL);
    uint64_t input = 0;
    uint64_t output = 0;

    assembly->is_done = true;
    /* Some leave out a prompt that they still had in mind: the lengths of the texts count then. */
    if (json_u64(json_get(json, "eval_count"), &output) &&
        json_u64(json_get(json, "prompt_eval_count"), &input))
        assembly_usage(assembly, input, 0, output, 0);
    return reason && reason[0] ? assembly_reason(assembly, reason) : 0;
}

static int ollama_event(struct assembly *assembly, const char *data, size_t len)
{
    cleanup_json struct json_value *json = NULL;
    bool is_done = false;
    int r = wire_parse(assembly, data, len, &json);

    if (r < 0)
        return r;
    if (wire_member(json, "error")) {
        fault_read(&assembly->fault, 0, json);
        return -EREMOTEIO;
    }
    wire_model(assembly, json_get(json, "model"));
    r = read_message(assembly, json_get(json, "message"));
    if (r == 0 && json_bool(json_get(json, "done"), &is_done) && is_done)
        r = read_end(assembly, json);
    return r;
}

const struct wire wire_ollama = {
    .chat_path = "/api/chat",
    .list_path = "/api/tags",
    .key_header = "Authorization: Bearer ",
    .is_lines = true,
    .body = ollama_body,
    .event = ollama_event,
};
