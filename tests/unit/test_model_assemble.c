/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_assemble.c - events of both wires become an answer, requests become a body. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "model/assemble.h"
#include "model/params.h"
#include "model/providers.h"
#include "model/wire.h"
#include "net/sse.h"

#include <cmocka.h>

/* ---- a stream, fed in pieces of any size ---------------------------------------------------- */

struct heard {
    struct buf text;
    struct buf reasoning;
};

static void hear_text(void *user, const char *bytes, size_t len)
{
    struct heard *heard = user;

    assert_int_equal(buf_add(&heard->text, bytes, len), 0);
}

static void hear_reasoning(void *user, const char *bytes, size_t len)
{
    struct heard *heard = user;

    assert_int_equal(buf_add(&heard->reasoning, bytes, len), 0);
}

struct trial {
    const struct wire *wire;
    struct assembly assembly;
    struct heard heard;
};

static int on_event(void *user, const struct sse_event *event)
{
    struct trial *trial = user;

    return trial->wire->event(&trial->assembly, event->data, event->len);
}

static const char *text_of(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

static int feed(struct trial *trial, const struct wire *wire, const char *stream, size_t piece)
{
    const struct assembly_sink sink = { hear_text, hear_reasoning, &trial->heard };
    size_t len = strlen(stream);
    struct sse sse;
    int r = 0;

    *trial = (struct trial){ .wire = wire };
    trial->heard = (struct heard){ BUF_INIT(16 << 20), BUF_INIT(16 << 20) };
    assembly_init(&trial->assembly, &sink, true);
    sse_init(&sse, WIRE_EVENT_MAX, on_event, trial);
    for (size_t at = 0; at < len && r == 0; at += piece)
        r = sse_feed(&sse, stream + at, at + piece < len ? piece : len - at);
    if (r == 0)
        r = sse_end(&sse);
    sse_clear(&sse);
    if (r == 0)
        r = assembly_finish(&trial->assembly);
    /* What was told is what is kept. */
    if (r == 0) {
        assert_string_equal(text_of(&trial->heard.text), text_of(&trial->assembly.text));
        assert_string_equal(text_of(&trial->heard.reasoning), text_of(&trial->assembly.reasoning));
    }
    return r;
}

static void trial_clear(struct trial *trial)
{
    buf_clear(&trial->heard.text);
    buf_clear(&trial->heard.reasoning);
    assembly_clear(&trial->assembly);
}

#define cleanup_trial cleanup_with(trial_clear)

static void take(struct trial *trial, struct model_answer *answer)
{
    *answer = (struct model_answer){ 0 };
    assert_int_equal(assembly_take(&trial->assembly, answer), 0);
    answer->usage = trial->assembly.usage;
}

/* One event of OpenAI's wire with this as the delta. */
#define DELTA(json) "data: {\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define FINISH(reason) \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

/* How a stream of either wire fails. */
static void expect_fault(const struct wire *wire, const char *stream, enum fault_kind kind,
                         int status)
{
    cleanup_trial struct trial trial;

    assert_true(feed(&trial, wire, stream, 13) < 0);
    if (trial.assembly.fault.kind != kind)
        fail_msg("kind %d of: %s", trial.assembly.fault.kind, stream);
    assert_int_equal(trial.assembly.fault.status, status);
}

/* ---- OpenAI's wire -------------------------------------------------------------------------- */

static const char usual_stream[] =
    ": OPENROUTER PROCESSING\n\n"
    "data: {\"model\":\"gpt-x-2026\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
    "\"content\":\"\"},\"finish_reason\":null}]}\n\n" DELTA("{\"content\":\"Gr\\u00fc\"}")
        DELTA("{\"content\":\"\\u00df Gott \\ud83d\\ude00\"}") FINISH(
            "stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5,"
                    "\"total_tokens\":17,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n" DONE;

static void a_torn_stream_gives_the_same_answer(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof(usual_stream); piece++) {
        cleanup_trial struct trial trial;
        struct model_answer answer;

        assert_int_equal(feed(&trial, &wire_openai, usual_stream, piece), 0);
        take(&trial, &answer);
        assert_string_equal(answer.text, "Gr\xc3\xbc\xc3\x9f Gott \xf0\x9f\x98\x80");
        assert_null(answer.reasoning);
        assert_string_equal(answer.model, "gpt-x-2026");
        assert_int_equal(answer.finish, MODEL_STOP);
        assert_true(answer.usage.is_known);
        assert_int_equal(answer.usage.input, 12);
        assert_int_equal(answer.usage.output, 5);
        assert_int_equal(answer.usage.cached, 8);
        model_answer_clear(&answer);
    }
}

/* Events that differ in their text only are not parsed in full: with the same result. */
static void repeated_events_are_read_as_others_are(void **state)
{
#define PADDED(text, padding)                                           \
    "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\": \"" text \
    "\"},\"finish_reason\":null}],"                                     \
    "\"obfuscation\":\"" padding "\"}\n\n"
    static const struct {
        const char *stream;
        const char *text;
        const char *reasoning;
    } cases[] = {
        { PADDED("a", "") PADDED("bb", "xyz") PADDED("\\u00e9\\n\\\"", "q") PADDED("", "")
              PADDED("\xff"
                     "c",
                     "w") DONE,
          "abb\xc3\xa9\n\"\xef\xbf\xbd"
          "c",
          "" },
        { PADDED("a", "x") PADDED("b", "\\\\") PADDED("c", "x") DONE, "abc", "" },
        { DELTA("{\"content\":\"a\"}") DELTA("{\"content\":\"b\",\"refusal\":\"c\"}")
              DELTA("{\"content\":\"b\",\"refusal\":\"c\"}") DONE,
          "abcbc", "" },
        { DELTA("{\"x\":{\"content\":\"a\"},\"content\":\"a\"}")
              DELTA("{\"x\":{\"content\":\"b\"},\"content\":\"a\"}")
                  DELTA("{\"x\":{\"content\":\"b\"},\"content\":\"c\"}") DONE,
          "aac", "" },
        { DELTA("{\"x\":{\"content\":\"a\"},\"\\u0063ontent\":\"a\"}")
              DELTA("{\"x\":{\"content\":\"b\"},\"\\u0063ontent\":\"a\"}") DONE,
          "aa", "" },
        { DELTA("{\"reasoning\":\"r\",\"content\":\"a\"}")
              DELTA("{\"reasoning\":\"r\",\"content\":\"b\"}") DONE,
          "ab", "rr" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        cleanup_trial struct trial trial;

        assert_int_equal(feed(&trial, &wire_openai, cases[i].stream, 1000), 0);
        assert_string_equal(text_of(&trial.assembly.text), cases[i].text);
        assert_string_equal(text_of(&trial.assembly.reasoning), cases[i].reasoning);
    }
    expect_fault(&wire_openai, PADDED("a", "") PADDED("b\\x", ""), FAULT_GARBLED, 0);
    expect_fault(&wire_openai, PADDED("a", "") PADDED("b\n", ""), FAULT_GARBLED, 0);
    expect_fault(&wire_openai, PADDED("a", "") PADDED("b", "\\x"), FAULT_GARBLED, 0);
    expect_fault(
        &wire_openai,
        DELTA(
            "{\"content\":\"a\"}") "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]\n\n",
        FAULT_GARBLED, 0);
    expect_fault(&wire_openai, PADDED("a", "") PADDED("\\ud800", ""), FAULT_GARBLED, 0);
#undef PADDED
}

static void tool_calls_come_interleaved(void **state)
{
    static const char stream[] = DELTA(
        "{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"add\","
        "\"arguments\":\"\"}}]}")
        DELTA(
            "{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"sub\","
            "\"arguments\":\"{\\\"y\\\"\"}},{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\"}}]}")
            DELTA("{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\":2}\"}}]}")
                DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]}")
                    FINISH("tool_calls");
    cleanup_trial struct trial trial;
    struct model_answer answer;

    (void)state;
    assert_int_equal(feed(&trial, &wire_openai, stream, 7), 0);
    take(&trial, &answer);
    assert_int_equal(answer.finish, MODEL_TOOLS);
    assert_int_equal(answer.n_calls, 2);
    assert_string_equal(answer.calls[0].id, "a");
    assert_string_equal(answer.calls[0].name, "add");
    assert_string_equal(answer.calls[0].arguments, "{\"x\":1}");
    assert_string_equal(answer.calls[1].arguments, "{\"y\":2}");
    assert_string_equal(answer.text, "");
    model_answer_clear(&answer);
}

