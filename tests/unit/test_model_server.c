/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_server.c - models behind servers that play fair, and others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "http_peer.h"
#include "model/listing.h"
#include "model/model.h"
#include "model/probe.h"

#include <cmocka.h>

/* ---- what servers say ----------------------------------------------------------------------- */

#define SECRET "sk-0123456789-secret"

/* The end of the connection ends the body. */
#define OK         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define STATUS(x)  "HTTP/1.1 " x "\r\nConnection: close\r\n\r\n"
#define HEAD(x, y) "HTTP/1.1 " x "\r\n" y "\r\nConnection: close\r\n\r\n"
#define CHUNKED    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define TEXT(x)    "data: {\"choices\":[{\"delta\":{\"content\":\"" x "\"}}]}\n\n"
#define FINISH(x)  "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" x "\"}]}\n\n"
#define DONE       FINISH("stop") "data: [DONE]\n\n"
#define MODELS(x)  OK "{\"object\":\"list\",\"data\":[" x "]}"
#define ERROR(x)   "{\"error\":{\"message\":\"" x "\"}}"
#define REFUSED(x) STATUS("400 Bad Request") ERROR(x)

/* One request is answered so. */
#define ANSWER(text)                                  \
    { PEER_ACCEPT, NULL, 0 }, { PEER_READ, NULL, 0 }, \
    {                                                 \
        PEER_SEND, text, 0                            \
    }
#define END               \
    {                     \
        PEER_END, NULL, 0 \
    }

/* ---- asking them ---------------------------------------------------------------------------- */

struct fixture {
    struct peer peer;
    struct model *model;
    struct model_answer answer;
    struct gb_err err;
    struct model_message message;
    struct model_request request;
    struct buf streamed;
    unsigned agains;
    int cancel; /* an eventfd, written to when text comes; -1 */
};

static void on_text(void *user, const char *bytes, size_t len)
{
    struct fixture *f = user;

    assert_int_equal(buf_add(&f->streamed, bytes, len), 0);
    if (f->cancel >= 0)
        assert_int_equal(eventfd_write(f->cancel, 1), 0);
}

static void on_again(void *user, const char *why, uint64_t wait_ms)
{
    struct fixture *f = user;

    (void)wait_ms;
    assert_true(why[0]);
    f->agains++;
    buf_reset(&f->streamed);
}

static void up_as(struct fixture *f, struct model_spec spec, const struct peer_act *acts)
{
    *f = (struct fixture){ .streamed = BUF_INIT(16 << 20), .cancel = -1 };
    peer_up(&f->peer, acts);
    spec.base_url = f->peer.url;
    if (model_open(&spec, &f->model, &f->err) < 0)
        fail_msg("%s", f->err.msg);
    f->message = (struct model_message){ MODEL_USER, "say hello" };
    f->request = (struct model_request){
        .messages = &f->message,
        .n_messages = 1,
        .temperature = -1,
        .deadline_ns = CLOCK_NEVER_NS,
        .cancel_fd = -1,
        .text = on_text,
        .again = on_again,
        .user = f,
    };
}

static void up(struct fixture *f, const struct peer_act *acts)
{
    up_as(f, (struct model_spec){ .provider = "openai", .name = "gpt-x", .key = SECRET }, acts);
}

static void up_anthropic(struct fixture *f, const struct peer_act *acts)
{
    up_as(f, (struct model_spec){ .provider = "anthropic", .name = "claude-x", .key = SECRET },
          acts);
}

/* Closes first: a peer that waits for the end of the connection sees it. */
static void down(struct fixture *f)
{
    model_answer_clear(&f->answer);
    model_close(&f->model);
    assert_null(f->model);
    peer_down(&f->peer);
    buf_clear(&f->streamed);
}

static int ask(struct fixture *f)
{
    int r;

    model_answer_clear(&f->answer);
    buf_reset(&f->streamed);
    f->err = (struct gb_err){ 0 };
    r = model_chat(f->model, &f->request, &f->answer, &f->err);
    assert_int_equal(r, f->err.code);
    return r;
}

static void answered(struct fixture *f, const char *text, unsigned requests)
{
    if (ask(f) < 0)
        fail_msg("%s", f->err.msg);
    assert_string_equal(f->answer.text, text);
    assert_string_equal(f->streamed.data ? f->streamed.data : "", text);
    assert_int_equal(f->answer.requests, requests);
}

