/* SPDX-License-Identifier: Apache-2.0 */
/* net/hijack.c - a connection that is taken over after its request.
 *
 * curl connects (sockets, names, TLS) and then only carries bytes; the one request and the head of
 * its answer are written and read here, because curl's own HTTP would not let go of the rest. */
#include "net/hijack.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/err.h"
#include "base/num.h"
#include "gen/version.h"
#include "net/http.h"
#include "net/way.h"

#define HEAD_MAX   (64 << 10)
#define BODY_MAX   (1 << 20)
#define TARGET_MAX (64 << 10)
#define TOTAL_MS   60000

struct hijack {
    CURL *easy;
    struct way way;
    int fd;
    bool is_plain;   /* no TLS at all */
    struct buf rest; /* what came behind the head */
    size_t taken;    /* of the rest */
};

/* What the opening needs besides. */
struct opening {
    struct hijack *hijack;
    const struct http_request *request;
    uint64_t end_ns;
    struct gb_err *err;
};

void hijack_free(struct hijack **hijack)
{
    if (!*hijack)
        return;
    if ((*hijack)->easy)
        curl_fn.easy_cleanup((*hijack)->easy);
    way_clear(&(*hijack)->way);
    buf_clear(&(*hijack)->rest);
    free(*hijack);
    *hijack = NULL;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

int hijack_fd(const struct hijack *hijack)
{
    return hijack->fd;
}

static int code_of(CURLcode code)
{
    return code == CURLE_AGAIN ? -EAGAIN : -ECONNRESET;
}

/* Without TLS the socket itself: curl takes 16 KiB at a time, whatever the room. */
static ssize_t recv_wire(struct hijack *hijack, void *bytes, size_t size)
{
    size_t n = 0;
    CURLcode code;

    if (hijack->is_plain) {
        ssize_t got = recv(hijack->fd, bytes, size, MSG_DONTWAIT);

        return got < 0 ? (errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECONNRESET) : got;
    }
    code = curl_fn.easy_recv(hijack->easy, bytes, size, &n);

    return code == CURLE_OK ? (ssize_t)n : code_of(code);
}

ssize_t hijack_recv(struct hijack *hijack, void *bytes, size_t size)
{
    size_t left = hijack->rest.len - hijack->taken;
    size_t n = left < size ? left : size;

    if (left == 0)
        return recv_wire(hijack, bytes, size);
    memcpy(bytes, hijack->rest.data + hijack->taken, n);
    hijack->taken += n;
    return (ssize_t)n;
}

ssize_t hijack_send(struct hijack *hijack, const void *bytes, size_t len)
{
    size_t n = 0;
    CURLcode code = curl_fn.easy_send(hijack->easy, bytes, len, &n);

    return code == CURLE_OK ? (ssize_t)n : code_of(code);
}

/* ---- the end of what is sent ---------------------------------------------------------------- */

static struct {
    int (*shutdown)(void *ssl);
} ssl_fn;
static const struct dl_symbol ssl_symbols[] = { DL_SYMBOL(ssl_fn.shutdown, "SSL_shutdown"), { 0 } };
static struct dl ssl_library = DL_INIT("libssl.so.3", "libssl3", ssl_symbols);

/* OpenSSL's SSL *; NULL unless curl says that it is one.  curl has it only since the request went
 * out: before, a handle whose connection was made has none that it would tell of. */
static void *tls_of(struct hijack *hijack)
{
    struct curl_tlssessioninfo *info = NULL;

    if (curl_fn.easy_getinfo(hijack->easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info ||
        info->backend != CURLSSLBACKEND_OPENSSL)
        return NULL;
    return info->internals;
}

/* curl has no call for one direction alone: the close_notify is OpenSSL's.  The library is the one
 * that curl has loaded already. */
static int end_tls(struct hijack *hijack)
{
    struct pollfd fd = { .fd = hijack->fd, .events = POLLOUT };
    void *tls = tls_of(hijack);

    if (!tls || dl_open(&ssl_library, NULL) < 0)
        return -ENOTSUP;
    if (poll(&fd, 1, 0) <= 0)
        return -EAGAIN;
    return ssl_fn.shutdown(tls) >= 0 ? 0 : -ECONNRESET;
}

int hijack_end(struct hijack *hijack)
{
    if (!hijack->is_plain)
        return end_tls(hijack);
    return shutdown(hijack->fd, SHUT_WR) == 0 ? 0 : -errno;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int fail(struct opening *o, int code, const char *what)
{
    return gb_fail(o->err, code, GB_BLAME_PEER, "%s %s", o->hijack->way.host, what);
}

static int reach(struct opening *o)
{
    struct hijack *hijack = o->hijack;
    CURL *easy = hijack->easy = curl_fn.easy_init();
    curl_socket_t fd = CURL_SOCKET_BAD;
    CURLcode code;
    int r = easy ? way_init(&hijack->way, o->request, o->err) : gb_no_memory(o->err);

    if (r < 0)
        return r;
    code = way_set(&hijack->way, easy, o->request);
    CURL_SET(CURLOPT_CONNECT_ONLY, 1L);
    CURL_SET(CURLOPT_TIMEOUT_MS, (long)clock_poll_ms(o->end_ns));
    if (code != CURLE_OK)
        return way_unset(code, o->err);
    code = curl_fn.easy_perform(easy);
    curl_lib_seal();
    if (code != CURLE_OK)
        return way_failure(&hijack->way, easy, o->request, code, o->err);
    (void)curl_fn.easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L);
    if (curl_fn.easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd < 0)
        return fail(o, -ECONNRESET, "hung up at once");
    hijack->fd = fd;
    hijack->is_plain = !way_is_tls(&hijack->way);
    return 0;
}

/* Until the descriptor has what is waited for, the deadline or a cancellation. */
static int wait_for(struct opening *o, short events)
{
    struct pollfd fds[] = {
        { .fd = o->hijack->fd, .events = events },
        { .fd = o->request->cancel_fd, .events = POLLIN }, /* -1 is ignored */
    };
    int n = poll(fds, N_ELEMENTS(fds), clock_poll_ms(o->end_ns));

    if (n < 0 && errno != EINTR)
        return gb_fail_sys(o->err, "waiting for %s", o->hijack->way.host);
    if (n > 0 && fds[1].revents)
        return gb_fail(o->err, -ECANCELED, GB_BLAME_CALLER, "the request to %s was cancelled",
                       o->hijack->way.host);
    return n == 0 ? fail(o, -ETIMEDOUT, "did not answer in time") : 0;
}

static int send_all(struct opening *o, const struct buf *text)
{
    int r = 0;

    for (size_t done = 0; r == 0 && done < text->len;) {
        ssize_t n = hijack_send(o->hijack, text->data + done, text->len - done);

        if (n >= 0)
            done += (size_t)n;
        else
            r = n == -EAGAIN ? wait_for(o, POLLOUT) : fail(o, (int)n, "hung up during the request");
    }
    return r;
}

static bool is_line(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

static int put_target(struct opening *o, struct buf *text)
{
    cleanup_free char *target = malloc(TARGET_MAX);
    const struct way *way = &o->hijack->way;
    char host[WAY_HOST_MAX];

    if (!target)
        return gb_no_memory(o->err);
    if (way_part(way, CURLUPART_PATH, target, TARGET_MAX) < 0 ||
        way_part(way, CURLUPART_HOST, host, sizeof(host)) < 0)
        return gb_fail(o->err, -EINVAL, GB_BLAME_CALLER, "the URL is too long");
    (void)buf_printf(text, "%s %s", o->request->method ? o->request->method : "POST", target);
    if (way_part(way, CURLUPART_QUERY, target, TARGET_MAX) == 0)
        (void)buf_printf(text, "?%s", target);
    (void)buf_printf(text, " HTTP/1.1\r\nHost: %s\r\nUser-Agent: glovebox/" GB_VERSION "\r\n",
                     host);
    return 0;
}

static int ask(struct opening *o)
{
    const struct http_request *request = o->request;
    cleanup_buf struct buf text = BUF_INIT(TARGET_MAX + HEAD_MAX + BODY_MAX);
    int r = put_target(o, &text);

    if (r < 0)
        return r;
    for (const char *const *line = request->headers; line && *line; line++) {
        if (!is_line(*line))
            return gb_fail(o->err, -EINVAL, GB_BLAME_CALLER,
                           "a header of the request is malformed");
        (void)buf_printf(&text, "%s\r\n", *line);
    }
    (void)buf_printf(&text, "Content-Length: %zu\r\n\r\n", request->body_len);
    (void)buf_add(&text, request->body ? request->body : "", request->body_len);
    if (buf_error(&text) < 0)
        return gb_fail(o->err, buf_error(&text), GB_BLAME_HOST, "no room for an HTTP request");
    return send_all(o, &text);
}

/* ---- the answer's head ---------------------------------------------------------------------- */

/* More of what comes, at the end of the rest; -ECONNRESET at the end of all. */
static int read_more(struct opening *o)
{
    struct buf *rest = &o->hijack->rest;
    char bytes[4096];
    ssize_t n = recv_wire(o->hijack, bytes, sizeof(bytes));

    if (n == -EAGAIN)
        return wait_for(o, POLLIN);
    if (n <= 0)
        return fail(o, -ECONNRESET, "hung up without an answer");
    return buf_add(rest, bytes, (size_t)n) < 0 ? fail(o, -EMSGSIZE, "sent too long a head") : 0;
}

/* "HTTP/1.1 101 Switching"; 0: it is no such line. */
static int status_of(const char *head)
{
    char digits[4] = { 0 };
    uint64_t status = 0;

    if (strncmp(head, "HTTP/1.", 7) != 0 || strlen(head) < 12 || head[8] != ' ')
        return 0;
    memcpy(digits, head + 9, 3);
    return num_parse_u64(digits, 100, 599, &status) == 0 ? (int)status : 0;
}

/* Moves one head from the rest to the answer. */
static int read_head(struct opening *o, struct http_answer *answer)
{
    struct buf *rest = &o->hijack->rest;
    const char *end;
    size_t len;
    int r = 0;

    buf_reset(&answer->head);
    while (!(end = rest->len > 0 ? memmem(rest->data, rest->len, "\r\n\r\n", 4) : NULL)) {
        r = rest->len < HEAD_MAX ? read_more(o) : fail(o, -EMSGSIZE, "sent too long a head");
        if (r < 0)
            return r;
    }
    len = (size_t)(end - rest->data) + 4;
    if (buf_add(&answer->head, rest->data, len) < 0)
        return gb_no_memory(o->err);
    memmove(rest->data, rest->data + len, rest->len - len);
    rest->len -= len;
    rest->data[rest->len] = '\0';
    answer->status = status_of(answer->head.data);
    return answer->status > 0 ? 0 : fail(o, -EPROTO, "does not speak HTTP");
}

/* As much as it is announced; a refusal is worth no more trouble. */
static int read_body(struct opening *o, struct http_answer *answer)
{
    struct buf *rest = &o->hijack->rest;
    char length[24];
    uint64_t len = 0;
    int r = 0;

    if (!http_header(answer, "Content-Length", length, sizeof(length)) ||
        num_parse_u64(length, 0, BODY_MAX, &len) < 0)
        return 0;
    while (r == 0 && rest->len < len)
        r = read_more(o);
    if (r == 0 && buf_add(&answer->body, rest->data ? rest->data : "", len) < 0)
        r = gb_no_memory(o->err);
    return r;
}

static int read_answer(struct opening *o, struct http_answer *answer, bool *ret_is_taken)
{
    char coding[16];
    int r;

    do
        r = read_head(o, answer);
    while (r == 0 && answer->status < 200 && answer->status != 101);
    *ret_is_taken = answer->status == 101 || answer->status == 200;
    if (r < 0)
        return r;
    if (!*ret_is_taken)
        return read_body(o, answer);
    if (http_header(answer, "Transfer-Encoding", coding, sizeof(coding)))
        return fail(o, -EPROTO, "answers in pieces where it should hand its connection over");
    return 0;
}

int hijack_open(const struct http_request *request, struct http_answer *ret_answer,
                struct hijack **ret, struct gb_err *err)
{
    cleanup_with(hijack_free) struct hijack *hijack = NULL;
    uint64_t total_ms = request->total_ms > 0 ? request->total_ms : TOTAL_MS;
    struct opening o = { NULL, request, clock_after_ms(total_ms), err };
    bool is_taken = false;
    int r = curl_lib_open(err);

    *ret = NULL;
    *ret_answer =
        (struct http_answer){ .head = BUF_INIT(HEAD_MAX + 4096), .body = BUF_INIT(BODY_MAX) };
    if (r < 0)
        return r;
    o.hijack = hijack = calloc(1, sizeof(*hijack));
    if (!hijack)
        return gb_no_memory(err);
    hijack->rest = (struct buf)BUF_INIT(HEAD_MAX + BODY_MAX);
    r = reach(&o);
    if (r == 0)
        r = ask(&o);
    if (r == 0)
        r = read_answer(&o, ret_answer, &is_taken);
    if (r == 0 && is_taken)
        *ret = take_ptr(hijack);
    return r;
}
