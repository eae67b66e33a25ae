/* SPDX-License-Identifier: Apache-2.0 */
/* model/wire.c - what the wires share. */
#include "model/wire.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/utf8.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/assemble.h"
#include "model/model.h"
#include "model/params.h"
#include "model/providers.h"

/* What a cut answer's rest is asked with where the server does not go on by itself. */
static const char go_on[] =
    "Your answer was cut off at its maximum length. Go on exactly where it stopped, with the very "
    "next character: repeat nothing, explain nothing, open no new code fence.";

const struct wire *wire_of(const struct provider *provider)
{
    static const struct wire *const wires[] = {
        [PROVIDER_OPENAI] = &wire_openai,
        [PROVIDER_ANTHROPIC] = &wire_anthropic,
        [PROVIDER_OLLAMA] = &wire_ollama,
    };

    return wires[provider->wire];
}

static void put_paragraph(struct buf *ret, const char *text)
{
    if (ret->len > 0)
        (void)buf_puts(ret, "\n\n");
    (void)buf_puts(ret, text);
}

int wire_system(const struct wire_ask *ask, unsigned sent, struct buf *ret)
{
    const struct model_request *request = ask->request;

    for (size_t i = 0; i < request->n_messages; i++)
        if (request->messages[i].role == MODEL_SYSTEM && request->messages[i].text[0])
            put_paragraph(ret, request->messages[i].text);
    if (request->schema && !(sent & PARAM_SCHEMA)) {
        put_paragraph(ret, "Answer with one JSON value and nothing else: no prose, no code fence. "
                           "It must be valid under this JSON schema:\n");
        (void)buf_puts(ret, request->schema);
    }
    return buf_error(ret);
}

void wire_put_message(struct json_writer *w, const char *role, const char *text)
{
    json_object_begin(w, NULL);
    json_put_str(w, "role", role);
    json_put_str(w, "content", text);
    json_object_end(w);
}

void wire_put_turns(struct json_writer *w, const struct wire_ask *ask, unsigned sent,
                    wire_turn put_turn)
{
    const struct model_request *request = ask->request;
    size_t n;

    for (size_t i = 0; i < request->n_messages; i += n) {
        const struct model_message *message = &request->messages[i];

        n = 1;
        if (message->role == MODEL_TOOL || message->n_calls > 0)
            n = put_turn(w, message, request->n_messages - i);
        else if (message->role != MODEL_SYSTEM)
            wire_put_message(w, message->role == MODEL_USER ? "user" : "assistant", message->text);
    }
    if (ask->partial)
        wire_put_message(w, "assistant", ask->partial);
    if (ask->partial && !(sent & PARAM_PREFILL))
        wire_put_message(w, "user", go_on);
}

int wire_put_messages(struct json_writer *w, const struct wire_ask *ask, unsigned sent,
                      wire_turn put_turn)
{
    cleanup_buf struct buf system = BUF_INIT(WIRE_BODY_MAX);
    int r = wire_system(ask, sent, &system);

    if (r < 0)
        return r;
    json_array_begin(w, "messages");
    if (system.len > 0)
        wire_put_message(w, "system", system.data);
    wire_put_turns(w, ask, sent, put_turn);
    json_array_end(w);
    return 0;
}

void wire_put_arguments(struct json_writer *w, const char *key, const struct model_call *call)
{
    cleanup_json struct json_value *json = NULL;

    (void)json_value_parse(call->arguments, strlen(call->arguments), WIRE_EVENT_MAX, &json, NULL);
    json_put_raw(w, key, json_kind(json) == JSON_OBJECT ? call->arguments : "{}");
}

void wire_put_functions(struct json_writer *w, const struct model_request *request)
{
    if (request->n_tools == 0)
        return;
    json_array_begin(w, "tools");
    for (size_t i = 0; i < request->n_tools; i++) {
        json_object_begin(w, NULL);
        json_put_str(w, "type", "function");
        json_object_begin(w, "function");
        json_put_str(w, "name", request->tools[i].name);
        json_put_str(w, "description", request->tools[i].description);
        json_put_raw(w, "parameters", request->tools[i].schema);
        json_object_end(w);
        json_object_end(w);
    }
    json_array_end(w);
}

int wire_no_body(int code, struct gb_err *err)
{
    if (code == -ENOMEM)
        return gb_fail(err, code, GB_BLAME_HOST, "no memory for a prompt");
    return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "the prompt has more than %d bytes",
                   WIRE_BODY_MAX);
}

int wire_parse(struct assembly *assembly, const char *data, size_t len, struct json_value **ret)
{
    cleanup_buf struct buf repaired = BUF_INIT(3 * (size_t)WIRE_EVENT_MAX);
    struct gb_err why = { 0 };
    int r = json_value_parse(data, len, WIRE_EVENT_MAX, ret, &why);

    if (r == 0)
        return 0;
    if (!utf8_is_valid(data, len) && utf8_repair(data, len, &repaired) == 0 &&
        json_value_parse(repaired.data, repaired.len, repaired.max, ret, NULL) == 0)
        return 0;
    if (r == -ENOMEM)
        return fault_from(&assembly->fault, FAULT_ENDED, &why);
    return assembly_fail(assembly, FAULT_GARBLED, why.msg);
}

const struct json_value *wire_member(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(object, key);

    return json_kind(value) == JSON_NULL ? NULL : value;
}

void wire_model(struct assembly *assembly, const struct json_value *name)
{
    const char *text = json_str(name, NULL);

    if (text && assembly->model.len == 0 && strlen(text) <= ASSEMBLY_NAME_MAX)
        (void)buf_puts(&assembly->model, text);
}
