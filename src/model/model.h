/* SPDX-License-Identifier: Apache-2.0 */
/* model/model.h - chat models: one file a wire.
 *
 * A model belongs to one thread.  A request is complete in itself: there is no conversation here.
 * What a model says is hostile text.  Retries, back-off and the continuation of an answer that was
 * cut at its length happen below this API; what it returns is whole, or an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "model/providers.h"

struct gb_err;
struct model;
struct price_table;

enum model_role {
    MODEL_SYSTEM,
    MODEL_USER,
    MODEL_ASSISTANT,
    MODEL_TOOL, /* what a call gave; right behind the assistant's message that made it */
};

struct model_call {
    char *id;
    char *name;
    char *arguments; /* JSON text as it came; may be anything */
};

struct model_message {
    enum model_role role;
    const char *text;
    /* An assistant's: what it called, as its answer had it. */
    const struct model_call *calls;
    size_t n_calls;
    /* A tool's: which call this is the result of, and whether it failed. */
    const struct model_call *call;
    bool is_error;
};

struct model_tool {
    const char *name;
    const char *description;
    const char *schema; /* of its arguments: JSON */
};

struct model_request {
    const struct model_message *messages;
    size_t n_messages;
    /* The answer must be JSON of this schema, by the server's own means where it has them, else by
     * asking.  The caller checks it all the same. */
    const char *schema_name;
    const char *schema; /* NULL: free text */
    /* Offered; calls come back in the answer.  To go on from them the next request has that answer
     * and a message of MODEL_TOOL for each call. */
    const struct model_tool *tools;
    size_t n_tools;
    double temperature;   /* negative: the server's default; left out where a wire takes none */
    uint64_t seed;        /* 0: none */
    uint64_t max_tokens;  /* of one answer; 0: the wire's default */
    const char *effort;   /* "low", "medium", "high"; NULL: the server's default */
    uint64_t deadline_ns; /* CLOCK_NEVER_NS: none */
    int cancel_fd;        /* -1: never */
    /* As it comes; may be NULL.  Reasoning is told apart and is never part of the text. */
    void (*text)(void *user, const char *bytes, size_t len);
    void (*reasoning)(void *user, const char *bytes, size_t len);
    /* A retry begins: what was streamed so far is void.  why is a short line.  May be NULL. */
    void (*again)(void *user, const char *why, uint64_t wait_ms);
    void *user;
};

enum model_finish {
    MODEL_STOP,
    MODEL_TOOLS,
    MODEL_REFUSED, /* content filter, refusal */
};

/* Of all requests that an answer took.  Where a server does not tell its tokens, or did not come to
 * it, they are guessed from the lengths of the texts.  Bounded: see MODEL_TOKENS_MAX. */
struct model_usage {
    bool is_known; /* nothing is guessed */
    uint64_t input;
    uint64_t output; /* reasoning included */
    uint64_t cached; /* of the input */
    bool has_cost; /* the price of each request is known (model/prices.h), or the server told it */
    uint64_t cost; /* then: millionths of a dollar */
};

#define MODEL_TOKENS_MAX 1000000000000ULL

struct model_answer {
    char *text;      /* never NULL on success */
    char *reasoning; /* NULL: none */
    enum model_finish finish;
    struct model_usage usage;
    struct model_call *calls;
    size_t n_calls;
    char *model;       /* that really answered, as the server names it; may be NULL */
    unsigned requests; /* how many it took */
    bool is_cut;       /* of a failure: cut at the limit of tokens, and no rest made it whole */
};

/* What there is to open a model with; conf/ fills it. */
struct model_spec {
    const char *provider; /* a row of providers.def, or "scripted" */
    const char *name;     /* of the model; NULL: the provider's usual, or the first that a local
                           * server lists.  For "scripted" the path of the script. */
    const char *script;   /* "scripted": the script itself, name is what people call it; NULL */
    const char *base_url; /* NULL: the provider's */
    const char *key;      /* NULL: none */
    bool key_is_token;    /* Anthropic: goes out as a bearer token (provider_choice) */
    const char *extra[PROVIDER_HEADERS_MAX]; /* values of provider_header_at(); NULL: not sent */
    const char *ca_file;
    const char *proxy;
    uint64_t context;                 /* tokens that fit in, at most; 0: what is known of it */
    const struct price_table *prices; /* the user's; outlives the model.  NULL: none */
};

/* Nothing is asked but, for a local server and without a name, what it offers.  -ENOKEY when the
 * provider wants a key and there is none. */
int model_open(const struct model_spec *spec, struct model **ret, struct gb_err *err);
void model_close(struct model **model);

#define cleanup_model cleanup_with(model_close)

/* "openai/gpt-6-luna", and where it is asked, for people. */
const char *model_label(const struct model *model);
const char *model_endpoint(const struct model *model);

/* Tokens that prompt and answer together may have: what was said when it was opened, else what is
 * known of a model of that name (model/window.h). */
uint64_t model_context(const struct model *model);

/* Asks the server for it, where it tells: never more than was said.  A server that does not answer
 * changes nothing.  -ECANCELED. */
int model_learn_context(struct model *model, int cancel_fd, struct gb_err *err);

/* As it was learnt before: a task that goes on does not ask again.  Never more than was said. */
void model_set_context(struct model *model, uint64_t context);

/* Does it take a temperature, as far as is known?  A server's refusal is learnt from: ask again
 * after an answer. */
bool model_samples(const struct model *model);

/* Does it make JSON of a schema by its own means?  Else the schema is a part of the prompt.  The
 * same holds of refusals. */
bool model_holds_schema(const struct model *model);

/* The caller owes model_answer_clear() in any case; it starts as { 0 }.  The error says what to do;
 * its code is one of
 *
 *    -ECANCELED, -ETIMEDOUT      cancel_fd, the deadline
 *    -ENOKEY, -EKEYREJECTED      no key, a wrong one
 *    -ENOENT                     no such model, no such API at that address
 *    -EDQUOT, -EAGAIN            nothing left to spend; too many requests, and waiting did not help
 *    -E2BIG                      the prompt is too long: a shorter one may do
 *    -EMSGSIZE                   the answer is too long, or does not end
 *    -EINVAL                     the server does not take the request
 *    -EREMOTEIO, -EPROTO         the server failed, or speaks something else
 *    -EHOSTUNREACH               no connection, or it broke
 *
 * When it fails, what was streamed is void, and the answer has usage, requests and is_cut
 * only. */
int model_chat(struct model *model, const struct model_request *request, struct model_answer *ret,
               struct gb_err *err);
void model_answer_clear(struct model_answer *answer);
