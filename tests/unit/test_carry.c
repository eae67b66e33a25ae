/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_carry.c - the network of a box in a program that has few descriptors. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>

#include "box/carry.h"
#include "evil_glove.h"

#define FILES  64u
#define PLACES (FILES / 2)
#define ASKED  (PLACES + 8)

/* A server of this test's own, and the rule that allows it. */
static int listen_at(uint16_t *ret_port, char rule[static 32])
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, (int)FILES), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    (void)snprintf(rule, 32, "127.0.0.1:%u", *ret_port);
    return fd;
}

static void glove_connects(const struct evil *evil, uint16_t port)
{
    for (uint32_t ask = 1; ask <= ASKED; ask++)
        evil_msg(evil, MSG_CONNECT,
                 &(struct msg_connect){
                     .ask = ask, .address = INADDR_LOOPBACK, .port = port, .name = "" });
}

static void a_box_leaves_half_of_the_descriptors_to_the_program_around_it(void **state)
{
    static uint8_t payload[WIRE_PAYLOAD_MAX];
    struct rlimit few;
    struct net_policy policy;
    struct carry_spec spec = { .policy = &policy };
    struct carry *carry;
    struct wire_head head;
    struct evil evil;
    uint16_t port;
    char rule[32];
    int server = listen_at(&port, rule);

    (void)state;
    evil_up(&evil);
    evil_greet(&evil);
    assert_int_equal(net_policy_parse(rule, &policy, &evil.err), 0);
    /* The hard limit stays: valgrind lets nobody lower it. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(carry_new(evil.link, &spec, &carry, &evil.err), 0);
    glove_connects(&evil, port);
    /* All questions are read before any connection is looked at. */
    assert_true(link_pump(evil.link, 0, NULL, 0, &evil.err) > 0);
    assert_true(evil_pump(&evil) >= 0);
    for (uint32_t ask = PLACES + 1; ask <= ASKED; ask++) {
        assert_int_equal(evil_read(&evil, &head, payload), MSG_TOLD);
        assert_int_equal(wire_get_u32(payload), ask);
        assert_int_equal(wire_get_u32(payload + 4), EAGAIN);
    }
    /* The others have what they asked for. */
    for (uint32_t ask = 1; ask <= PLACES; ask++) {
        assert_int_equal(evil_read(&evil, &head, payload), MSG_TOLD);
        assert_int_equal(wire_get_u32(payload + 4), 0);
    }
    carry_free(carry);
    net_policy_clear(&policy);
    evil_down(&evil);
    close(server);
}

/* Pumps until the glove has a frame of that type; where a TOLD has the channel out of the box. */
static uint32_t await_frame(struct evil *evil, uint8_t type)
{
    static uint8_t payload[WIRE_PAYLOAD_MAX];
    struct pollfd in = { .fd = evil->fd, .events = POLLIN };
    struct wire_head head;

    while (poll(&in, 1, 0) == 0)
        assert_true(link_pump(evil->link, clock_after_ms(100), NULL, 0, &evil->err) >= 0);
    assert_int_equal(evil_read(evil, &head, payload), type);
    return type == MSG_TOLD ? wire_get_u32(payload + 12) : 0;
}

static void a_server_that_only_talks_takes_nothing(void **state)
{
    struct net_policy policy;
    struct carry_spec spec = { .policy = &policy };
    struct carry *carry;
    struct evil evil;
    uint64_t before;
    uint64_t sent;
    uint32_t out;
    uint16_t port;
    char rule[32];
    int listener = listen_at(&port, rule);
    int server;

    (void)state;
    evil_up(&evil);
    evil_greet(&evil);
    assert_int_equal(net_policy_parse(rule, &policy, &evil.err), 0);
    assert_int_equal(carry_new(evil.link, &spec, &carry, &evil.err), 0);
    assert_false(carry_is_sending(carry, &before));
    evil_msg(
        &evil, MSG_CONNECT,
        &(struct msg_connect){ .ask = 1, .address = INADDR_LOOPBACK, .port = port, .name = "" });
    out = await_frame(&evil, MSG_TOLD);
    server = accept(listener, NULL, NULL);
    assert_true(carry_is_sending(carry, &before));
    assert_int_equal(send(server, "go on\n", 6, 0), 6);
    (void)await_frame(&evil, MSG_DATA);
    assert_true(carry_is_sending(carry, &sent));
    assert_int_equal(sent, before);
    evil_data(&evil, out, "well\n", 5, false);
    assert_true(evil_pump(&evil) >= 0);
    assert_true(carry_is_sending(carry, &sent));
    assert_int_equal(sent, before + 5);
    carry_free(carry);
    net_policy_clear(&policy);
    evil_down(&evil);
    close(server);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_only_talks_takes_nothing),
        cmocka_unit_test(a_box_leaves_half_of_the_descriptors_to_the_program_around_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
