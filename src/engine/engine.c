/* SPDX-License-Identifier: Apache-2.0 */
/* engine/engine.c - a client of the Docker Engine API: opening, versions, requests, errors. */
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/endpoint.h"
#include "engine/refusal.h"
#include "json/value.h"
#include "net/http.h"

#define PING_MS    10000
#define CONNECT_MS 5000
#define URL_MAX    (512 << 10)

struct engine {
    struct endpoint endpoint;
    struct http_client *http;
    uint64_t call_ms;
    int cancel_fd;
    unsigned api;
    bool is_podman;
};

unsigned engine_api(const struct engine *engine)
{
    return engine->api;
}

void engine_set_call_ms(struct engine *engine, uint64_t call_ms)
{
    engine->call_ms = call_ms;
}

int engine_swap_cancel(struct engine *engine, int cancel_fd)
{
    int before = engine->cancel_fd;

    engine->cancel_fd = cancel_fd;
    return before;
}

void engine_forget_cancel(struct engine *engine)
{
    (void)engine_swap_cancel(engine, -1);
}

bool engine_is_podman(const struct engine *engine)
{
    return engine->is_podman;
}

const struct endpoint *engine_endpoint(const struct engine *engine)
{
    return &engine->endpoint;
}

int engine_garbled(const char *what, struct gb_err *err)
{
    return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "the engine's answer has no %s", what);
}

/* ---- errors --------------------------------------------------------------------------------- */

static int not_running(const struct engine *engine, struct gb_err *err)
{
    return gb_fail(err, -ECONNREFUSED, GB_BLAME_HOST,
                   "no engine is running at %s" GB_REMEDY
                   "start it (systemctl start docker, or podman.socket), or name another one by "
                   "DOCKER_HOST",
                   engine->endpoint.shown);
}

static int not_permitted(const struct engine *engine, struct gb_err *err)
{
    return gb_fail(err, -EACCES, GB_BLAME_HOST,
                   "permission denied: the engine's socket %s is not for this user" GB_REMEDY
                   "sudo usermod -aG docker \"$USER\", then log in anew; or use a rootless engine",
                   engine->endpoint.shown);
}

static int too_slow(const struct engine *engine, struct gb_err *err)
{
    return gb_fail(err, -ETIMEDOUT, GB_BLAME_PEER,
                   "the engine at %s did not answer in time" GB_REMEDY
                   "see whether it is well (docker info), or raise the time limit",
                   engine->endpoint.shown);
}

/* What helps where TLS did not come about; NULL: nothing that would be known. */
static const char *tls_remedy(const struct engine *engine, int code)
{
    static const struct {
        int code;
        const char *remedy;
    } table[] = {
        { -EKEYREJECTED, "put the certificate of the CA that signed the engine's as ca.pem where "
                         "DOCKER_CERT_PATH points, or into the docker context" },
        { -EKEYEXPIRED, "renew that certificate, and see whether this machine's clock is right" },
        { -ENOKEY, "put cert.pem and key.pem, signed by the CA that the engine trusts "
                   "(--tlscacert), where DOCKER_CERT_PATH points, or into the docker context" },
        { -EPROTO, "if the engine speaks no TLS there, unset DOCKER_TLS_VERIFY" },
    };

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (table[i].code == code && strncmp(engine->endpoint.url, "https:", 6) == 0)
            return table[i].remedy;
    return NULL;
}

int engine_lost(const struct engine *engine, int code, struct gb_err *err)
{
    static const struct {
        int code;
        int (*tell)(const struct engine *engine, struct gb_err *err);
    } table[] = {
        { -ECONNREFUSED, not_running }, { -ENOENT, not_running },   { -ENOTDIR, not_running },
        { -ENOTSOCK, not_running },     { -EACCES, not_permitted }, { -EPERM, not_permitted },
        { -ETIMEDOUT, too_slow },
    };

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (table[i].code == code)
            return table[i].tell(engine, err);
    (void)gb_wrap(err, code, "the engine");
    if (err && tls_remedy(engine, code))
        gb_add_remedy(err, tls_remedy(engine, code));
    return code;
}

int engine_refusal(const struct engine_call *call, const struct http_answer *answer,
                   struct gb_err *err)
{
    char words[REFUSAL_MAX];