static void tool_calls_of_clones_are_told_apart(void **state)
{
    /* Ollama: all of index 0; others: no index at all. */
    static const char *const streams[] = {
        DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"{}\"}},{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"g\","
              "\"arguments\":\"{}\"}}]}") FINISH("stop"),
        DELTA("{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}},"
              "{\"function\":{\"arguments\":\"}\"}}]}")
            DELTA("{\"tool_calls\":[{\"function\":{\"name\":\"g\"}}]}") FINISH("stop"),
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(streams); i++) {
        cleanup_trial struct trial trial;
        struct model_answer answer;

        assert_int_equal(feed(&trial, &wire_openai, streams[i], 1000), 0);
        take(&trial, &answer);
        assert_int_equal(answer.finish, MODEL_TOOLS);
        assert_int_equal(answer.n_calls, 2);
        assert_string_equal(answer.calls[0].name, "f");
        assert_string_equal(answer.calls[0].arguments, "{}");
        assert_string_equal(answer.calls[1].name, "g");
        assert_string_equal(answer.calls[1].arguments, "{}");
        model_answer_clear(&answer);
    }
}

static void reasoning_is_told_apart_under_all_its_names(void **state)
{
    static const struct {
        const char *stream;
        const char *text;
        const char *reasoning;
    } cases[] = {
        { DELTA("{\"reasoning_content\":\"hm\"}") DELTA("{\"content\":\"yes\"}") FINISH("stop"),
          "yes", "hm" },
        { DELTA("{\"reasoning\":\"hm\",\"content\":\"\"}") DELTA("{\"content\":\"yes\"}") DONE,
          "yes", "hm" },
        { DELTA("{\"reasoning\":\"hm\",\"reasoning_content\":\"hm\"}") DONE, "", "hm" },
        { DELTA("{\"content\":\"<think>hm</think>\\n\\nyes\"}") DONE, "yes", "hm" },
        { DELTA("{\"content\":\" \\n<th\"}") DELTA("{\"content\":\"ink>a</thi<b</\"}")
              DELTA("{\"content\":\"think>\"}") DELTA("{\"content\":\" \\n y\"}") DONE,
          "y", "a</thi<b" },
        { DELTA("{\"content\":\"<think>a<</think>b\"}") DONE, "b", "a<" },
        { DELTA("{\"content\":\"<<think>\"}") DONE, "<<think>", "" },
        { DELTA("{\"content\":\"<thin\"}") DELTA("{\"content\":\" ice\"}") DONE, "<thin ice", "" },
        { DELTA("{\"content\":\"  <thin\"}") DONE, "  <thin", "" },
        { DELTA("{\"content\":\"x <think>no</think>\"}") DONE, "x <think>no</think>", "" },
        { DELTA("{\"content\":\"<think>never ends</th\"}") FINISH("stop"), "", "never ends</th" },
        { DELTA("{\"content\":\"<think></think>\"}") DONE, "", "" },
        { DELTA("{\"content\":\"                    <think>far\"}") DONE,
          "                    <think>far", "" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++)
        for (size_t piece = 1; piece < 200; piece += 9) {
            cleanup_trial struct trial trial;

            assert_int_equal(feed(&trial, &wire_openai, cases[i].stream, piece), 0);
            assert_string_equal(text_of(&trial.assembly.text), cases[i].text);
            assert_string_equal(text_of(&trial.assembly.reasoning), cases[i].reasoning);
        }
}

/* The tags split at every byte. */
static void think_tags_are_seen_however_they_are_torn(void **state)
{
    static const char whole[] = "\n<think>one < two</ three</think>\n\nfour<think>";

    (void)state;
    for (size_t i = 0; i < strlen(whole); i++)
        for (size_t j = i; j < strlen(whole); j++) {
            cleanup_assembly struct assembly assembly;

            assembly_init(&assembly, NULL, true);
            assert_int_equal(assembly_text(&assembly, whole, i), 0);
            assert_int_equal(assembly_text(&assembly, whole + i, j - i), 0);
            assert_int_equal(assembly_text(&assembly, whole + j, strlen(whole) - j), 0);
            assembly.is_done = true;
            assert_int_equal(assembly_finish(&assembly), 0);
            assert_string_equal(text_of(&assembly.text), "four<think>");
            assert_string_equal(text_of(&assembly.reasoning), "one < two</ three");
        }
}

static void usage_is_found_in_its_places(void **state)
{
    static const struct {
        const char *event;
        uint64_t input;
        uint64_t cached;
        uint64_t output;
    } cases[] = {
        { "data: {\"choices\":[],\"x_groq\":{\"usage\":{\"prompt_tokens\":3,"
          "\"completion_tokens\":4}}}\n\n",
          3, 0, 4 },
        { "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":30}}\n\n",
          3, 0, 27 },
        { "data: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,"
          "\"prompt_cache_hit_tokens\":99}}\n\n",
          3, 3, 4 },
        { "data: {\"usage\":null}\n\n", 0, 0, 0 },
        { "data: {\"usage\":{\"prompt_tokens\":9223372036854775807,"
          "\"completion_tokens\":9223372036854775807}}\n\n",
          MODEL_TOKENS_MAX, 0, MODEL_TOKENS_MAX },
        { "data: {\"usage\":{\"prompt_tokens\":-3,\"completion_tokens\":\"4\"}}\n\n", 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        cleanup_trial struct trial trial;
        char stream[400];

        (void)snprintf(stream, sizeof(stream), "%s%s", cases[i].event, DONE);
        assert_int_equal(feed(&trial, &wire_openai, stream, 1000), 0);
        assert_int_equal(trial.assembly.usage.input, cases[i].input);
        assert_int_equal(trial.assembly.usage.cached, cases[i].cached);
        assert_int_equal(trial.assembly.usage.output, cases[i].output);
        assert_int_equal(trial.assembly.usage.is_known, cases[i].input > 0);
    }
}