static void failed(struct fixture *f, int code, const char *says, unsigned requests)
{
    assert_int_equal(ask(f), code);
    if (!strstr(f->err.msg, says))
        fail_msg("%s", f->err.msg);
    assert_null(strstr(f->err.msg, SECRET));
    assert_null(f->answer.text);
    assert_int_equal(f->answer.requests, requests);
}

static void asked_for(const struct fixture *f, const char *text)
{
    if (!strstr(f->peer.saw->requests, text))
        fail_msg("no '%s' in: %s", text, f->peer.saw->requests);
}

/* ---- fair ones ------------------------------------------------------------------------------ */

static void a_question_is_asked_and_answered(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK TEXT("hel") TEXT("lo") DONE), END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    assert_string_equal(model_label(f.model), "openai/gpt-x");
    assert_string_equal(model_endpoint(f.model), f.peer.url);
    answered(&f, "hello", 1);
    asked_for(&f, "POST /v1/chat/completions HTTP/1.1\r\n");
    asked_for(&f, "Authorization: Bearer " SECRET "\r\n");
    asked_for(&f, "Content-Type: application/json\r\n");
    asked_for(&f,
              "{\"model\":\"gpt-x\",\"messages\":[{\"role\":\"user\",\"content\":\"say hello\"}]");
    asked_for(&f, "\"stream\":true}");
    down(&f);
}

static void anthropic_s_wire_is_spoken_over_http(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(OK "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":"
                  "{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\nevent: message_delta\ndata: "
                  "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"),
        END
    };
    struct fixture f;

    (void)state;
    up_anthropic(&f, acts);
    answered(&f, "hello", 1);
    asked_for(&f, "POST /v1/messages HTTP/1.1\r\n");
    asked_for(&f, "x-api-key: " SECRET "\r\n");
    asked_for(&f, "anthropic-version: 2023-06-01\r\n");
    assert_null(strstr(f.peer.saw->requests, "Authorization"));
    down(&f);
}

static void a_token_goes_out_as_a_bearer_s(void **state)
{
    static const struct peer_act acts[] = { ANSWER(STATUS("401 No")), END };
    struct fixture f;

    (void)state;
    up_as(&f,
          (struct model_spec){
              .provider = "anthropic", .name = "c", .key = SECRET, .key_is_token = true },
          acts);
    failed(&f, -EKEYREJECTED, "ANTHROPIC_API_KEY", 1);
    asked_for(&f, "Authorization: Bearer " SECRET "\r\n");
    assert_null(strstr(f.peer.saw->requests, "x-api-key"));
    down(&f);
}

static void a_stream_may_come_byte_by_byte(void **state)
{
    static const struct peer_act acts[] = {
        { PEER_ACCEPT, NULL, 0 },
        { PEER_READ, NULL, 0 },
        { PEER_DRIP, OK ": wait\r\n\r\n" TEXT("h\\u00e9") TEXT("\xc3\xa9") DONE, 0 },
        END,
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "h\xc3\xa9\xc3\xa9", 1);
    down(&f);
}

static void a_server_without_streams_is_understood(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(OK "\n {\"choices\":[{\"message\":{\"content\":\"all at once\"},\"finish_reason\":"
                  "\"stop\"}]}"),
        END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "all at once", 1);
    down(&f);
}

static void a_cut_answer_goes_on(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK TEXT("one, t") FINISH("length")),
                                            ANSWER(OK TEXT("wo") DONE), END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "one, two", 2);
    asked_for(&f, "{\"role\":\"assistant\",\"content\":\"one, t\"}");
    assert_int_equal(f.agains, 0);
    down(&f);
}

/* ---- passing failures ----------------------------------------------------------------------- */

static void a_limited_rate_is_waited_for(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(HEAD("429 Slow", "Retry-After: 0") ERROR("slow down")),
        ANSWER(HEAD("429 Slow", "retry-after-ms: 1\r\nRetry-After: 3600") ERROR("slow down")),
        ANSWER(OK TEXT("hello") DONE), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "hello", 3);
    assert_int_equal(f.agains, 2);
    down(&f);
}

static void an_overloaded_server_is_asked_again(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(STATUS("529 Overloaded") "{\"type\":\"error\",\"error\":{\"type\":"
                                        "\"overloaded_error\",\"message\":\"Overloaded\"}}"),
        ANSWER(OK "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\","
                  "\"text\":\"hello\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"),
        END
    };
    struct fixture f;

    (void)state;
    up_anthropic(&f, acts);
    answered(&f, "hello", 2);
    down(&f);
}

