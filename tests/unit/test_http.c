/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_http.c - the HTTP client against servers that play fair, and others. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/buf.h"
#include "base/err.h"
#include "http_peer.h"
#include "net/http.h"

#include <cmocka.h>

#define OK      "HTTP/1.1 200 OK\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define SECRET  "sk-secret"

struct fixture {
    struct http_client *client;
    struct http_request request;
    struct http_answer answer;
    struct gb_err err;
    struct peer peer;
    struct buf streamed;
    int refuse; /* what the data callback answers */
    int cancel; /* an eventfd that it makes readable; -1: none */
};

static int take(void *user, const char *bytes, size_t len)
{
    struct fixture *f = user;

    assert_int_equal(buf_add(&f->streamed, bytes, len), 0);
    if (f->cancel >= 0)
        assert_int_equal(eventfd_write(f->cancel, 1), 0);
    return f->refuse;
}

static void up(struct fixture *f, const struct peer_act *acts)
{
    *f = (struct fixture){ .streamed = BUF_INIT(1 << 20), .cancel = -1 };
    if (http_client_new(&f->client, &f->err) < 0)
        fail_msg("%s", f->err.msg);
    if (acts)
        peer_up(&f->peer, acts);
    f->request = (struct http_request){ .url = f->peer.url, .cancel_fd = -1, .user = f };
}

/* Frees the client first: a peer that waits for the end of the connection sees it. */
static void down(struct fixture *f)
{
    http_answer_clear(&f->answer);
    http_client_free(&f->client);
    assert_null(f->client);
    if (f->peer.pid)
        peer_down(&f->peer);
    buf_clear(&f->streamed);
}

static int ask(struct fixture *f)
{
    int r;

    http_answer_clear(&f->answer);
    f->err = (struct gb_err){ 0 };
    r = http_do(f->client, &f->request, &f->answer, &f->err);
    assert_int_equal(r, f->err.code);
    return r;
}

/* It is answered with this status and body. */
static void answered(struct fixture *f, int status, const char *body)
{
    if (ask(f) < 0)
        fail_msg("%s", f->err.msg);
    assert_int_equal(f->answer.status, status);
    assert_string_equal(f->answer.body.len > 0 ? f->answer.body.data : "", body);
}

/* It fails like this, and the text says so. */
static void failed(struct fixture *f, int code, enum gb_blame blame, const char *says)
{
    if (ask(f) != code)
        fail_msg("%d is not %d: %s", f->err.code, code, f->err.msg);
    assert_int_equal(f->err.blame, blame);
    if (!strstr(f->err.msg, says))
        fail_msg("'%s' is not in: %s", says, f->err.msg);
}

static bool was_asked(const struct fixture *f, const char *text)
{
    return strcasestr(f->peer.saw->requests, text);
}

#define ACTS(...)                                   \
    (const struct peer_act[])                       \
    {                                               \
        { PEER_ACCEPT }, __VA_ARGS__, { PEER_END }, \
    }
#define SEND(text)        \
    { PEER_READ },        \
    {                     \
        PEER_SEND, (text) \
    }
#define REPEAT(text, n)        \
    {                          \
        PEER_SEND, (text), (n) \
    }
#define HOLD      \
    {             \
        PEER_HOLD \
    }

/* ---- answers ---- */

static void test_an_answer_is_kept_whatever_its_status(void **state)
{
    static const int statuses[] = { 200, 204, 404, 429, 500, 302 };
    struct fixture f;

    (void)state;
    up(&f,
       ACTS(SEND(OK "Content-Length: 5\r\n\r\nhello"), SEND("HTTP/1.1 204 None\r\n\r\n"),
            SEND("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno"),
            SEND("HTTP/1.1 429 \r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"),
            SEND("HTTP/1.1 500\r\n" CHUNKED "3\r\nbad\r\n0\r\n\r\n"),
            SEND("HTTP/1.1 302 Over there\r\nLocation: /other\r\nContent-Length: 4\r\n\r\nover")));
    for (size_t i = 0; i < N_ELEMENTS(statuses); i++) {
        static const char *const bodies[] = { "hello", "", "no", "", "bad", "over" };

        answered(&f, statuses[i], bodies[i]);
    }
    assert_int_equal(f.peer.saw->accepts, 1); /* all on one connection, none followed */
    assert_null(strstr(f.peer.saw->requests, "/other"));
    down(&f);
}

