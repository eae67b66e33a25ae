/* SPDX-License-Identifier: Apache-2.0 */
/* model/server.c - a model behind an HTTP server, of any wire. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"
#include "json/value.h"
#include "model/assemble.h"
#include "model/fault.h"
#include "model/headers.h"
#include "model/listing.h"
#include "model/ops.h"
#include "model/params.h"
#include "model/providers.h"
#include "model/retry.h"
#include "model/stream.h"
#include "model/window.h"
#include "model/wire.h"
#include "net/http.h"

/* A model may think for minutes before its first word; one on this machine reads slowly, too. */
#define IDLE_MS       300000
#define IDLE_LOCAL_MS 900000
#define TOTAL_MS      3600000
#define LIST_MS       10000
#define STREAM_MAX    (64 << 20) /* bytes of one answer, with all that is around its text */
#define OFFERS_MAX    180

struct server {
    const struct wire *wire;
    struct http_client *client;
    char base[PROVIDER_URL_MAX];
    char *key;
    struct headers headers;
    char *ca_file;
    char *proxy;
    unsigned left_out; /* params.h: what it does not know, by its row or by its own word */
    char offers[OFFERS_MAX];
};

/* ---- requests ------------------------------------------------------------------------------- */

/* Milliseconds until the deadline, at most so many. */
static uint64_t left_ms(uint64_t deadline_ns, uint64_t most_ms)
{
    uint64_t now = clock_now_ns();

    if (deadline_ns == CLOCK_NEVER_NS)
        return most_ms;
    if (now >= deadline_ns)
        return 0;
    now = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return now < most_ms ? now : most_ms;
}

/* ---- what went wrong ------------------------------------------------------------------------ */

/* Another try would end the same way: certificates, URLs, a library that is missing. */
static bool is_lasting(const struct gb_err *cause)
{
    return cause->code == -EKEYREJECTED || cause->code == -EKEYEXPIRED || cause->code == -ENOKEY ||
           cause->code == -EINVAL || cause->code == -ENOSYS;
}

/* No address, refused, no route, nobody there in time: http.h. */
static bool is_away(const struct gb_err *cause)
{
    return cause->blame == GB_BLAME_HOST && !is_lasting(cause) && cause->code != -EPROTO;
}

static int link_fault(struct fault *fault, const struct gb_err *cause, uint64_t deadline_ns)
{
    if (cause->code == -ECANCELED || cause->code == -ENOMEM ||
        (cause->code == -ETIMEDOUT && clock_now_ns() >= deadline_ns))
        return fault_from(fault, FAULT_ENDED, cause);
    if (cause->code == -EMSGSIZE)
        return fault_from(fault, FAULT_SIZE, cause);
    (void)fault_from(fault, FAULT_LINK, cause);
    fault->cause.code = -EHOSTUNREACH;
    fault->has_advice = is_lasting(cause);
    fault->is_away = is_away(cause);
    return fault->cause.code;
}

/* The value, in the room of one; NULL: there is none. */
#define HEADER_SIZE 64
static const char *header_of(const struct http_answer *answer, const char *name,
                             char room[static HEADER_SIZE])
{
    return http_header(answer, name, room, HEADER_SIZE) ? room : NULL;
}

static int status_fault(struct fault *fault, const struct http_answer *answer)
{
    char advice[3][HEADER_SIZE];
    char limits[RETRY_LIMITS][2][HEADER_SIZE];
    struct retry_headers headers = {
        .should_retry = header_of(answer, "x-should-retry", advice[0]),
        .retry_after_ms = header_of(answer, "retry-after-ms", advice[1]),
        .retry_after = header_of(answer, "retry-after", advice[2]),
    };

    for (size_t i = 0; i < RETRY_LIMITS; i++)
        headers.limits[i] = (struct retry_limit){
            .remaining = header_of(answer, retry_limits[i].remaining, limits[i][0]),
            .reset = header_of(answer, retry_limits[i].reset, limits[i][1]),
        };
    fault_read_body(fault, answer->status, answer->body.data ? answer->body.data : "",
                    answer->body.len);
    retry_advise(fault, &headers, time(NULL));
    return -EREMOTEIO;
}

/* Groq refuses what its model made of a schema or a tool, and shows it: the caller judges. */
static bool take_failed_generation(const struct http_answer *answer, struct assembly *assembly)
{
    cleanup_json struct json_value *json = NULL;
    size_t len = 0;
    const char *text;

    if (answer->status != 400 || answer->body.len == 0 ||
        json_value_parse(answer->body.data, answer->body.len, ASSEMBLY_TEXT_MAX, &json, NULL) < 0)
        return false;
    text = json_str(json_path(json, "error/failed_generation"), &len);
    if (!text || len == 0 || assembly_text(assembly, text, len) < 0)
        return false;
    assembly->end = ASSEMBLY_STOP;
    return true;
}

