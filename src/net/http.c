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
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CURL_DISABLE_TYPECHECK /* it is for calls by name */
#include <curl/curl.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/err.h"
#include "gen/version.h"

#define HEAD_MAX        (64 << 10) /* of all heads of one answer together */
#define CONNECTIONS_MAX 4L
#define CONNECT_MS      10000
#define IDLE_MS         60000
#define TOTAL_MS        600000
#define ANSWER_MAX      (16 << 20)
#define HOST_TEXT_MAX   128
#define TOO_LONG_A_HEAD "sent too long a head"

/* ---- the library ---------------------------------------------------------------------------- */

#define FUNCTIONS(X)       \
    X(global_init)         \
    X(easy_init)           \
    X(easy_cleanup)        \
    X(easy_reset)          \
    X(easy_setopt)         \
    X(easy_getinfo)        \
    X(easy_strerror)       \
    X(free)                \
    X(multi_init)          \
    X(multi_cleanup)       \
    X(multi_setopt)        \
    X(multi_add_handle)    \
    X(multi_remove_handle) \
    X(multi_perform)       \
    X(multi_poll)          \
    X(multi_info_read)     \
    X(slist_append)        \
    X(slist_free_all)      \
    X(url)                 \
    X(url_set)             \
    X(url_get)             \
    X(url_cleanup)

#define POINTER(name) __typeof__(curl_##name) *name;
static struct {
    FUNCTIONS(POINTER)
} fn;

#define SYMBOL(name) DL_SYMBOL(fn.name, "curl_" #name),
static const struct dl_symbol symbols[] = { FUNCTIONS(SYMBOL){ 0 } };

static struct dl library = DL_INIT("libcurl.so.4", "libcurl4", symbols);

static void global_init(void)
{
    /* A failure shows again when the handles are made. */
    (void)fn.global_init(CURL_GLOBAL_DEFAULT);
}

static int open_library(struct gb_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int r = dl_open(&library, err);

    if (r == 0)
        (void)pthread_once(&once, global_init);
    return r;
}

static int no_memory(struct gb_err *err)
{
    return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for an HTTP request");
}

/* ---- the client ----------------------------------------------------------------------------- */

struct http_client {
    CURLM *multi;
    CURL *easy;
};

int http_client_new(struct http_client **ret, struct gb_err *err)
{
    struct http_client *client;
    int r = open_library(err);

    if (r < 0)
        return r;
    client = calloc(1, sizeof(*client));
    if (!client)
        return no_memory(err);
    client->multi = fn.multi_init();
    client->easy = fn.easy_init();
    /* curl's own pair of sockets would survive an exec; no other descriptor here is meant to. */
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (!client->multi || !client->easy ||
        fn.multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX) != CURLM_OK) {
        http_client_free(&client);
        return no_memory(err);
    }
    *ret = client;
    return 0;
}

void http_client_free(struct http_client **client)
{
    if (!*client)
        return;
    if ((*client)->easy)
        fn.easy_cleanup((*client)->easy);
    if ((*client)->multi)
        (void)fn.multi_cleanup((*client)->multi);
    free(*client);
    *client = NULL;
}

/* ---- what one transfer knows ---------------------------------------------------------------- */

