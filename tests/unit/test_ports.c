/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_ports.c - ports of the host that lead to a box: what people write, and what a link with
 * a glove of the test's sees of connections. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/buf.h"
#include "box/ports.h"
#include "box/tie.h"
#include "evil_glove.h"

/* ---- what people write ---------------------------------------------------------------------- */

static void a_port_is_read_and_written(void **state)
{
    static const struct {
        const char *text;
        const char *ip;
        uint16_t host;
        uint16_t box;
        const char *again;
    } rows[] = {
        { "8080:3000", "127.0.0.1", 8080, 3000, "127.0.0.1:8080:3000" },
        { "0:1", "127.0.0.1", 0, 1, "127.0.0.1:0:1" },
        { "127.255.255.254:65535:65535", "127.255.255.254", 65535, 65535,
          "127.255.255.254:65535:65535" },
        { "[::1]:80:81", "::1", 80, 81, "[::1]:80:81" },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        cleanup_buf struct buf text = BUF_INIT(128);
        struct gb_err err = { 0 };
        struct port port;

        assert_int_equal(port_parse(rows[i].text, &port, &err), 0);
        assert_string_equal(port.ip, rows[i].ip);
        assert_int_equal(port.host, rows[i].host);
        assert_int_equal(port.box, rows[i].box);
        port_put(&port, &text);
        assert_string_equal(text.data, rows[i].again);
    }
}

static void what_is_no_port_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "x",
        "1",
        ":",
        "1:",
        ":1",
        "70000:1",
        "1:70000",
        "1:0",
        "-1:1",
        "1:2:3:4",
        "1:2:3",
        "a:1:2",
        "127.1:1:2",
        "::1:1:2",
        "[::1:1:2",
        "[]:1:2",
        "[1.2.3.4]:1:2",
        "8080:30 ",
        " 8080:3000",
        "0x10:1",
        "8080:3000,1",
        "1.2.3.4.5:1:2",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        struct gb_err err = { 0 };
        struct port port;

        if (port_parse(texts[i], &port, &err) == 0)
            fail_msg("'%s' is taken for a port", texts[i]);
        assert_int_equal(err.blame, GB_BLAME_CALLER);
    }
}

/* One that others can reach, or could some day. */
static void only_loopback_is_listened_on(void **state)
{
    static const char *const texts[] = {
        "0.0.0.0:8080:3000",   "192.168.1.2:0:1", "8.8.8.8:1:2",
        "126.255.255.255:1:2", "128.0.0.1:1:2",   "[::]:1:2",
        "[::2]:1:2",           "[fe80::1]:1:2",   "[2001:db8::1]:1:2",
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        struct gb_err err = { 0 };
        struct port port;

        assert_int_equal(port_parse(texts[i], &port, &err), -EPERM);
        assert_non_null(strstr(err.msg, "loopback"));
        assert_non_null(strstr(err.msg, "reverse proxy"));
    }
}

