/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_ollama.c - Ollama's own wire, how much models take in, calls and their results.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "http_peer.h"
#include "model/model.h"
#include "model/providers.h"
#include "model/window.h"
#include "model/wire.h"

#include <cmocka.h>

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define ANSWER(text)                                  \
    { PEER_ACCEPT, NULL, 0 }, { PEER_READ, NULL, 0 }, \
    {                                                 \
        PEER_SEND, text, 0                            \
    }
#define END               \
    {                     \
        PEER_END, NULL, 0 \
    }

#define PIECE(x)                                                               \
    "{\"model\":\"tiny\",\"message\":{\"role\":\"assistant\",\"content\":\"" x \
    "\"},\"done\":false}\n"
#define LAST(why)                                                                              \
    "{\"model\":\"tiny\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true," \
    "\"done_reason\":\"" why "\",\"prompt_eval_count\":26,\"eval_count\":3}\n"
#define SHOW(most, parameters)                                                                  \
    OK "{\"parameters\":\"" parameters "\",\"model_info\":{\"general.architecture\":\"llama\"," \
       "\"llama.context_length\":" most "}}"

struct fixture {
    struct peer peer;
    struct model *model;
    struct model_answer answer;
    struct gb_err err;
};

static void up(struct fixture *f, uint64_t context, const struct peer_act *acts)
{
    struct model_spec spec = { .provider = "ollama", .name = "tiny", .context = context };

    *f = (struct fixture){ 0 };
    peer_up(&f->peer, acts);
    spec.base_url = f->peer.url;
    if (model_open(&spec, &f->model, &f->err) < 0)
        fail_msg("%s", f->err.msg);
}

static void down(struct fixture *f)
{
    model_answer_clear(&f->answer);
    model_close(&f->model);
    peer_down(&f->peer);
}

static int chat(struct fixture *f, struct model_request request)
{
    static const struct model_message message = { MODEL_USER, "say hello" };

    request.messages = request.messages ? request.messages : &message;
    request.n_messages = request.n_messages ? request.n_messages : 1;
    request.deadline_ns = CLOCK_NEVER_NS;
    request.cancel_fd = -1;
    model_answer_clear(&f->answer);
    f->err = (struct gb_err){ 0 };
    return model_chat(f->model, &request, &f->answer, &f->err);
}

static void asked_for(const struct fixture *f, const char *text)
{
    if (!strstr(f->peer.saw->requests, text))
        fail_msg("no '%s' in: %s", text, f->peer.saw->requests);
}

/* ---- the wire ------------------------------------------------------------------------------- */

static void lines_are_put_together_and_the_context_is_asked_for(void **state)
{
    static const struct peer_act acts[] = { ANSWER(OK PIECE("hel") "\r\n" PIECE("lo") LAST("stop")),
                                            END };
    struct fixture f;

    (void)state;
    up(&f, 16384, acts);
    assert_null(strstr(model_endpoint(f.model), "/v1"));
    if (chat(&f, (struct model_request){
                     .temperature = 0, .seed = 7, .max_tokens = 50, .effort = "low" }) < 0)
        fail_msg("%s", f.err.msg);
    assert_string_equal(f.answer.text, "hello");
    assert_true(f.answer.usage.is_known);
    assert_int_equal(f.answer.usage.input, 26);
    assert_int_equal(f.answer.usage.output, 3);
    asked_for(&f, "POST /api/chat HTTP/1.1\r\n");
    asked_for(&f, "\"options\":{\"num_ctx\":16384,\"temperature\":0");
    asked_for(&f, "\"seed\":7,\"num_predict\":50}");
    asked_for(&f, "\"think\":\"low\"");
    asked_for(&f, "\"truncate\":false");
    down(&f);
}

