/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_model_retry.c - what a failure is, whether it is worth another try, and when. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/fault.h"
#include "model/retry.h"

#include <cmocka.h>

#define NOW 1792566480 /* 2026-10-21 07:08:00 */

/* ---- faults --------------------------------------------------------------------------------- */

static enum fault_kind kind_of(int status, const char *body)
{
    struct fault fault;

    fault_read_body(&fault, status, body, strlen(body));
    return fault.kind;
}

static void servers_say_the_same_in_many_ways(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum fault_kind kind;
    } cases[] = {
        { 401, "{\"error\":{\"message\":\"Incorrect API key\",\"code\":\"invalid_api_key\"}}",
          FAULT_KEY },
        { 403, "", FAULT_KEY },
        { 400,
          "[{\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API "
          "key.\",\"status\":\"INVALID_ARGUMENT\"}}]",
          FAULT_KEY },
        { 404,
          "{\"error\":{\"message\":\"The model `x` does not exist\",\"code\":\"model_not_"
          "found\"}}",
          FAULT_MODEL },
        { 404, "{\"error\":{\"message\":\"model 'x' not found\"}}", FAULT_MODEL },
        { 400, "{\"error\":{\"message\":\"x/y is not a valid model ID\",\"code\":400}}",
          FAULT_MODEL },
        { 403, "{\"error\":{\"message\":\"no access to it\",\"code\":\"model_not_found\"}}",
          FAULT_MODEL },
        { 404, "<html><h1>Not Found</h1></html>", FAULT_ADDRESS },
        { 308, "", FAULT_ADDRESS },
        { 429, "{\"error\":{\"message\":\"slow\",\"code\":\"rate_limit_exceeded\"}}", FAULT_RATE },
        { 429,
          "{\"error\":{\"message\":\"You exceeded\",\"type\":\"insufficient_quota\",\"code\":"
          "\"insufficient_quota\"}}",
          FAULT_QUOTA },
        { 402, "{\"error\":{\"code\":402,\"message\":\"more credits\"}}", FAULT_QUOTA },
        { 400,
          "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
          "\"Your credit balance is too low\"}}",
          FAULT_QUOTA },
        { 400, "{\"error\":{\"code\":\"context_length_exceeded\"}}", FAULT_CONTEXT },
        { 400, "{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}",
          FAULT_CONTEXT },
        { 400, "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit\"}}",
          FAULT_CONTEXT },
        { 400, "{\"error\":{\"type\":\"exceed_context_size_error\",\"message\":\"too big\"}}",
          FAULT_CONTEXT },
        { 413, "", FAULT_CONTEXT },
        { 400, "{\"error\":\"something else\"}", FAULT_REQUEST },
        { 422, "{\"detail\":[{\"msg\":\"field required\"}]}", FAULT_REQUEST },
        { 500, "", FAULT_SERVER },
        { 529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", FAULT_SERVER },
        { 503, "{\"error\":{\"message\":\"Loading model\"}}", FAULT_SERVER },
        { 408, "", FAULT_SERVER },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++)
        if (kind_of(cases[i].status, cases[i].body) != cases[i].kind)
            fail_msg("%d %s: kind %d", cases[i].status, cases[i].body,
                     kind_of(cases[i].status, cases[i].body));
}

static void an_error_in_a_stream_stands_for_a_status(void **state)
{
    struct fault fault;
    const char overloaded[] = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}";
    const char routed[] = "{\"error\":{\"code\":429,\"message\":\"upstream\"}}";
    const char other[] = "{\"error\":{\"message\":\"boom\"}}";

    (void)state;
    fault_read_body(&fault, 0, overloaded, strlen(overloaded));
    assert_int_equal(fault.status, 529);
    assert_int_equal(fault.kind, FAULT_SERVER);
    fault_read_body(&fault, 0, routed, strlen(routed));
    assert_int_equal(fault.status, 429);
    assert_int_equal(fault.kind, FAULT_RATE);
    fault_read_body(&fault, 0, other, strlen(other));
    assert_int_equal(fault.kind, FAULT_SERVER);
}