static void what_breaks_in_the_middle_is_begun_anew(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(OK TEXT("hel") "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n"),
        ANSWER(OK TEXT("he")), ANSWER(OK TEXT("hello") DONE), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "hello", 3);
    assert_int_equal(f.agains, 2);
    down(&f);
}

static void a_connection_that_is_cut_is_made_again(void **state)
{
    static const struct peer_act acts[] = { { PEER_ACCEPT, NULL, 0 },
                                            { PEER_READ, NULL, 0 },
                                            ANSWER(CHUNKED "ffff\r\n" TEXT("hel")),
                                            ANSWER(OK TEXT("hello") DONE),
                                            END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "hello", 3);
    down(&f);
}

static void three_failures_are_enough(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(HEAD("500 No", "retry-after-ms: 1") ERROR("a")),
        ANSWER(HEAD("502 No", "retry-after-ms: 1") "<html>b</html>"),
        ANSWER(HEAD("503 No", "retry-after-ms: 1") ERROR("c")), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EREMOTEIO, "503 server failed after 3 tries: c", 3);
    down(&f);
}

static void nobody_at_home_is_said_with_what_to_do(void **state)
{
    struct model_spec spec = { .provider = "ollama", .name = "m" };
    struct fixture f = { .cancel = -1 };
    unsigned port;
    cleanup_close int fd = peer_socket(&port); /* nobody listens on it */
    char url[64];

    (void)state;
    (void)snprintf(url, sizeof(url), "127.0.0.1:%u", port);
    spec.base_url = url;
    assert_int_equal(model_open(&spec, &f.model, NULL), 0);
    f.request =
        (struct model_request){ .temperature = -1, .deadline_ns = CLOCK_NEVER_NS, .cancel_fd = -1 };
    failed(&f, -EHOSTUNREACH, "ollama serve", 3);
    model_close(&f.model);
    spec.base_url = "http://127.0.0.1:99999"; /* no other try would find that port */
    assert_int_equal(model_open(&spec, &f.model, NULL), 0);
    failed(&f, -EHOSTUNREACH, "not a URL", 1);
    model_close(&f.model);
    spec.base_url = url;
    spec.name = NULL;
    assert_true(model_open(&spec, &f.model, &f.err) < 0);
    assert_non_null(strstr(f.err.msg, "ollama serve"));
}

/* ---- lasting failures ----------------------------------------------------------------------- */

static void a_wrong_key_is_not_tried_again_and_not_shown(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(STATUS("401 No") ERROR("Incorrect API key provided: " SECRET)), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EKEYREJECTED, "check OPENAI_API_KEY", 1);
    down(&f);
}

static void a_quota_that_is_used_up_is_not_tried_again(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(HEAD("429 No", "Retry-After: 0") "{\"error\":{\"message\":\"You exceeded\",\"code\":"
                                                "\"insufficient_quota\"}}"),
        END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EDQUOT, "billing", 1);
    down(&f);
}

static void a_server_may_forbid_another_try(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(HEAD("500 No", "x-should-retry: false") ERROR("never")), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EREMOTEIO, "never", 1);
    down(&f);
}

static void an_unknown_model_is_said_with_those_that_exist(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(STATUS("404 No") "{\"error\":{\"message\":\"The model does not exist\",\"code\":"
                                "\"model_not_found\"}}"),
        ANSWER(MODELS("{\"id\":\"whisper\"},{\"id\":\"gpt-y\"}")), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -ENOENT, "there are gpt-y, whisper", 1);
    asked_for(&f, "GET /v1/models HTTP/1.1\r\n");
    down(&f);
}

static void a_wrong_address_is_said(void **state)
{
    static const struct peer_act page[] = { ANSWER(OK "<html>Welcome</html>"), END };
    static const struct peer_act missing[] = { ANSWER(STATUS("404 No") "not here"), END };
    static const struct peer_act moved[] = {
        ANSWER(HEAD("301 Moved", "Location: http://127.0.0.1:1/")), END
    };
    static const struct peer_act *const servers[] = { page, missing, moved };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(servers); i++) {
        struct fixture f;

        up(&f, servers[i]);
        failed(&f, -ENOENT, "the base of its API?", 1);
        down(&f);
    }
}