    refusal_words(answer->body.data ? answer->body.data : "", answer->body.len, words);
    if (!words[0])
        (void)snprintf(words, sizeof(words), "status %d", answer->status);
    return refusal_of_status(answer->status, words, call->missing_remedy, err);
}

/* ---- requests ------------------------------------------------------------------------------- */

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static uint64_t total_ms(const struct engine *engine, const struct engine_call *call)
{
    return call->total_ms > 0 ? call->total_ms : engine->call_ms;
}

int engine_request(const struct engine *engine, const struct engine_call *call, struct buf *url,
                   struct http_request *ret, struct gb_err *err)
{
    const struct endpoint *endpoint = &engine->endpoint;
    const struct buf *target = &call->target->text;

    buf_reset(url);
    (void)buf_puts(url, endpoint->url);
    if (!call->is_unversioned)
        (void)buf_printf(url, "/v1.%u", engine->api);
    (void)buf_add(url, target->data ? target->data : "", target->len);
    if (buf_error(target) < 0 || buf_error(url) < 0)
        return gb_fail(err, -EMSGSIZE, GB_BLAME_CALLER, "the request to the engine is too long");
    *ret = (struct http_request){
        .method = call->method,
        .url = url->data,
        .headers = call->headers,
        .body = call->body ? call->body->data : NULL,
        .body_len = call->body ? call->body->len : 0,
        .unix_path = or_null(endpoint->socket),
        .ca_file = or_null(endpoint->ca_file),
        .cert_file = or_null(endpoint->cert_file),
        .key_file = or_null(endpoint->key_file),
        .is_unverified = endpoint->is_unverified,
        .connect_ms = total_ms(engine, call) < CONNECT_MS ? total_ms(engine, call) : CONNECT_MS,
        .idle_ms = call->idle_ms > 0 ? call->idle_ms : total_ms(engine, call),
        .total_ms = total_ms(engine, call),
        .answer_max = call->answer_max > 0 ? call->answer_max : ENGINE_ANSWER_MAX,
        .cancel_fd = engine->cancel_fd,
        .data = call->data,
        .source = call->source,
        .user = call->user,
    };
    return 0;
}

/* 0 whatever the status. */
static int ask_once(struct engine *engine, const struct engine_call *call, struct http_answer *ret,
                    struct gb_err *err)
{
    cleanup_buf struct buf url = BUF_INIT(URL_MAX);
    struct http_request request;
    int r;

    *ret = (struct http_answer){ 0 };
    r = engine_request(engine, call, &url, &request, err);
    if (r < 0)
        return r;
    r = http_do(engine->http, &request, ret, err);
    return r < 0 ? engine_lost(engine, r, err) : 0;
}

/* Did the engine say that it knows only older versions, of which one will do?  It is used from here
 * on. */
static bool steps_back(struct engine *engine, const struct http_answer *answer)
{
    char words[REFUSAL_MAX];
    unsigned api;

    if (answer->status != 400)
        return false;
    refusal_words(answer->body.data ? answer->body.data : "", answer->body.len, words);
    api = refusal_max_api(words);
    if (api < ENGINE_API_MIN || api >= engine->api)
        return false;
    engine->api = api;
    return true;
}

static bool is_success(int status)
{
    return (status >= 200 && status < 300) || status == 304;
}

static const char *const json_headers[] = { "Content-Type: application/json", NULL };

int engine_ask(struct engine *engine, const struct engine_call *call, struct http_answer *ret,
               struct gb_err *err)
{
    struct engine_call typed = *call;
    int r;

    if (call->body && !call->headers)
        typed.headers = json_headers;
    r = ask_once(engine, &typed, ret, err);
    if (r == 0 && !call->source && !call->is_unversioned && steps_back(engine, ret)) {
        http_answer_clear(ret);
        r = ask_once(engine, &typed, ret, err);
    }
    if (r < 0)
        return r;
    return is_success(ret->status) ? 0 : engine_refusal(call, ret, err);
}

int engine_json(const struct buf *body, struct json_value **ret, struct gb_err *err)
{
    int r = json_value_parse(body->data ? body->data : "", body->len, body->len, ret, err);

    if (r == 0 || r == -ENOMEM)
        return r;
    return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "the engine's answer is not JSON");
}

int engine_call(struct engine *engine, const struct engine_call *call, struct json_value **ret,
                struct gb_err *err)
{
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    int r = engine_ask(engine, call, &answer, err);