static const struct fault_place place = {
    .label = "openai/gpt-x",
    .endpoint = "https://api.example/v1",
    .model = "gpt-x",
    .key_env = "OPENAI_API_KEY",
    .key = "sk-very-secret",
    .remedy = "start it",
    .offers = "gpt-a, gpt-b",
    .tries = 1,
};

static int error_of(int status, const char *body, struct gb_err *err)
{
    struct fault fault;

    fault_read_body(&fault, status, body, strlen(body));
    return fault_fail(&fault, &place, err);
}

static void an_error_says_what_to_do(void **state)
{
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(error_of(401, "{\"error\":{\"message\":\"wrong key sk-very-secret\"}}", &err),
                     -EKEYREJECTED);
    assert_string_equal(gb_err_remedy(&err), "check OPENAI_API_KEY");
    assert_null(strstr(err.msg, "secret"));
    assert_int_equal(err.blame, GB_BLAME_CALLER);
    assert_int_equal(error_of(404, "{\"error\":{\"message\":\"no model\"}}", &err), -ENOENT);
    assert_non_null(strstr(err.msg, "gpt-a, gpt-b"));
    assert_int_equal(error_of(404, "nothing here", &err), -ENOENT);
    assert_non_null(strstr(err.msg, "https://api.example/v1"));
    assert_int_equal(error_of(400, "{\"error\":{\"code\":\"context_length_exceeded\"}}", &err),
                     -E2BIG);
    assert_int_equal(error_of(402, "{}", &err), -EDQUOT);
    assert_non_null(strstr(err.msg, "billing"));
    assert_int_equal(error_of(429, "{}", &err), -EAGAIN);
    assert_int_equal(error_of(500, "{}", &err), -EREMOTEIO);
    assert_int_equal(err.blame, GB_BLAME_PEER);
}

static void only_who_is_away_is_to_be_started(void **state)
{
    struct fault fault;
    struct gb_err err = { 0 };

    (void)state;
    (void)fault_set(&fault, FAULT_LINK, "the answer was cut off");
    assert_int_equal(fault_fail(&fault, &place, &err), -EHOSTUNREACH);
    assert_null(gb_err_remedy(&err));
    fault.is_away = true;
    (void)fault_fail(&fault, &place, &err);
    assert_string_equal(gb_err_remedy(&err), "start it");
}

static void a_server_s_words_are_one_short_line(void **state)
{
    char body[4000];
    struct gb_err err = { 0 };

    (void)state;
    memset(body, 'x', sizeof(body) - 1);
    memcpy(body, "a\x1b[31m\n\n\tb\x7f", 11);
    body[sizeof(body) - 1] = '\0';
    (void)error_of(500, body, &err);
    for (const char *c = err.msg; *c; c++)
        assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
    assert_true(strlen(err.msg) < 300);
}

/* ---- advice --------------------------------------------------------------------------------- */

static struct fault advised(const char *should, const char *ms, const char *after)
{
    struct fault fault = { .kind = FAULT_RATE, .status = 429 };

    retry_advise(&fault, &(struct retry_headers){ should, ms, after, { { 0 } } }, NOW);
    return fault;
}

static void the_server_says_how_long(void **state)
{
    struct fault fault = advised(NULL, "250", "9");

    (void)state;
    assert_true(fault.has_wait);
    assert_int_equal(fault.wait_ms, 250);
    assert_int_equal(advised(NULL, NULL, "2").wait_ms, 2000);
    assert_int_equal(advised(NULL, NULL, "1.5").wait_ms, 1500);
    assert_int_equal(advised(NULL, "junk", "3").wait_ms, 3000);
    assert_int_equal(advised(NULL, NULL, "Wed, 21 Oct 2026 07:08:20 GMT").wait_ms, 20000);
    fault = advised(NULL, NULL, "Wed, 21 Oct 2015 07:28:00 GMT");
    assert_true(fault.has_wait);
    assert_int_equal(fault.wait_ms, 0);
}