static void a_cost_that_the_server_tells_is_kept(void **state)
{
    static const char stream[] =
        "data: {\"usage\":{\"prompt_tokens\":1,\"cost\":0.0123456}}\n\n" DONE;
    static const char odd[] = "data: {\"usage\":{\"prompt_tokens\":1,\"cost\":-5}}\n\n"
                              "data: {\"usage\":{\"prompt_tokens\":1,\"cost\":1e300}}\n\n" DONE;
    cleanup_trial struct trial trial;

    (void)state;
    assert_int_equal(feed(&trial, &wire_openai, stream, 1000), 0);
    assert_true(trial.assembly.usage.has_cost);
    assert_int_equal(trial.assembly.usage.cost, 12346);
    trial_clear(&trial);
    assert_int_equal(feed(&trial, &wire_openai, odd, 1000), 0);
    assert_false(trial.assembly.usage.has_cost);
}

static void broken_streams_are_failures(void **state)
{
    (void)state;
    expect_fault(&wire_openai, DELTA("{\"content\":\"half an ans\"}"), FAULT_LINK, 0);
    expect_fault(&wire_openai, "", FAULT_LINK, 0);
    expect_fault(&wire_openai, "data: {\"choices\":\n\n", FAULT_GARBLED, 0);
    expect_fault(&wire_openai, "data: hello\n\n", FAULT_GARBLED, 0);
    expect_fault(
        &wire_openai,
        DELTA("{\"content\":\"x\"}") "data: {\"error\":{\"code\":502,\"message\":\"gone\"},"
                                     "\"choices\":[]}\n\n",
        FAULT_SERVER, 502);
    expect_fault(&wire_openai, FINISH("insufficient_system_resource"), FAULT_SERVER, 0);
    expect_fault(&wire_anthropic,
                 "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                 "\"message\":\"Overloaded\"}}\n\n",
                 FAULT_SERVER, 529);
    expect_fault(&wire_anthropic,
                 "event: error\ndata: {\"code\":503,\"message\":\"no slot\","
                 "\"type\":\"unavailable_error\"}\n\n",
                 FAULT_SERVER, 503);
    expect_fault(&wire_anthropic,
                 "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                 "\"model_context_window_exceeded\"}}\n\n",
                 FAULT_CONTEXT, 0);
    expect_fault(&wire_anthropic, "data: {\"type\":\"message_start\"}\n\n", FAULT_LINK, 0);
}