static void what_is_no_json_is_refused(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK TEXT("x") "data: {\"choices\":[{]}\n\n"),
                                            END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EPROTO, "not understood", 1);
    down(&f);
}

static void a_prompt_that_is_too_long_has_its_own_code(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(REFUSED("This model's maximum context length is 8192 tokens")), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -E2BIG, "8192", 1);
    down(&f);
}

/* ---- parts that are refused ----------------------------------------------------------------- */

static void who_takes_a_temperature_samples(void **state)
{
    static const struct {
        const char *provider;
        bool samples;
    } rows[] = { { "openai", true }, { "gemini", true }, { "anthropic", false } };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        const struct model_spec spec = { .provider = rows[i].provider, .name = "m", .key = SECRET };
        cleanup_model struct model *model = NULL;

        assert_int_equal(model_open(&spec, &model, NULL), 0);
        assert_int_equal(model_samples(model), rows[i].samples);
    }
}

static void a_refused_parameter_is_left_out_from_then_on(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(REFUSED("Unsupported value: 'temperature' does not support 0.5 with this model.")),
        ANSWER(REFUSED("Unknown parameter: 'max_completion_tokens'.")), ANSWER(OK TEXT("one") DONE),
        ANSWER(OK TEXT("two") DONE), END
    };
    struct fixture f;
    const char *last;

    (void)state;
    up(&f, acts);
    f.request.temperature = 0.5;
    f.request.max_tokens = 99;
    assert_true(model_samples(f.model));
    answered(&f, "one", 3);
    assert_int_equal(f.agains, 0);
    assert_false(model_samples(f.model));
    answered(&f, "two", 1);
    last = strrchr(f.peer.saw->requests, '\n');
    assert_null(strstr(last, "temperature"));
    assert_null(strstr(last, "max_completion_tokens"));
    assert_non_null(strstr(last, "\"max_tokens\":99"));
    down(&f);
}

static void a_schema_is_asked_for_in_ever_plainer_ways(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(REFUSED("Invalid schema for response_format 'reply'")),
        ANSWER(REFUSED("'response_format.type' must be 'text'")), ANSWER(OK TEXT("{}") DONE), END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    f.request.schema = "{\"type\":\"object\"}";
    f.request.schema_name = "reply";
    answered(&f, "{}", 3);
    asked_for(&f, "\"response_format\":{\"type\":\"json_schema\"");
    asked_for(&f, "\"response_format\":{\"type\":\"json_object\"}");
    asked_for(&f, "JSON schema:\\n{\\\"type\\\":\\\"object\\\"}");
    down(&f);
}

static void a_server_that_refuses_everything_is_given_up(void **state)
{
    static const struct peer_act acts[] = { ANSWER(REFUSED("bad stream_options")),
                                            ANSWER(REFUSED("bad stream_options")), END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EINVAL, "400 request refused", 2);
    down(&f);
}

static void what_groq_throws_away_is_kept(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(
            STATUS("400 No") "{\"error\":{\"message\":\"Failed to generate JSON\",\"code\":"
                             "\"json_validate_failed\",\"failed_generation\":\"{\\\"a\\\": 1\"}}"),
        END
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    answered(&f, "{\"a\": 1", 1);
    down(&f);
}

/* ---- bounds --------------------------------------------------------------------------------- */

#define KIB64_0(x) x x x x x x x x
#define KIB64(x)   KIB64_0(KIB64_0(KIB64_0(x)))

static void an_answer_without_end_is_refused(void **state)
{
    /* 100 MB: 1600 events of 64 KiB. */
    static const struct peer_act acts[] = {
        { PEER_ACCEPT, NULL, 0 },
        { PEER_READ, NULL, 0 },
        { PEER_SEND, OK, 0 },
        { PEER_SEND,
          TEXT(KIB64(
              "128 bytes of text .................................................................."
              "............................................")),
          1600 },
        END,
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EMSGSIZE, "too large", 1);
    assert_true(f.streamed.len <= 4 << 20);
    down(&f);
}