static void test_a_connection_that_was_closed_is_made_anew(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Connection: close\r\n\r\none"), { PEER_ACCEPT },
                SEND(OK "Content-Length: 3\r\n\r\ntwo"), { PEER_ACCEPT },
                SEND(OK "Content-Length: 5\r\n\r\nthree")));
    answered(&f, 200, "one");
    answered(&f, 200, "two");
    answered(&f, 200, "three"); /* it was kept, but the server is gone from it */
    assert_int_equal(f.peer.saw->accepts, 3);
    down(&f);
}

static void test_the_body_of_a_good_answer_is_streamed(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK CHUNKED "5\r\nhello\r\n"), { PEER_SEND, "6;x=y\r\n world\r\n0\r\n\r\n" },
                SEND("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")));
    f.request.data = take;
    answered(&f, 200, "");
    assert_string_equal(f.streamed.data, "hello world");
    answered(&f, 503, "busy");
    assert_int_equal(f.streamed.len, 11);
    down(&f);
}

static void test_pieces_come_as_they_are_sent(void **state)
{
    struct fixture f;

    (void)state;
    /* The end comes only after the first piece was taken: the callback cancels the request. */
    up(&f, ACTS(SEND(OK CHUNKED "5\r\nhello\r\n"), HOLD));
    f.cancel = eventfd(0, EFD_CLOEXEC);
    f.request.cancel_fd = f.cancel;
    f.request.data = take;
    failed(&f, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    assert_string_equal(f.streamed.data, "hello");
    close(f.cancel);
    down(&f);
}

static void test_the_last_head_counts(void **state)
{
    char value[16];
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n" OK
                     "x-LATE:  \t two words \t\r\nX-Late: other\r\nX-Empty:\r\nX-Latex: no\r\n"
                     "X-Long: 0123456789abcdefghij\r\n" CHUNKED
                     "2\r\nok\r\n0\r\nX-Trailer: 1\r\nHTTP/1.1 999: x\r\n\r\n")));
    answered(&f, 200, "ok");
    assert_true(http_header(&f.answer, "X-Late", value, sizeof(value)));
    assert_string_equal(value, "two words");
    assert_true(http_header(&f.answer, "x-empty", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(http_header(&f.answer, "X-LONG", value, sizeof(value)));
    assert_string_equal(value, "0123456789abcde");
    assert_false(http_header(&f.answer, "X-Early", value, sizeof(value)));
    assert_false(http_header(&f.answer, "X-Trailer", value, sizeof(value)));
    assert_false(http_header(&f.answer, "X-Lat", value, sizeof(value)));
    assert_false(http_header(&f.answer, "HTTP/1.1 200 OK", value, sizeof(value)));
    http_answer_clear(&f.answer);
    assert_false(http_header(&f.answer, "X-Late", value, sizeof(value)));
    down(&f);
}

/* ---- requests ---- */

static void test_a_request_says_what_it_was_told(void **state)
{
    static const char *const headers[] = { "Authorization: Bearer " SECRET,
                                           "Content-Type: application/json", NULL };
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 0\r\n\r\n")));
    f.request.headers = headers;
    f.request.body = "{\"a\":\0}";
    f.request.body_len = 7;
    answered(&f, 200, "");
    assert_true(was_asked(&f, "POST /v1 HTTP/1.1\r\n"));
    assert_true(was_asked(&f, "\r\nAuthorization: Bearer " SECRET "\r\n"));
    assert_true(was_asked(&f, "\r\nContent-Type: application/json\r\n"));
    assert_true(was_asked(&f, "\r\nContent-Length: 7\r\n"));
    assert_true(was_asked(&f, "\r\nUser-Agent: glovebox/"));
    assert_false(was_asked(&f, "Accept-Encoding"));
    assert_memory_equal(f.peer.saw->requests + f.peer.saw->len - 7, "{\"a\":\0}", 7);
    down(&f);
}

static void test_the_method_follows_from_the_body(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 0\r\n\r\n"), SEND(OK "Content-Length: 0\r\n\r\n"),
                SEND(OK "Content-Length: 0\r\n\r\n"), SEND(OK "Content-Length: 9\r\n\r\n"),
                SEND(OK "Content-Length: 0\r\n\r\n")));
    answered(&f, 200, "");
    f.request.method = "DELETE";
    answered(&f, 200, "");
    f.request.method = "POST";
    answered(&f, 200, "");
    f.request.method = "HEAD";
    answered(&f, 200, "");
    f.request.method = "PUT";
    f.request.body = "x";
    f.request.body_len = 1;
    answered(&f, 200, "");
    assert_true(was_asked(&f, "GET /v1 "));
    assert_true(was_asked(&f, "DELETE /v1 "));
    assert_true(was_asked(&f, "POST /v1 "));
    assert_true(was_asked(&f, "HEAD /v1 "));
    assert_true(was_asked(&f, "PUT /v1 "));
    assert_false(was_asked(&f, "Content-Type"));
    assert_int_equal(f.peer.saw->accepts, 1);
    down(&f);
}

