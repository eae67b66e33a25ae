/* SPDX-License-Identifier: Apache-2.0 */
/* net/http.c - requests to HTTP servers, by libcurl.
 *
 * One easy handle does one transfer at a time; the multi handle around it keeps the connections and
 * lets the wait watch the caller's cancel_fd too.  curl's own timeout is used for connecting only:
 * silence and the whole are measured here, because curl's idea of a slow transfer is an average.
 *
 * HTTP/1.1 alone is spoken and no compression is asked for: less code reads hostile bytes, and the
 * bytes that are counted are the bytes that came. */
#include "net/http.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "gen/version.h"
#include "net/curl_lib.h"
#include "net/way.h"

#define HEAD_MAX        (64 << 10) /* of all heads of one answer together */
#define CONNECTIONS_MAX 4L
#define IDLE_MS         60000
#define TOTAL_MS        600000
#define ANSWER_MAX      (16 << 20)
#define TOO_LONG_A_HEAD "sent too long a head"

/* ---- the client ----------------------------------------------------------------------------- */

struct http_client {
    CURLM *multi;
    CURL *easy;
};

int http_client_new(struct http_client **ret, struct gb_err *err)
{
    struct http_client *client;
    int r = curl_lib_open(err);

    if (r < 0)
        return r;
    client = calloc(1, sizeof(*client));
    if (!client)
        return gb_no_memory(err);
    client->multi = curl_fn.multi_init();
    client->easy = curl_fn.easy_init();
    curl_lib_seal();
    if (!client->multi || !client->easy ||
        curl_fn.multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX) != CURLM_OK) {
        http_client_free(&client);
        return gb_no_memory(err);
    }
    *ret = client;
    return 0;
}

void http_client_free(struct http_client **client)
{
    if (!*client)
        return;
    if ((*client)->easy)
        curl_fn.easy_cleanup((*client)->easy);
    if ((*client)->multi)
        (void)curl_fn.multi_cleanup((*client)->multi);
    free(*client);
    *client = NULL;
}

/* ---- what one transfer knows ---------------------------------------------------------------- */

struct transfer {
    const struct http_request *request;
    struct http_answer *answer;
    struct gb_err *err;
    CURL *easy;
    struct way way;
    struct curl_slist *headers;
    uint64_t end_ns;    /* of the whole */
    uint64_t silent_ns; /* when silence has lasted too long; never before there is a connection */
    curl_off_t sent;
    size_t head_bytes;
    size_t body_bytes;
    bool is_head_over; /* of the last head; what follows the body's are trailers */
    int failed;        /* why a callback ended it, already in err */
};

static uint64_t or_usual(uint64_t given, uint64_t usual)
{
    return given > 0 ? given : usual;
}

/* A byte came or went. */
static void hear(struct transfer *t)
{
    t->silent_ns = clock_after_ms(or_usual(t->request->idle_ms, IDLE_MS));
}

/* The handle forgets the transfer too: it would write to t->way.said when it closes connections. */
static void transfer_clear(struct transfer *t)
{
    curl_fn.easy_reset(t->easy);
    curl_fn.slist_free_all(t->headers);
    way_clear(&t->way);
}

static int fail(struct transfer *t, int code, const char *what)
{
    t->failed = gb_fail(t->err, code, GB_BLAME_PEER, "%s %s", t->way.host, what);
    return t->failed;
}

/* ---- curl's callbacks ----------------------------------------------------------------------- */

/* There is a connection, and the request goes out now: silence counts from here.  The signature is
 * curl's.
 * NOLINTNEXTLINE(readability-non-const-parameter) */
static int on_connected(void *user, char *to, char *from, int to_port, int from_port)
{
    struct transfer *t = user;

    (void)to;
    (void)from;
    (void)to_port;
    (void)from_port;
    hear(t);
    return CURL_PREREQFUNC_OK;
}

/* Called all the time; it is here for the bytes of a body that goes out slowly. */
static int on_progress(void *user, curl_off_t to_come, curl_off_t came, curl_off_t to_send,
                       curl_off_t sent)
{
    struct transfer *t = user;

    (void)to_come;
    (void)came;
    (void)to_send;
    if (sent != t->sent)
        hear(t);
    t->sent = sent;
    return 0;
}

static bool is_blank(const char *line, size_t len)
{
    return len == 0 || line[0] == '\r' || line[0] == '\n';
}