static void a_line_without_end_is_refused(void **state)
{
    static const struct peer_act acts[] = {
        { PEER_ACCEPT, NULL, 0 },
        { PEER_READ, NULL, 0 },
        { PEER_SEND, OK "data: ", 0 },
        { PEER_SEND,
          KIB64("128 bytes of text .................................................."
                "............................................................"),
          1600 },
        END,
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    failed(&f, -EMSGSIZE, "too large", 1);
    down(&f);
}

static void a_server_that_drips_is_left_at_the_deadline(void **state)
{
    static const struct peer_act acts[] = {
        { PEER_ACCEPT, NULL, 0 },
        { PEER_READ, NULL, 0 },
        { PEER_DRIP, OK TEXT("never") TEXT("ending") TEXT("story"), 20 },
        END,
    };
    struct fixture f;

    (void)state;
    up(&f, acts);
    f.request.deadline_ns = clock_after_ms(300);
    failed(&f, -ETIMEDOUT, "in time", 1);
    assert_null(strstr(f.err.msg, "another try"));
    assert_true(clock_now_ns() >= f.request.deadline_ns);
    f.err = (struct gb_err){ 0 };
    failed(&f, -ETIMEDOUT, "no time left", 0);
    down(&f);
}

static void an_answer_is_cancelled_while_it_comes(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK TEXT("hel")), { PEER_HOLD, NULL, 0 }, END };
    struct fixture f;

    (void)state;
    up(&f, acts);
    f.cancel = eventfd(0, EFD_CLOEXEC);
    assert_true(f.cancel >= 0);
    f.request.cancel_fd = f.cancel;
    failed(&f, -ECANCELED, "cancelled", 1);
    drop_fd(&f.cancel);
    down(&f);
}

/* ---- opening and listing -------------------------------------------------------------------- */

static void a_missing_or_broken_key_is_said_before_anything_is_asked(void **state)
{
    struct model_spec spec = { .provider = "groq", .name = "m" };
    struct model *model = NULL;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(model_open(&spec, &model, &err), -ENOKEY);
    assert_non_null(strstr(err.msg, "GROQ_API_KEY"));
    spec.key = "abc\r\nX-Evil: 1";
    assert_int_equal(model_open(&spec, &model, &err), -EINVAL);
    assert_null(strstr(err.msg, "Evil"));
    spec.key = "abc";
    spec.base_url = "gopher://x";
    assert_int_equal(model_open(&spec, &model, &err), -EINVAL);
    assert_null(model);
}

static void a_local_server_says_itself_what_it_has(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(MODELS("{\"id\":\"nomic-embed-text\"},{\"id\":\"tiny\",\"max_model_len\":5000},"
                      "{\"id\":\"\\u001b[31m\"}")),
        ANSWER(MODELS("{\"id\":\"tiny\",\"max_model_len\":5000}")), END
    };
    struct fixture f;

    (void)state;
    up_as(&f, (struct model_spec){ .provider = "vllm" }, acts);
    assert_string_equal(model_label(f.model), "vllm/tiny");
    assert_int_equal(model_learn_context(f.model, -1, NULL), 0);
    assert_int_equal(model_context(f.model), 5000);
    assert_null(strstr(f.peer.saw->requests, "Authorization"));
    down(&f);
}

static void listings_of_all_kinds_are_read(void **state)
{
    static const char *const lists[] = {
        "{\"data\":[{\"id\":\"a\",\"context_window\":77},{\"id\":5},{},null,{\"id\":\"\\u001b[31m\"},"
        "{\"id\":\"b\"}]}",
        "{\"models\":[{\"name\":\"models/a\",\"meta\":{\"n_ctx\":77}},{\"name\":\"b\"}]}",
    };
    static const char *const others[] = {
        "", "{}", "[]", "{\"data\":{}}", "<html>", "{\"data\":7}"
    };
    struct listing listing;
    char text[32];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
        assert_int_equal(listing_read(lists[i], strlen(lists[i]), &listing, NULL), 0);
        assert_int_equal(listing.n, 2);
        assert_string_equal(listing.names[0], "a");
        assert_string_equal(listing.names[1], "b");
        assert_int_equal(listing_context(&listing, "a"), 77);
        assert_int_equal(listing_context(&listing, "b"), 0);
        assert_int_equal(listing_context(&listing, "c"), 0);
        listing_nearest(&listing, "bb", text, sizeof(text));
        assert_string_equal(text, "b, a");
        listing_nearest(&listing, "bb", text, 4);
        assert_string_equal(text, "b");
        listing_clear(&listing);
    }
    for (size_t i = 0; i < N_ELEMENTS(others); i++)
        assert_int_equal(listing_read(others[i], strlen(others[i]), &listing, NULL), -EPROTO);
}