static void answers_that_grow_without_end_are_refused(void **state)
{
    static char piece[60000];
    static char event[61000];
    cleanup_assembly struct assembly assembly;
    int r = 0;

    (void)state;
    memset(piece, 'x', sizeof(piece) - 1);
    (void)snprintf(event, sizeof(event), "{\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}", piece);
    assembly_init(&assembly, NULL, false);
    for (int i = 0; i < 2000 && r == 0; i++)
        r = wire_openai.event(&assembly, event, strlen(event));
    assert_int_equal(r, -EMSGSIZE);
    assert_int_equal(assembly.fault.kind, FAULT_SIZE);
    assert_true(assembly.text.len <= ASSEMBLY_TEXT_MAX);
}

static void too_many_and_too_long_calls_are_refused(void **state)
{
    cleanup_assembly struct assembly many;
    cleanup_assembly struct assembly longs;
    static char id[1000];
    int r = 0;

    (void)state;
    assembly_init(&many, NULL, false);
    for (uint64_t i = 0; i < 1000 && r == 0; i++)
        r = assembly_call(&many, &(struct assembly_piece){ .has_index = true, .index = i << 40 });
    assert_true(r < 0);
    assert_int_equal(many.fault.kind, FAULT_SIZE);
    assembly_init(&longs, NULL, false);
    memset(id, 'i', sizeof(id) - 1);
    assert_int_equal(assembly_call(&longs, &(struct assembly_piece){ .id = id }), -EMSGSIZE);
}