static void a_list_is_what_was_written(void **state)
{
    struct port ports[BOX_PORTS_MAX];
    struct gb_err err = { 0 };
    size_t n = 0;

    (void)state;
    assert_int_equal(port_parse_list("127.0.0.1:1:2,[::1]:3:4", ports, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(ports[1].box, 4);
    assert_true(port_parse_list("127.0.0.1:1:2,x", ports, &n, &err) < 0);
}

static void a_port_in_use_says_so(void **state)
{
    struct port first = { .ip = "127.0.0.1" };
    struct port second;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(port_listen(&first, &err), 0);
    assert_true(first.host > 0);
    second = (struct port){ .ip = "127.0.0.1", .host = first.host, .fd = -1 };
    assert_int_equal(port_listen(&second, &err), -EADDRINUSE);
    assert_non_null(strstr(err.msg, "in use"));
    close(first.fd);
}

/* ---- connections ---------------------------------------------------------------------------- */

struct world {
    struct evil evil;
    struct port port;
    struct ports *ports;
};

static void world_up(struct world *w)
{
    struct gb_err err = { 0 };

    evil_up(&w->evil);
    evil_greet(&w->evil);
    w->port = (struct port){ .ip = "127.0.0.1", .box = 3000 };
    assert_int_equal(port_listen(&w->port, &err), 0);
    assert_int_equal(ports_new(w->evil.link, &w->port, 1, &w->ports, &err), 0);
}

static void world_down(struct world *w)
{
    ports_free(w->ports);
    evil_down(&w->evil);
}

static int client_new(const struct world *w)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(w->port.host),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* Serves the link until the glove has something to read. */
static void serve_until_told(struct world *w)
{
    struct pollfd p = { .fd = w->evil.fd, .events = POLLIN };
    uint64_t deadline = clock_after_ms(10000);

    while (poll(&p, 1, 0) == 0) {
        assert_true(link_pump(w->evil.link, deadline, NULL, 0, &w->evil.err) >= 0);
        assert_true(clock_poll_ms(deadline) != 0);
    }
}

/* The next frame that the glove gets, which is of that type. */
static struct wire_head next(struct world *w, uint8_t type, void *ret)
{
    static uint8_t payload[WIRE_PAYLOAD_MAX];
    struct wire_head head;

    serve_until_told(w);
    assert_int_equal(evil_read(&w->evil, &head, payload), type);
    assert_int_equal(msg_decode(type, payload, head.size, ret), 0);
    return head;
}

static void pump(struct world *w)
{
    assert_true(evil_pump(&w->evil) >= 0);
}

static void tell_dialled(struct world *w, uint32_t ask, uint32_t error)
{
    struct msg_dialled msg = { .ask = ask, .error = error };

    evil_msg(&w->evil, MSG_DIALLED, &msg);
    pump(w);
}

static void a_connection_is_carried_both_ways(void **state)
{
    struct world w;
    struct msg_dial dial;
    struct msg_data data;
    struct wire_head head;
    char bytes[16];
    int fd;

    (void)state;
    world_up(&w);
    fd = client_new(&w);
    (void)next(&w, MSG_DIAL, &dial);
    assert_int_equal(dial.port, 3000);
    assert_true(dial.ask & DIAL_ASK);
    /* Not even an answer is waited for. */
    assert_int_equal(write(fd, "ping", 4), 4);
    head = next(&w, MSG_DATA, &data);
    assert_int_equal(head.channel, dial.in);
    assert_memory_equal(data.bytes.bytes, "ping", 4);
    tell_dialled(&w, dial.ask, 0);
    evil_data(&w.evil, dial.out, "pong", 4, false);
    pump(&w);
    assert_int_equal(fd_read_full(fd, bytes, 4), 4);
    assert_memory_equal(bytes, "pong", 4);
    /* Half an end each way, and the rest still comes. */
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    head = next(&w, MSG_DATA, &data);
    assert_int_equal(head.flags, WIRE_FLAG_FIN);
    evil_data(&w.evil, dial.out, "last", 4, true);
    pump(&w);
    assert_int_equal(fd_read_full(fd, bytes, sizeof(bytes)), 4);
    close(fd);
    world_down(&w);
}

static void one_that_nobody_answers_is_reset(void **state)
{
    struct world w;
    struct msg_dial dial;
    struct msg_hang_up end;
    char byte;
    int fd;

    (void)state;
    world_up(&w);
    fd = client_new(&w);
    (void)next(&w, MSG_DIAL, &dial);
    tell_dialled(&w, dial.ask, ECONNREFUSED);
    (void)next(&w, MSG_HANG_UP, &end);
    assert_int_equal(end.ask, dial.ask);
    assert_int_equal(read(fd, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    world_down(&w);
}

static void a_client_that_breaks_off_is_told_of(void **state)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    struct world w;
    struct msg_dial dial;
    struct msg_hang_up end;
    int fd;

    (void)state;
    world_up(&w);
    fd = client_new(&w);
    (void)next(&w, MSG_DIAL, &dial);
    tell_dialled(&w, dial.ask, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    close(fd);
    (void)next(&w, MSG_HANG_UP, &end);
    assert_int_equal(end.ask, dial.ask);
    world_down(&w);
}

/* Who reads no more may still have something to say. */
static void a_deaf_server_is_heard_to_its_end(void **state)
{
    struct world w;
    struct msg_dial dial;
    struct msg_data data;
    struct msg_hung_up deaf;
    char bytes[16];
    int fd;

    (void)state;
    world_up(&w);
    fd = client_new(&w);
    (void)next(&w, MSG_DIAL, &dial);
    tell_dialled(&w, dial.ask, 0);
    deaf.ask = dial.ask;
    evil_msg(&w.evil, MSG_HUNG_UP, &deaf);
    pump(&w);
    assert_int_equal(next(&w, MSG_DATA, &data).flags, WIRE_FLAG_FIN);
    evil_data(&w.evil, dial.out, "rest", 4, true);
    pump(&w);
    assert_int_equal(fd_read_full(fd, bytes, sizeof(bytes)), 4);
    close(fd);
    world_down(&w);
}

/* A client that does not read costs a channel's credit, and gets all of it when it does. */
static void a_slow_client_is_waited_for(void **state)
{
    static uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct world w;
    struct msg_dial dial;
    uint64_t got = 0;
    int fd;

    (void)state;
    world_up(&w);
    fd = client_new(&w);
    (void)next(&w, MSG_DIAL, &dial);
    tell_dialled(&w, dial.ask, 0);
    for (size_t i = 0; i < WIRE_CREDIT_START / sizeof(bytes); i++) {
        evil_data(&w.evil, dial.out, bytes, sizeof(bytes), false);
        pump(&w);
    }
    evil_data(&w.evil, dial.out, NULL, 0, true);
    pump(&w);
    while (got < WIRE_CREDIT_START) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        pump(&w);
        assert_true(n > 0 || errno == EAGAIN);
        got += n > 0 ? (uint64_t)n : 0;
    }
    assert_int_equal(got, WIRE_CREDIT_START);
    close(fd);
    world_down(&w);
}

/* More than may be wait where they listen, and come when there is room. */
static void too_many_wait(void **state)
{
    static int fds[PORTS_CONNS_MAX + 3];
    static uint32_t asks[PORTS_CONNS_MAX];
    struct world w;
    struct msg_dial dial;
    struct msg_hang_up end;

    (void)state;
    world_up(&w);
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        fds[i] = client_new(&w);
    for (size_t i = 0; i < N_ELEMENTS(asks); i++) {
        (void)next(&w, MSG_DIAL, &dial);
        asks[i] = dial.ask;
        tell_dialled(&w, dial.ask, 0);
    }
    assert_int_equal(link_pump(w.evil.link, 0, NULL, 0, &w.evil.err), 0);
    tell_dialled(&w, asks[0], 0); /* said twice: no harm */
    tell_dialled(&w, asks[0], ECONNREFUSED);
    (void)next(&w, MSG_HANG_UP, &end);
    (void)next(&w, MSG_DIAL, &dial);
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        close(fds[i]);
    world_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_read_and_written),
        cmocka_unit_test(what_is_no_port_is_refused),
        cmocka_unit_test(only_loopback_is_listened_on),
        cmocka_unit_test(a_list_is_what_was_written),
        cmocka_unit_test(a_port_in_use_says_so),
        cmocka_unit_test(a_connection_is_carried_both_ways),
        cmocka_unit_test(one_that_nobody_answers_is_reset),
        cmocka_unit_test(a_client_that_breaks_off_is_told_of),
        cmocka_unit_test(a_deaf_server_is_heard_to_its_end),
        cmocka_unit_test(a_slow_client_is_waited_for),
        cmocka_unit_test(too_many_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
