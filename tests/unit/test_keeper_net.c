/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_keeper_net.c - the network of a box behind a keeper: who answers its glove, who may
 * dial, and what becomes of connections when he goes. */
#include <sys/stat.h>

#include "keeper_world.h"

#define DIAL(n) (DIAL_ASK | (n))

/* ---- the server ----------------------------------------------------------------------------- */

static int serves(struct world *w, struct peer *c)
{
    struct msg_serve serve = { .seq = 3 };
    struct msg_error error;
    struct msg_ok ok;

    peer_send(c, MSG_SERVE, 0, 0, &serve);
    assert_int_equal(world_turn(w), 0);
    if (peer_next(c) == MSG_OK) {
        assert_int_equal(msg_decode(MSG_OK, c->payload, c->head.size, &ok), 0);
        assert_int_equal(ok.seq, 3);
        return 0;
    }
    assert_int_equal(c->head.type, MSG_ERROR);
    assert_int_equal(msg_decode(MSG_ERROR, c->payload, c->head.size, &error), 0);
    assert_int_equal(error.seq, 3);
    return (int)error.error;
}

static void server_up(struct world *w, struct peer *c)
{
    world_up(w);
    client_greeted(w, c);
    assert_int_equal(serves(w, c), 0);
}

static void glove_connects(struct world *w, uint32_t ask)
{
    struct msg_connect msg = { .ask = ask, .address = 0x7f000001, .port = 80, .name = "one.test" };

    peer_send(&w->glove, MSG_CONNECT, 0, 0, &msg);
    assert_int_equal(world_turn(w), 0);
}

/* A connection of a program that the server has allowed, as the glove knows it. */
static struct msg_told connected(struct world *w, struct peer *c, uint32_t ask, uint32_t channel)
{
    struct msg_told told = { .ask = ask, .in = channel, .out = channel + 2 };
    struct msg_connect msg;

    glove_connects(w, ask);
    peer_expect(c, MSG_CONNECT, &msg);
    assert_int_equal(msg.ask, ask);
    assert_string_equal(msg.name, "one.test");
    peer_send(c, MSG_TOLD, 0, 0, &told);
    assert_int_equal(world_turn(w), 0);
    peer_expect(&w->glove, MSG_TOLD, &told);
    assert_int_equal(told.ask, ask);
    assert_int_equal(told.error, 0);
    return told;
}

/* One that the server wants, as the glove knows it. */
static struct msg_dial dialled(struct world *w, struct peer *c, uint32_t ask, uint32_t channel)
{
    struct msg_dial dial = { .ask = ask, .port = 3000, .in = channel, .out = channel + 2 };
    struct msg_dialled answer = { 0 };

    peer_send(c, MSG_DIAL, 0, 0, &dial);
    assert_int_equal(world_turn(w), 0);
    peer_expect(&w->glove, MSG_DIAL, &dial);
    assert_int_equal(dial.port, 3000);
    assert_true(dial.ask & DIAL_ASK);
    answer.ask = dial.ask;
    peer_send(&w->glove, MSG_DIALLED, 0, 0, &answer);
    assert_int_equal(world_turn(w), 0);
    peer_expect(c, MSG_DIALLED, &answer);
    assert_int_equal(answer.ask, ask);
    assert_int_equal(answer.error, 0);
    return dial;
}

static size_t n_asks(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < N_ELEMENTS(w->keeper->asks); i++)
        n += w->keeper->asks[i].number != 0;
    return n;
}

static void expect_data(struct peer *peer, uint32_t channel, size_t size, uint8_t flags)
{
    struct msg_data data;

    peer_expect(peer, MSG_DATA, &data);
    assert_int_equal(peer->head.channel, channel);
    assert_int_equal(peer->head.flags, flags);
    assert_int_equal(data.bytes.size, size);
}

/* ---- questions ------------------------------------------------------------------------------ */

static void without_a_server_there_is_no_network(void **state)
{
    struct msg_lookup lookup = { .ask = 1, .name = "one.test" };
    struct world w;
    struct peer c;
    struct msg_told told;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    peer_send(&w.glove, MSG_LOOKUP, 0, 0, &lookup);
    glove_connects(&w, 2);
    for (uint32_t ask = 1; ask <= 2; ask++) {
        peer_expect(&w.glove, MSG_TOLD, &told);
        assert_int_equal(told.ask, ask);
        assert_int_equal(told.error, ENETDOWN);
    }
    assert_int_equal(peer_next(&c), 0);
    assert_int_equal(n_asks(&w), 0);
    peer_close(&c);
    world_down(&w);
}

