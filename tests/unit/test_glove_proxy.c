/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_proxy.c - requests to the proxy of a box, read in one way or not at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "glove/proxy_env.h"
#include "glove/proxy_http.h"
#include "glove/proxy_socks.h"
#include "glove/proxy_target.h"
#include "wire/msg.h"

#include <cmocka.h>

/* ---- targets -------------------------------------------------------------------------------- */

static void test_a_host_has_one_form(void **state)
{
    static const struct {
        const char *text;
        const char *name;
        uint32_t address;
    } hosts[] = {
        { "example.org", "example.org", 0 },
        { "EXAMPLE.Org", "example.org", 0 },
        { "example.org.", "example.org", 0 },
        { "xn--bcher-kva.example", "xn--bcher-kva.example", 0 },
        { "a_b-c", "a_b-c", 0 },
        { "192.0.2.7", "", 0xc0000207 },
        { "192.0.2.7.", "", 0xc0000207 },
        /* Names that only look like addresses: the host refuses them and writes it down. */
        { "127.1", "127.1", 0 },
        { "2130706433", "2130706433", 0 },
        { "0x7f000001", "0x7f000001", 0 },
        { "0177.0.0.1", "0177.0.0.1", 0 },
        { "192.0.2.256", "192.0.2.256", 0 },
        { "mylocalhost", "mylocalhost", 0 },
    };
    struct proxy_target target = { 0 };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(hosts); i++) {
        assert_int_equal(target_host(hosts[i].text, strlen(hosts[i].text), &target), TARGET_OK);
        assert_string_equal(target.name, hosts[i].name);
        assert_int_equal(target.address, hosts[i].address);
    }
}

static void test_what_is_no_host(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        enum target_answer answer;
    } hosts[] = {
        { "", 0, TARGET_NONE },
        { ".", 1, TARGET_NONE },
        { "a..b", 4, TARGET_NONE },
        { ".a", 2, TARGET_NONE },
        { "a..", 3, TARGET_NONE },
        { "evil.org\0.good.org", 18, TARGET_NONE },
        { "good.org\0", 9, TARGET_NONE },
        { "b\xc3\xbc"
          "cher.example",
          14, TARGET_NONE },
        { "a%2eb", 5, TARGET_NONE },
        { "a b", 3, TARGET_NONE },
        { "a@b", 3, TARGET_NONE },
        { "a/b", 3, TARGET_NONE },
        { "::1", 3, TARGET_NONE },
        { "127.0.0.1", 9, TARGET_OWN },
        { "127.255.0.9.", 12, TARGET_OWN },
        { "localhost", 9, TARGET_OWN },
        { "LOCALHOST.", 10, TARGET_OWN },
        { "db.localhost", 12, TARGET_OWN },
    };
    struct proxy_target target = { 0 };
    char longest[300];

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(hosts); i++)
        assert_int_equal(target_host(hosts[i].text, hosts[i].len, &target), hosts[i].answer);
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(target_host(longest, 64, &target), TARGET_NONE);
    for (size_t i = 63; i < sizeof(longest); i += 64)
        longest[i] = '.';
    assert_int_equal(target_host(longest, 253, &target), TARGET_OK);
    assert_int_equal(target_host(longest, 254, &target), TARGET_NONE);
}

static void test_an_authority_has_one_port(void **state)
{
    static const char *const bad[] = { "a:",      "a:0",      "a:65536", "a:080", "a:+80", "a:80 ",
                                       "a:80:81", "a:999999", ":80",     "",      "u@a:80" };
    struct proxy_target target = { 0 };

    (void)state;
    assert_int_equal(target_authority("a.org:8080", 10, 80, &target), TARGET_OK);
    assert_int_equal(target.port, 8080);
    assert_int_equal(target_authority("a.org", 5, 80, &target), TARGET_OK);
    assert_int_equal(target.port, 80);
    assert_int_equal(target_authority("a.org", 5, 0, &target), TARGET_NONE);
    assert_int_equal(target_authority("[::1]:80", 8, 80, &target), TARGET_SIX);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++)
        assert_int_equal(target_authority(bad[i], strlen(bad[i]), 80, &target), TARGET_NONE);
}

/* ---- HTTP ----------------------------------------------------------------------------------- */