static void test_a_large_body_goes_out_at_once(void **state)
{
    size_t len = 3 << 20;
    cleanup_free char *body = malloc(len);
    struct fixture f;

    (void)state;
    assert_non_null(body);
    memset(body, 'x', len);
    up(&f, ACTS(SEND(OK "Content-Length: 0\r\n\r\n")));
    f.request.body = body;
    f.request.body_len = len;
    answered(&f, 200, "");
    assert_false(was_asked(&f, "Expect"));
    assert_true(f.peer.saw->len > len);
    down(&f);
}

static void test_malformed_requests_are_not_sent(void **state)
{
    static const char *const bad[] = { "Key",    "Key: " SECRET "\r\nHost: x",
                                       ": x",    "Key " SECRET,
                                       "A B: x", "Key: \x01",
                                       "X;",     "Key: " SECRET "\n" };
    static const char *const urls[] = { "",           "http://", "ftp://h/" SECRET,
                                        "file:///",   "h:/x y",  "http://h:99999/" SECRET,
                                        "http://h\n/" };
    struct fixture f;

    (void)state;
    up(&f, NULL);
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        const char *const headers[] = { "Fine: yes", bad[i], NULL };

        f.request.url = "http://127.0.0.1:1/";
        f.request.headers = headers;
        failed(&f, -EINVAL, GB_BLAME_CALLER, "malformed");
        assert_null(strstr(f.err.msg, SECRET));
    }
    f.request.headers = NULL;
    for (size_t i = 0; i < N_ELEMENTS(urls); i++) {
        f.request.url = urls[i];
        failed(&f, -EINVAL, GB_BLAME_CALLER, "URL");
        assert_null(strstr(f.err.msg, SECRET));
    }
    down(&f);
}

/* ---- proxies ---- */

static void test_proxies_of_the_environment_are_not_used(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
    up(&f, ACTS(SEND(OK "Content-Length: 2\r\n\r\nok")));
    answered(&f, 200, "ok");
    down(&f);
    (void)unsetenv("http_proxy");
    (void)unsetenv("ALL_PROXY");
}

static void test_a_given_proxy_is_used_whatever_the_environment_says(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(setenv("no_proxy", "*", 1), 0);
    up(&f, ACTS(SEND(OK "Content-Length: 2\r\n\r\nok")));
    f.request.proxy = f.peer.url;
    f.request.url = "http://model.invalid:8080/chat";
    answered(&f, 200, "ok");
    assert_true(was_asked(&f, "GET http://model.invalid:8080/chat HTTP/1.1\r\n"));
    down(&f);
    (void)unsetenv("no_proxy");
}