static void there_is_one_server_at_a_time(void **state)
{
    struct world w;
    struct peer c[2];

    (void)state;
    server_up(&w, &c[0]);
    client_greeted(&w, &c[1]);
    assert_int_equal(serves(&w, &c[1]), EBUSY);
    answers(&w, &c[1]);
    peer_close(&c[0]);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(serves(&w, &c[1]), 0);
    peer_close(&c[1]);
    world_down(&w);
}

static void a_look_up_is_answered_once(void **state)
{
    struct msg_lookup lookup = { .ask = 7, .name = "one.test" };
    struct msg_told told = { .ask = 7, .in = 2, .out = 4 };
    struct world w;
    struct peer c;

    (void)state;
    server_up(&w, &c);
    peer_send(&w.glove, MSG_LOOKUP, 0, 0, &lookup);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_LOOKUP, &lookup);
    assert_string_equal(lookup.name, "one.test");
    peer_send(&c, MSG_TOLD, 0, 0, &told);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_TOLD, &told);
    assert_int_equal(told.in + told.out, 0); /* a look-up has no channels */
    assert_int_equal(n_asks(&w), 0);
    peer_send(&c, MSG_TOLD, 0, 0, &told);
    assert_int_equal(world_turn(&w), 0);
    assert_true(is_put_out(&c));
    world_down(&w);
}

static void a_connection_has_numbers_of_its_own_and_ends_both_ways(void **state)
{
    struct world w;
    struct peer c;
    struct msg_told told;

    (void)state;
    server_up(&w, &c);
    told = connected(&w, &c, 9, 2);
    assert_int_equal(told.in, FIRST_CHANNEL);
    assert_int_equal(told.out, FIRST_CHANNEL + 2);
    peer_data(&c, 2, 10, 0);
    peer_data(&w.glove, told.out, 20, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    expect_data(&w.glove, told.in, 10, 0);
    expect_data(&c, 4, 20, WIRE_FLAG_FIN);
    assert_int_equal(n_asks(&w), 1);
    peer_data(&c, 2, 0, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    expect_data(&w.glove, told.in, 0, WIRE_FLAG_FIN);
    assert_int_equal(n_asks(&w), 0);
    assert_int_equal(w.keeper->n_routes, 0);
    peer_close(&c);
    world_down(&w);
}

static void a_refused_connection_has_no_channels(void **state)
{
    struct msg_told told = { .ask = 5, .error = EACCES, .in = 2, .out = 4 };
    struct msg_connect msg;
    struct world w;
    struct peer c;

    (void)state;
    server_up(&w, &c);
    glove_connects(&w, 5);
    peer_expect(&c, MSG_CONNECT, &msg);
    peer_send(&c, MSG_TOLD, 0, 0, &told);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_TOLD, &told);
    assert_int_equal(told.error, EACCES);
    assert_int_equal(told.in + told.out, 0);
    assert_int_equal(n_asks(&w) + w.keeper->n_routes, 0);
    peer_close(&c);
    world_down(&w);
}

static void both_sides_can_hang_up(void **state)
{
    struct msg_hung_up from_box = { .ask = 9, .error = ECONNRESET };
    struct msg_hang_up from_us = { .ask = 9 };
    struct world w;
    struct peer c;
    struct msg_told told;

    (void)state;
    server_up(&w, &c);
    told = connected(&w, &c, 9, 2);
    peer_send(&w.glove, MSG_HUNG_UP, 0, 0, &from_box);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_HUNG_UP, &from_box);
    assert_int_equal(from_box.ask, 9);
    assert_int_equal(from_box.error, ECONNRESET);
    peer_send(&c, MSG_HANG_UP, 0, 0, &from_us);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_HANG_UP, &from_us);
    assert_int_equal(from_us.ask, 9);
    assert_int_equal(n_asks(&w), 0);
    /* What the glove had still to say comes; then nothing is left. */
    peer_data(&w.glove, told.out, 3, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    expect_data(&c, 4, 3, WIRE_FLAG_FIN);
    assert_int_equal(w.keeper->n_routes, 0);
    /* A word that crossed with it is no harm. */
    peer_send(&w.glove, MSG_HUNG_UP, 0, 0, &from_box);
    peer_send(&c, MSG_HANG_UP, 0, 0, &from_us);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&c), 0);
    assert_int_equal(peer_next(&w.glove), 0);
    peer_close(&c);
    world_down(&w);
}