static int status_of(CURL *easy)
{
    long status = 0;

    (void)curl_fn.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

/* One line of a head.  A head of status 1xx is followed by another one. */
static size_t on_head(char *line, size_t one, size_t len, void *user)
{
    struct transfer *t = user;

    (void)one;
    hear(t);
    t->head_bytes += len;
    if (t->head_bytes > HEAD_MAX) {
        (void)fail(t, -EMSGSIZE, TOO_LONG_A_HEAD);
        return 0;
    }
    if (t->is_head_over && t->answer->status >= 200)
        return len;
    if (t->is_head_over)
        buf_reset(&t->answer->head);
    t->is_head_over = is_blank(line, len);
    t->answer->status = status_of(t->easy);
    if (buf_add(&t->answer->head, line, len) < 0) {
        t->failed = gb_no_memory(t->err);
        return 0;
    }
    return len;
}

static int take_body(struct transfer *t, const char *bytes, size_t len)
{
    size_t max = or_usual(t->request->answer_max, ANSWER_MAX);
    int status = t->answer->status;
    int r;

    if (len > max - t->body_bytes)
        return fail(t, -EMSGSIZE, "sent too long an answer");
    t->body_bytes += len;
    if (t->request->data && status >= 200 && status < 300) {
        r = t->request->data(t->request->user, bytes, len);
        return r < 0 ? fail(t, r, "sent an answer that its reader refused") : 0;
    }
    if (buf_add(&t->answer->body, bytes, len) < 0)
        return t->failed = gb_no_memory(t->err);
    return 0;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *user)
{
    struct transfer *t = user;

    (void)one;
    hear(t);
    return take_body(t, bytes, len) == 0 ? len : 0;
}

/* The next piece of a body that is made as it goes. */
static size_t on_source(char *bytes, size_t one, size_t size, void *user)
{
    struct transfer *t = user;
    ssize_t n = t->request->source(t->request->user, bytes, one * size);

    if (n >= 0)
        return (size_t)n;
    t->failed =
        gb_fail(t->err, (int)n, GB_BLAME_CALLER, "what goes to %s could not be had", t->way.host);
    return CURL_READFUNC_ABORT;
}

/* ---- the request ---------------------------------------------------------------------------- */

/* "Name: value" without a control byte, which could begin a header of its own. */
static bool is_header(const char *line)
{
    const char *colon = strchr(line, ':');

    for (const char *c = line; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return false;
    return colon && colon > line && strcspn(line, " \t") > (size_t)(colon - line);
}

static int add_header(struct transfer *t, const char *line)
{
    struct curl_slist *longer = curl_fn.slist_append(t->headers, line);

    if (!longer)
        return gb_no_memory(t->err);
    t->headers = longer;
    return 0;
}

static int add_headers(struct transfer *t)
{
    /* Left out: what curl would wait for, and what it would call the body without being told. */
    bool has_type = false;
    int r = add_header(t, "Expect:");

    for (const char *const *line = t->request->headers; r == 0 && line && *line; line++) {
        if (!is_header(*line))
            return gb_fail(t->err, -EINVAL, GB_BLAME_CALLER,
                           "a header of the request is malformed");
        has_type = has_type || strncasecmp(*line, "Content-Type:", 13) == 0;
        r = add_header(t, *line);
    }
    return r == 0 && !has_type ? add_header(t, "Content-Type:") : r;
}

static CURLcode set_method(struct transfer *t)
{
    const struct http_request *request = t->request;
    const char *method = request->method;
    CURL *easy = t->easy;
    CURLcode code = CURLE_OK;

    if (method && strcmp(method, "HEAD") == 0)
        return CURL_SET(CURLOPT_NOBODY, 1L);
    if (request->source) {
        CURL_SET(CURLOPT_UPLOAD, 1L);
        CURL_SET(CURLOPT_READFUNCTION, on_source);
        CURL_SET(CURLOPT_READDATA, t);
        /* What has gone out cannot be sent again, as a kept connection that died would need. */
        CURL_SET(CURLOPT_FRESH_CONNECT, 1L);
    } else if (request->body || (method && strcmp(method, "POST") == 0)) {
        CURL_SET(CURLOPT_POST, 1L);
        CURL_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        CURL_SET(CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    if (method)
        CURL_SET(CURLOPT_CUSTOMREQUEST, method);
    return code;
}

static CURLcode set_callbacks(struct transfer *t)
{
    CURL *easy = t->easy;
    CURLcode code = CURLE_OK;

    CURL_SET(CURLOPT_HTTPHEADER, t->headers);
    CURL_SET(CURLOPT_USERAGENT, "glovebox/" GB_VERSION);
    CURL_SET(CURLOPT_PREREQFUNCTION, on_connected);
    CURL_SET(CURLOPT_PREREQDATA, t);
    CURL_SET(CURLOPT_NOPROGRESS, 0L);
    CURL_SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    CURL_SET(CURLOPT_XFERINFODATA, t);
    CURL_SET(CURLOPT_HEADERFUNCTION, on_head);
    CURL_SET(CURLOPT_HEADERDATA, t);
    CURL_SET(CURLOPT_WRITEFUNCTION, on_body);
    CURL_SET(CURLOPT_WRITEDATA, t);
    return code;
}

static int prepare(struct transfer *t)
{
    CURLcode code;
    int r = way_init(&t->way, t->request, t->err);

    if (r == 0)
        r = add_headers(t);
    if (r < 0)
        return r;
    code = way_set(&t->way, t->easy, t->request);
    if (code == CURLE_OK)
        code = set_callbacks(t);
    if (code == CURLE_OK)
        code = set_method(t);
    return code == CURLE_OK ? 0 : way_unset(code, t->err); /* rather none than without a limit */
}

/* ---- what went wrong ------------------------------------------------------------------------ */

static int failure(struct transfer *t, CURLcode curl)
{
    if (t->failed < 0)
        return t->failed;
    if (curl == CURLE_OUT_OF_MEMORY && t->silent_ns != CLOCK_NEVER_NS && !t->is_head_over)
        return fail(t, -EMSGSIZE, TOO_LONG_A_HEAD); /* what curl says to one line of 100 KB */
    return way_failure(&t->way, t->easy, t->request, curl, t->err);
}

/* ---- the transfer --------------------------------------------------------------------------- */

static bool is_cancelled(const struct http_request *request)
{
    struct pollfd fd = { .fd = request->cancel_fd, .events = POLLIN };

    return request->cancel_fd >= 0 && poll(&fd, 1, 0) > 0;
}

static int check_limits(struct transfer *t)
{
    uint64_t now = clock_now_ns();

    if (is_cancelled(t->request))
        return gb_fail(t->err, -ECANCELED, GB_BLAME_CALLER, "the request to %s was cancelled",
                       t->way.host);
    if (now >= t->end_ns)
        return fail(t, -ETIMEDOUT, "did not finish its answer in time");
    if (now >= t->silent_ns)
        return fail(t, -ETIMEDOUT, "was silent for too long");
    return 0;
}

static int wait_for_more(struct http_client *client, struct transfer *t)
{
    struct curl_waitfd cancel = { .fd = t->request->cancel_fd, .events = CURL_WAIT_POLLIN };
    int wait_ms = clock_poll_ms(t->silent_ns < t->end_ns ? t->silent_ns : t->end_ns);
    CURLMcode code = curl_fn.multi_poll(client->multi, &cancel, cancel.fd >= 0, wait_ms, NULL);

    return code == CURLM_OK
               ? 0
               : gb_fail(t->err, -EIO, GB_BLAME_HOST, "waiting for %s failed", t->way.host);
}

/* 1 when the transfer is over and *ret tells how. */
static int result(struct http_client *client, CURLcode *ret)
{
    int left = 0;

    for (CURLMsg *msg; (msg = curl_fn.multi_info_read(client->multi, &left));) {
        if (msg->msg == CURLMSG_DONE) {
            *ret = msg->data.result;
            return 1;
        }
    }
    return 0;
}

/* curl is content with a head that was cut off. */
static int check_head(struct transfer *t)
{
    bool is_whole = t->is_head_over && t->answer->status >= 200;

    return is_whole ? 0 : fail(t, -ECONNRESET, "cut its answer off");
}

static int drive(struct http_client *client, struct transfer *t)
{
    CURLcode code = CURLE_OK;
    int running = 0;
    int r;

    for (;;) {
        if (curl_fn.multi_perform(client->multi, &running) != CURLM_OK)
            return gb_fail(t->err, -EIO, GB_BLAME_HOST, "asking %s failed", t->way.host);
        if (result(client, &code))
            return code == CURLE_OK ? check_head(t) : failure(t, code);
        r = check_limits(t);
        if (r == 0)
            r = wait_for_more(client, t);
        if (r < 0)
            return r;
    }
}

int http_do(struct http_client *client, const struct http_request *request, struct http_answer *ret,
            struct gb_err *err)
{
    struct transfer t = {
        .request = request,
        .answer = ret,
        .err = err,
        .easy = client->easy,
        .end_ns = clock_after_ms(or_usual(request->total_ms, TOTAL_MS)),
        .silent_ns = CLOCK_NEVER_NS,
    };
    int r;

    *ret = (struct http_answer){
        .head = BUF_INIT(HEAD_MAX),
        .body = BUF_INIT(or_usual(request->answer_max, ANSWER_MAX)),
    };
    r = prepare(&t);
    if (r == 0 && curl_fn.multi_add_handle(client->multi, client->easy) != CURLM_OK)
        r = gb_no_memory(err);
    if (r == 0) {
        r = drive(client, &t);
        (void)curl_fn.multi_remove_handle(client->multi, client->easy);
    }
    transfer_clear(&t);
    return r;
}

/* ---- the answer ----------------------------------------------------------------------------- */

bool http_header(const struct http_answer *answer, const char *name, char *value, size_t size)
{
    size_t name_len = strlen(name);
    const char *end = answer->head.data + answer->head.len;

    assert(size > 0);
    for (const char *line = answer->head.data; line && line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const char *from = line + name_len + 1;
        const char *to = next ? next : end;

        if (to >= from && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            while (from < to && (*from == ' ' || *from == '\t'))
                from++;
            while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
                to--;
            (void)snprintf(value, size, "%.*s", (int)(to - from), from);
            return true;
        }
        line = next ? next + 1 : NULL;
    }
    return false;
}

void http_answer_clear(struct http_answer *answer)
{
    buf_clear(&answer->head);
    buf_clear(&answer->body);
    answer->status = 0;
}