/* ---- one attempt ---------------------------------------------------------------------------- */

static int receive(struct model *model, const struct http_request *http, struct stream *stream,
                   uint64_t deadline_ns, struct fault *fault)
{
    struct server *server = model->state;
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    struct gb_err cause = { 0 };
    int r = http_do(server->client, http, &answer, &cause);

    if (r == 0 && answer.status / 100 == 2)
        r = stream_end(stream);
    else if (r == 0 && !take_failed_generation(&answer, stream->assembly))
        return status_fault(fault, &answer);
    else if (r == 0)
        r = assembly_finish(stream->assembly);
    if (r == 0)
        return 0;
    if (stream->assembly->fault.kind != FAULT_NONE) {
        *fault = stream->assembly->fault;
        return r;
    }
    if (cause.code == 0) /* of the stream's own limits */
        (void)gb_fail(&cause, r, GB_BLAME_PEER, "an event that is too long");
    return link_fault(fault, &cause, deadline_ns);
}

static int send_ask(struct model *model, const struct model_ask *ask, struct assembly *assembly,
                    struct fault *fault)
{
    struct server *server = model->state;
    const struct model_request *request = ask->request;
    const struct wire_ask wire_ask = {
        .provider = model->provider,
        .model = model->name,
        .request = request,
        .partial = ask->partial,
        .left_out = server->left_out,
        .context = model->context,
    };
    cleanup_buf struct buf body = BUF_INIT(WIRE_BODY_MAX);
    struct stream stream;
    char url[PROVIDER_URL_MAX + 64];
    struct gb_err cause = { 0 };
    struct http_request http = {
        .url = url,
        .headers = server->headers.lines,
        .ca_file = server->ca_file,
        .proxy = server->proxy,
        .idle_ms = model->provider->flags & PROVIDER_LOCAL ? IDLE_LOCAL_MS : IDLE_MS,
        .total_ms = left_ms(request->deadline_ns, TOTAL_MS),
        .answer_max = STREAM_MAX,
        .cancel_fd = request->cancel_fd,
        .data = stream_feed,
        .user = &stream,
    };
    int r;

    if (http.total_ms == 0) {
        (void)gb_fail(&cause, -ETIMEDOUT, GB_BLAME_CALLER, "%s: no time left", model->label);
        return fault_from(fault, FAULT_ENDED, &cause);
    }
    if (server->wire->body(&wire_ask, &body, &cause) < 0)
        return fault_from(fault, cause.code == -ENOMEM ? FAULT_ENDED : FAULT_CONTEXT, &cause);
    http.body = body.data;
    http.body_len = body.len;
    (void)snprintf(url, sizeof(url), "%s%s", server->base, server->wire->chat_path);
    stream_init(&stream, server->wire, assembly);
    (*ask->requests)++;
    r = receive(model, &http, &stream, request->deadline_ns, fault);
    stream_clear(&stream);
    return r;
}

static int server_ask(struct model *model, const struct model_ask *ask, struct assembly *assembly,
                      struct fault *ret_fault)
{
    struct server *server = model->state;

    for (;;) {
        unsigned sent = params_sent(model->provider, ask->request, ask->partial, server->left_out);
        int r = send_ask(model, ask, assembly, ret_fault);
        unsigned refused = 0;

        /* Nothing of an answer has come under such a status. */
        if (r < 0 && assembly->fault.kind == FAULT_NONE)
            refused = params_refused(ret_fault, sent);
        if (!refused)
            return r;
        server->left_out |= refused;
    }
}

/* ---- listing -------------------------------------------------------------------------------- */

static int get_listing(const struct server *server, struct listing *ret, struct gb_err *err)
{
    char url[PROVIDER_URL_MAX + 64];
    const struct listing_request request = {
        .url = url,
        .headers = server->headers.lines,
        .ca_file = server->ca_file,
        .proxy = server->proxy,
        .total_ms = LIST_MS,
        .cancel_fd = -1,
    };

    (void)snprintf(url, sizeof(url), "%s%s", server->base, server->wire->list_path);
    return listing_get(server->client, &request, ret, err);
}

static void server_place(struct model *model, const struct fault *fault, struct fault_place *ret)
{
    struct server *server = model->state;
    struct listing listing = { 0 };

    ret->model = model->name;
    ret->key = server->key;
    ret->key_env = model->provider->key_env[0];
    ret->remedy = model->provider->remedy;
    if (fault->kind != FAULT_MODEL || get_listing(server, &listing, NULL) < 0)
        return;
    listing_nearest(&listing, model->name, server->offers, sizeof(server->offers));
    ret->offers = server->offers[0] ? server->offers : NULL;
    listing_clear(&listing);
}