static void test_a_tunnel_does_not_see_the_request(void **state)
{
    static const char *const headers[] = { "Authorization: Bearer " SECRET, NULL };
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND("HTTP/1.1 200 Go\r\n\r\n"), { PEER_SEND, "this is not TLS at all" }));
    f.request.proxy = f.peer.url;
    f.request.url = "https://model.invalid/chat";
    f.request.headers = headers;
    failed(&f, -EPROTO, GB_BLAME_HOST, "model.invalid:443 does not agree on TLS");
    assert_true(was_asked(&f, "CONNECT model.invalid:443 HTTP/1.1\r\n"));
    assert_false(was_asked(&f, SECRET));
    assert_int_equal(f.answer.status, 0);
    assert_int_equal(f.answer.head.len, 0);
    down(&f);
}

/* ---- bad servers ---- */

static void test_an_answer_that_is_cut_off_is_an_error(void **state)
{
    static const char *const answers[] = {
        OK "Content-Length: 10\r\n\r\nhello",
        OK CHUNKED "5\r\nhello\r\n",
        OK CHUNKED "50\r\nhello",
        OK CHUNKED,
        OK "Content-Le",
        OK,
        "HTTP/1.1 100 Continue\r\n\r\n",
        OK CHUNKED "zz\r\nhello\r\n0\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
        struct fixture f;

        up(&f, ACTS(SEND(answers[i])));
        failed(&f, -ECONNRESET, GB_BLAME_PEER, "127.0.0.1:");
        down(&f);
    }
}

static void test_silence_instead_of_an_answer_is_an_error(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS({ PEER_READ }));
    failed(&f, -ECONNRESET, GB_BLAME_PEER, "hung up without an answer");
    down(&f);
}

static void test_what_is_not_http_is_refused(void **state)
{
    static const char *const answers[] = {
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "hello\n",
        "HTTP/7.0 200 OK\r\n\r\n",
        OK "Content-Length: many\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
        struct fixture f;

        up(&f, ACTS(SEND(answers[i]), HOLD));
        failed(&f, -EPROTO, GB_BLAME_PEER, "does not speak HTTP");
        down(&f);
    }
}

static void test_heads_are_bounded(void **state)
{
    static const char line[] = "X-Filler: 0123456789012345678901234567890123456789012345678901\r\n";
    static const char *const begins[] = { OK, OK CHUNKED "0\r\n" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(begins); i++) {
        struct fixture f;

        up(&f, ACTS(SEND(begins[i]), REPEAT(line, 2000), HOLD));
        failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long a head");
        down(&f);
    }
}

static void test_one_line_without_an_end_is_bounded(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "X: "), REPEAT("0123456789abcdef", 1 << 16)));
    failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long a head");
    down(&f);
}

static void test_heads_without_an_end_are_bounded(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS({ PEER_READ }, REPEAT("HTTP/1.1 100 Continue\r\n\r\n", 100000)));
    failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long a head");
    down(&f);
}

static void test_bodies_are_bounded(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 8\r\n\r\n12345678"),
                SEND("HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\n123456789"), { PEER_ACCEPT },
                SEND(OK CHUNKED), REPEAT("6\r\n123456\r\n", 100000), { PEER_ACCEPT },
                SEND(OK CHUNKED), REPEAT("6\r\n123456\r\n", 100000)));
    f.request.answer_max = 8;
    answered(&f, 200, "12345678");
    failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long an answer");
    failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long an answer");
    assert_true(f.answer.body.len <= 8);
    f.request.data = take;
    failed(&f, -EMSGSIZE, GB_BLAME_PEER, "too long an answer");
    assert_true(f.streamed.len <= 8);
    down(&f);
}

static void test_the_reader_may_refuse(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK CHUNKED "5\r\nhello\r\n"), HOLD));
    f.request.data = take;
    f.refuse = -EBADMSG;
    failed(&f, -EBADMSG, GB_BLAME_PEER, "refused");
    down(&f);
}

