/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_search.c - asking search servers, and what is left of hostile answers. */
#include <sys/eventfd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "http_peer.h"
#include "net/search.h"

#define KEY "tvly-0123456789"

struct asked {
    struct peer peer;
    struct buf text;
    struct gb_err err;
    int result;
};

static const struct search_server *server_of(const char *name)
{
    size_t n = 0;

    while (search_server_at(n) && strcmp(search_server_at(n)->name, name) != 0)
        n++;
    return search_server_at(n);
}

/* One answer with this status line and body, to one query. */
static void ask(struct asked *asked, const char *server, const char *key, const char *query,
                const char *status, const char *body)
{
    cleanup_buf struct buf answer = BUF_INIT(4 << 20);
    struct search_spec spec = { .server = server_of(server), .key = key };

    buf_printf(&answer,
               "HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               status, strlen(body), body);
    assert_int_equal(buf_error(&answer), 0);
    {
        const struct peer_act acts[] = {
            { PEER_ACCEPT },
            { PEER_READ },
            { PEER_SEND, answer.data },
            { PEER_END },
        };

        peer_up(&asked->peer, acts);
    }
    spec.base_url = asked->peer.url;
    asked->text = (struct buf)BUF_INIT(SEARCH_TEXT_MAX);
    asked->result = search_web(&spec, query, CLOCK_NEVER_NS, -1, &asked->text, &asked->err);
}

static void asked_clear(struct asked *asked)
{
    buf_clear(&asked->text);
    peer_down(&asked->peer);
}

#define cleanup_asked cleanup_with(asked_clear)

static void expect_request(const struct asked *asked, const char *part)
{
    if (!strstr(asked->peer.saw->requests, part))
        fail_msg("'%s' is not in '%s'", part, asked->peer.saw->requests);
}

static void expect_error(const struct asked *asked, int code, const char *part)
{
    if (asked->result != code || !strstr(asked->err.msg, part))
        fail_msg("%d, '%s'", asked->result, asked->err.msg);
    assert_null(strstr(asked->err.msg, KEY));
    assert_int_equal(asked->text.len, 0);
}

static void test_tavily_is_asked_with_its_key(void **state)
{
    cleanup_asked struct asked asked = { 0 };

    ask(&asked, "tavily", KEY, "numpy \"2.0\"\n AttributeError", "200 OK",
        "{\"query\":\"x\",\"results\":[{\"title\":\"A title\",\"url\":\"https://a.example/x?y=1\","
        "\"content\":\"What\\n it  says.\",\"score\":0.9},"
        "{\"title\":null,\"url\":\"javascript:alert(1)\",\"content\":\"b\"},{}]}");
    assert_int_equal(asked.result, 0);
    assert_string_equal(asked.text.data, "1. A title\n   https://a.example/x?y=1\n"
                                         "   What it says.\n2. (no title)\n   b\n3. (no title)\n");
    expect_request(&asked, "POST /v1/search HTTP/1.1\r\n");
    expect_request(&asked, "\r\nAuthorization: Bearer " KEY "\r\n");
    expect_request(&asked, "{\"query\":\"numpy \\\"2.0\\\" AttributeError\",\"max_results\":5,");
}

static void test_searxng_is_asked_without_one(void **state)
{
    cleanup_asked struct asked asked = { 0 };

    ask(&asked, "searxng", NULL, "a&b=c #\xc3\xa9", "200 OK",
        "{\"results\":[{\"title\":\"T\",\"url\":\"http://b.example\",\"content\":\"C\"}]}");
    assert_int_equal(asked.result, 0);
    assert_string_equal(asked.text.data, "1. T\n   http://b.example\n   C\n");
    expect_request(&asked, "GET /v1/search?format=json&q=a%26b%3Dc%20%23%C3%A9 HTTP/1.1\r\n");
    assert_null(strstr(asked.peer.saw->requests, "Authorization"));
}

static void test_nothing_found_is_no_error(void **state)
{
    cleanup_asked struct asked asked = { 0 };

    ask(&asked, "searxng", NULL, "x", "200 OK", "{\"results\":[]}");
    assert_int_equal(asked.result, 0);
    assert_int_equal(asked.text.len, 0);
}

/* What neither a terminal nor a reader should be given. */
static void test_what_is_not_seen_is_taken_out(void **state)
{
    cleanup_asked struct asked asked = { 0 };

    ask(&asked, "searxng", NULL, "x", "200 OK",
        "{\"results\":[{\"title\":\"a\\u001b[31mb\\u0000c\\u009bd\","
        "\"url\":\"https://x.example/\\n2. Fake\","
        "\"content\":\"e\\r\\n2. Fake\\u202ef\\u200bg\\u2028h\\udb40\\udc41i\\ufeff\"}]}");
    assert_int_equal(asked.result, 0);
    assert_string_equal(asked.text.data, "1. a [31mb c d\n   e 2. Fake f g h i\n");
}

static void test_results_are_bounded(void **state)
{
    cleanup_buf struct buf body = BUF_INIT(2 << 20);
    cleanup_asked struct asked asked = { 0 };
    size_t lines = 0;

    buf_puts(&body, "{\"results\":[");
    for (unsigned i = 0; i < 100; i++) {
        buf_printf(&body, "%s{\"title\":\"", i ? "," : "");
        for (unsigned k = 0; k < 1000; k++)
            buf_puts(&body, "\xc3\xa9");
        buf_puts(&body, "\",\"url\":\"https://x.example\",\"content\":\"");
        for (unsigned k = 0; k < 5000; k++)
            buf_puts(&body, "w");
        buf_puts(&body, "\"}");
    }
    buf_puts(&body, "]}");
    ask(&asked, "searxng", NULL, "x", "200 OK", body.data);
    assert_int_equal(asked.result, 0);
    for (size_t i = 0; i < asked.text.len; i++)
        lines += asked.text.data[i] == '\n';
    assert_int_equal(lines, 3 * SEARCH_RESULTS_MAX);
    assert_int_equal(strcspn(asked.text.data, "\n"), 3 + SEARCH_TITLE_MAX);
    assert_true(asked.text.len < SEARCH_TEXT_MAX);
}

static void test_a_long_query_is_cut(void **state)
{
    cleanup_buf struct buf query = BUF_INIT(1 << 20);
    cleanup_asked struct asked asked = { 0 };
    const char *sent;

    for (unsigned i = 0; i < 10000; i++)
        buf_puts(&query, "\xe2\x82\xac");
    ask(&asked, "searxng", NULL, query.data, "200 OK", "{\"results\":[]}");
    assert_int_equal(asked.result, 0);
    sent = strstr(asked.peer.saw->requests, "q=") + 2;
    assert_int_equal(strcspn(sent, " "), SEARCH_QUERY_MAX / 3 * 9);
}

static void test_refusals_say_what_to_do(void **state)
{
    static const struct {
        const char *server;
        const char *status;
        int code;
        const char *part;
    } rows[] = {
        { "tavily", "401 Unauthorized", -EKEYREJECTED, "remedy: is TAVILY_API_KEY right?" },
        { "tavily", "429 Too Many", -EAGAIN, "too many requests" },
        { "tavily", "432 Plan", -EDQUOT, "nothing is left of the plan" },
        { "tavily", "433 Pay", -EDQUOT, "nothing is left of the plan" },
        { "tavily", "500 Oops", -EREMOTEIO, "status 500" },
        { "tavily", "302 Found", -EREMOTEIO, "status 302" },
        { "searxng", "403 Forbidden", -EACCES, "remedy: add json to search.formats" },
        { "searxng", "429 Too Many", -EAGAIN, "too many requests" },
        { "searxng", "502 Bad", -EREMOTEIO, "status 502" },
    };

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_asked struct asked asked = { 0 };

        ask(&asked, rows[i].server, KEY, "x", rows[i].status, "{\"detail\":\"" KEY "\"}");
        expect_error(&asked, rows[i].code, rows[i].part);
    }
}

