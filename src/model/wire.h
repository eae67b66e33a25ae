/* SPDX-License-Identifier: Apache-2.0 */
/* model/wire.h - how a chat API is spoken: one const struct a wire, in a file of its own.
 *
 * Pure: a wire turns a request into a body and events into an assembly; sending and reading is
 * server.c's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct assembly;
struct buf;
struct gb_err;
struct json_value;
struct json_writer;
struct model_call;
struct model_message;
struct model_request;
struct provider;

struct wire_ask {
    const struct provider *provider;
    const char *model;
    const struct model_request *request;
    const char *partial; /* the answer so far, which was cut; NULL: a fresh question */
    unsigned left_out;   /* params.h */
    uint64_t context;    /* tokens that are to fit in, for a server that can be told */
};

struct wire {
    const char *chat_path; /* behind the base URL */
    const char *list_path;
    const char *key_header; /* what stands before an API key; a token always goes as a bearer */
    const char *header;     /* one more; NULL */
    bool is_lines;          /* events are lines of JSON; else those of an event stream */

    /* Appends the request's JSON. */
    int (*body)(const struct wire_ask *ask, struct buf *ret, struct gb_err *err);
    /* One event of the stream, or the whole of an answer that was not streamed; data[len] is a
     * NUL. */
    int (*event)(struct assembly *assembly, const char *data, size_t len);
};

extern const struct wire wire_openai;
extern const struct wire wire_anthropic;
extern const struct wire wire_ollama;

const struct wire *wire_of(const struct provider *provider);

/* ---- for the wires -------------------------------------------------------------------------- */

#define WIRE_BODY_MAX  (64 << 20)
#define WIRE_EVENT_MAX (8 << 20)

/* All system messages, joined, and what the prompt must say about JSON.  Most chat templates take
 * one system message, at the beginning.  Empty when there is nothing to say. */
int wire_system(const struct wire_ask *ask, unsigned sent, struct buf *ret);

/* A message with calls, or the results of calls, as the wire has them.  Those of n that make one
 * turn are written; how many. */
typedef size_t (*wire_turn)(struct json_writer *w, const struct model_message *messages, size_t n);

/* Inside an array: {"role", "content"} for everything but the system's messages, and for a cut
 * answer what asks for its rest. */
void wire_put_message(struct json_writer *w, const char *role, const char *text);
void wire_put_turns(struct json_writer *w, const struct wire_ask *ask, unsigned sent,
                    wire_turn put_turn);

/* All of them as "messages", the system's first and as one. */
int wire_put_messages(struct json_writer *w, const struct wire_ask *ask, unsigned sent,
                      wire_turn put_turn);

/* A call's arguments as an object: what a model wrote may be no JSON at all, and is {} then. */
void wire_put_arguments(struct json_writer *w, const char *key, const struct model_call *call);

/* "tools" of OpenAI's shape, which others have taken over. */
void wire_put_functions(struct json_writer *w, const struct model_request *request);

/* The body could not be written: no memory, or longer than anybody reads. */
int wire_no_body(int code, struct gb_err *err);

/* Parses an event; bytes that are not UTF-8 are repaired first.  *ret is for json_value_free().
 * On failure the assembly's fault says it. */
int wire_parse(struct assembly *assembly, const char *data, size_t len, struct json_value **ret);

/* A member that is there and not null. */
const struct json_value *wire_member(const struct json_value *object, const char *key);

/* The first model's name stays. */
void wire_model(struct assembly *assembly, const struct json_value *name);
