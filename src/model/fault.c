/* SPDX-License-Identifier: Apache-2.0 */
/* model/fault.c - telling apart what went wrong, and saying it. */
#include "model/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/value.h"

/* ---- from the server's words to a kind ------------------------------------------------------ */

/* What a type or code stands for when it comes in a stream, where the status is 200. */
static const struct {
    const char *word;
    int status;
} statuses[] = {
    { "invalid_request_error", 400 }, { "authentication_error", 401 }, { "invalid_api_key", 401 },
    { "billing_error", 402 },         { "insufficient_quota", 429 },   { "permission_error", 403 },
    { "not_found_error", 404 },       { "model_not_found", 404 },      { "request_too_large", 413 },
    { "rate_limit_error", 429 },      { "rate_limit_exceeded", 429 },  { "timeout_error", 504 },
    { "overloaded_error", 529 },
};

static enum fault_kind kind_of_status(int status)
{
    static const struct {
        int from;
        int to;
        enum fault_kind kind;
    } ranges[] = {
        { 300, 399, FAULT_ADDRESS }, { 401, 401, FAULT_KEY },     { 402, 402, FAULT_QUOTA },
        { 403, 403, FAULT_KEY },     { 404, 405, FAULT_ADDRESS }, { 408, 409, FAULT_SERVER },
        { 413, 413, FAULT_CONTEXT }, { 429, 429, FAULT_RATE },    { 498, 498, FAULT_RATE },
        { 400, 499, FAULT_REQUEST },
    };

    for (size_t i = 0; i < N_ELEMENTS(ranges); i++)
        if (status >= ranges[i].from && status <= ranges[i].to)
            return ranges[i].kind;
    return FAULT_SERVER;
}

/* Words that tell more than the status; the first row that fits decides. */
static const struct {
    const char *word; /* in lower case, anywhere in code, type or message */
    enum fault_kind kind;
    int from; /* statuses for which it counts */
    int to;
} tellers[] = {
    { "insufficient_quota", FAULT_QUOTA, 400, 429 },
    { "insufficient credits", FAULT_QUOTA, 400, 429 },
    { "credit balance", FAULT_QUOTA, 400, 429 },
    { "billing_hard_limit", FAULT_QUOTA, 400, 429 },
    { "api key not valid", FAULT_KEY, 400, 400 },
    { "invalid_api_key", FAULT_KEY, 400, 400 },
    { "context_length", FAULT_CONTEXT, 400, 422 },
    { "exceed_context_size", FAULT_CONTEXT, 400, 500 },
    { "context length", FAULT_CONTEXT, 400, 422 },
    { "context window", FAULT_CONTEXT, 400, 422 },
    { "context limit", FAULT_CONTEXT, 400, 422 },
    { "context size", FAULT_CONTEXT, 400, 500 },
    { "prompt is too long", FAULT_CONTEXT, 400, 422 },
    { "model_not_found", FAULT_MODEL, 400, 404 },
    { "not a valid model", FAULT_MODEL, 400, 404 },
    { "no endpoints found", FAULT_MODEL, 404, 404 },
    { "model", FAULT_MODEL, 404, 404 },
};

static bool says(const struct fault *fault, const char *word)
{
    return strcasestr(fault->word, word) || strcasestr(fault->message, word);
}

static void settle_kind(struct fault *fault)
{
    for (size_t i = 0; fault->status == 0 && i < N_ELEMENTS(statuses); i++)
        if (strcasecmp(fault->word, statuses[i].word) == 0)
            fault->status = statuses[i].status;
    fault->kind = kind_of_status(fault->status);
    for (size_t i = 0; i < N_ELEMENTS(tellers); i++)
        if (fault->status >= tellers[i].from && fault->status <= tellers[i].to &&
            says(fault, tellers[i].word)) {
            fault->kind = tellers[i].kind;
            return;
        }
}

