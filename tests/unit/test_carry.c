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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_leaves_half_of_the_descriptors_to_the_program_around_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