static void test_what_is_no_answer_is_told(void **state)
{
    static const char *const rows[] = {
        "",
        "<html>",
        "[]",
        "null",
        "{}",
        "{\"results\":{}}",
        "{\"results\":\"x\"}",
        "{\"results\":[",
        "{\"results\":[],\"results\":[]}",
        "\xff\xfe",
    };

    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_asked struct asked asked = { 0 };

        ask(&asked, "searxng", NULL, "x", "200 OK", rows[i]);
        expect_error(&asked, -EPROTO, "what searxng answers is no list of results");
    }
}

static void test_what_is_missing_is_told_before_asking(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(SEARCH_TEXT_MAX);
    struct search_spec spec = { .server = server_of("tavily") };
    struct gb_err err = { 0 };

    assert_int_equal(search_web(&spec, "x", CLOCK_NEVER_NS, -1, &text, &err), -ENOKEY);
    assert_string_equal(err.msg, "tavily needs a key\nremedy: set TAVILY_API_KEY");
    spec.key = KEY;
    spec.base_url = "http://127.0.0.1:1";
    assert_int_equal(search_web(&spec, " \n\t", CLOCK_NEVER_NS, -1, &text, &err), -EINVAL);
    spec.base_url = "http://me@127.0.0.1:1";
    assert_int_equal(search_web(&spec, "x", CLOCK_NEVER_NS, -1, &text, &err), -EINVAL);
    spec = (struct search_spec){ .server = server_of("searxng") };
    assert_int_equal(search_web(&spec, "x", CLOCK_NEVER_NS, -1, &text, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "remedy: set SEARXNG_URL"));
    spec.base_url = "file:///etc/passwd";
    assert_int_equal(search_web(&spec, "x", CLOCK_NEVER_NS, -1, &text, &err), -EINVAL);
    assert_int_equal(text.len, 0);
}

static void test_a_server_that_is_not_there_is_named(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(SEARCH_TEXT_MAX);
    struct search_spec spec = { .server = server_of("searxng") };
    cleanup_close int cancel = eventfd(1, EFD_CLOEXEC);
    struct gb_err err = { 0 };
    unsigned port;
    cleanup_close int nobody = peer_socket(&port);
    char url[64];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    spec.base_url = url;
    assert_true(search_web(&spec, "x", CLOCK_NEVER_NS, -1, &text, &err) < 0);
    assert_non_null(strstr(err.msg, "searching with searxng: 127.0.0.1"));
    assert_int_equal(search_web(&spec, "x", CLOCK_NEVER_NS, cancel, &text, &err), -ECANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tavily_is_asked_with_its_key),
        cmocka_unit_test(test_searxng_is_asked_without_one),
        cmocka_unit_test(test_nothing_found_is_no_error),
        cmocka_unit_test(test_what_is_not_seen_is_taken_out),
        cmocka_unit_test(test_results_are_bounded),
        cmocka_unit_test(test_a_long_query_is_cut),
        cmocka_unit_test(test_refusals_say_what_to_do),
        cmocka_unit_test(test_what_is_no_answer_is_told),
        cmocka_unit_test(test_what_is_missing_is_told_before_asking),
        cmocka_unit_test(test_a_server_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