/* ---- dialling ------------------------------------------------------------------------------- */

static void the_server_dials_and_others_may_not(void **state)
{
    struct world w;
    struct peer c;
    struct peer other;
    struct msg_dial dial;

    (void)state;
    server_up(&w, &c);
    dial = dialled(&w, &c, DIAL(77), 2);
    assert_int_equal(dial.in, FIRST_CHANNEL);
    peer_data(&c, 2, 10, WIRE_FLAG_FIN);
    peer_data(&w.glove, dial.out, 20, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    expect_data(&w.glove, dial.in, 10, WIRE_FLAG_FIN);
    expect_data(&c, 4, 20, WIRE_FLAG_FIN);
    assert_int_equal(n_asks(&w) + w.keeper->n_routes, 0);
    client_greeted(&w, &other);
    dial = (struct msg_dial){ .ask = DIAL(1), .port = 80, .in = 2, .out = 4 };
    peer_send(&other, MSG_DIAL, 0, 0, &dial);
    assert_int_equal(world_turn(&w), 0);
    assert_true(is_put_out(&other));
    peer_close(&other);
    peer_close(&c);
    world_down(&w);
}

static void a_dial_that_fails_is_forgotten_when_its_server_hangs_up(void **state)
{
    struct msg_dial dial = { .ask = DIAL(5), .port = 80, .in = 2, .out = 4 };
    struct msg_dialled answer = { .error = ECONNREFUSED };
    struct msg_hang_up end = { .ask = DIAL(5) };
    struct world w;
    struct peer c;

    (void)state;
    server_up(&w, &c);
    peer_send(&c, MSG_DIAL, 0, 0, &dial);
    peer_data(&c, 2, 100, 0); /* right behind it */
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_DIAL, &dial);
    expect_data(&w.glove, dial.in, 100, 0);
    answer.ask = dial.ask;
    peer_send(&w.glove, MSG_DIALLED, 0, 0, &answer);
    peer_data(&w.glove, dial.out, 0, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_DIALLED, &answer);
    assert_int_equal(answer.error, ECONNREFUSED);
    peer_send(&c, MSG_HANG_UP, 0, 0, &end);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_HANG_UP, &end);
    assert_int_equal(end.ask, dial.ask);
    assert_int_equal(n_asks(&w) + w.keeper->n_routes, 0);
    peer_close(&c);
    world_down(&w);
}

static void more_dials_than_the_glove_takes_are_refused_here(void **state)
{
    struct world w;
    struct peer c;
    struct msg_dial dial;
    struct msg_dialled answer;

    (void)state;
    server_up(&w, &c);
    for (uint32_t i = 0; i < KEEPER_DIALS_MAX; i++)
        (void)dialled(&w, &c, DIAL(i), 2 + 4 * i);
    dial = (struct msg_dial){ .ask = DIAL(9999), .port = 80, .in = 9002, .out = 9004 };
    peer_send(&c, MSG_DIAL, 0, 0, &dial);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_DIALLED, &answer);
    assert_int_equal(answer.ask, DIAL(9999));
    assert_int_equal(answer.error, EAGAIN);
    assert_int_equal(peer_next(&w.glove), 0);
    answers(&w, &c);
    peer_close(&c);
    world_down(&w);
}

/* ---- many ----------------------------------------------------------------------------------- */

/* As many as a glove has, beside the run of another client; each finds its own way. */
static void every_connection_finds_its_way(void **state)
{
    enum {
        MANY = 256
    };
    static struct msg_told told[MANY];
    struct world w;
    struct peer c;
    struct peer other;

    (void)state;
    server_up(&w, &c);
    client_greeted(&w, &other);
    (void)started(&w, &other, &(struct msg_run){ .seq = 4, .in = 2, .out = 4, .err = 6 });
    for (uint32_t i = 0; i < MANY; i++)
        told[i] = connected(&w, &c, 1 + i, 2 + 4 * i);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t at = i * 101 % MANY; /* each once, in another order */

        peer_data(&w.glove, told[at].out, 1 + at, 0);
        peer_data(&c, 2 + 4 * at, 1000 + at, 0);
        assert_int_equal(world_turn(&w), 0);
        expect_data(&c, 4 + 4 * at, 1 + at, 0);
        expect_data(&w.glove, told[at].in, 1000 + at, 0);
    }
    assert_int_equal(peer_next(&other), 0);
    peer_close(&other);
    peer_close(&c);
    world_down(&w);
}

/* ---- the end of a server -------------------------------------------------------------------- */

