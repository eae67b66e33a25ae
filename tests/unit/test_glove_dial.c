/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_dial.c - connections from the host to a port of the box.  The box of these
 * tests shares their network: its servers are sockets of the test. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "glove_box.h"

/* ---- servers -------------------------------------------------------------------------------- */

static int listen_on(int family, uint16_t *ret_port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr *address = family == AF_INET ? (void *)&in : (void *)&in6;
    socklen_t len = family == AF_INET ? sizeof(in) : sizeof(in6);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, address, len) < 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    assert_int_equal(listen(fd, 300), 0);
    assert_int_equal(getsockname(fd, address, &len), 0);
    *ret_port = ntohs(family == AF_INET ? in.sin_port : in6.sin6_port);
    return fd;
}

static int accept_one(int listener)
{
    struct pollfd p = { .fd = listener, .events = POLLIN };
    int fd;

    assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static struct msg_dial dial(struct box *box, uint32_t ask, uint16_t port)
{
    struct msg_dial msg = { .ask = DIAL_ASK | ask, .port = port };

    msg.in = box_stream_open(box);
    msg.out = box_stream_open(box);
    box_send(box, MSG_DIAL, &msg);
    return msg;
}

static int answer_of(struct box *box, const struct msg_dial *msg)
{
    box_wait(box, box->dialled.ask == msg->ask);
    return (int)box->dialled.error;
}

static void hang_up(struct box *box, const struct msg_dial *msg)
{
    struct msg_hang_up end = { .ask = msg->ask };

    box_send(box, MSG_HANG_UP, &end);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void bytes_go_both_ways_and_each_has_its_end(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    struct msg_dial msg = dial(box, 1, port);
    char bytes[16];
    int fd;

    (void)state;
    /* Right behind it, whether it stands or not. */
    box_send_data(box, msg.in, "hello", 5, true);
    assert_int_equal(answer_of(box, &msg), 0);
    fd = accept_one(listener);
    assert_int_equal(fd_read_full(fd, bytes, sizeof(bytes)), 5);
    assert_memory_equal(bytes, "hello", 5);
    assert_int_equal(write(fd, "welcome", 7), 7);
    close(fd);
    box_wait(box, box_stream(box, msg.out)->has_fin);
    assert_string_equal(box_stream(box, msg.out)->bytes, "welcome");
    box_ping(box);
    close(listener);
    box_down(box);
}

static void where_nobody_listens_it_is_refused(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    struct msg_dial msg;

    (void)state;
    close(listen_on(AF_INET, &port));
    msg = dial(box, 7, port);
    box_send_data(box, msg.in, "lost", 4, false);
    assert_int_equal(answer_of(box, &msg), ECONNREFUSED);
    box_wait(box, box_stream(box, msg.out)->has_fin);
    hang_up(box, &msg);
    /* The number and the channels may be used again. */
    box_send(box, MSG_DIAL, &msg);
    box_stream(box, msg.out)->has_fin = false;
    box->dialled.ask = 0;
    assert_int_equal(answer_of(box, &msg), ECONNREFUSED);
    box_send_data(box, msg.in, "", 0, true);
    box_ping(box);
    box_down(box);
}

static void one_that_listens_on_the_other_loopback_is_found(void **state)
{
    uint16_t port;
    int listener = listen_on(AF_INET6, &port);
    struct box *box;
    struct msg_dial msg;

    (void)state;
    if (listener < 0)
        skip();
    box = box_up();
    msg = dial(box, 1, port);
    assert_int_equal(answer_of(box, &msg), 0);
    close(accept_one(listener));
    box_wait(box, box_stream(box, msg.out)->has_fin);
    close(listener);
    box_down(box);
}

static void a_host_that_hangs_up_is_noticed(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    struct msg_dial msg = dial(box, 1, port);
    char byte;
    int fd;

    (void)state;
    assert_int_equal(answer_of(box, &msg), 0);
    fd = accept_one(listener);
    hang_up(box, &msg);
    assert_int_equal(fd_read_full(fd, &byte, 1), -ECONNRESET);
    box_wait(box, box_stream(box, msg.out)->has_fin);
    close(fd);
    close(listener);
    box_down(box);
}

static void a_server_that_goes_is_told_of(void **state)
{
    static const char bytes[65536];
    struct box *box = box_up();
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    struct msg_dial msg = dial(box, 9, port);
    int fd;

    (void)state;
    assert_int_equal(answer_of(box, &msg), 0);
    fd = accept_one(listener);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    assert_int_equal(write(fd, "last", 4), 4);
    close(fd);
    box_wait(box, box->hung_up.ask == msg.ask && box->hung_up.error == ECONNRESET);
    assert_int_equal(box_stream(box, msg.out)->len, 4);
    assert_false(box_stream(box, msg.out)->has_fin);
    /* What crossed with it is nobody's. */
    box_send_data(box, msg.in, bytes, sizeof(bytes), false);
    hang_up(box, &msg);
    box_wait(box, box_stream(box, msg.out)->has_fin);
    box_ping(box);
    close(listener);
    box_down(box);
}

/* As many as there may be, to a server that has said all and reads nothing. */
static void a_place_is_free_when_the_host_has_done_with_it(void **state)
{
    static char bytes[65536];
    static int fds[DIALS_MAX + 1];
    struct box *box = box_up();
    int small = 4096;
    uint16_t port;
    int listener = listen_on(AF_INET, &port);

    (void)state;
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    for (uint32_t i = 0; i <= DIALS_MAX; i++) {
        struct msg_dial msg = dial(box, i, port);

        assert_int_equal(answer_of(box, &msg), 0);
        fds[i] = accept_one(listener);
        assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
        box_wait(box, box_stream(box, msg.out)->has_fin);
        box_stream(box, msg.out)->number = 0;
        for (int k = 0; k < 4; k++)
            box_send_data(box, msg.in, bytes, sizeof(bytes), k == 3);
    }
    box_ping(box);
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        close(fds[i]);
    close(listener);
    box_down(box);
}

static void a_slow_server_holds_its_own_connection_up_and_no_other(void **state)
{
    static char bytes[65536];
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    struct msg_dial slow = dial(box, 1, port);
    struct msg_dial quick;
    uint64_t sent = 0;
    uint64_t got = 0;
    int fds[2];

    (void)state;
    assert_int_equal(answer_of(box, &slow), 0);
    fds[0] = accept_one(listener);
    /* As far as its credit goes. */
    for (; sent < WIRE_CREDIT_START; sent += sizeof(bytes))
        box_send_data(box, slow.in, bytes, sizeof(bytes), false);
    quick = dial(box, 2, port);
    assert_int_equal(answer_of(box, &quick), 0);
    fds[1] = accept_one(listener);
    box_send_data(box, quick.in, "quick", 5, true);
    assert_int_equal(fd_read_full(fds[1], bytes, 16), 5);
    box_send_data(box, slow.in, "", 0, true);
    for (ssize_t n; (n = read(fds[0], bytes, sizeof(bytes))) > 0;)
        got += (uint64_t)n;
    assert_int_equal(got, sent);
    close(fds[0]);
    close(fds[1]);
    close(listener);
    box_down(box);
}

static uint64_t credit_left(const struct box *box, uint64_t sent)
{
    return WIRE_CREDIT_START + box->credit - sent;
}

/* Numbers that tell where in the stream they stand. */
static void fill(uint32_t *words, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n; i++)
        words[i] = (uint32_t)(at / sizeof(*words) + i);
}

#define WORDS (WIRE_PAYLOAD_MAX / sizeof(uint32_t))

static uint64_t send_one(struct box *box, uint32_t channel, uint64_t at)
{
    uint32_t words[WORDS];

    fill(words, WORDS, at);
    box_send_data(box, channel, words, sizeof(words), false);
    return at + sizeof(words);
}

static uint64_t read_one(int fd, uint64_t at)
{
    uint32_t words[WORDS];
    uint32_t got[WORDS];

    fill(words, WORDS, at);
    assert_int_equal(fd_read_full(fd, got, sizeof(got)), sizeof(got));
    assert_memory_equal(got, words, sizeof(got));
    return at + sizeof(got);
}

static void one_that_carries_much_may_have_more_under_way(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    struct msg_dial msg = dial(box, 1, port);
    uint64_t sent = 0;
    uint64_t got = 0;
    int fd;

    (void)state;
    assert_int_equal(answer_of(box, &msg), 0);
    fd = accept_one(listener);
    while (sent < 8 * (uint64_t)WIRE_CREDIT_START) {
        sent = send_one(box, msg.in, sent);
        got = read_one(fd, got);
        box_ping(box);
        assert_true(credit_left(box, sent) <= WIRE_CREDIT_WIDE);
    }
    assert_true(credit_left(box, sent) > 2 * WIRE_CREDIT_START);
    /* Nobody reads any more: there is an end to it, and every byte of it arrives. */
    while (credit_left(box, sent) >= WIRE_PAYLOAD_MAX) {
        sent = send_one(box, msg.in, sent);
        box_ping(box);
    }
    box_send_data(box, msg.in, "", 0, true);
    while (got < sent)
        got = read_one(fd, got);
    assert_int_equal(read(fd, &got, 1), 0);
    close(fd);
    close(listener);
    box_wait(box, box_stream(box, msg.out)->has_fin);
    box_down(box);
}

/* More than there are wide spills: the last one goes on with the credit that it has. */
static void only_a_few_at_a_time_do(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    int fds[WIDES_MAX + 1];
    uint64_t credit = 0;

    (void)state;
    for (uint32_t i = 0; i < WIDES_MAX + 1; i++) {
        struct msg_dial msg = { .ask = DIAL_ASK | (i + 1), .port = port, .in = 1000 + 2 * i };
        uint64_t at = 0;

        msg.out = box_stream_open(box);
        box_send(box, MSG_DIAL, &msg);
        assert_int_equal(answer_of(box, &msg), 0);
        fds[i] = accept_one(listener);
        credit = box->credit;
        while (at < 8 * (uint64_t)WIRE_CREDIT_START) {
            (void)send_one(box, msg.in, at);
            at = read_one(fds[i], at);
            box_ping(box);
        }
        credit = WIRE_CREDIT_START + box->credit - credit - at;
        assert_int_equal(credit > WIRE_CREDIT_START, i < WIDES_MAX);
    }
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        close(fds[i]);
    close(listener);
    box_down(box);
}

static void as_many_as_there_may_be_stand_at_once(void **state)
{
    struct box *box = box_up();
    uint16_t port;
    int listener = listen_on(AF_INET, &port);
    static int fds[DIALS_MAX];
    struct msg_dial msgs[DIALS_MAX];

    (void)state;
    for (uint32_t i = 0; i < DIALS_MAX; i++) {
        msgs[i] = dial(box, i + 1, port);
        assert_int_equal(answer_of(box, &msgs[i]), 0);
        fds[i] = accept_one(listener);
    }
    /* In one breath: the place of the one that ends is the next one's. */
    hang_up(box, &msgs[DIALS_MAX - 1]);
    msgs[0] = dial(box, DIALS_MAX + 1, port);
    assert_int_equal(answer_of(box, &msgs[0]), 0);
    close(accept_one(listener));
    for (uint32_t i = 0; i < DIALS_MAX; i++)
        close(fds[i]);
    close(listener);
    /* The streams of so many are not kept: only the end is looked at. */
    close(box->fd);
    assert_int_equal(waitpid(box->pid, NULL, 0), box->pid);
    box_remove_dir(box);
    free(box);
}

static void dial_ends_it(const struct msg_dial *msg)
{
    struct box *box = box_up();

    box_send(box, MSG_DIAL, msg);
    box_expect_end(box);
}

static void what_makes_no_sense_ends_it(void **state)
{
    const struct msg_dial wrong[] = {
        { .ask = 1, .port = 80, .in = 2, .out = 4 }, /* a number of the box's */
        { .ask = DIAL_ASK | 1, .port = 0, .in = 2, .out = 4 },
        { .ask = DIAL_ASK | 1, .port = 65536, .in = 2, .out = 4 },
        { .ask = DIAL_ASK | 1, .port = 80, .in = 3, .out = 4 },
        { .ask = DIAL_ASK | 1, .port = 80, .in = 2, .out = 2 },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(wrong); i++)
        dial_ends_it(&wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways_and_each_has_its_end),
        cmocka_unit_test(where_nobody_listens_it_is_refused),
        cmocka_unit_test(one_that_listens_on_the_other_loopback_is_found),
        cmocka_unit_test(a_host_that_hangs_up_is_noticed),
        cmocka_unit_test(a_server_that_goes_is_told_of),
        cmocka_unit_test(a_place_is_free_when_the_host_has_done_with_it),
        cmocka_unit_test(a_slow_server_holds_its_own_connection_up_and_no_other),
        cmocka_unit_test(one_that_carries_much_may_have_more_under_way),
        cmocka_unit_test(only_a_few_at_a_time_do),
        cmocka_unit_test(as_many_as_there_may_be_stand_at_once),
        cmocka_unit_test(what_makes_no_sense_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