static int read_len(const char *text, size_t len, struct http_request *ret)
{
    size_t end = http_head_end(text, 0, len);

    /* Exactly so large that a reader that goes too far is caught. */
    char *copy = malloc(len);
    int status;

    assert_non_null(copy);
    assert_int_equal(end, len);
    memcpy(copy, text, len);
    status = http_request_read(copy, len, ret);
    free(copy);
    return status;
}
#define READ(text, ret) read_len(text, sizeof(text) - 1, ret)

static void goes_on_as(const struct http_request *request, const char *head)
{
    assert_int_equal(request->len, strlen(head));
    assert_memory_equal(request->head, head, request->len);
}

static void test_a_request_goes_on_without_what_was_for_the_proxy(void **state)
{
    struct http_request request;

    (void)state;
    assert_int_equal(READ("GET http://Example.ORG/a?b=c HTTP/1.1\r\nHost: example.org\r\n"
                          "Proxy-Connection: keep-alive\r\nConnection: x-one, Keep-Alive\r\n"
                          "X-One: dropped\r\nx-two:kept \r\nProxy-Authorization: Basic eA==\r\n"
                          "TE: trailers\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\n",
                          &request),
                     0);
    assert_false(request.is_tunnel);
    assert_string_equal(request.target.name, "example.org");
    assert_int_equal(request.target.port, 80);
    goes_on_as(&request, "GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nx-two: kept\r\n"
                         "Content-Length: 5\r\nConnection: close\r\n\r\n");
    assert_int_equal(READ("POST HTTP://a.org:8080?q HTTP/1.0\r\n\r\n", &request), 0);
    goes_on_as(&request, "POST /?q HTTP/1.0\r\nHost: a.org:8080\r\nConnection: close\r\n\r\n");
    assert_int_equal(READ("GET http://192.0.2.7 HTTP/1.1\r\nhost:192.0.2.7:80\r\n\r\n", &request),
                     0);
    goes_on_as(&request, "GET / HTTP/1.1\r\nHost: 192.0.2.7\r\nConnection: close\r\n\r\n");
    assert_int_equal(READ("GET http://a.org./x HTTP/1.1\r\nHost: A.org\r\n\r\n", &request), 0);
    assert_int_equal(READ("PUT http://a.org/ HTTP/1.1\r\nHost: a.org\r\n"
                          "Transfer-Encoding: Chunked\r\n\r\n",
                          &request),
                     0);
}

static void test_a_tunnel_is_asked_for(void **state)
{
    struct http_request request;

    (void)state;
    assert_int_equal(
        READ("CONNECT Example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", &request), 0);
    assert_true(request.is_tunnel);
    assert_string_equal(request.target.name, "example.org");
    assert_int_equal(request.target.port, 443);
    assert_int_equal(request.len, 0);
    assert_int_equal(READ("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n", &request), 0);
    assert_int_equal(READ("CONNECT a.org:443 HTTP/1.0\r\n\r\n", &request), 0);
}

