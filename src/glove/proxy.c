/* SPDX-License-Identifier: Apache-2.0 */
/* glove/proxy.c - programs that ask a proxy, told apart by their first byte. */
#include "glove/proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "glove/glove.h"
#include "glove/proxy_socks.h"

/* Of what a program sends behind a request that is refused, so much is taken: a connection that is
 * closed with bytes in it is reset, and the answer may be lost. */
#define DRAIN_MAX 65536

#define STATUS_TOO_LARGE 431

struct talk *proxy_place(struct proxy *proxy)
{
    for (size_t i = 0; i < TALKS_MAX; i++)
        if (proxy->talks[i].step == TALK_FREE)
            return &proxy->talks[i];
    return NULL;
}

void proxy_begin(struct talk *talk, struct conn *conn, int fd)
{
    talk->step = TALK_BEGIN;
    talk->len = 0;
    *conn = (struct conn){ .state = CONN_TALKS, .fd = fd, .talk = talk };
}

void proxy_forget(struct conn *conn)
{
    if (conn->talk)
        conn->talk->step = TALK_FREE;
    conn->talk = NULL;
}

static void drop(struct conn *conn)
{
    proxy_forget(conn);
    drop_fd(&conn->fd);
    conn->state = CONN_FREE;
}

/* A few bytes to a program that has been sent next to nothing: they fit. */
static void say(struct conn *conn, const void *bytes, size_t len)
{
    if (send(conn->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == ECONNRESET)
        conn->was_reset = true;
}

static void say_last(struct conn *conn, const void *bytes, size_t len)
{
    char rest[4096];

    say(conn, bytes, len);
    (void)shutdown(conn->fd, SHUT_WR);
    for (size_t n = 0; n < DRAIN_MAX; n += sizeof(rest))
        if (recv(conn->fd, rest, sizeof(rest), MSG_DONTWAIT) <= 0)
            break;
    drop(conn);
}

static void refuse_http(struct conn *conn, int status, const struct wire_blob *why)
{
    char answer[HTTP_ANSWER_MAX];
    size_t len = http_answer(status, &conn->talk->target, why, answer);

    say_last(conn, answer, len);
}

static void refuse_socks(struct conn *conn, enum socks_code code)
{
    uint8_t reply[SOCKS_REPLY_LEN];

    socks_reply(code, reply);
    say_last(conn, reply, sizeof(reply));
}

/* ---- asking --------------------------------------------------------------------------------- */

/* A program that looked the name up by itself asks for the address that stands for it. */
static int ask(struct glove *glove, struct conn *conn, enum talk_kind kind)
{
    struct talk *talk = conn->talk;
    const char *name = talk->target.name[0]
                           ? talk->target.name
                           : names_find(&glove->egress.names, htonl(talk->target.address));
    struct msg_connect msg = {
        .ask = egress_next_ask(&glove->egress),
        .address = talk->target.address,
        .port = talk->target.port,
        .name = name ? name : "",
    };

    talk->kind = kind;
    talk->step = TALK_ASKED;
    conn->state = CONN_ASKED;
    conn->ask = msg.ask;
    conn->port = talk->target.port;
    return link_send(&glove->link, MSG_CONNECT, 0, 0, &msg);
}

static int on_http(struct glove *glove, struct conn *conn)
{
    struct http_request request;
    struct talk *talk = conn->talk;
    int status = http_request_read(talk->bytes, talk->len, &request);

    talk->target = request.target;
    if (status) {
        refuse_http(conn, status, NULL);
        return 0;
    }
    memcpy(talk->bytes, request.head, request.len);
    talk->len = request.len;
    return ask(glove, conn, request.is_tunnel ? TALK_OF_TUNNEL : TALK_OF_HTTP);
}

static int on_socks_greeting(struct glove *glove, struct conn *conn)
{
    static const uint8_t welcome[] = { SOCKS_VERSION, 0 };
    static const uint8_t no_method[] = { SOCKS_VERSION, 0xff };
    struct talk *talk = conn->talk;

    (void)glove;
    if (!socks_greets((const uint8_t *)talk->bytes, talk->len)) {
        say_last(conn, no_method, sizeof(no_method));
        return 0;
    }
    say(conn, welcome, sizeof(welcome));
    talk->step = TALK_SOCKS_REQUEST;
    talk->len = 0;
    return 0;
}

static int on_socks_request(struct glove *glove, struct conn *conn)
{
    struct talk *talk = conn->talk;
    enum socks_code code = socks_request((const uint8_t *)talk->bytes, talk->len, &talk->target);

    if (code == SOCKS_OK)
        return ask(glove, conn, TALK_OF_SOCKS);
    refuse_socks(conn, code);
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Requests begin with a letter, SOCKS 5 with its number; everything else is none of ours. */
static bool begin(struct talk *talk)
{
    char first = talk->bytes[0];

    if (talk->step != TALK_BEGIN)
        return true;
    if ((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'))
        talk->step = TALK_HTTP;
    else if (first == SOCKS_VERSION)
        talk->step = TALK_SOCKS_GREETING;
    return talk->step != TALK_BEGIN;
}

/* Where the message ends that is being read, of `len` bytes; 0: further on. */
static size_t message_end(const struct talk *talk, size_t len)
{
    const uint8_t *bytes = (const uint8_t *)talk->bytes;
    size_t end;

    if (talk->step == TALK_HTTP)
        return http_head_end(talk->bytes, talk->len, len);
    end = talk->step == TALK_SOCKS_GREETING ? socks_greeting_len(bytes, len)
                                            : socks_request_len(bytes, len);
    return end <= len ? end : 0;
}

/* Looks at what there is and takes what belongs to the message.  1: it is whole; 0: it goes on;
 * negative: there is no more to come. */
static int take(struct conn *conn)
{
    struct talk *talk = conn->talk;
    char *at = talk->bytes + talk->len;
    ssize_t n = recv(conn->fd, at, HTTP_HEAD_MAX - talk->len, MSG_PEEK | MSG_DONTWAIT);
    size_t end;
    size_t more;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0 || !begin(talk))
        return -EPIPE;
    end = message_end(talk, talk->len + (size_t)n);
    more = end ? end - talk->len : (size_t)n;
    if (recv(conn->fd, at, more, MSG_DONTWAIT) != (ssize_t)more)
        return -EPIPE;
    talk->len += more;
    return end > 0;
}

int proxy_serve(struct glove *glove, struct conn *conn)
{
    static int (*const steps[])(struct glove * glove, struct conn * conn) = {
        [TALK_HTTP] = on_http,
        [TALK_SOCKS_GREETING] = on_socks_greeting,
        [TALK_SOCKS_REQUEST] = on_socks_request,
    };
    int r = take(conn);

    if (r < 0)
        drop(conn);
    if (r > 0)
        return steps[conn->talk->step](glove, conn);
    if (r == 0 && conn->talk->len == HTTP_HEAD_MAX) {
        conn->talk->target = (struct proxy_target){ 0 };
        refuse_http(conn, STATUS_TOO_LARGE, NULL);
    }
    return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

void proxy_told(struct conn *conn, const struct msg_told *told, bool *ret_is_over)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    uint8_t reply[SOCKS_REPLY_LEN];
    enum talk_kind kind = conn->talk->kind;
    uint32_t error = told->error;

    *ret_is_over = error != 0;
    if (error && kind == TALK_OF_SOCKS) {
        refuse_socks(conn, socks_code_of(error));
    } else if (error) {
        refuse_http(conn, http_status_of(error), &told->why);
    } else if (kind == TALK_OF_HTTP) {
        conn->talk->step = TALK_HEAD;
    } else {
        socks_reply(SOCKS_OK, reply);
        if (kind == TALK_OF_SOCKS)
            say(conn, reply, sizeof(reply));
        else
            say(conn, established, sizeof(established) - 1);
        proxy_forget(conn);
    }
}

int proxy_settle(struct glove *glove, struct conn *conn)
{
    struct talk *talk = conn->talk;
    struct msg_data data = { .bytes = { (uint32_t)talk->len, (const uint8_t *)talk->bytes } };
    int r;

    if (link_room(&glove->link) < LINK_QUEUE_SIZE / 2 + talk->len)
        return 0;
    r = link_send(&glove->link, MSG_DATA, conn->out_number, 0, &data);
    conn->out->credit -= talk->len;
    conn->out->is_held = false;
    proxy_forget(conn);
    return r;
}