/* What a stranger wrote, fit for an error text: one line, no control bytes, cut. */
static void show(char *text, size_t size, const char *said, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < size; i++) {
        char c = said[i];

        if ((unsigned char)c <= ' ' || c == 0x7f)
            c = ' ';
        if (c != ' ' || (n > 0 && text[n - 1] != ' '))
            text[n++] = c;
    }
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '.'))
        n--;
    text[n] = '\0';
}

static bool show_json(char *text, size_t size, const struct json_value *value)
{
    size_t len = 0;
    const char *said = json_str(value, &len);

    if (said)
        show(text, size, said, len);
    return said && text[0];
}

/* The first of several places that holds a string. */
static void show_first(char *text, size_t size, const struct json_value *json,
                       const char *const *paths)
{
    for (; *paths; paths++)
        if (show_json(text, size, json_path(json, *paths)))
            return;
}

/* A code that is a number is the status that a stream could not have: OpenRouter's, llama.cpp's. */
static int status_in(const struct json_value *json)
{
    uint64_t code = 0;

    if (!json_u64(json_path(json, "error/code"), &code))
        (void)json_u64(json_get(json, "code"), &code);
    return code >= 400 && code < 600 ? (int)code : 0;
}

void fault_read(struct fault *fault, int status, const struct json_value *json)
{
    static const char *const messages[] = { "error/message", "error/error/message",
                                            "error",         "message",
                                            "detail/0/msg",  "detail/error",
                                            "detail",        NULL };
    static const char *const words[] = { "error/code", "error/type", "error/status", "type", NULL };
    static const char *const params[] = { "error/param", NULL };
    *fault = (struct fault){ .status = status };
    /* Gemini's compatible API wraps its errors in an array. */
    if (json_kind(json) == JSON_ARRAY)
        json = json_at(json, 0);
    show_first(fault->message, sizeof(fault->message), json, messages);
    show_first(fault->word, sizeof(fault->word), json, words);
    show_first(fault->param, sizeof(fault->param), json, params);
    if (status == 0)
        fault->status = status_in(json);
    settle_kind(fault);
}

void fault_read_body(struct fault *fault, int status, const char *body, size_t len)
{
    cleanup_json struct json_value *json = NULL;

    if (len > 0)
        (void)json_value_parse(body, len, 1 << 20, &json, NULL);
    fault_read(fault, status, json);
    if (!json && len > 0) {
        show(fault->message, sizeof(fault->message), body, len < 120 ? len : 120);
        settle_kind(fault);
    }
}

int fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
{
    va_list ap;

    *fault = (struct fault){ .kind = kind };
    va_start(ap, fmt);
    (void)vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
    va_end(ap);
    return -EREMOTEIO;
}

int fault_from(struct fault *fault, enum fault_kind kind, const struct gb_err *cause)
{
    *fault = (struct fault){ .kind = kind, .cause = *cause };
    (void)snprintf(fault->message, sizeof(fault->message), "%.299s", cause->msg);
    return cause->code;
}

/* ---- for people ----------------------------------------------------------------------------- */

static const char *const kind_words[] = {
    [FAULT_NONE] = "fine",
    [FAULT_KEY] = "key refused",
    [FAULT_MODEL] = "no such model",
    [FAULT_ADDRESS] = "no such API",
    [FAULT_QUOTA] = "quota used up",
    [FAULT_RATE] = "too many requests",
    [FAULT_CONTEXT] = "prompt too long",
    [FAULT_REQUEST] = "request refused",
    [FAULT_SERVER] = "server failed",
    [FAULT_LINK] = "connection failed",
    [FAULT_GARBLED] = "not understood",
    [FAULT_SIZE] = "answer too large",
    [FAULT_ENDED] = "ended",
};

const char *fault_brief(const struct fault *fault, char text[static FAULT_BRIEF_MAX])
{
    if (fault->status > 0)
        (void)snprintf(text, FAULT_BRIEF_MAX, "%d %s", fault->status, kind_words[fault->kind]);
    else
        (void)snprintf(text, FAULT_BRIEF_MAX, "%s", kind_words[fault->kind]);
    return text;
}