/* ---- time ---- */

static void test_a_silent_server_is_given_up(void **state)
{
    static const char *const begins[] = { "", OK, OK CHUNKED, OK CHUNKED "5\r\nhel" };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(begins); i++) {
        struct fixture f;

        up(&f, ACTS(SEND(begins[i]), HOLD));
        f.request.idle_ms = 100;
        failed(&f, -ETIMEDOUT, GB_BLAME_PEER, "silent");
        down(&f);
    }
}

/* Ten bytes with 60 ms before each: longer than the 500 ms of silence that are allowed. */
static void test_every_byte_of_a_body_breaks_the_silence(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 10\r\n\r\n"), { PEER_DRIP, "0123456789", 60 }));
    f.request.idle_ms = 500;
    answered(&f, 200, "0123456789");
    down(&f);
}

/* 48 MiB, 1 MiB every 20 ms: longer than the silence, and far more than sockets hold. */
static void test_every_byte_of_a_request_breaks_the_silence(void **state)
{
    size_t len = 48 << 20;
    cleanup_free char *body = malloc(len);
    struct fixture f;

    (void)state;
    assert_non_null(body);
    memset(body, 'x', len);
    body[len - 1] = 'Z';
    up(&f, ACTS({ PEER_SIP, NULL, 20 }, { PEER_SEND, OK "Content-Length: 2\r\n\r\nok" }));
    f.request.body = body;
    f.request.body_len = len;
    f.request.idle_ms = 500;
    answered(&f, 200, "ok");
    down(&f);
}

static void test_a_head_that_drips_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS({ PEER_READ },
                { PEER_DRIP, OK "X-Slow: 0123456789012345678901234567890123456789", 20 }, HOLD));
    f.request.idle_ms = 300;
    failed(&f, -ETIMEDOUT, GB_BLAME_PEER, "silent");
    down(&f);
}

static void test_the_whole_has_an_end(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "\r\n"),
                { PEER_DRIP, "012345678901234567890123456789012345678901234567890123456789", 20 }));
    f.request.total_ms = 200;
    f.request.data = take;
    failed(&f, -ETIMEDOUT, GB_BLAME_PEER, "did not finish");
    down(&f);
}

/* The queue of a listener that takes nobody is full: the kernel lets no one else in. */
static void test_connecting_has_an_end(void **state)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int waiting[4];
    char url[64];
    unsigned port;
    int listener = peer_socket(&port);
    struct fixture f;

    (void)state;
    assert_int_equal(listen(listener, 0), 0);
    to.sin_port = htons((uint16_t)port);
    for (size_t i = 0; i < N_ELEMENTS(waiting); i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (struct sockaddr *)&to, sizeof(to));
    }
    up(&f, NULL);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/?key=" SECRET, port);
    f.request.url = url;
    f.request.connect_ms = 200;
    failed(&f, -ETIMEDOUT, GB_BLAME_HOST, "did not let us connect");
    assert_null(strstr(f.err.msg, SECRET));
    down(&f);
    for (size_t i = 0; i < N_ELEMENTS(waiting); i++)
        close(waiting[i]);
    close(listener);
}

static void test_a_port_where_nobody_listens_is_told(void **state)
{
    char url[64];
    unsigned port;
    int fd = peer_socket(&port);
    struct fixture f;

    (void)state;
    up(&f, NULL);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/?key=" SECRET, port);
    f.request.url = url;
    failed(&f, -ECONNREFUSED, GB_BLAME_HOST, "cannot be reached: Connection refused");
    assert_null(strstr(f.err.msg, SECRET));
    down(&f);
    close(fd);
}

static void test_a_name_without_an_address_is_told(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, NULL);
    f.request.url = "http://" SECRET "@no-such-name.invalid/?key=" SECRET;
    assert_true(ask(&f) < 0);
    assert_int_equal(f.err.blame, GB_BLAME_HOST);
    assert_non_null(strstr(f.err.msg, "no-such-name.invalid:80"));
    assert_null(strstr(f.err.msg, SECRET));
    down(&f);
}