static void bytes_that_are_no_utf8_are_repaired(void **state)
{
    cleanup_trial struct trial trial;

    (void)state;
    assert_int_equal(feed(&trial, &wire_openai,
                          DELTA("{\"content\":\"a\xff"
                                "b\"}") DONE,
                          1000),
                     0);
    assert_string_equal(text_of(&trial.assembly.text), "a\xef\xbf\xbd"
                                                       "b");
}

static void an_answer_that_was_not_streamed_is_read(void **state)
{
    static const char openai[] =
        "{\"model\":\"m\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"all\"},"
        "\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}";
    static const char anthropic[] =
        "{\"type\":\"message\",\"model\":\"m\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
        "\"hm\"},{\"type\":\"text\",\"text\":\"all\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":"
        "\"f\",\"input\":{\"x\":1}}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":1,"
        "\"output_tokens\":2}}";
    cleanup_assembly struct assembly assembly;
    cleanup_assembly struct assembly other;

    (void)state;
    assembly_init(&assembly, NULL, false);
    assert_int_equal(wire_openai.event(&assembly, openai, strlen(openai)), 0);
    assert_int_equal(assembly_finish(&assembly), 0);
    assert_string_equal(assembly.text.data, "all");
    assert_int_equal(assembly.end, ASSEMBLY_CUT);
    assembly_init(&other, NULL, false);
    assert_int_equal(wire_anthropic.event(&other, anthropic, strlen(anthropic)), 0);
    assert_int_equal(assembly_finish(&other), 0);
    assert_string_equal(other.text.data, "all");
    assert_string_equal(other.reasoning.data, "hm");
    assert_string_equal(other.calls[0].arguments.data, "{\"x\":1}");
}

static void a_refusal_stays_one(void **state)
{
    cleanup_trial struct trial trial;
    struct model_answer answer;

    (void)state;
    assert_int_equal(
        feed(&trial, &wire_openai, DELTA("{\"refusal\":\"I will not\"}") FINISH("stop") DONE, 5),
        0);
    take(&trial, &answer);
    assert_int_equal(answer.finish, MODEL_REFUSED);
    assert_string_equal(answer.text, "I will not");
    model_answer_clear(&answer);
}