static void advice_that_is_none_is_ignored(void **state)
{
    static const char *const junk[] = { "",     "-1",  "nan", "inf",   "1e99",
                                        "soon", "5 s", "0x1", "1.1.1", "Wed, 21 Oct 2026" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(junk); i++) {
        assert_false(advised("maybe", junk[i], NULL).has_wait);
        assert_false(advised(NULL, NULL, junk[i]).has_wait);
    }
    assert_false(advised("maybe", NULL, NULL).has_advice);
}

static struct fault limited(int status, const char *after, const char *remaining, const char *reset)
{
    struct fault fault = { .kind = FAULT_RATE, .status = status };
    struct retry_headers headers = { .retry_after = after };

    headers.limits[0] = (struct retry_limit){ "17", "1h" }; /* has some left: no reason to wait */
    headers.limits[3] = (struct retry_limit){ remaining, reset };
    retry_advise(&fault, &headers, NOW);
    return fault;
}

static void a_limit_that_is_used_up_says_how_long(void **state)
{
    static const struct {
        const char *reset;
        uint64_t wait_ms; /* 0: it says nothing */
    } rows[] = {
        { "1s", 1000 },
        { "6m0s", 360000 },
        { "7.66s", 7660 },
        { "120ms", 120 },
        { "1h2m3s", 3723000 },
        { "2026-10-21T07:08:20Z", 20000 },
        { "2026-10-21T07:08:20.75Z", 20000 },
        { "2015-10-21T07:08:20Z", 0 },
        { "0s", 0 },
        { "", 0 },
        { "5", 0 },
        { "s", 0 },
        { "-1s", 0 },
        { "1s soon", 0 },
        { "9999999999999999h", 0 },
        { "1.2.3s", 0 },
        { "nans", 0 },
        { "2026-10-21T07:08:20+09:00", 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        struct fault fault = limited(429, NULL, "0", rows[i].reset);

        assert_int_equal(fault.has_wait, rows[i].wait_ms > 0);
        assert_int_equal(fault.wait_ms, rows[i].wait_ms);
    }
    assert_true(limited(503, NULL, "0", "2s").has_wait);
    assert_false(limited(500, NULL, "0", "2s").has_wait);
    assert_false(limited(429, NULL, "1", "2s").has_wait);
    assert_false(limited(429, NULL, NULL, "2s").has_wait);
    assert_false(limited(429, NULL, "0", NULL).has_wait);
    assert_int_equal(limited(429, "3", "0", "9s").wait_ms, 3000);
}

static void of_two_limits_the_later_one_counts(void **state)
{
    struct fault fault = { .kind = FAULT_RATE, .status = 429 };
    const struct retry_headers headers = {
        .limits = { { "0", "9s" }, { "0", "2s" }, { "0", "11s" } },
    };
    uint64_t wait_ms = 0;

    (void)state;
    retry_advise(&fault, &headers, NOW);
    assert_true(retry_due(&fault, 0, 0, &wait_ms));
    assert_int_equal(wait_ms, 11000);
    fault = limited(429, NULL, "0", "6m0s"); /* bounded: a person is told instead */
    assert_false(retry_due(&fault, 0, 0, &wait_ms));
}

static void the_server_says_whether(void **state)
{
    struct fault fault = advised("false", NULL, NULL);
    uint64_t wait_ms = 0;

    (void)state;
    assert_false(retry_due(&fault, 0, 0, &wait_ms));
    fault = advised("TRUE", NULL, NULL);
    fault.kind = FAULT_REQUEST;
    assert_true(retry_due(&fault, 0, 0, &wait_ms));
    fault.kind = FAULT_QUOTA;
    assert_false(retry_due(&fault, 0, 0, &wait_ms));
}

/* ---- whether and when ----------------------------------------------------------------------- */

static void only_what_may_pass_is_tried_again(void **state)
{
    uint64_t wait_ms = 0;

    (void)state;
    for (int kind = FAULT_NONE; kind <= FAULT_ENDED; kind++) {
        struct fault fault = { .kind = (enum fault_kind)kind };
        bool is_passing = kind == FAULT_RATE || kind == FAULT_SERVER || kind == FAULT_LINK;

        assert_int_equal(retry_due(&fault, 0, 0, &wait_ms), is_passing);
    }
}

static void waits_double_within_their_bounds_and_end(void **state)
{
    struct fault fault = { .kind = FAULT_SERVER };
    uint64_t wait_ms = 0;

    (void)state;
    for (uint32_t chance = 0; chance < 5000; chance++) {
        assert_true(retry_due(&fault, 0, chance, &wait_ms));
        assert_in_range(wait_ms, 375, 500);
        assert_true(retry_due(&fault, 1, chance, &wait_ms));
        assert_in_range(wait_ms, 750, 1000);
    }
    assert_false(retry_due(&fault, 2, 0, &wait_ms));
}

static void too_many_requests_are_waited_for_longer(void **state)
{
    static const uint64_t longest_ms[] = { 5000, 15000, 30000 };
    struct fault fault = { .kind = FAULT_RATE };
    uint64_t wait_ms = 0;

    (void)state;
    for (unsigned n = 0; n < N_ELEMENTS(longest_ms); n++)
        for (uint32_t chance = 0; chance < 5000; chance++) {
            assert_true(retry_due(&fault, n, chance, &wait_ms));
            assert_in_range(wait_ms, longest_ms[n] / 4 * 3, longest_ms[n]);
        }
    assert_false(retry_due(&fault, N_ELEMENTS(longest_ms), 0, &wait_ms));
}

static void a_long_wait_is_the_caller_s_affair(void **state)
{
    struct fault fault = { .kind = FAULT_RATE, .has_wait = true, .wait_ms = 60000 };
    uint64_t wait_ms = 0;
    struct gb_err err = { 0 };

    (void)state;
    assert_true(retry_due(&fault, 0, 0, &wait_ms));
    assert_int_equal(wait_ms, 60000);
    fault.wait_ms = 61000;
    assert_false(retry_due(&fault, 0, 0, &wait_ms));
    assert_int_equal(fault_fail(&fault, &place, &err), -EAGAIN);
    assert_non_null(strstr(err.msg, "wait 61 s"));
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void a_pause_lasts_as_long_as_told(void **state)
{
    uint64_t before = clock_now_ns();

    (void)state;
    assert_int_equal(retry_pause(20, CLOCK_NEVER_NS, -1, NULL), 0);
    assert_true(clock_now_ns() - before >= 20 * NS_PER_MS);
}

static void a_pause_ends_when_it_is_cancelled(void **state)
{
    cleanup_close int fd = eventfd(1, EFD_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(retry_pause(3600000, CLOCK_NEVER_NS, fd, NULL), -ECANCELED);
}

static void a_pause_beyond_the_deadline_is_not_begun(void **state)
{
    (void)state;
    assert_int_equal(retry_pause(3600000, clock_after_ms(1000000), -1, NULL), -ETIMEDOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_say_the_same_in_many_ways),
        cmocka_unit_test(an_error_in_a_stream_stands_for_a_status),
        cmocka_unit_test(an_error_says_what_to_do),
        cmocka_unit_test(only_who_is_away_is_to_be_started),
        cmocka_unit_test(a_server_s_words_are_one_short_line),
        cmocka_unit_test(the_server_says_how_long),
        cmocka_unit_test(advice_that_is_none_is_ignored),
        cmocka_unit_test(a_limit_that_is_used_up_says_how_long),
        cmocka_unit_test(of_two_limits_the_later_one_counts),
        cmocka_unit_test(the_server_says_whether),
        cmocka_unit_test(only_what_may_pass_is_tried_again),
        cmocka_unit_test(waits_double_within_their_bounds_and_end),
        cmocka_unit_test(too_many_requests_are_waited_for_longer),
        cmocka_unit_test(a_long_wait_is_the_caller_s_affair),
        cmocka_unit_test(a_pause_lasts_as_long_as_told),
        cmocka_unit_test(a_pause_ends_when_it_is_cancelled),
        cmocka_unit_test(a_pause_beyond_the_deadline_is_not_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