/* Pairs of name and value. */
static const char *lookup(void *user, const char *name)
{
    for (const char *const *pair = user; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static void a_local_server_is_found(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(MODELS("{\"id\":\"tiny\",\"meta\":{\"n_ctx\":4096}}")), END
    };
    cleanup_local struct model_local local = { 0 };
    struct peer peer;
    unsigned port;
    cleanup_close int fd = peer_socket(&port); /* nobody listens on it */
    char closed[64];
    const char *env[] = {
        "OLLAMA_HOST", closed, "LLAMACPP_BASE_URL", NULL, "VLLM_BASE_URL", closed, "LLAMA_API_KEY",
        SECRET,        NULL
    };

    (void)state;
    peer_up(&peer, acts);
    (void)snprintf(closed, sizeof(closed), "http://127.0.0.1:%u", port);
    env[3] = peer.url;
    assert_int_equal(model_probe_local(lookup, env, &local, NULL), 1);
    assert_string_equal(local.provider->name, "llamacpp");
    assert_string_equal(local.base_url, peer.url);
    assert_string_equal(local.model, "tiny");
    assert_non_null(strstr(peer.saw->requests, "Authorization: Bearer " SECRET "\r\n"));
    peer_down(&peer);
    model_local_clear(&local);
    env[3] = closed;
    assert_int_equal(model_probe_local(lookup, env, &local, NULL), 0);
    assert_null(local.model);
}

static void a_page_is_no_model_server(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK "<html>Welcome</html>"),
                                            ANSWER(STATUS("404 No")), ANSWER(OK "{\"data\":[]}"),
                                            END };
    cleanup_local struct model_local local = { 0 };
    struct peer peer;
    const char *env[] = { "OLLAMA_HOST", NULL, "LLAMACPP_BASE_URL", NULL, "VLLM_BASE_URL",
                          NULL,          NULL };

    (void)state;
    peer_up(&peer, acts);
    env[1] = env[3] = env[5] = peer.url;
    assert_int_equal(model_probe_local(lookup, env, &local, NULL), 0);
    peer_down(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_asked_and_answered),
        cmocka_unit_test(anthropic_s_wire_is_spoken_over_http),
        cmocka_unit_test(a_token_goes_out_as_a_bearer_s),
        cmocka_unit_test(a_stream_may_come_byte_by_byte),
        cmocka_unit_test(a_server_without_streams_is_understood),
        cmocka_unit_test(a_cut_answer_goes_on),
        cmocka_unit_test(a_limited_rate_is_waited_for),
        cmocka_unit_test(an_overloaded_server_is_asked_again),
        cmocka_unit_test(what_breaks_in_the_middle_is_begun_anew),
        cmocka_unit_test(a_connection_that_is_cut_is_made_again),
        cmocka_unit_test(three_failures_are_enough),
        cmocka_unit_test(nobody_at_home_is_said_with_what_to_do),
        cmocka_unit_test(a_wrong_key_is_not_tried_again_and_not_shown),
        cmocka_unit_test(a_quota_that_is_used_up_is_not_tried_again),
        cmocka_unit_test(a_server_may_forbid_another_try),
        cmocka_unit_test(an_unknown_model_is_said_with_those_that_exist),
        cmocka_unit_test(a_wrong_address_is_said),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(a_prompt_that_is_too_long_has_its_own_code),
        cmocka_unit_test(who_takes_a_temperature_samples),
        cmocka_unit_test(a_refused_parameter_is_left_out_from_then_on),
        cmocka_unit_test(a_schema_is_asked_for_in_ever_plainer_ways),
        cmocka_unit_test(a_server_that_refuses_everything_is_given_up),
        cmocka_unit_test(what_groq_throws_away_is_kept),
        cmocka_unit_test(an_answer_without_end_is_refused),
        cmocka_unit_test(a_line_without_end_is_refused),
        cmocka_unit_test(a_server_that_drips_is_left_at_the_deadline),
        cmocka_unit_test(an_answer_is_cancelled_while_it_comes),
        cmocka_unit_test(a_missing_or_broken_key_is_said_before_anything_is_asked),
        cmocka_unit_test(a_local_server_says_itself_what_it_has),
        cmocka_unit_test(listings_of_all_kinds_are_read),
        cmocka_unit_test(a_local_server_is_found),
        cmocka_unit_test(a_page_is_no_model_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