static int server_learn(struct model *model, int cancel_fd, struct gb_err *err)
{
    struct server *server = model->state;
    const struct window_place place = {
        .provider = model->provider,
        .base_url = server->base,
        .model = model->name,
        .said = model->said_context,
        .headers = server->headers.lines,
        .ca_file = server->ca_file,
        .proxy = server->proxy,
        .cancel_fd = cancel_fd,
    };
    uint64_t told = 0;
    int r = window_ask(server->client, &place, &told, err);

    if (r > 0)
        model->context = told;
    return r < 0 ? r : 0;
}

static bool server_samples(const struct model *model)
{
    const struct server *server = model->state;

    return !(server->left_out & PARAM_TEMPERATURE);
}

static bool server_holds_schema(const struct model *model)
{
    const struct server *server = model->state;

    return !(server->left_out & PARAM_SCHEMA);
}

/* ---- life ----------------------------------------------------------------------------------- */

static int set_key(struct server *server, const struct provider *provider,
                   const struct model_spec *spec, struct gb_err *err)
{
    bool has_key = spec->key && spec->key[0];

    if (!has_key && !spec->base_url && !(provider->flags & PROVIDER_KEYLESS))
        return gb_fail(err, -ENOKEY, GB_BLAME_CALLER, "no key for %s" GB_REMEDY "set %s",
                       provider->name, provider->key_env[0]);
    if (has_key && !(server->key = strdup(spec->key)))
        return gb_no_memory(err);
    return headers_make(provider, spec, &server->headers, err);
}

static int copy(char **to, const char *text)
{
    if (text && text[0] && !(*to = strdup(text)))
        return -ENOMEM;
    return 0;
}

static int no_listing(const struct model *model, int code, struct gb_err *err)
{
    const struct server *server = model->state;
    const char *key_env = model->provider->key_env[0];
    char remedy[200] = "";

    if (!err)
        return code;
    if (code == -EACCES && key_env)
        (void)snprintf(remedy, sizeof(remedy), "%s %s", server->key ? "check" : "set", key_env);
    else if (is_away(err))
        (void)snprintf(remedy, sizeof(remedy), "%s", model->provider->remedy);
    if (remedy[0])
        gb_add_remedy(err, remedy);
    return gb_wrap(err, code, "asking %s which model it has", model->provider->name);
}

/* The model's name when none is given. */
static int settle_name(struct model *model, const struct model_spec *spec, struct gb_err *err)
{
    const char *given = spec->name && spec->name[0] ? spec->name : model->provider->model;
    struct listing listing = { 0 };
    int r;

    if (given)
        return copy(&model->name, given) < 0 ? gb_no_memory(err) : 0;
    r = get_listing(model->state, &listing, err);
    if (r < 0)
        return no_listing(model, r, err);
    r = copy(&model->name, listing.usual) < 0 ? gb_no_memory(err) : 0;
    listing_clear(&listing);
    if (r == 0 && !model->name)
        return gb_fail(err, -ENOENT, GB_BLAME_HOST, "%s has no model", model->provider->name);
    return r;
}

/* llama.cpp's models are named by the path of their file. */
static int settle_label(struct model *model, struct gb_err *err)
{
    const char *name = model->name[0] == '/' ? path_base(model->name) : model->name;

    if (asprintf(&model->label, "%s/%s", model->provider->name, name) < 0) {
        model->label = NULL;
        return gb_no_memory(err);
    }
    return 0;
}

static int server_open(struct model *model, const struct model_spec *spec, struct gb_err *err)
{
    const struct provider *provider = model->provider;
    struct server *server = calloc(1, sizeof(*server));
    int r;

    model->state = server;
    if (!server)
        return gb_no_memory(err);
    server->wire = wire_of(provider);
    server->left_out = params_unknown(provider);
    model->may_think = provider->flags & PROVIDER_THINK_TAGS;
    model->context = spec->context;
    model->said_context = spec->context;
    r = provider_base_url(provider, spec->base_url, server->base, err);
    if (r == 0)
        r = set_key(server, provider, spec, err);
    if (r == 0 &&
        (copy(&server->ca_file, spec->ca_file) < 0 || copy(&server->proxy, spec->proxy) < 0 ||
         copy(&model->endpoint, server->base) < 0))
        r = gb_no_memory(err);
    if (r == 0)
        r = http_client_new(&server->client, err);
    if (r == 0)
        r = settle_name(model, spec, err);
    if (r == 0 && !model->context)
        model->context = window_known(provider, model->name);
    return r == 0 ? settle_label(model, err) : r;
}

static void server_close(struct model *model)
{
    struct server *server = model->state;

    if (!server)
        return;
    http_client_free(&server->client);
    if (server->key)
        explicit_bzero(server->key, strlen(server->key));
    free(server->key);
    headers_clear(&server->headers);
    free(server->ca_file);
    free(server->proxy);
    free(server);
}

const struct model_ops model_server = {
    .name = "server",
    .open = server_open,
    .ask = server_ask,
    .place = server_place,
    .samples = server_samples,
    .holds_schema = server_holds_schema,
    .learn = server_learn,
    .close = server_close,
};