static void with_the_server_everything_of_the_network_ends(void **state)
{
    struct msg_dial waiting = { .ask = DIAL(2), .port = 80, .in = 22, .out = 24 };
    struct world w;
    struct peer c;
    struct peer other;
    struct msg_told told;
    struct msg_told refused;
    struct msg_dial dial;
    struct msg_hang_up end;
    struct msg_credit credit;
    unsigned ends = 0;

    (void)state;
    server_up(&w, &c);
    client_greeted(&w, &other);
    told = connected(&w, &c, 9, 2);
    dial = dialled(&w, &c, DIAL(1), 12);
    peer_send(&c, MSG_DIAL, 0, 0, &waiting);
    glove_connects(&w, 10); /* not answered */
    peer_expect(&w.glove, MSG_DIAL, &waiting);
    peer_close(&c);
    assert_int_equal(world_turn(&w), 0);
    for (int type; (type = peer_next(&w.glove)) > 0;) {
        if (type == MSG_TOLD) {
            assert_int_equal(msg_decode(type, w.glove.payload, w.glove.head.size, &refused), 0);
            assert_int_equal(refused.ask, 10);
            assert_int_equal(refused.error, ENETDOWN);
            ends |= 1;
        } else if (type == MSG_HANG_UP) {
            assert_int_equal(msg_decode(type, w.glove.payload, w.glove.head.size, &end), 0);
            ends |= end.ask == 9             ? 2u
                    : end.ask == dial.ask    ? 4u
                    : end.ask == waiting.ask ? 8u
                                             : 16u;
        } else {
            /* No FIN: a hung up connection has no way in any more. */
            assert_int_equal(type, MSG_CREDIT);
        }
    }
    assert_int_equal(ends, 15);
    assert_int_equal(n_asks(&w), 0);
    /* What was under way is thrown away and paid for, and nobody else sees it. */
    peer_data(&w.glove, told.out, 500, 0);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_CREDIT, &credit);
    assert_int_equal(credit.bytes, 500);
    peer_data(&w.glove, told.out, 0, WIRE_FLAG_FIN);
    peer_data(&w.glove, dial.out, 0, WIRE_FLAG_FIN);
    peer_data(&w.glove, waiting.out, 0, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(w.keeper->n_routes, 0);
    answers(&w, &other);
    peer_close(&other);
    world_down(&w);
}

/* Late words for a server who has left are not taken for those of the next. */
static void the_next_server_gets_nothing_of_the_last_ones(void **state)
{
    struct world w;
    struct peer c[2];
    struct msg_dial dial[2];
    struct msg_hung_up late;

    (void)state;
    server_up(&w, &c[0]);
    dial[0] = dialled(&w, &c[0], DIAL(1), 2);
    peer_close(&c[0]);
    assert_int_equal(world_turn(&w), 0);
    while (peer_next(&w.glove) > 0)
        continue;
    client_greeted(&w, &c[1]);
    assert_int_equal(serves(&w, &c[1]), 0);
    dial[1] = dialled(&w, &c[1], DIAL(1), 2);
    assert_int_not_equal(dial[0].ask, dial[1].ask);
    late = (struct msg_hung_up){ .ask = dial[0].ask };
    peer_send(&w.glove, MSG_HUNG_UP, 0, 0, &late);
    peer_data(&w.glove, dial[0].out, 10, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&c[1]), 0);
    peer_close(&c[1]);
    world_down(&w);
}

/* No FIN of it comes any more: its server must not wait for one. */
static void a_glove_that_ends_no_channel_comes_to_the_last(void **state)
{
    struct world w;
    struct peer c;
    struct msg_connect msg;
    struct msg_told told = { .ask = 1, .in = 2, .out = 4 };
    struct msg_hung_up over;
    struct msg_hang_up end = { .ask = 1 };

    (void)state;
    server_up(&w, &c);
    while (w.keeper->n_routes < KEEPER_PLACES - KEEPER_ROUTES_MAX - 1) {
        (void)connected(&w, &c, end.ask, told.in);
        peer_send(&c, MSG_HANG_UP, 0, 0, &end);
        assert_int_equal(world_turn(&w), 0);
        peer_expect(&w.glove, MSG_HANG_UP, &end);
        told.in += 4;
    }
    glove_connects(&w, end.ask);
    peer_expect(&c, MSG_CONNECT, &msg);
    told.out = told.in + 2;
    peer_send(&c, MSG_TOLD, 0, 0, &told);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_TOLD, &told);
    assert_int_equal(told.error, EAGAIN);
    peer_expect(&c, MSG_HUNG_UP, &over);
    assert_int_equal(over.ask, end.ask);
    assert_int_equal(over.error, EAGAIN);
    peer_close(&c);
    world_down(&w);
}

