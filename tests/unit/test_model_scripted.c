/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_scripted.c - scripts, and through them what happens above every kind of model. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/model.h"
#include "model/script.h"

#include <cmocka.h>

/* ---- asking a script ------------------------------------------------------------------------ */

static struct model *play(const char *script)
{
    const struct model_spec spec = { .provider = "scripted", .name = "t.script", .script = script };
    struct model *model = NULL;
    struct gb_err err = { 0 };

    if (model_open(&spec, &model, &err) < 0)
        fail_msg("%s", err.msg);
    return model;
}

struct consumer {
    struct buf text; /* of this attempt */
    struct buf reasoning;
    unsigned pieces;
    unsigned agains;
    char why[100];
    int cancel_fd; /* written to after the first piece; -1 */
};

static void on_text(void *user, const char *bytes, size_t len)
{
    struct consumer *consumer = user;

    assert_true(len > 0);
    consumer->pieces++;
    assert_int_equal(buf_add(&consumer->text, bytes, len), 0);
    if (consumer->cancel_fd >= 0)
        assert_int_equal(eventfd_write(consumer->cancel_fd, 1), 0);
}

static void on_reasoning(void *user, const char *bytes, size_t len)
{
    struct consumer *consumer = user;

    assert_int_equal(buf_add(&consumer->reasoning, bytes, len), 0);
}

static void on_again(void *user, const char *why, uint64_t wait_ms)
{
    struct consumer *consumer = user;

    (void)wait_ms;
    consumer->agains++;
    (void)snprintf(consumer->why, sizeof(consumer->why), "%s", why);
    buf_reset(&consumer->text);
    buf_reset(&consumer->reasoning);
}

static void consumer_init(struct consumer *consumer)
{
    *consumer = (struct consumer){ .text = BUF_INIT(1 << 20),
                                   .reasoning = BUF_INIT(1 << 20),
                                   .cancel_fd = -1 };
}

static void consumer_clear(struct consumer *consumer)
{
    buf_clear(&consumer->text);
    buf_clear(&consumer->reasoning);
}

#define cleanup_consumer cleanup_with(consumer_clear)
#define cleanup_answer   cleanup_with(model_answer_clear)

static struct model_message question;

static struct model_request ask(const char *text, struct consumer *consumer)
{
    question = (struct model_message){ MODEL_USER, text };
    return (struct model_request){
        .messages = &question,
        .n_messages = 1,
        .temperature = -1,
        .deadline_ns = CLOCK_NEVER_NS,
        .cancel_fd = -1,
        .text = consumer ? on_text : NULL,
        .reasoning = consumer ? on_reasoning : NULL,
        .again = consumer ? on_again : NULL,
        .user = consumer,
    };
}