static void odd_shapes_do_no_harm(void **state)
{
    static const char *const events[] = {
        "data: 1\n\n",
        "data: []\n\n",
        "data: \"x\"\n\n",
        "data: null\n\n",
        "data: {\"choices\":{}}\n\n",
        "data: {\"choices\":[null]}\n\n",
        "data: {\"choices\":[{\"delta\":[1]}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":5,\"tool_calls\":{\"a\":1}}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":[1,{\"text\":2}]}}]}\n\n",
        "data: {\"model\":5,\"usage\":[],\"error\":null}\n\n",
        "data: {\"type\":\"content_block_delta\",\"delta\":5}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":-1,\"content_block\":{\"type\":[]}}\n\n",
        "data: {\"type\":7}\n\n",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(events); i++) {
        cleanup_trial struct trial trial;
        cleanup_trial struct trial other;
        char stream[300];

        (void)snprintf(stream, sizeof(stream), "%s%s", events[i], DONE);
        assert_int_equal(feed(&trial, &wire_openai, stream, 1000), 0);
        assert_string_equal(text_of(&trial.assembly.text), "");
        (void)snprintf(stream, sizeof(stream), "%sdata: {\"type\":\"message_stop\"}\n\n",
                       events[i]);
        assert_int_equal(feed(&other, &wire_anthropic, stream, 1000), 0);
        assert_string_equal(text_of(&other.assembly.text), "");
    }
}

/* ---- Anthropic's wire ----------------------------------------------------------------------- */

static void a_stream_of_anthropic_s_gives_its_answer(void **state)
{
    static const char stream[] =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\","
        "\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":3,"
        "\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n"
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
        "\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
        "{\"type\":\"signature_delta\",\"signature\":\"xyz\"}}\n\n"
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\","
        "\"text\":\"\"}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\","
        "\"text\":\"Hel\"}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\","
        "\"text\":\"lo\"}}\n\n"
        "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
        "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":"
        "\"tool_use\",\"id\":\"t1\",\"name\":\"add\",\"input\":{}}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":"
        "\"input_json_delta\",\"partial_json\":\"{\\\"x\\\"\"}}\n\n"
        "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":"
        "\"tool_use\",\"id\":\"t2\",\"name\":\"now\",\"input\":{}}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":"
        "\"input_json_delta\",\"partial_json\":\":1}\"}}\n\n"
        "data: {\"type\":\"something_new\",\"delta\":{\"text\":\"no\"}}\n\n"
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":"
        "{\"input_tokens\":10,\"output_tokens\":42}}\n\n"
        "data: {\"type\":\"message_stop\"}\n\n";

    (void)state;
    for (size_t piece = 1; piece < 300; piece += 7) {
        cleanup_trial struct trial trial;
        struct model_answer answer;

        assert_int_equal(feed(&trial, &wire_anthropic, stream, piece), 0);
        take(&trial, &answer);
        assert_string_equal(answer.text, "Hello");
        assert_string_equal(answer.reasoning, "hm");
        assert_string_equal(answer.model, "claude-x");
        assert_int_equal(answer.finish, MODEL_TOOLS);
        assert_int_equal(answer.n_calls, 2);
        assert_string_equal(answer.calls[0].arguments, "{\"x\":1}");
        assert_string_equal(answer.calls[1].name, "now");
        assert_string_equal(answer.calls[1].arguments, "{}");
        assert_int_equal(answer.usage.input, 20);
        assert_int_equal(answer.usage.cached, 7);
        assert_int_equal(answer.usage.output, 42);
        model_answer_clear(&answer);
    }
}

/* ---- bodies --------------------------------------------------------------------------------- */

static const struct model_message messages[] = {
    { MODEL_SYSTEM, "Be brief." }, { MODEL_USER, "Say \"hi\"\n\x01" },
    { MODEL_ASSISTANT, "hi" },     { MODEL_SYSTEM, "Be kind." },
    { MODEL_USER, "again" },
};
static const struct model_tool tool = { "add", "adds", "{\"type\":\"object\"}" };
static const struct model_request full = {
    .messages = messages,
    .n_messages = N_ELEMENTS(messages),
    .schema_name = "reply",
    .schema = "{\"type\":\"object\",\"required\":[\"a\"]}",
    .tools = &tool,
    .n_tools = 1,
    .temperature = 0.25,
    .seed = 9,
    .max_tokens = 500,
    .effort = "low",
};

static struct json_value *body_of(const char *provider, const struct model_request *request,
                                  const char *partial, unsigned left_out)
{
    cleanup_buf struct buf body = BUF_INIT(WIRE_BODY_MAX);
    struct json_value *json = NULL;
    struct wire_ask ask = {
        .provider = provider_by_name(provider),
        .model = "m",
        .request = request,
        .partial = partial,
    };

    ask.left_out = params_unknown(ask.provider) | left_out;
    assert_int_equal(wire_of(ask.provider)->body(&ask, &body, NULL), 0);
    assert_int_equal(json_value_parse(body.data, body.len, body.max, &json, NULL), 0);
    return json;
}

static void expect_text(const struct json_value *json, const char *path, const char *text)
{
    const char *found = json_str(json_path(json, path), NULL);

    if (!found || strcmp(found, text) != 0)
        fail_msg("%s: %s", path, found ? found : "(nothing)");
}

static void a_body_of_openai_s_says_everything(void **state)
{
    cleanup_json struct json_value *json = body_of("openai", &full, NULL, 0);
    double temperature = 0;
    uint64_t number = 0;

    (void)state;
    expect_text(json, "model", "m");
    assert_int_equal(json_count(json_get(json, "messages")), 4);
    expect_text(json, "messages/0/role", "system");
    expect_text(json, "messages/0/content", "Be brief.\n\nBe kind.");
    expect_text(json, "messages/1/content", "Say \"hi\"\n\x01");
    expect_text(json, "messages/2/role", "assistant");
    expect_text(json, "response_format/type", "json_schema");
    expect_text(json, "response_format/json_schema/name", "reply");
    expect_text(json, "response_format/json_schema/schema/required/0", "a");
    expect_text(json, "tools/0/function/name", "add");
    expect_text(json, "tools/0/function/parameters/type", "object");
    expect_text(json, "reasoning_effort", "low");
    assert_true(json_double(json_get(json, "temperature"), &temperature));
    assert_true(temperature == 0.25);
    assert_true(json_u64(json_get(json, "seed"), &number) && number == 9);
    assert_true(json_u64(json_get(json, "max_completion_tokens"), &number) && number == 500);
    assert_int_equal(json_kind(json_get(json, "max_tokens")), JSON_NONE);
    assert_int_equal(json_kind(json_path(json, "stream_options/include_usage")), JSON_BOOL);
    assert_int_equal(json_kind(json_get(json, "stream")), JSON_BOOL);
}

static void what_is_refused_is_left_out_and_asked_for_in_words(void **state)
{
    cleanup_json struct json_value *object =
        body_of("openai", &full, NULL, PARAM_SCHEMA | PARAM_NEW_MAX | PARAM_TEMPERATURE);
    cleanup_json struct json_value *plain =
        body_of("openai", &full, NULL, PARAM_SCHEMA | PARAM_JSON_MODE);

    (void)state;
    expect_text(object, "response_format/type", "json_object");
    assert_non_null(
        strstr(json_str(json_path(object, "messages/0/content"), NULL), "\"required\":[\"a\"]"));
    assert_int_equal(json_kind(json_get(object, "max_tokens")), JSON_NUMBER);
    assert_int_equal(json_kind(json_get(object, "temperature")), JSON_NONE);
    assert_int_equal(json_kind(json_get(plain, "response_format")), JSON_NONE);
    assert_non_null(strstr(json_str(json_path(plain, "messages/0/content"), NULL), "JSON schema"));
}

static void a_plain_question_has_a_plain_body(void **state)
{
    const struct model_message message = { MODEL_USER, "hi" };
    const struct model_request request = { .messages = &message,
                                           .n_messages = 1,
                                           .temperature = -1 };
    cleanup_json struct json_value *json = body_of("gemini", &request, NULL, 0);
    cleanup_json struct json_value *other = body_of("anthropic", &request, NULL, 0);
    uint64_t number = 0;

    (void)state;
    assert_int_equal(json_count(json), 4); /* model, messages, stream_options, stream */
    expect_text(json, "messages/0/content", "hi");
    assert_int_equal(json_count(other), 4); /* model, max_tokens, messages, stream */
    assert_true(json_u64(json_get(other, "max_tokens"), &number) && number >= 8192);
}

static void a_body_of_anthropic_s_says_everything(void **state)
{
    cleanup_json struct json_value *json = body_of("anthropic", &full, NULL, 0);
    cleanup_json struct json_value *asked = body_of("anthropic", &full, NULL, PARAM_SCHEMA);
    uint64_t number = 0;

    (void)state;
    expect_text(json, "system/0/type", "text");
    expect_text(json, "system/0/text", "Be brief.\n\nBe kind.");
    expect_text(json, "system/0/cache_control/type", "ephemeral");
    expect_text(json, "messages/0/role", "user");
    expect_text(json, "output_config/effort", "low");
    expect_text(json, "output_config/format/schema/required/0", "a");
    expect_text(json, "tools/0/input_schema/type", "object");
    assert_true(json_u64(json_get(json, "max_tokens"), &number) && number == 500);
    assert_int_equal(json_kind(json_get(json, "temperature")), JSON_NONE);
    assert_int_equal(json_kind(json_get(json, "seed")), JSON_NONE);
    assert_int_equal(json_kind(json_path(asked, "output_config/format")), JSON_NONE);
    assert_non_null(strstr(json_str(json_path(asked, "system/0/text"), NULL), "JSON schema"));
}

static void the_rest_is_asked_for_with_what_there_is(void **state)
{
    cleanup_json struct json_value *openai = body_of("openai", &full, "half", 0);
    cleanup_json struct json_value *llamacpp = body_of("llamacpp", &full, "half", 0);
    cleanup_json struct json_value *anthropic = body_of("anthropic", &full, "half", 0);

    (void)state;
    expect_text(openai, "messages/4/content", "half");
    expect_text(openai, "messages/4/role", "assistant");
    expect_text(openai, "messages/5/role", "user");
    assert_int_equal(json_kind(json_get(openai, "response_format")), JSON_NONE);
    assert_int_equal(json_count(json_get(llamacpp, "messages")), 5);
    expect_text(llamacpp, "messages/4/content", "half");
    expect_text(anthropic, "messages/3/content", "half");
    expect_text(anthropic, "messages/4/role", "user");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_stream_gives_the_same_answer),
        cmocka_unit_test(repeated_events_are_read_as_others_are),
        cmocka_unit_test(tool_calls_come_interleaved),
        cmocka_unit_test(tool_calls_of_clones_are_told_apart),
        cmocka_unit_test(reasoning_is_told_apart_under_all_its_names),
        cmocka_unit_test(think_tags_are_seen_however_they_are_torn),
        cmocka_unit_test(usage_is_found_in_its_places),
        cmocka_unit_test(a_cost_that_the_server_tells_is_kept),
        cmocka_unit_test(broken_streams_are_failures),
        cmocka_unit_test(answers_that_grow_without_end_are_refused),
        cmocka_unit_test(too_many_and_too_long_calls_are_refused),
        cmocka_unit_test(bytes_that_are_no_utf8_are_repaired),
        cmocka_unit_test(an_answer_that_was_not_streamed_is_read),
        cmocka_unit_test(a_refusal_stays_one),
        cmocka_unit_test(odd_shapes_do_no_harm),
        cmocka_unit_test(a_stream_of_anthropic_s_gives_its_answer),
        cmocka_unit_test(a_body_of_openai_s_says_everything),
        cmocka_unit_test(what_is_refused_is_left_out_and_asked_for_in_words),
        cmocka_unit_test(a_plain_question_has_a_plain_body),
        cmocka_unit_test(a_body_of_anthropic_s_says_everything),
        cmocka_unit_test(the_rest_is_asked_for_with_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