/* ---- lies ----------------------------------------------------------------------------------- */

static void asks_twice(const struct peer *glove)
{
    struct msg_lookup msg = { .ask = 9, .name = "x" };

    peer_send(glove, MSG_LOOKUP, 0, 0, &msg);
}

static void asks_with_zero(const struct peer *glove)
{
    struct msg_lookup msg = { .ask = 0, .name = "x" };

    peer_send(glove, MSG_LOOKUP, 0, 0, &msg);
}

static void asks_with_a_number_of_the_hosts(const struct peer *glove)
{
    struct msg_connect msg = { .ask = DIAL(3), .port = 80, .name = "x" };

    peer_send(glove, MSG_CONNECT, 0, 0, &msg);
}

static void answers_what_was_answered(const struct peer *glove)
{
    struct msg_dialled msg = { .ask = DIAL(0) };

    peer_send(glove, MSG_DIALLED, 0, 0, &msg);
}

static void asks_on_a_channel(const struct peer *glove)
{
    struct msg_lookup msg = { .ask = 20, .name = "x" };

    peer_send(glove, MSG_LOOKUP, 2, 0, &msg);
}

static void a_glove_that_lies_about_its_network_is_lost(void **state)
{
    static void (*const lies[])(const struct peer *glove) = {
        asks_twice,
        asks_with_zero,
        asks_with_a_number_of_the_hosts,
        asks_on_a_channel,
        answers_what_was_answered,
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(lies); i++) {
        struct world w;
        struct peer c;

        server_up(&w, &c);
        (void)connected(&w, &c, 9, 2);
        (void)dialled(&w, &c, DIAL(1), 12);
        lies[i](&w.glove);
        if (world_turn(&w) >= 0)
            fail_msg("lie %zu is believed", i);
        peer_close(&c);
        world_down(&w);
    }
}

static void a_glove_that_asks_without_end_is_lost(void **state)
{
    struct msg_lookup msg = { .name = "x" };
    struct world w;
    struct peer c;

    (void)state;
    server_up(&w, &c);
    for (msg.ask = 1; msg.ask <= KEEPER_ASKS_MAX; msg.ask++) {
        peer_send(&w.glove, MSG_LOOKUP, 0, 0, &msg);
        assert_int_equal(world_turn(&w), 0);
    }
    peer_send(&w.glove, MSG_LOOKUP, 0, 0, &msg);
    assert_true(world_turn(&w) < 0);
    peer_close(&c);
    world_down(&w);
}

static void tells_what_was_not_asked(const struct peer *c)
{
    struct msg_told msg = { .ask = 55 };

    peer_send(c, MSG_TOLD, 0, 0, &msg);
}

static void tells_with_a_channel_in_use(const struct peer *c)
{
    struct msg_told msg = { .ask = 10, .in = 2, .out = 40 };

    peer_send(c, MSG_TOLD, 0, 0, &msg);
}

static void tells_with_an_odd_channel(const struct peer *c)
{
    struct msg_told msg = { .ask = 10, .in = 41, .out = 40 };

    peer_send(c, MSG_TOLD, 0, 0, &msg);
}

static void hangs_up_what_was_not_answered(const struct peer *c)
{
    struct msg_hang_up msg = { .ask = 10 };

    peer_send(c, MSG_HANG_UP, 0, 0, &msg);
}

static void dials_with_a_number_of_the_boxs(const struct peer *c)
{
    struct msg_dial msg = { .ask = 3, .port = 80, .in = 40, .out = 42 };

    peer_send(c, MSG_DIAL, 0, 0, &msg);
}

static void dials_no_port(const struct peer *c)
{
    struct msg_dial msg = { .ask = DIAL(3), .port = 65536, .in = 40, .out = 42 };

    peer_send(c, MSG_DIAL, 0, 0, &msg);
}

static void dials_twice(const struct peer *c)
{
    struct msg_dial msg = { .ask = DIAL(1), .port = 80, .in = 40, .out = 42 };

    peer_send(c, MSG_DIAL, 0, 0, &msg);
}