static void expect(struct model *model, const struct model_request *request, const char *text)
{
    cleanup_answer struct model_answer answer = { 0 };
    struct gb_err err = { 0 };

    if (model_chat(model, request, &answer, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(answer.text, text);
}

static int failure(struct model *model, const struct model_request *request, struct gb_err *err)
{
    cleanup_answer struct model_answer answer = { 0 };
    int r = model_chat(model, request, &answer, err);

    assert_true(r < 0);
    assert_int_equal(err->code, r);
    return r;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static void the_first_rule_that_fits_answers(void **state)
{
    cleanup_model struct model *model =
        play("# rules\n"
             "answer\n  when: apple\n  when: pear\n<<<\nboth\n>>>\n"
             "answer\n  when: apple\n  unless: plum\n<<<\none\n>>>\n"
             "answer\n  user: plum\n<<<\nplum\n>>>\n"
             "answer\n<<<\nany\n>>>\n");
    struct model_request request = ask("apple", NULL);

    (void)state;
    expect(model, &request, "one");
    request = ask("a pear and an apple", NULL);
    expect(model, &request, "both");
    expect(model, &request, "both"); /* and again: nothing is used up */
    request = ask("apple plum", NULL);
    expect(model, &request, "plum");
    request = ask("Apple", NULL);
    expect(model, &request, "any");
    assert_string_equal(model_label(model), "scripted/t.script");
    assert_true(model_samples(model));
}

static void roles_schemas_and_seeds_are_told_apart(void **state)
{
    static const struct model_message messages[] = {
        { MODEL_SYSTEM, "You judge" },
        { MODEL_USER, "You plan" },
        { MODEL_ASSISTANT, "ok" },
        { MODEL_USER, "go" },
    };
    cleanup_model struct model *model = play("answer\n system: You plan\n<<<\nplan\n>>>\n"
                                             "answer\n user: You plan\n<<<\nplan\n>>>\n"
                                             "answer\n schema: reply\n<<<\n{}\n>>>\n"
                                             "answer\n system: You judge\n seed: 7\n<<<\n7\n>>>\n"
                                             "answer\n system: You judge\n<<<\njudge\n>>>\n");
    struct model_request request = ask("", NULL);

    (void)state;
    request.messages = messages;
    request.n_messages = N_ELEMENTS(messages);
    expect(model, &request, "judge");
    request.seed = 7;
    expect(model, &request, "7");
    request.schema = "{}";
    request.schema_name = "reply";
    expect(model, &request, "{}");
}

static void a_text_may_hold_anything_but_its_mark(void **state)
{
    cleanup_model struct model *model =
        play("answer\n when: a\n<<<END\n>>>\nanswer\n  when: x\n# no comment\n<<<\nEND\n"
             "answer\n when: b\n<<<\n\n>>>\n"
             "answer\n when: c\n<<<\n>>>\n"
             "answer\n when: d\n<<<\n\n  x\t\n\n>>>");
    struct model_request request = ask("a", NULL);

    (void)state;
    expect(model, &request, ">>>\nanswer\n  when: x\n# no comment\n<<<");
    request = ask("b", NULL);
    expect(model, &request, "");
    request = ask("c", NULL);
    expect(model, &request, "");
    request = ask("d", NULL);
    expect(model, &request, "\n  x\t\n");
}

static void a_mistake_in_a_script_names_its_line(void **state)
{
    static const struct {
        const char *script;
        const char *says;
    } cases[] = {
        { "", "no answers" },
        { "# nothing\n\n", "no answers" },
        { "when: x\n", "x:1: before the first" },
        { "<<<\n>>>\n", "x:1: a text without" },
        { "answer\nwhat: x\n", "x:2: no such word" },
        { "answer\nwhen\n", "x:2: this is neither" },
        { "answer\n\nwhen:\n", "x:3: a condition without" },
        { "answer\nseed: -1\n", "x:2: this must be a number" },
        { "answer\nnth: 0\n", "x:2: this must be a number" },
        { "answer\npiece: 99999999\n", "x:2: this must be a number" },
        { "answer\ndelay: soon\n", "x:2: this must be a time" },
        { "answer\nfinish: maybe\n", "x:2: an answer ends with" },
        { "answer\nusage: 1\n", "x:2: usage is" },
        { "answer\nusage: 1 2 3 4\n", "x:2: usage is" },
        { "answer\nerror: 200 fine\n", "x:2: an error is" },
        { "answer\nerror: 500 a\nerror: 500 b\n", "x:3: this was said" },
        { "answer\ncall:\n", "x:2: a call is" },
        { "answer\n<<<\nno end\n", "x:2: this text has no end" },
        { "answer\n<<<E\n>>>\n", "x:2: this text has no end" },
        { "answer\n<<<\n>>>\n<<<\n>>>\n", "x:4: this answer has a text" },
        { "answer\n<<<\n\xff\n>>>\n", "not a text in UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        struct script script;
        struct gb_err err = { 0 };

        assert_true(script_read("x", cases[i].script, strlen(cases[i].script), &script, &err) < 0);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("'%s' says: %s", cases[i].script, err.msg);
        assert_null(script.rules);
    }
}

static void scripts_are_bounded(void **state)
{
    cleanup_buf struct buf rules = BUF_INIT(1 << 20);
    cleanup_buf struct buf conditions = BUF_INIT(1 << 20);
    cleanup_free char *large = malloc(SCRIPT_MAX + 1);
    struct script script;
    struct gb_err err = { 0 };

    (void)state;
    for (int i = 0; i < SCRIPT_RULES_MAX + 1; i++)
        assert_int_equal(buf_puts(&rules, "answer\n"), 0);
    assert_int_equal(script_read("x", rules.data, rules.len, &script, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "x:1001: too many answers"));
    assert_int_equal(buf_puts(&conditions, "answer\n"), 0);
    for (int i = 0; i < SCRIPT_CONDITIONS_MAX + 1; i++)
        assert_int_equal(buf_puts(&conditions, "when: x\n"), 0);
    assert_int_equal(script_read("x", conditions.data, conditions.len, &script, &err), -EINVAL);
    memset(large, '\n', SCRIPT_MAX + 1);
    assert_int_equal(script_read("x", large, SCRIPT_MAX + 1, &script, &err), -EMSGSIZE);
}

static void a_script_is_read_from_its_file(void **state)
{
    char path[] = "/tmp/glovebox-unit-XXXXXX";
    struct model_spec spec = { .provider = "scripted", .name = path };
    cleanup_close int fd = mkostemp(path, O_CLOEXEC);
    cleanup_model struct model *model = NULL;
    struct model_request request = ask("x", NULL);
    struct gb_err err = { 0 };

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "answer\n<<<\nfile\n>>>\n", 20), 20);
    assert_int_equal(model_open(&spec, &model, &err), 0);
    assert_int_equal(unlink(path), 0);
    expect(model, &request, "file");
    assert_string_equal(model_endpoint(model), path);
    model_close(&model);
    assert_int_equal(model_open(&spec, &model, &err), -ENOENT);
    assert_non_null(strstr(err.msg, path));
    spec.name = NULL;
    assert_int_equal(model_open(&spec, &model, &err), -EINVAL);
}

static void a_prompt_without_a_rule_is_an_error_that_shows_it(void **state)
{
    cleanup_model struct model *model = play("answer\n when: x\n");
    struct model_request request = ask("what now?", NULL);
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(failure(model, &request, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "what now?"));
    assert_non_null(strstr(err.msg, "scripted/t.script"));
}

/* ---- playing -------------------------------------------------------------------------------- */

static void an_answer_comes_in_whole_characters(void **state)
{
    cleanup_model struct model *model = play("answer\n piece: 1\n think: hm\n usage: 9 4 2\n"
                                             "<<<\n\xc3\xbc\xf0\x9f\x98\x80"
                                             "a\n>>>\n");
    cleanup_consumer struct consumer consumer;
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request;

    (void)state;
    consumer_init(&consumer);
    request = ask("x", &consumer);
    assert_int_equal(model_chat(model, &request, &answer, NULL), 0);
    assert_int_equal(consumer.pieces, 3);
    assert_string_equal(consumer.text.data, answer.text);
    assert_string_equal(answer.reasoning, "hm");
    assert_string_equal(consumer.reasoning.data, "hm");
    assert_int_equal(answer.requests, 1);
    assert_true(answer.usage.is_known);
    assert_int_equal(answer.usage.input, 9);
    assert_int_equal(answer.usage.output, 4);
    assert_int_equal(answer.usage.cached, 2);
}

static void calls_and_refusals_are_played(void **state)
{
    cleanup_model struct model *model = play("answer\n when: no\n finish: refused\n<<<\nno\n>>>\n"
                                             "answer\n call: add {\"x\": 1}\n call: now\n");
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request = ask("x", NULL);

    (void)state;
    assert_int_equal(model_chat(model, &request, &answer, NULL), 0);
    assert_int_equal(answer.finish, MODEL_TOOLS);
    assert_int_equal(answer.n_calls, 2);
    assert_string_equal(answer.calls[0].id, "call_1");
    assert_string_equal(answer.calls[0].arguments, "{\"x\": 1}");
    assert_string_equal(answer.calls[1].name, "now");
    assert_string_equal(answer.calls[1].arguments, "{}");
    model_answer_clear(&answer);
    request = ask("no", NULL);
    assert_int_equal(model_chat(model, &request, &answer, NULL), 0);
    assert_int_equal(answer.finish, MODEL_REFUSED);
}

/* ---- retries and rests ---------------------------------------------------------------------- */

static void a_passing_failure_is_tried_again_and_what_came_is_void(void **state)
{
    cleanup_model struct model *model =
        play("answer\n nth: 1\n error: 529 overloaded\n usage: 5 5\n"
             "<<<\nhalf an\n>>>\n"
             "answer\n usage: 10 10\n<<<\nanswer\n>>>\n");
    cleanup_consumer struct consumer consumer;
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request;

    (void)state;
    consumer_init(&consumer);
    request = ask("x", &consumer);
    assert_int_equal(model_chat(model, &request, &answer, NULL), 0);
    assert_string_equal(answer.text, "answer");
    assert_string_equal(consumer.text.data, "answer");
    assert_int_equal(consumer.agains, 1);
    assert_string_equal(consumer.why, "529 server failed");
    assert_int_equal(answer.requests, 2);
    assert_int_equal(answer.usage.input, 15);
}

static void a_consumer_that_cannot_forget_gets_no_second_try(void **state)
{
    cleanup_model struct model *model =
        play("answer\n nth: 1\n error: 500 boom\n<<<\nhalf\n>>>\nanswer\n<<<\nwhole\n>>>\n");
    cleanup_consumer struct consumer consumer;
    struct gb_err err = { 0 };
    struct model_request request;

    (void)state;
    consumer_init(&consumer);
    request = ask("x", &consumer);
    request.again = NULL;
    assert_int_equal(failure(model, &request, &err), -EREMOTEIO);
    assert_string_equal(consumer.text.data, "half");
    model_close(&model);
    /* One that hears nothing has nothing to forget. */
    model = play("answer\n nth: 1\n error: 500 boom\n<<<\nhalf\n>>>\nanswer\n<<<\nwhole\n>>>\n");
    request = ask("x", NULL);
    expect(model, &request, "whole");
}

static void a_lasting_failure_is_told_at_once(void **state)
{
    cleanup_model struct model *model =
        play("answer\n when: key\n error: 401 bad key\n"
             "answer\n when: quota\n error: 429 insufficient_quota\n"
             "answer\n when: long\n error: 400 context length\n");
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request = ask("key", NULL);
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(model_chat(model, &request, &answer, &err), -EKEYREJECTED);
    assert_int_equal(answer.requests, 1);
    request = ask("quota", NULL);
    assert_int_equal(failure(model, &request, &err), -EDQUOT);
    request = ask("long", NULL);
    assert_int_equal(failure(model, &request, &err), -E2BIG);
}

static void failures_end(void **state)
{
    cleanup_model struct model *model = play("answer\n error: 503 busy\n");
    cleanup_consumer struct consumer consumer;
    cleanup_answer struct model_answer answer = { 0 };
    struct gb_err err = { 0 };
    struct model_request request;

    (void)state;
    consumer_init(&consumer);
    request = ask("x", &consumer);
    assert_int_equal(model_chat(model, &request, &answer, &err), -EREMOTEIO);
    assert_int_equal(answer.requests, 3);
    assert_int_equal(consumer.agains, 2);
    assert_non_null(strstr(err.msg, "after 3 tries"));
    assert_non_null(strstr(err.msg, "busy"));
}

static void no_try_is_begun_behind_the_deadline(void **state)
{
    cleanup_model struct model *model = play("answer\n error: 503 busy\n");
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request = ask("x", NULL);
    struct gb_err err = { 0 };

    (void)state;
    request.deadline_ns = clock_after_ms(100);
    assert_int_equal(model_chat(model, &request, &answer, &err), -ETIMEDOUT);
    assert_int_equal(err.code, -ETIMEDOUT);
    assert_int_equal(answer.requests, 1);
    assert_non_null(strstr(err.msg, "busy"));
}

static void an_answer_is_cancelled_between_pieces(void **state)
{
    cleanup_model struct model *model = play("answer\n piece: 1\n<<<\nlong text\n>>>\n");
    cleanup_consumer struct consumer consumer;
    cleanup_close int fd = eventfd(0, EFD_CLOEXEC);
    struct model_request request;
    struct gb_err err = { 0 };

    (void)state;
    assert_true(fd >= 0);
    consumer_init(&consumer);
    consumer.cancel_fd = fd;
    request = ask("x", &consumer);
    request.cancel_fd = fd;
    assert_int_equal(failure(model, &request, &err), -ECANCELED);
    assert_int_equal(consumer.pieces, 1);
}

static void a_cut_answer_is_put_together(void **state)
{
    cleanup_model struct model *model =
        play("answer\n finish: cut\n think: one\n usage: 1 1\n<<<\nabc\n>>>\n"
             "answer\n after: abcdef\n nth: 1\n error: 500 no\n<<<\nvoid\n>>>\n"
             "answer\n after: abcdef\n usage: 4 4\n<<<\nghi\n>>>\n"
             "answer\n after: abc\n finish: cut\n usage: 2 2\n<<<\ndef\n>>>\n");
    cleanup_consumer struct consumer consumer;
    cleanup_answer struct model_answer answer = { 0 };
    struct model_request request;
    struct gb_err err = { 0 };

    (void)state;
    consumer_init(&consumer);
    request = ask("x", &consumer);
    if (model_chat(model, &request, &answer, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(answer.text, "abcdefghi");
    assert_string_equal(answer.reasoning, "one");
    assert_int_equal(answer.finish, MODEL_STOP);
    assert_int_equal(answer.requests, 4);
    /* 7 were told; of the one that failed three bytes had come. */
    assert_int_equal(answer.usage.output, 8);
    assert_false(answer.usage.is_known);
    /* The earlier rounds were told once more after the failure. */
    assert_int_equal(consumer.agains, 1);
    assert_string_equal(consumer.text.data, "abcdefghi");
    assert_string_equal(consumer.reasoning.data, "one");
}

static void a_cut_answer_is_never_handed_out(void **state)
{
    static const struct {
        const char *script;
        const char *says;
    } cases[] = {
        { "answer\n finish: cut\n<<<\na\n>>>\nanswer\n after: a\n finish: cut\n<<<\na\n>>>\n",
          "its rests too" },
        { "answer\n finish: cut\n think: hm\n", "went into reasoning" },
        { "answer\n finish: cut\n call: add {\n", "tool call" },
        { "answer\n finish: cut\n<<<\na\n>>>\nanswer\n after: a\n finish: cut\n", "nothing more" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        cleanup_model struct model *model = play(cases[i].script);
        cleanup_answer struct model_answer answer = { 0 };
        struct model_request request = ask("x", NULL);
        struct gb_err err = { 0 };

        assert_int_equal(model_chat(model, &request, &answer, &err), -EMSGSIZE);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("%s", err.msg);
        assert_null(answer.text);
        assert_true(answer.requests <= 5);
    }
}

static void a_provider_that_nobody_knows_is_an_error_with_the_names(void **state)
{
    const struct model_spec spec = { .provider = "openia" };
    struct model *model = NULL;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(model_open(&spec, &model, &err), -EINVAL);
    assert_null(model);
    assert_non_null(strstr(err.msg, "openai, groq"));
    assert_non_null(strstr(err.msg, "scripted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_fits_answers),
        cmocka_unit_test(roles_schemas_and_seeds_are_told_apart),
        cmocka_unit_test(a_text_may_hold_anything_but_its_mark),
        cmocka_unit_test(a_mistake_in_a_script_names_its_line),
        cmocka_unit_test(scripts_are_bounded),
        cmocka_unit_test(a_script_is_read_from_its_file),
        cmocka_unit_test(a_prompt_without_a_rule_is_an_error_that_shows_it),
        cmocka_unit_test(an_answer_comes_in_whole_characters),
        cmocka_unit_test(calls_and_refusals_are_played),
        cmocka_unit_test(a_passing_failure_is_tried_again_and_what_came_is_void),
        cmocka_unit_test(a_consumer_that_cannot_forget_gets_no_second_try),
        cmocka_unit_test(a_lasting_failure_is_told_at_once),
        cmocka_unit_test(failures_end),
        cmocka_unit_test(no_try_is_begun_behind_the_deadline),
        cmocka_unit_test(an_answer_is_cancelled_between_pieces),
        cmocka_unit_test(a_cut_answer_is_put_together),
        cmocka_unit_test(a_cut_answer_is_never_handed_out),
        cmocka_unit_test(a_provider_that_nobody_knows_is_an_error_with_the_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