static void test_a_request_that_waits_is_cancelled(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    struct fixture f;

    (void)state;
    up(&f, ACTS({ PEER_READ }, { PEER_RAISE, NULL, (unsigned)fd }, HOLD));
    f.request.cancel_fd = fd;
    failed(&f, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    close(fd);
    down(&f);
}

static void test_a_request_is_cancelled_by_a_pipe_that_ends(void **state)
{
    char url[64];
    unsigned port;
    int listener = peer_socket(&port);
    int pair[2];
    struct fixture f;

    (void)state;
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    close(pair[1]);
    up(&f, NULL);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
    f.request.url = url;
    f.request.cancel_fd = pair[0];
    failed(&f, -ECANCELED, GB_BLAME_CALLER, "cancelled");
    close(pair[0]);
    close(listener);
    down(&f);
}

static void test_a_client_goes_on_after_a_failure(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 9\r\n\r\nshort"), { PEER_ACCEPT },
                SEND(OK "Content-Length: 2\r\n\r\nok")));
    failed(&f, -ECONNRESET, GB_BLAME_PEER, "cut its answer off");
    answered(&f, 200, "ok");
    down(&f);
}

/* ---- descriptors ---- */

static void test_no_descriptor_survives_an_exec(void **state)
{
    struct fixture f;

    (void)state;
    up(&f, ACTS(SEND(OK "Content-Length: 2\r\n\r\nok"), HOLD));
    answered(&f, 200, "ok");
    for (int fd = STDERR_FILENO + 1; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);

        assert_true(flags < 0 || flags & FD_CLOEXEC);
    }
    down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_is_kept_whatever_its_status),
        cmocka_unit_test(test_a_connection_that_was_closed_is_made_anew),
        cmocka_unit_test(test_the_body_of_a_good_answer_is_streamed),
        cmocka_unit_test(test_pieces_come_as_they_are_sent),
        cmocka_unit_test(test_the_last_head_counts),
        cmocka_unit_test(test_a_request_says_what_it_was_told),
        cmocka_unit_test(test_the_method_follows_from_the_body),
        cmocka_unit_test(test_a_large_body_goes_out_at_once),
        cmocka_unit_test(test_malformed_requests_are_not_sent),
        cmocka_unit_test(test_proxies_of_the_environment_are_not_used),
        cmocka_unit_test(test_a_given_proxy_is_used_whatever_the_environment_says),
        cmocka_unit_test(test_a_tunnel_does_not_see_the_request),
        cmocka_unit_test(test_an_answer_that_is_cut_off_is_an_error),
        cmocka_unit_test(test_silence_instead_of_an_answer_is_an_error),
        cmocka_unit_test(test_what_is_not_http_is_refused),
        cmocka_unit_test(test_heads_are_bounded),
        cmocka_unit_test(test_one_line_without_an_end_is_bounded),
        cmocka_unit_test(test_heads_without_an_end_are_bounded),
        cmocka_unit_test(test_bodies_are_bounded),
        cmocka_unit_test(test_the_reader_may_refuse),
        cmocka_unit_test(test_a_silent_server_is_given_up),
        cmocka_unit_test(test_every_byte_of_a_body_breaks_the_silence),
        cmocka_unit_test(test_every_byte_of_a_request_breaks_the_silence),
        cmocka_unit_test(test_a_head_that_drips_is_given_up),
        cmocka_unit_test(test_the_whole_has_an_end),
        cmocka_unit_test(test_connecting_has_an_end),
        cmocka_unit_test(test_a_port_where_nobody_listens_is_told),
        cmocka_unit_test(test_a_name_without_an_address_is_told),
        cmocka_unit_test(test_a_request_that_waits_is_cancelled),
        cmocka_unit_test(test_a_request_is_cancelled_by_a_pipe_that_ends),
        cmocka_unit_test(test_a_client_goes_on_after_a_failure),
        cmocka_unit_test(test_no_descriptor_survives_an_exec),
    };

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