static void a_schema_is_its_format_and_words_do_where_it_is_refused(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER("HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n{\"error\":\"invalid format\"}"),
        ANSWER(OK PIECE("{}") LAST("stop")), END
    };
    struct fixture f;

    (void)state;
    up(&f, 0, acts);
    assert_true(model_holds_schema(f.model));
    assert_int_equal(
        chat(&f, (struct model_request){ .temperature = -1, .schema = "{\"type\":\"object\"}" }),
        0);
    assert_false(model_holds_schema(f.model));
    asked_for(&f, "\"format\":{\"type\":\"object\"}");
    asked_for(&f, "\"format\":\"json\"");
    asked_for(&f, "valid under this JSON schema");
    down(&f);
}

static void what_breaks_is_told(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(OK PIECE("a") "{\"error\":\"llama runner process has terminated\"}\n"),
        ANSWER(OK PIECE("b")), /* and no end */
        ANSWER(OK PIECE("b") LAST("stop")),
        ANSWER(
            "HTTP/1.1 404 No\r\nConnection: close\r\n\r\n{\"error\":\"model 'tiny' not found\"}"),
        ANSWER(OK "{\"models\":[{\"name\":\"tiny:1b\"}]}"),
        ANSWER("HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n"
               "{\"error\":\"the input length exceeds the context length\"}"),
        END
    };
    struct fixture f;

    (void)state;
    up(&f, 0, acts);
    assert_int_equal(chat(&f, (struct model_request){ .temperature = -1 }), 0);
    assert_int_equal(f.answer.requests, 3);
    assert_string_equal(f.answer.text, "b");
    assert_int_equal(chat(&f, (struct model_request){ .temperature = -1 }), -ENOENT);
    assert_non_null(strstr(f.err.msg, "tiny:1b"));
    assert_int_equal(chat(&f, (struct model_request){ .temperature = -1 }), -E2BIG);
    down(&f);
}

/* ---- how much it takes in ------------------------------------------------------------------- */

static void learnt(uint64_t said, const struct peer_act *acts, uint64_t context)
{
    struct fixture f;

    up(&f, said, acts);
    assert_int_equal(model_learn_context(f.model, -1, NULL), 0);
    assert_int_equal(model_context(f.model), context);
    asked_for(&f, "POST /api/show HTTP/1.1\r\n");
    asked_for(&f, "{\"model\":\"tiny\"}");
    down(&f);
}

static void no_more_is_asked_for_than_the_model_was_made_for(void **state)
{
    static const struct peer_act large[] = { ANSWER(SHOW("131072", "")), END };
    static const struct peer_act small[] = { ANSWER(SHOW("2048", "")), END };
    static const struct peer_act own[] = { ANSWER(SHOW("131072", "stop a\\nnum_ctx   24000")),
                                           END };
    static const struct peer_act liar[] = { ANSWER(SHOW("7", "num_ctx 99999999999")), END };
    static const struct peer_act page[] = { ANSWER(OK "<html>"), END };

    (void)state;
    learnt(0, large, 8192);
    learnt(50000, large, 50000);
    learnt(0, small, 2048);
    learnt(50000, small, 2048);
    learnt(0, own, 24000);
    learnt(4096, own, 4096);
    learnt(0, liar, 8192);
    learnt(3000, page, 3000);
}

static void known_models_have_their_own_window(void **state)
{
    (void)state;
    assert_int_equal(window_known(provider_by_name("openai"), "gpt-4"), 8192);
    assert_int_equal(window_known(provider_by_name("openai"), "gpt-4o-mini"), 128000);
    assert_int_equal(window_known(provider_by_name("openai"), "gpt-6.1-sol"), 400000);
    assert_int_equal(window_known(provider_by_name("groq"), "gpt-4"), 131072);
}

/* ---- calls and their results ---------------------------------------------------------------- */

static char id[] = "c1";
static char other_id[] = "c2";
static char name[] = "add";
static char arguments[] = "{\"a\":1}";
static char garbage[] = "{\"a\":";

