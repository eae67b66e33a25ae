/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_talk.c - a program and the proxy of its box, from the first byte to the
 * open connection.  The test is program and host in one: a socketpair each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "glove/glove.h"
#include "glove/proxy_socks.h"

#include <cmocka.h>

#define IN  40
#define OUT 42

/* The glove's state without its loop, and the ends that it does not have. */
struct stage {
    struct glove *glove;
    int host;
    int program;
    struct conn *conn;
    struct wire_reader reader;
};

static void stage_up(struct stage *stage)
{
    int link[2];
    int program[2];

    *stage = (struct stage){ .glove = calloc(1, sizeof(*stage->glove)) };
    assert_non_null(stage->glove);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, program),
                     0);
    assert_int_equal(link_init(&stage->glove->link, link[0], link[0]), 0);
    stage->glove->egress.is_on = true;
    stage->glove->egress.next_ask = 7;
    stage->host = link[1];
    stage->program = program[1];
    stage->conn = conn_new(&stage->glove->conns, CONN_OURS, 0);
    proxy_begin(proxy_place(&stage->glove->egress.proxy), stage->conn, program[0]);
}

static void stage_down(struct stage *stage)
{
    struct glove *glove = stage->glove;

    close(stage->host);
    close(stage->program);
    close(glove->link.in);
    close(glove->link.stage[0]);
    close(glove->link.stage[1]);
    if (stage->conn->state == CONN_OPEN) {
        close(stage->conn->in->fd);
        close(stage->conn->out->fd);
    } else if (stage->conn->state != CONN_FREE) {
        close(stage->conn->fd);
    }
    free(glove);
}

static void say_len(struct stage *stage, const char *bytes, size_t len)
{
    assert_int_equal(write(stage->program, bytes, len), len);
    assert_int_equal(proxy_serve(stage->glove, stage->conn), 0);
}
#define SAY(stage, text) say_len(stage, text, sizeof(text) - 1)

/* What the program is told, all of it. */
static size_t hear(struct stage *stage, char *ret, size_t size)
{
    ssize_t n = read(stage->program, ret, size - 1);

    ret[n < 0 ? 0 : n] = '\0';
    return n < 0 ? 0 : (size_t)n;
}

/* The next frame that the host gets; its type, 0 for none. */
static uint8_t frame(struct stage *stage, void *ret_msg, uint32_t *ret_channel)
{
    struct wire_head head;
    const uint8_t *payload;
    size_t room;
    uint8_t *at;
    ssize_t n;

    assert_int_equal(link_flush(&stage->glove->link), 0);
    at = wire_reader_room(&stage->reader, &room);
    n = read(stage->host, at, room);
    if (n > 0)
        wire_reader_fed(&stage->reader, (size_t)n);
    if (wire_reader_next(&stage->reader, &head, &payload) != 1)
        return 0;
    assert_int_equal(msg_decode(head.type, payload, head.size, ret_msg), 0);
    *ret_channel = head.channel;
    return head.type;
}

static void asks_for(struct stage *stage, const char *name, uint32_t address, uint16_t port)
{
    struct msg_connect msg;
    uint32_t channel;

    assert_int_equal(frame(stage, &msg, &channel), MSG_CONNECT);
    assert_string_equal(msg.name, name);
    assert_int_equal(msg.address, address);
    assert_int_equal(msg.port, port);
    assert_int_equal(msg.ask, 7);
    assert_int_equal(stage->conn->state, CONN_ASKED);
}

static void tell(struct stage *stage, uint32_t error)
{
    struct msg_told told = {
        .ask = 7, .error = error, .in = error ? 0 : IN, .out = error ? 0 : OUT
    };

    assert_int_equal(egress_told(stage->glove, &told), 0);
    assert_int_equal(conn_settle(stage->glove), 0);
}

/* Every place of the proxy is free. */
static void has_forgotten(const struct stage *stage)
{
    for (size_t i = 0; i < TALKS_MAX; i++)
        assert_int_equal(stage->glove->egress.proxy.talks[i].step, TALK_FREE);
}