static void test_requests_that_two_could_read_differently(void **state)
{
#define ROW(text)               \
    {                           \
        text, sizeof(text) - 1, \
    }
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        /* Whom it is meant for. */
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org:81\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org, b.org\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\n\r\n"),
        ROW("GET http://a.org@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org:80@b.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n"),
        ROW("GET http://a.org\\@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org#@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org%00.b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org\0.b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http:///etc HTTP/1.1\r\nHost: \r\n\r\n"),
        ROW("GET http://a.org:/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET ftp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET //a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("CONNECT a.org HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("CONNECT a.org:443 HTTP/1.1\r\nHost: b.org:443\r\n\r\n"),
        ROW("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:80\r\n\r\n"),
        ROW("CONNECT http://a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("CONNECT a.org:443/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n\r\n"),
        /* Where it ends. */
        ROW("GET http://a.org/ HTTP/1.1\nHost: a.org\n\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\nX: y\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\rX: y\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n folded\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost : a.org\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n: y\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX: a\0b\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n"
            "Content-Length: 3\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: +3\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3,3\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: identity\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\n"
            "Transfer-Encoding: chunked, chunked\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.0\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n"
            "Connection: content-length\r\n\r\n"),
        ROW("POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nConnection: close, host\r\n\r\n"),
        /* What it says at all. */
        ROW("GET  http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/ x HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET\thttp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("G(T http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/ HTTP/2.0\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/ http/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/\xff HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        ROW("GET http://a.org/\r\n\r\n"),
        ROW("\r\n\r\n"),
    };
    struct http_request request;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++)
        if (read_len(rows[i].text, rows[i].len, &request) != 400)
            fail_msg("%.60s", rows[i].text);
}

static void test_the_box_itself_is_not_behind_the_proxy(void **state)
{
    struct http_request request;

    (void)state;
    assert_int_equal(READ("CONNECT 127.0.0.1:80 HTTP/1.0\r\n\r\n", &request), 403);
    assert_int_equal(READ("CONNECT [::1]:80 HTTP/1.0\r\n\r\n", &request), 403);
    assert_int_equal(READ("GET http://localhost/ HTTP/1.0\r\n\r\n", &request), 403);
    assert_int_equal(READ("GET http://[::ffff:127.0.0.1]/ HTTP/1.0\r\n\r\n", &request), 403);
}

static void test_where_a_head_ends(void **state)
{
    static const char two[] = "GET http://a/ HTTP/1.0\r\n\r\nGET http://b/ HTTP/1.0\r\n\r\n";

    (void)state;
    assert_int_equal(http_head_end(two, 0, sizeof(two) - 1), 26);
    for (size_t len = 0; len < 26; len++)
        assert_int_equal(http_head_end(two, 0, len), 0);
    for (size_t from = 0; from < 26; from++)
        assert_int_equal(http_head_end(two, from, sizeof(two) - 1), 26);
    assert_int_equal(http_head_end("a\n\nb", 0, 4), 3);
}

static void test_heads_of_many_fields(void **state)
{
    struct http_request request;
    char text[2048] = "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n";
    size_t len = strlen(text);

    (void)state;
    for (size_t i = 0; i < HTTP_FIELDS_MAX - 1; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "a:b\r\n");
    memcpy(text + len, "\r\n", 3);
    assert_int_equal(read_len(text, len + 2, &request), 0);
    assert_true(request.len > len);
    memcpy(text + len, "a:b\r\n\r\n", 8);
    assert_int_equal(read_len(text, len + 7, &request), 431);
}

static void test_answers_name_what_was_asked_for(void **state)
{
    struct proxy_target target = { .name = "a.org", .port = 80 };
    struct proxy_target none = { 0 };
    uint8_t large[4096];
    struct wire_blob why = { 10, (const uint8_t *)"not listed" };
    struct wire_blob odd = { 4, (const uint8_t *)"a\r\nb" };
    struct wire_blob much = { sizeof(large), large };
    char answer[HTTP_ANSWER_MAX];
    size_t len;

    (void)state;
    assert_true(http_answer(403, &target, &why, answer) < sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 403 Forbidden\r\n", 24);
    assert_non_null(strstr(answer, "\r\n\r\nglovebox: a.org:80 was refused: not listed\n"));
    (void)http_answer(403, &target, NULL, answer);
    assert_non_null(strstr(answer, "a.org:80 was refused: the network of this box"));
    (void)http_answer(502, &target, &odd, answer);
    assert_non_null(strstr(answer, "\r\n\r\nglovebox: a.org:80 cannot be reached: a\n"));
    (void)http_answer(400, &none, NULL, answer);
    assert_non_null(strstr(answer, "\r\n\r\nglovebox: that is no request"));
    memset(target.name, 'a', DNS_NAME_MAX);
    memset(large, 'x', sizeof(large));
    len = http_answer(504, &target, &much, answer);
    assert_int_equal(len, strlen(answer));
    assert_true(len + 1 < sizeof(answer) && answer[len - 1] == '\n');
    assert_int_equal(http_status_of(EACCES), 403);
    assert_int_equal(http_status_of(ETIMEDOUT), 504);
    assert_int_equal(http_status_of(ENOENT), 502);
}

/* ---- SOCKS ---------------------------------------------------------------------------------- */

static enum socks_code ask(const char *text, size_t len, struct proxy_target *ret)
{
    uint8_t *copy = malloc(len);
    enum socks_code code;

    assert_non_null(copy);
    memcpy(copy, text, len);
    assert_int_equal(socks_request_len(copy, len), len);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(socks_request_len(copy, i), 0);
    code = socks_request(copy, len, ret);
    free(copy);
    return code;
}
#define ASK(text, ret) ask(text, sizeof(text) - 1, ret)

static void test_socks_names_and_addresses(void **state)
{
    struct proxy_target target;

    (void)state;
    assert_int_equal(ASK("\5\1\0\3\5A.org\1\xbb", &target), SOCKS_OK);
    assert_string_equal(target.name, "a.org");
    assert_int_equal(target.port, 443);
    assert_int_equal(ASK("\5\1\0\1\xc0\0\2\7\0\x50", &target), SOCKS_OK);
    assert_string_equal(target.name, "");
    assert_int_equal(target.address, 0xc0000207);
    assert_int_equal(ASK("\5\1\0\3\11"
                         "192.0.2.7\0\x50",
                         &target),
                     SOCKS_OK);
    assert_int_equal(target.address, 0xc0000207);
}

static void test_socks_requests_that_are_refused(void **state)
{
    struct proxy_target target;

    (void)state;
    assert_int_equal(ASK("\5\1\0\3\16evil.org\0.a.or\1\xbb", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\3\6a.org\0\1\xbb", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\3\6a.or\xc3\xa9\1\xbb", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\3\0\1\xbb", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\3\11localhost\0\x50", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\3\5a.org\0\0", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\1\x7f\0\0\1\0\x50", &target), SOCKS_REFUSED);
    assert_int_equal(ASK("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", &target),
                     SOCKS_NO_SUCH_ADDRESS);
    assert_int_equal(ASK("\5\1\0\11\0", &target), SOCKS_NO_SUCH_ADDRESS);
    assert_int_equal(ASK("\5\2\0\1\xc0\0\2\7\0\x50", &target), SOCKS_NO_SUCH_COMMAND);
    assert_int_equal(ASK("\5\3\0\1\xc0\0\2\7\0\x50", &target), SOCKS_NO_SUCH_COMMAND);
    assert_int_equal(ASK("\4\1\0\1\xc0\0\2\7\0\x50", &target), SOCKS_FAILURE);
    assert_int_equal(ASK("\5\1\1\1\xc0\0\2\7\0\x50", &target), SOCKS_FAILURE);
}

static void test_socks_greetings(void **state)
{
    static const uint8_t open[] = { 5, 2, 2, 0 };
    static const uint8_t closed[] = { 5, 1, 2 };
    static const uint8_t none[] = { 5, 0 };
    uint8_t reply[SOCKS_REPLY_LEN];

    (void)state;
    assert_int_equal(socks_greeting_len(open, 1), 0);
    assert_int_equal(socks_greeting_len(open, 2), 4);
    assert_true(socks_greets(open, sizeof(open)));
    assert_false(socks_greets(closed, sizeof(closed)));
    assert_false(socks_greets(none, sizeof(none)));
    socks_reply(SOCKS_REFUSED, reply);
    assert_memory_equal(reply, "\5\2\0\1\0\0\0\0\0\0", sizeof(reply));
    assert_int_equal(socks_code_of(0), SOCKS_OK);
    assert_int_equal(socks_code_of(EACCES), SOCKS_REFUSED);
    assert_int_equal(socks_code_of(ENOENT), SOCKS_NO_HOST);
    assert_int_equal(socks_code_of(ECONNREFUSED), SOCKS_NO_CONNECTION);
    assert_int_equal(socks_code_of(ENOBUFS), SOCKS_FAILURE);
}

/* ---- variables ------------------------------------------------------------------------------ */

static void test_variables_are_added_but_not_changed(void **state)
{
    const char *env[2 + PROXY_VARIABLES + 1] = { "A=b", "http_proxy=mine" };
    size_t n = 0;

    (void)state;
    proxy_env_add(env);
    while (env[n])
        n++;
    assert_int_equal(n, 2 + PROXY_VARIABLES - 1);
    assert_string_equal(env[1], "http_proxy=mine");
    assert_string_equal(env[2], "HTTP_PROXY=http://127.0.0.1:3128");
    proxy_env_add(env);
    assert_null(env[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_has_one_form),
        cmocka_unit_test(test_what_is_no_host),
        cmocka_unit_test(test_an_authority_has_one_port),
        cmocka_unit_test(test_a_request_goes_on_without_what_was_for_the_proxy),
        cmocka_unit_test(test_a_tunnel_is_asked_for),
        cmocka_unit_test(test_requests_that_two_could_read_differently),
        cmocka_unit_test(test_the_box_itself_is_not_behind_the_proxy),
        cmocka_unit_test(test_where_a_head_ends),
        cmocka_unit_test(test_heads_of_many_fields),
        cmocka_unit_test(test_answers_name_what_was_asked_for),
        cmocka_unit_test(test_socks_names_and_addresses),
        cmocka_unit_test(test_socks_requests_that_are_refused),
        cmocka_unit_test(test_socks_greetings),
        cmocka_unit_test(test_variables_are_added_but_not_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