struct transfer {
    const struct http_request *request;
    struct http_answer *answer;
    struct gb_err *err;
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    char host[HOST_TEXT_MAX];   /* for errors: name and port, nothing else of the URL */
    char said[CURL_ERROR_SIZE]; /* curl's own words */
    uint64_t end_ns;            /* of the whole */
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

/* The handle forgets the transfer too: it would write to t->said when it closes connections. */
static void transfer_clear(struct transfer *t)
{
    fn.easy_reset(t->easy);
    fn.slist_free_all(t->headers);
    if (t->url)
        fn.url_cleanup(t->url);
}

static int fail(struct transfer *t, int code, const char *what)
{
    t->failed = gb_fail(t->err, code, GB_BLAME_PEER, "%s %s", t->host, what);
    return t->failed;
}

/* ---- curl's callbacks ----------------------------------------------------------------------- */

/* curl 7.88 makes sockets that survive an exec. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)user;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

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

    (void)fn.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
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
        t->failed = no_memory(t->err);
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
        return t->failed = no_memory(t->err);
    return 0;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *user)
{
    struct transfer *t = user;

    (void)one;
    hear(t);
    return take_body(t, bytes, len) == 0 ? len : 0;
}

/* ---- the request ---------------------------------------------------------------------------- */

static int bad_request(struct gb_err *err, const char *what)
{
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s", what);
}

static int url_part(CURLU *url, CURLUPart part, char *text, size_t size)
{
    char *value = NULL;
    size_t len = 0;

    if (fn.url_get(url, part, &value, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        len = strnlen(value, size - 1);
        memcpy(text, value, len);
        fn.free(value);
    }
    text[len] = '\0';
    return len > 0 ? 0 : -EINVAL;
}

/* The error does not show the URL: there may be a key in it. */
static int read_url(struct transfer *t)
{
    char scheme[8];
    char name[HOST_TEXT_MAX - 8];
    char port[8];

    t->url = fn.url();
    if (!t->url)
        return no_memory(t->err);
    if (fn.url_set(t->url, CURLUPART_URL, t->request->url, 0) != CURLUE_OK ||
        url_part(t->url, CURLUPART_SCHEME, scheme, sizeof(scheme)) < 0 ||
        url_part(t->url, CURLUPART_HOST, name, sizeof(name)) < 0 ||
        url_part(t->url, CURLUPART_PORT, port, sizeof(port)) < 0)
        return bad_request(t->err, "this is not a URL that can be asked");
    if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        return bad_request(t->err, "only URLs of http and https can be asked");
    (void)snprintf(t->host, sizeof(t->host), "%s:%s", name, port);
    return 0;
}

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
    struct curl_slist *longer = fn.slist_append(t->headers, line);

    if (!longer)
        return no_memory(t->err);
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
            return bad_request(t->err, "a header of the request is malformed");
        has_type = has_type || strncasecmp(*line, "Content-Type:", 13) == 0;
        r = add_header(t, *line);
    }
    return r == 0 && !has_type ? add_header(t, "Content-Type:") : r;
}

/* Sets an option unless one has failed already; `code` tells. */
#define SET(option, value) \
    (code = code == CURLE_OK ? fn.easy_setopt(t->easy, (option), (value)) : code)

static CURLcode set_method(struct transfer *t)
{
    const struct http_request *request = t->request;
    const char *method = request->method;
    CURLcode code = CURLE_OK;

    if (method && strcmp(method, "HEAD") == 0)
        return SET(CURLOPT_NOBODY, 1L);
    if (request->body || (method && strcmp(method, "POST") == 0)) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        SET(CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    if (method)
        SET(CURLOPT_CUSTOMREQUEST, method);
    return code;
}

static CURLcode set_way(struct transfer *t)
{
    const struct http_request *request = t->request;
    CURLcode code = CURLE_OK;

    SET(CURLOPT_CURLU, t->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_PROXY, request->proxy ? request->proxy : ""); /* "": not the environment's */
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L); /* a cancelled request does not wait for the name server */
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)or_usual(request->connect_ms, CONNECT_MS));
    if (request->ca_file) {
        SET(CURLOPT_CAINFO, request->ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    return code;
}

static CURLcode set_callbacks(struct transfer *t)
{
    CURLcode code = CURLE_OK;

    SET(CURLOPT_ERRORBUFFER, t->said);
    SET(CURLOPT_HTTPHEADER, t->headers);
    SET(CURLOPT_USERAGENT, "glovebox/" GB_VERSION);
    SET(CURLOPT_PREREQFUNCTION, on_connected);
    SET(CURLOPT_PREREQDATA, t);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, t);
    SET(CURLOPT_HEADERFUNCTION, on_head);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, t);
    return code;
}

static int prepare(struct transfer *t)
{
    CURLcode code;
    int r = read_url(t);

    if (r == 0)
        r = add_headers(t);
    if (r < 0)
        return r;
    code = set_way(t);
    if (code == CURLE_OK)
        code = set_callbacks(t);
    if (code == CURLE_OK)
        code = set_method(t);
    if (code == CURLE_OUT_OF_MEMORY)
        return no_memory(t->err);
    if (code != CURLE_OK) /* rather no request than one without a limit */
        return gb_fail(t->err, -ENOSYS, GB_BLAME_HOST, "libcurl lacks an option: %s",
                       fn.easy_strerror(code));
    return 0;
}

/* ---- what went wrong ------------------------------------------------------------------------ */