    return r < 0 || !ret ? r : engine_json(&answer.body, ret, err);
}

/* ---- versions ------------------------------------------------------------------------------- */

static int too_old(unsigned api, struct gb_err *err)
{
    return gb_fail(err, -EPROTONOSUPPORT, GB_BLAME_HOST,
                   "the engine's API 1.%u is too old; 1.%d is needed" GB_REMEDY
                   "update the engine: Docker 20.10, Podman 4 or newer",
                   api, ENGINE_API_MIN);
}

static int agree(struct engine *engine, unsigned api, struct gb_err *err)
{
    if (api < ENGINE_API_MIN)
        return too_old(api, err);
    engine->api = api < ENGINE_API_MAX ? api : ENGINE_API_MAX;
    return 0;
}

/* What a proxy has taken from the head is in the body of /version too. */
static int ask_version(struct engine *engine, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    struct engine_call call = {
        .method = "GET", .target = &target, .total_ms = PING_MS, .is_unversioned = true
    };
    cleanup_json struct json_value *json = NULL;
    const char *text;
    int r = target_of_id(&target, "/version", NULL, NULL, err);

    if (r == 0)
        r = engine_call(engine, &call, &json, err);
    if (r < 0)
        return r;
    text = json_str(json_get(json, "ApiVersion"), NULL);
    if (!text || refusal_api_of(text) == 0)
        return gb_fail(err, -EBADMSG, GB_BLAME_PEER, "what answers at %s is no engine",
                       engine->endpoint.shown);
    return agree(engine, refusal_api_of(text), err);
}

static int ping(struct engine *engine, struct gb_err *err)
{
    cleanup_with(http_answer_clear) struct http_answer answer = { 0 };
    cleanup_target struct target target = { 0 };
    struct engine_call call = { .method = "HEAD", .target = &target, .is_unversioned = true };
    char version[32];
    int r = target_of_id(&target, "/_ping", NULL, NULL, err);

    call.total_ms = engine->call_ms < PING_MS ? engine->call_ms : PING_MS;
    if (r == 0)
        r = ask_once(engine, &call, &answer, err);
    if (r == 0 && answer.status != 200) {
        call.method = "GET";
        http_answer_clear(&answer);
        r = engine_ask(engine, &call, &answer, err);
    }
    if (r < 0)
        return r;
    engine->is_podman = http_header(&answer, "Libpod-API-Version", version, sizeof(version));
    if (engine->api > 0) /* pinned */
        return 0;
    if (!http_header(&answer, "API-Version", version, sizeof(version)))
        return ask_version(engine, err);
    return agree(engine, refusal_api_of(version), err);
}

static int pin(struct engine *engine, const char *version, struct gb_err *err)
{
    unsigned api = refusal_api_of(version);

    if (api == 0)
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "'%.20s' is no version of the engine's API" GB_REMEDY
                       "unset DOCKER_API_VERSION, or write it as 1.41",
                       version);
    return agree(engine, api, err);
}

/* ---- life ----------------------------------------------------------------------------------- */

static int make(const struct engine *like, struct engine **ret, struct gb_err *err)
{
    cleanup_engine struct engine *engine = malloc(sizeof(*engine));
    int r;

    if (!engine)
        return gb_no_memory(err);
    *engine = *like;
    engine->http = NULL;
    r = http_client_new(&engine->http, err);
    if (r == 0)
        *ret = take_ptr(engine);
    return r;
}

int engine_open(const struct engine_options *options, struct engine **ret, struct gb_err *err)
{
    const struct engine like = {
        .endpoint = *options->endpoint,
        .call_ms = options->call_ms > 0 ? options->call_ms : ENGINE_CALL_MS,
        .cancel_fd = options->cancel_fd,
    };
    cleanup_engine struct engine *engine = NULL;
    int r = make(&like, &engine, err);

    if (!engine)
        return r;
    if (options->api_version && options->api_version[0])
        r = pin(engine, options->api_version, err);
    if (r == 0)
        r = ping(engine, err);
    if (r == 0)
        *ret = take_ptr(engine);
    return r;
}

void engine_free(struct engine **engine)
{
    if (!*engine)
        return;
    http_client_free(&(*engine)->http);
    free(*engine);
    *engine = NULL;
}