static const struct model_call calls[] = { { id, name, arguments }, { other_id, name, garbage } };
static const struct model_message turns[] = {
    { MODEL_USER, "add" },
    { MODEL_ASSISTANT, "", .calls = calls, .n_calls = 2 },
    { MODEL_TOOL, "2", .call = &calls[0] },
    { MODEL_TOOL, "no JSON", .call = &calls[1], .is_error = true },
};

static void body_of(const char *provider, struct buf *body)
{
    const struct model_request request = { .messages = turns, .n_messages = 4, .temperature = -1 };
    const struct wire_ask ask = {
        .provider = provider_by_name(provider),
        .model = "m",
        .request = &request,
        .context = 8192,
    };

    assert_int_equal(wire_of(ask.provider)->body(&ask, body, NULL), 0);
}

static void results_go_back_as_each_wire_has_them(void **state)
{
    static const struct {
        const char *provider;
        const char *messages;
    } rows[] = {
        { "openai",
          "{\"role\":\"user\",\"content\":\"add\"},{\"role\":\"assistant\",\"content\":\"\","
          "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"add\","
          "\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":\"c2\",\"type\":\"function\",\"function\":{"
          "\"name\":\"add\",\"arguments\":\"{\\\"a\\\":\"}}]},{\"role\":\"tool\",\"content\":\"2\","
          "\"tool_call_id\":\"c1\"},{\"role\":\"tool\",\"content\":\"no JSON\",\"tool_call_id\":"
          "\"c2\"}]" },
        { "anthropic",
          "{\"role\":\"user\",\"content\":\"add\"},{\"role\":\"assistant\",\"content\":[{\"type\":"
          "\"tool_use\",\"id\":\"c1\",\"name\":\"add\",\"input\":{\"a\":1}},{\"type\":\"tool_use\","
          "\"id\":\"c2\",\"name\":\"add\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":"
          "\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"2\"},{\"type\":\"tool_result\","
          "\"tool_use_id\":\"c2\",\"content\":\"no JSON\",\"is_error\":true}]}]" },
        { "ollama",
          "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{"
          "\"name\":\"add\",\"arguments\":{\"a\":1}}},{\"id\":\"c2\",\"function\":{\"name\":\"add\","
          "\"arguments\":{}}}]},{\"role\":\"tool\",\"content\":\"2\",\"tool_name\":\"add\","
          "\"tool_call_id\":\"c1\"}" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf body = BUF_INIT(65536);

        body_of(rows[i].provider, &body);
        if (!strstr(body.data, rows[i].messages))
            fail_msg("%s: no %s in %s", rows[i].provider, rows[i].messages, body.data);
    }
}

static void calls_of_ollama_come_whole(void **state)
{
    static const struct peer_act acts[] = {
        ANSWER(OK "{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"add\","
                  "\"arguments\":{\"a\":1}}},{\"function\":{\"name\":\"add\",\"arguments\":{}}}]},"
                  "\"done\":false}\n" LAST("stop")),
        END
    };
    struct fixture f;

    (void)state;
    up(&f, 0, acts);
    assert_int_equal(chat(&f, (struct model_request){ .temperature = -1 }), 0);
    assert_int_equal(f.answer.finish, MODEL_TOOLS);
    assert_int_equal(f.answer.n_calls, 2);
    assert_string_equal(f.answer.calls[0].arguments, "{\"a\":1}");
    assert_string_equal(f.answer.calls[1].arguments, "{}");
    down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_put_together_and_the_context_is_asked_for),
        cmocka_unit_test(a_schema_is_its_format_and_words_do_where_it_is_refused),
        cmocka_unit_test(what_breaks_is_told),
        cmocka_unit_test(no_more_is_asked_for_than_the_model_was_made_for),
        cmocka_unit_test(known_models_have_their_own_window),
        cmocka_unit_test(results_go_back_as_each_wire_has_them),
        cmocka_unit_test(calls_of_ollama_come_whole),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