/* Takes the key out of a message: some servers repeat it. */
static void hide_key(char *text, const char *key)
{
    size_t len = key ? strlen(key) : 0;

    for (char *at = text; len >= 8 && (at = strstr(at, key)); at++)
        memset(at, '*', len);
}

static int code_of(const struct fault *fault)
{
    static const int codes[] = {
        [FAULT_NONE] = -EREMOTEIO,    [FAULT_KEY] = -EKEYREJECTED, [FAULT_MODEL] = -ENOENT,
        [FAULT_ADDRESS] = -ENOENT,    [FAULT_QUOTA] = -EDQUOT,     [FAULT_RATE] = -EAGAIN,
        [FAULT_CONTEXT] = -E2BIG,     [FAULT_REQUEST] = -EINVAL,   [FAULT_SERVER] = -EREMOTEIO,
        [FAULT_LINK] = -EHOSTUNREACH, [FAULT_GARBLED] = -EPROTO,   [FAULT_SIZE] = -EMSGSIZE,
        [FAULT_ENDED] = -ECANCELED,
    };

    return fault->cause.code ? fault->cause.code : codes[fault->kind];
}

/* What to do; "" when there is nothing to say. */
static const char *remedy_of(const struct fault *fault, const struct fault_place *place,
                             char text[static 200])
{
    text[0] = '\0';
    switch (fault->kind) {
    case FAULT_KEY:
        if (place->key_env)
            (void)snprintf(text, 200, "%s %s", place->key ? "check" : "set", place->key_env);
        break;
    case FAULT_MODEL:
        if (place->offers)
            (void)snprintf(text, 200, "name another: there are %.170s", place->offers);
        break;
    case FAULT_ADDRESS:
        (void)snprintf(text, 200, "is %.120s the base of its API?", place->endpoint);
        break;
    case FAULT_QUOTA:
        (void)snprintf(text, 200, "look at plan and billing there, or use another provider");
        break;
    case FAULT_RATE:
        if (fault->has_wait)
            (void)snprintf(text, 200, "it asks to wait %" PRIu64 " s",
                           (fault->wait_ms + 999) / 1000);
        else
            (void)snprintf(text, 200, "try again in some minutes, or use another provider");
        break;
    case FAULT_LINK:
        if (place->remedy && fault->is_away)
            (void)snprintf(text, 200, "%s", place->remedy);
        break;
    default:
        break;
    }
    return text;
}

static enum gb_blame blame_of(const struct fault *fault)
{
    if (fault->cause.code)
        return fault->cause.blame;
    switch (fault->kind) {
    case FAULT_KEY:
    case FAULT_MODEL:
    case FAULT_ADDRESS:
    case FAULT_CONTEXT:
    case FAULT_REQUEST:
        return GB_BLAME_CALLER;
    default:
        return GB_BLAME_PEER;
    }
}

int fault_fail(const struct fault *fault, const struct fault_place *place, struct gb_err *err)
{
    char message[sizeof(fault->message)];
    char brief[FAULT_BRIEF_MAX];
    char remedy[200];
    char tries[32] = "";

    if (fault->kind == FAULT_ENDED) {
        if (err)
            *err = fault->cause;
        return fault->cause.code;
    }
    memcpy(message, fault->message, sizeof(message));
    hide_key(message, place->key);
    if (place->tries > 1)
        (void)snprintf(tries, sizeof(tries), " after %u tries", place->tries);
    (void)gb_fail(err, code_of(fault), blame_of(fault), "%.80s: %s%s%s%.200s", place->label,
                  fault_brief(fault, brief), tries, message[0] ? ": " : "", message);
    if (err && remedy_of(fault, place, remedy)[0])
        gb_add_remedy(err, remedy);
    return code_of(fault);
}