/* The row of CURLE_OK ends the table and stands for everything else. */
static const struct cause {
    CURLcode curl;
    int code;
    enum gb_blame blame;
    const char *what;
} causes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, -EADDRNOTAVAIL, GB_BLAME_HOST, "has no known address" },
    { CURLE_COULDNT_RESOLVE_PROXY, -EADDRNOTAVAIL, GB_BLAME_HOST, "has a proxy without address" },
    { CURLE_COULDNT_CONNECT, -ECONNREFUSED, GB_BLAME_HOST, "cannot be reached" },
    { CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT, GB_BLAME_HOST, "did not let us connect in time" },
    { CURLE_PEER_FAILED_VERIFICATION, -EKEYREJECTED, GB_BLAME_HOST, "is not trusted" },
    { CURLE_SSL_CONNECT_ERROR, -EPROTO, GB_BLAME_HOST, "does not agree on TLS" },
    { CURLE_SSL_CACERT_BADFILE, -ENOKEY, GB_BLAME_HOST, "cannot be checked" },
    { CURLE_GOT_NOTHING, -ECONNRESET, GB_BLAME_PEER, "hung up without an answer" },
    { CURLE_SEND_ERROR, -ECONNRESET, GB_BLAME_PEER, "hung up during the request" },
    { CURLE_RECV_ERROR, -ECONNRESET, GB_BLAME_PEER, "sent a broken answer" },
    { CURLE_PARTIAL_FILE, -ECONNRESET, GB_BLAME_PEER, "cut its answer off" },
    { CURLE_OUT_OF_MEMORY, -ENOMEM, GB_BLAME_HOST, "was not asked: no memory" },
    { CURLE_OK, -EPROTO, GB_BLAME_PEER, "does not speak HTTP" },
};

/* What the table cannot say; NULL: nothing.  curl's own words are repeated only about certificates,
 * of which they may hold parts: others could quote the URL. */
static const char *detail(struct transfer *t, const struct cause *cause, CURLcode curl, int number)
{
    switch (cause->curl) {
    case CURLE_COULDNT_CONNECT:
        return number > 0 ? strerrordesc_np(number) : NULL;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
        for (char *c = t->said; *c; c++)
            if (*c < ' ' || *c > '~')
                *c = '?';
        return t->said[0] ? t->said : NULL;
    case CURLE_SSL_CACERT_BADFILE:
        return t->request->ca_file ? t->request->ca_file : "apt-get install ca-certificates";
    case CURLE_OK:
        return fn.easy_strerror(curl);
    default:
        return NULL;
    }
}

static int failure(struct transfer *t, CURLcode curl)
{
    const struct cause *cause = causes;
    const char *more;
    long number = 0;
    int code;

    if (t->failed < 0)
        return t->failed;
    if (curl == CURLE_OUT_OF_MEMORY && t->silent_ns != CLOCK_NEVER_NS && !t->is_head_over)
        return fail(t, -EMSGSIZE, TOO_LONG_A_HEAD); /* what curl says to one line of 100 KB */
    while (cause->curl != curl && cause->curl != CURLE_OK)
        cause++;
    (void)fn.easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
    code = curl == CURLE_COULDNT_CONNECT && number > 0 ? -(int)number : cause->code;
    more = detail(t, cause, curl, (int)number);
    return gb_fail(t->err, code, cause->blame, "%s %s%s%s", t->host, cause->what, more ? ": " : "",
                   more ? more : "");
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
                       t->host);
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
    CURLMcode code = fn.multi_poll(client->multi, &cancel, cancel.fd >= 0, wait_ms, NULL);

    return code == CURLM_OK
               ? 0
               : gb_fail(t->err, -EIO, GB_BLAME_HOST, "waiting for %s failed", t->host);
}

/* 1 when the transfer is over and *ret tells how. */
static int result(struct http_client *client, CURLcode *ret)
{
    int left = 0;

    for (CURLMsg *msg; (msg = fn.multi_info_read(client->multi, &left));) {
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
        if (fn.multi_perform(client->multi, &running) != CURLM_OK)
            return gb_fail(t->err, -EIO, GB_BLAME_HOST, "asking %s failed", t->host);
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
    if (r == 0 && fn.multi_add_handle(client->multi, client->easy) != CURLM_OK)
        r = no_memory(err);
    if (r == 0) {
        r = drive(client, &t);
        (void)fn.multi_remove_handle(client->multi, client->easy);
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