static void the_server_gets(struct stage *stage, const char *text)
{
    struct msg_data data;
    uint32_t channel;

    assert_int_equal(frame(stage, &data, &channel), MSG_DATA);
    assert_int_equal(channel, OUT);
    assert_int_equal(data.bytes.size, strlen(text));
    assert_memory_equal(data.bytes.bytes, text, data.bytes.size);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_a_request_goes_on_before_its_body(void **state)
{
    struct stage stage;
    char heard[64];

    (void)state;
    stage_up(&stage);
    SAY(&stage, "POST http://a.org/x HTTP/1.1\r\nHost: a.org\r\n");
    assert_int_equal(stage.conn->state, CONN_TALKS);
    SAY(&stage, "Content-Length: 4\r\n\r\nbody");
    asks_for(&stage, "a.org", 0, 80);
    tell(&stage, 0);
    assert_int_equal(stage.conn->state, CONN_OPEN);
    has_forgotten(&stage);
    the_server_gets(&stage, "POST /x HTTP/1.1\r\nHost: a.org\r\nContent-Length: 4\r\n"
                            "Connection: close\r\n\r\n");
    assert_int_equal(channel_events(stage.conn->out), POLLIN);
    assert_int_equal(stage.conn->out->credit,
                     WIRE_CREDIT_START - strlen("POST /x HTTP/1.1\r\nHost: a.org\r\n"
                                                "Content-Length: 4\r\nConnection: close\r\n\r\n"));
    assert_int_equal(channel_serve(stage.conn->out, &stage.glove->link), 0);
    the_server_gets(&stage, "body");
    assert_int_equal(hear(&stage, heard, sizeof(heard)), 0);
    stage_down(&stage);
}

static void test_a_head_waits_for_room_on_the_link(void **state)
{
    static const uint8_t full[LINK_QUEUE_SIZE / 2 - WIRE_HEAD_SIZE] = { 0 };
    struct msg_data data = { .bytes = { sizeof(full), full } };
    struct stage stage;
    struct msg_data seen;
    uint32_t channel;

    (void)state;
    stage_up(&stage);
    SAY(&stage, "GET http://a.org/ HTTP/1.0\r\n\r\n");
    asks_for(&stage, "a.org", 0, 80);
    assert_int_equal(link_send(&stage.glove->link, MSG_DATA, 2, 0, &data), 0);
    tell(&stage, 0);
    assert_int_equal(channel_events(stage.conn->out), -1);
    assert_int_equal(frame(&stage, &seen, &channel), MSG_DATA);
    assert_int_equal(channel, 2);
    assert_int_equal(conn_settle(stage.glove), 0);
    the_server_gets(&stage, "GET / HTTP/1.0\r\nHost: a.org\r\nConnection: close\r\n\r\n");
    has_forgotten(&stage);
    stage_down(&stage);
}

static void test_a_server_that_is_gone_before_the_head_went_on(void **state)
{
    static const uint8_t full[LINK_QUEUE_SIZE / 2 - WIRE_HEAD_SIZE] = { 0 };
    struct msg_data data = { .bytes = { sizeof(full), full } };
    struct msg_hang_up hang_up = { .ask = 7 };
    struct stage stage;

    (void)state;
    stage_up(&stage);
    SAY(&stage, "GET http://a.org/ HTTP/1.0\r\n\r\n");
    asks_for(&stage, "a.org", 0, 80);
    assert_int_equal(link_send(&stage.glove->link, MSG_DATA, 2, 0, &data), 0);
    tell(&stage, 0);
    assert_int_equal(conn_hang_up(stage.glove, &hang_up), 0);
    assert_int_equal(stage.conn->state, CONN_FREE);
    has_forgotten(&stage);
    assert_int_equal(conn_settle(stage.glove), 0);
    stage_down(&stage);
}

static void test_a_tunnel_byte_by_byte(void **state)
{
    static const char request[] = "CONNECT A.org:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n";
    struct stage stage;
    char heard[64];

    (void)state;
    stage_up(&stage);
    for (size_t i = 0; i < sizeof(request) - 1; i++)
        say_len(&stage, request + i, 1);
    asks_for(&stage, "a.org", 0, 443);
    assert_int_equal(write(stage.program, "early", 5), 5);
    tell(&stage, 0);
    assert_int_equal(hear(&stage, heard, sizeof(heard)), 39);
    assert_string_equal(heard, "HTTP/1.1 200 Connection established\r\n\r\n");
    has_forgotten(&stage);
    assert_int_equal(channel_serve(stage.conn->out, &stage.glove->link), 0);
    the_server_gets(&stage, "early");
    stage_down(&stage);
}

static void test_socks_with_all_its_words_at_once(void **state)
{
    struct stage stage;
    char heard[64];

    (void)state;
    stage_up(&stage);
    SAY(&stage, "\5\1\0\5\1\0\3\5a.org\1\xbb"
                "early");
    assert_int_equal(hear(&stage, heard, sizeof(heard)), 2);
    assert_memory_equal(heard, "\5\0", 2);
    assert_int_equal(proxy_serve(stage.glove, stage.conn), 0);
    asks_for(&stage, "a.org", 0, 443);
    tell(&stage, 0);
    assert_int_equal(hear(&stage, heard, sizeof(heard)), SOCKS_REPLY_LEN);
    assert_memory_equal(heard, "\5\0\0\1", 4);
    assert_int_equal(channel_serve(stage.conn->out, &stage.glove->link), 0);
    the_server_gets(&stage, "early");
    stage_down(&stage);
}

static void test_an_address_that_stands_for_a_name(void **state)
{
    struct stage stage;
    uint32_t address;

    (void)state;
    stage_up(&stage);
    address = ntohl(names_give(&stage.glove->egress.names, "a.org"));
    assert_int_equal(address, 0xc6120001);
    SAY(&stage, "\5\1\0");
    SAY(&stage, "\5\1\0\1\xc6\x12\0\1\0\x50");
    asks_for(&stage, "a.org", address, 80);
    stage_down(&stage);
}

static void is_told(const char *request, size_t len, uint32_t error, const char *answer,
                    size_t answer_len)
{
    struct stage stage;
    char heard[HTTP_ANSWER_MAX];

    stage_up(&stage);
    say_len(&stage, request, len);
    if (error)
        tell(&stage, error);
    assert_true(hear(&stage, heard, sizeof(heard)) >= answer_len);
    assert_memory_equal(heard, answer, answer_len);
    assert_int_equal(read(stage.program, heard, 1), 0);
    assert_int_equal(stage.conn->state, CONN_FREE);
    has_forgotten(&stage);
    stage_down(&stage);
}
#define IS_TOLD(request, error, answer) \
    is_told(request, sizeof(request) - 1, error, answer, sizeof(answer) - 1)

static void test_refusals(void **state)
{
    (void)state;
    IS_TOLD("GET http://a.org/ HTTP/1.0\r\n\r\n", EACCES, "HTTP/1.1 403 Forbidden\r\n");
    IS_TOLD("GET http://a.org/ HTTP/1.0\r\n\r\n", ECONNREFUSED, "HTTP/1.1 502 Bad Gateway\r\n");
    IS_TOLD("CONNECT a.org:443 HTTP/1.0\r\n\r\n", ETIMEDOUT, "HTTP/1.1 504 Gateway Timeout\r\n");
    IS_TOLD("GET http://b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n", 0, "HTTP/1.1 400 ");
    IS_TOLD("GET http://localhost/ HTTP/1.0\r\n\r\n", 0, "HTTP/1.1 403 ");
    IS_TOLD("\5\1\2", 0, "\5\xff");
    IS_TOLD("\x16\3\1", 0, "");
    IS_TOLD("\4\1\0\x50\1\2\3\4\0", 0, "");
}

static void test_refusals_of_socks(void **state)
{
    struct stage stage;
    char heard[64];

    (void)state;
    stage_up(&stage);
    SAY(&stage, "\5\1\0");
    SAY(&stage, "\5\1\0\3\5a.org\1\xbb");
    assert_int_equal(hear(&stage, heard, sizeof(heard)), 2);
    tell(&stage, EACCES);
    assert_int_equal(hear(&stage, heard, sizeof(heard)), SOCKS_REPLY_LEN);
    assert_memory_equal(heard, "\5\2\0\1", 4);
    has_forgotten(&stage);
    stage_down(&stage);
}

static void test_a_head_without_an_end(void **state)
{
    static char fat[HTTP_HEAD_MAX];
    struct stage stage;
    char heard[HTTP_ANSWER_MAX];

    (void)state;
    memset(fat, 'a', sizeof(fat));
    stage_up(&stage);
    say_len(&stage, fat, sizeof(fat) - 1);
    assert_int_equal(stage.conn->state, CONN_TALKS);
    SAY(&stage, "a");
    assert_true(hear(&stage, heard, sizeof(heard)) > 0);
    assert_memory_equal(heard, "HTTP/1.1 431 ", 13);
    has_forgotten(&stage);
    stage_down(&stage);
}

static void test_one_who_goes_is_forgotten(void **state)
{
    struct stage stage;

    (void)state;
    stage_up(&stage);
    SAY(&stage, "GET htt");
    assert_int_equal(shutdown(stage.program, SHUT_WR), 0);
    assert_int_equal(proxy_serve(stage.glove, stage.conn), 0);
    assert_int_equal(stage.conn->state, CONN_FREE);
    has_forgotten(&stage);
    stage_down(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_goes_on_before_its_body),
        cmocka_unit_test(test_a_head_waits_for_room_on_the_link),
        cmocka_unit_test(test_a_server_that_is_gone_before_the_head_went_on),
        cmocka_unit_test(test_a_tunnel_byte_by_byte),
        cmocka_unit_test(test_socks_with_all_its_words_at_once),
        cmocka_unit_test(test_an_address_that_stands_for_a_name),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refusals_of_socks),
        cmocka_unit_test(test_a_head_without_an_end),
        cmocka_unit_test(test_one_who_goes_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