static void a_server_that_breaks_the_protocol_loses_his_place_and_nothing_else(void **state)
{
    static void (*const breaches[])(const struct peer *c) = {
        tells_what_was_not_asked,
        tells_with_a_channel_in_use,
        tells_with_an_odd_channel,
        hangs_up_what_was_not_answered,
        dials_with_a_number_of_the_boxs,
        dials_no_port,
        dials_twice,
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(breaches); i++) {
        struct world w;
        struct peer c;
        struct peer other;

        server_up(&w, &c);
        client_greeted(&w, &other);
        (void)connected(&w, &c, 9, 2);
        (void)dialled(&w, &c, DIAL(1), 12);
        glove_connects(&w, 10);
        breaches[i](&c);
        assert_int_equal(world_turn(&w), 0);
        if (!is_put_out(&c))
            fail_msg("breach %zu goes through", i);
        assert_null(w.keeper->server);
        assert_int_equal(n_asks(&w), 0);
        while (peer_next(&w.glove) > 0)
            continue;
        answers(&w, &other);
        peer_close(&other);
        peer_close(&c);
        world_down(&w);
    }
}

/* ---- who is there --------------------------------------------------------------------------- */

static void a_server_who_runs_nothing_is_there_for_others(void **state)
{
    char path[] = "/tmp/glovebox-keeper-XXXXXX";
    struct peer server;
    struct peer other;
    struct world w;
    int boxes;

    (void)state;
    assert_non_null(mkdtemp(path));
    boxes = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(boxes >= 0);
    server_up(&w, &server);
    assert_true(keeper_is_cut_off(w.keeper, boxes, "b_gone"));
    client_greeted(&w, &other);
    assert_false(keeper_is_cut_off(w.keeper, boxes, "b_gone"));
    peer_close(&other);
    assert_int_equal(world_turn(&w), 0);
    assert_true(keeper_is_cut_off(w.keeper, boxes, "b_gone"));
    /* A task in a user's box has a network of its own. */
    (void)started(&w, &server, &(struct msg_run){ .seq = 4, .out = 2, .err = 4 });
    assert_false(keeper_is_cut_off(w.keeper, boxes, "b_gone"));
    close(boxes);
    assert_int_equal(rmdir(path), 0);
    peer_close(&server);
    world_down(&w);
}

static void who_can_be_found_is_not_cut_off(void **state)
{
    char path[] = "/tmp/glovebox-keeper-XXXXXX";
    struct world w;
    int boxes;

    (void)state;
    assert_non_null(mkdtemp(path));
    boxes = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(boxes, "b_here", 0700), 0);
    assert_int_equal(mknodat(boxes, "b_here/" KEEPER_SOCKET, S_IFREG | 0600, 0), 0);
    world_up(&w);
    assert_false(keeper_is_cut_off(w.keeper, boxes, "b_here"));
    assert_int_equal(unlinkat(boxes, "b_here/" KEEPER_SOCKET, 0), 0);
    assert_true(keeper_is_cut_off(w.keeper, boxes, "b_here"));
    assert_int_equal(unlinkat(boxes, "b_here", AT_REMOVEDIR), 0);
    assert_true(keeper_is_cut_off(w.keeper, boxes, "b_here"));
    close(boxes);
    assert_int_equal(rmdir(path), 0);
    world_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_server_there_is_no_network),
        cmocka_unit_test(there_is_one_server_at_a_time),
        cmocka_unit_test(a_server_who_runs_nothing_is_there_for_others),
        cmocka_unit_test(who_can_be_found_is_not_cut_off),
        cmocka_unit_test(a_look_up_is_answered_once),
        cmocka_unit_test(a_connection_has_numbers_of_its_own_and_ends_both_ways),
        cmocka_unit_test(a_refused_connection_has_no_channels),
        cmocka_unit_test(both_sides_can_hang_up),
        cmocka_unit_test(the_server_dials_and_others_may_not),
        cmocka_unit_test(a_dial_that_fails_is_forgotten_when_its_server_hangs_up),
        cmocka_unit_test(more_dials_than_the_glove_takes_are_refused_here),
        cmocka_unit_test(every_connection_finds_its_way),
        cmocka_unit_test(with_the_server_everything_of_the_network_ends),
        cmocka_unit_test(a_glove_that_ends_no_channel_comes_to_the_last),
        cmocka_unit_test(the_next_server_gets_nothing_of_the_last_ones),
        cmocka_unit_test(a_glove_that_lies_about_its_network_is_lost),
        cmocka_unit_test(a_glove_that_asks_without_end_is_lost),
        cmocka_unit_test(a_server_that_breaks_the_protocol_loses_his_place_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
