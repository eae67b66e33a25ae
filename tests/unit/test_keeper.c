/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_keeper.c - one link shared by many: numbers, credit, and who loses what. */
#include <stdio.h>

#include "keeper_world.h"

/* ---- numbers -------------------------------------------------------------------------------- */

static void each_client_is_told_numbers_of_its_own(void **state)
{
    struct world w;
    struct peer c[2];
    struct msg_welcome welcome[2];

    (void)state;
    world_up(&w);
    for (size_t i = 0; i < 2; i++)
        client_up(&w, &c[i], &welcome[i]);
    assert_true(welcome[0].first_run > 0);
    assert_true(welcome[1].first_run >= welcome[0].first_run + welcome[0].n_runs);
    assert_int_equal(welcome[0].clients, 0);
    assert_int_equal(welcome[1].clients, 1);
    assert_int_equal(welcome[1].ttl_ms, 1234);
    for (size_t i = 0; i < 2; i++)
        peer_close(&c[i]);
    world_down(&w);
}

static void numbers_are_changed_both_ways(void **state)
{
    struct world w;
    struct peer c;
    struct msg_run run;
    struct msg_data data;
    struct msg_exit end;
    struct msg_signal word = { .seq = 5, .run = 4, .signo = 15 };

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    run = started(&w, &c, &(struct msg_run){ .seq = 4, .in = 2, .out = 4, .err = 6 });
    assert_int_equal(run.seq, FIRST_SEQ);
    assert_int_equal(run.in, FIRST_CHANNEL);
    assert_int_equal(run.out, FIRST_CHANNEL + 2);
    assert_int_equal(run.err, FIRST_CHANNEL + 4);
    peer_data(&w.glove, run.err, 10, WIRE_FLAG_FIN);
    peer_data(&c, 2, 7, 0);
    peer_send(&c, MSG_SIGNAL, 0, 0, &word);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_DATA, &data);
    assert_int_equal(c.head.channel, 6);
    assert_int_equal(c.head.flags, WIRE_FLAG_FIN);
    assert_int_equal(data.bytes.size, 10);
    peer_expect(&w.glove, MSG_DATA, &data);
    assert_int_equal(w.glove.head.channel, run.in);
    peer_expect(&w.glove, MSG_SIGNAL, &word);
    assert_int_equal(word.run, run.seq);
    assert_int_equal(keeper_n_runs(w.keeper), 1);
    end_run(&w, run.seq);
    peer_expect(&c, MSG_EXIT, &end);
    assert_int_equal(end.run, 4);
    assert_int_equal(keeper_n_runs(w.keeper), 0);
    peer_close(&c);
    world_down(&w);
}

static void two_with_the_same_numbers_get_their_own(void **state)
{
    struct world w;
    struct peer c[2];
    struct msg_run run[2];
    struct msg_data data;

    (void)state;
    world_up(&w);
    for (size_t i = 0; i < 2; i++) {
        client_greeted(&w, &c[i]);
        run[i] = started(&w, &c[i], &(struct msg_run){ .seq = 9, .out = 2 });
    }
    assert_int_not_equal(run[0].seq, run[1].seq);
    assert_int_not_equal(run[0].out, run[1].out);
    for (size_t i = 0; i < 2; i++)
        peer_data(&w.glove, run[i].out, 100 + i, 0);
    assert_int_equal(world_turn(&w), 0);
    for (size_t i = 0; i < 2; i++) {
        peer_expect(&c[i], MSG_DATA, &data);
        assert_int_equal(data.bytes.size, 100 + i);
        assert_int_equal(c[i].head.channel, 2);
        assert_int_equal(peer_next(&c[i]), 0);
        peer_close(&c[i]);
    }
    world_down(&w);
}

/* Numbers that come around meet those who stayed. */
static void a_number_in_use_is_not_given_again(void **state)
{
    struct world w;
    struct peer c[3];
    struct msg_run run[2];

    (void)state;
    world_up(&w);
    client_greeted(&w, &c[0]);
    w.keeper->next_seq = UINT32_MAX;
    w.keeper->next_channel = UINT32_MAX - 1;
    run[0] = started(&w, &c[0], &(struct msg_run){ .seq = 1, .out = 2, .err = 4 });
    assert_int_equal(run[0].seq, UINT32_MAX);
    assert_int_equal(run[0].err, 2);
    w.keeper->next_serial = KEEPER_SERIALS_MAX;
    client_greeted(&w, &c[1]);
    client_greeted(&w, &c[2]);
    w.keeper->next_seq = UINT32_MAX;
    w.keeper->next_channel = UINT32_MAX - 1;
    run[1] = started(&w, &c[2], &(struct msg_run){ .seq = 1, .out = 2 });
    assert_int_equal(run[1].seq, 1);
    assert_int_equal(run[1].out, 4);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(w.keeper->clients[i]->serial, w.keeper->clients[j]->serial);
        peer_close(&c[i]);
    }
    world_down(&w);
}

/* ---- credit --------------------------------------------------------------------------------- */

static void credit_goes_through_both_ways(void **state)
{
    struct world w;
    struct peer c;
    struct msg_run run;
    struct msg_credit credit;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    run = started(&w, &c, &(struct msg_run){ .seq = 1, .in = 2, .out = 4 });
    peer_credit(&c, 4, 1000);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_CREDIT, &credit);
    assert_int_equal(w.glove.head.channel, run.out);
    assert_int_equal(credit.bytes, 1000);
    for (size_t i = 0; i < WIRE_CREDIT_START / WIRE_PAYLOAD_MAX; i++) {
        struct msg_data data;

        peer_data(&c, 2, WIRE_PAYLOAD_MAX, 0);
        assert_int_equal(world_turn(&w), 0);
        peer_expect(&w.glove, MSG_DATA, &data);
    }
    peer_credit(&w.glove, run.in, WIRE_PAYLOAD_MAX);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_CREDIT, &credit);
    assert_int_equal(c.head.channel, 2);
    peer_data(&c, 2, WIRE_PAYLOAD_MAX, 0);
    assert_int_equal(world_turn(&w), 0);
    assert_false(is_put_out(&c));
    /* That was all he had. */
    peer_data(&c, 2, 1, 0);
    assert_int_equal(world_turn(&w), 0);
    assert_true(is_put_out(&c));
    peer_close(&c);
    world_down(&w);
}

/* ---- limits --------------------------------------------------------------------------------- */

static void full_tables_refuse_and_lose_nobody(void **state)
{
    struct world w;
    struct peer c;
    struct msg_error refusal;
    struct msg_run run;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    for (uint32_t i = 0; i < KEEPER_ROUTES_MAX / 3; i++)
        (void)started(
            &w, &c,
            &(struct msg_run){ .seq = 1 + i, .in = 6 * i + 2, .out = 6 * i + 4, .err = 6 * i + 6 });
    send_run(&c, &(struct msg_run){ .seq = 900, .out = 9000 });
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_ERROR, &refusal);
    assert_int_equal(refusal.seq, 900);
    assert_int_equal(refusal.error, EAGAIN);
    /* What he sent behind it in good faith is for nobody. */
    peer_data(&c, 9000, 10, 0);
    for (uint32_t i = KEEPER_ROUTES_MAX / 3; i < KEEPER_REQUESTS_MAX; i++)
        (void)started(&w, &c, &(struct msg_run){ .seq = 1 + i });
    send_run(&c, &(struct msg_run){ .seq = 901 });
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&c, MSG_ERROR, &refusal);
    assert_int_equal(refusal.seq, 901);
    assert_int_equal(peer_next(&w.glove), 0);
    /* One that has ended gives its place. */
    end_run(&w, FIRST_SEQ);
    assert_int_equal(peer_next(&c), MSG_EXIT);
    assert_int_equal(peer_next(&w.glove), MSG_DATA); /* the end of its input */
    run = started(&w, &c, &(struct msg_run){ .seq = 902 });
    assert_true(run.seq > FIRST_SEQ);
    peer_close(&c);
    world_down(&w);
}

static void more_clients_than_there_is_room_for_are_turned_away(void **state)
{
    struct world w;
    static struct peer c[KEEPER_CLIENTS_MAX];
    struct msg_welcome welcome;
    int pair[2];
    char byte;

    (void)state;
    world_up(&w);
    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++)
        client_up(&w, &c[i], &welcome);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    keeper_welcome(w.keeper, pair[0]);
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0);
    close(pair[1]);
    assert_int_equal(keeper_n_clients(w.keeper), KEEPER_CLIENTS_MAX);
    peer_close(&c[7]);
    assert_int_equal(world_turn(&w), 0);
    client_up(&w, &c[7], &welcome);
    for (size_t i = 0; i < KEEPER_CLIENTS_MAX; i++)
        peer_close(&c[i]);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(keeper_n_clients(w.keeper), 0);
    world_down(&w);
}

/* ---- clients that break the protocol -------------------------------------------------------- */

static void send_raw(const struct peer *c, uint8_t type, uint32_t size, uint32_t channel,
                     uint8_t flags)
{
    uint8_t bytes[WIRE_HEAD_SIZE + 64] = { 0 };
    struct wire_head head = { .size = size, .type = type, .flags = flags, .channel = channel };

    wire_head_put(bytes, &head);
    assert_int_equal(fd_write_full(c->fd, bytes, WIRE_HEAD_SIZE + (size > 64 ? 64 : size)), 0);
}

static void an_unknown_type(const struct peer *c)
{
    send_raw(c, 200, 0, 0, 0);
}

static void a_frame_too_large(const struct peer *c)
{
    send_raw(c, MSG_PING, WIRE_PAYLOAD_MAX + 1, 0, 0);
}

static void a_payload_too_short(const struct peer *c)
{
    send_raw(c, MSG_PING, 3, 0, 0);
}

static void the_wrong_direction(const struct peer *c)
{
    struct msg_ok ok = { .seq = FIRST_SEQ };

    peer_send(c, MSG_OK, 0, 0, &ok);
}

static void a_plan(const struct peer *c)
{
    send_raw(c, MSG_GO, 0, 0, 0);
}

static void a_second_greeting(const struct peer *c)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };

    peer_send(c, MSG_HELLO, 0, 0, &hello);
}

static void what_only_the_maker_may_say(const struct peer *c)
{
    struct msg_limits limits = { .seq = 3 };

    peer_send(c, MSG_LIMITS, 0, 0, &limits);
}

static void a_request_on_a_channel(const struct peer *c)
{
    struct msg_ping ping = { .seq = 3 };

    peer_send(c, MSG_PING, 2, 0, &ping);
}

static void an_odd_channel(const struct peer *c)
{
    send_run(c, &(struct msg_run){ .seq = 3, .out = 7 });
}

static void one_channel_twice(const struct peer *c)
{
    send_run(c, &(struct msg_run){ .seq = 3, .out = 8, .err = 8 });
}

static void descriptors_that_did_not_come(const struct peer *c)
{
    send_run(c, &(struct msg_run){ .seq = 3, .n_fds = 2 });
}

static void a_group_without_its_descriptor(const struct peer *c)
{
    send_run(c, &(struct msg_run){ .seq = 3, .flags = RUN_FLAG_GROUP });
}

static void data_against_the_stream(const struct peer *c)
{
    peer_data(c, 4, 1, 0);
}

static void credit_against_the_stream(const struct peer *c)
{
    peer_credit(c, 2, 1);
}

static void who_breaks_the_protocol_loses_only_himself(void **state)
{
    static void (*const crimes[])(const struct peer *c) = {
        an_unknown_type,
        a_frame_too_large,
        a_payload_too_short,
        the_wrong_direction,
        a_plan,
        a_second_greeting,
        what_only_the_maker_may_say,
        a_request_on_a_channel,
        an_odd_channel,
        one_channel_twice,
        descriptors_that_did_not_come,
        a_group_without_its_descriptor,
        data_against_the_stream,
        credit_against_the_stream,
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(crimes); i++) {
        struct world w;
        struct peer good;
        struct peer bad;

        world_up(&w);
        client_greeted(&w, &good);
        (void)started(&w, &good, &(struct msg_run){ .seq = 1, .in = 2, .out = 4 });
        client_greeted(&w, &bad);
        (void)started(&w, &bad, &(struct msg_run){ .seq = 1, .in = 2, .out = 4 });
        crimes[i](&bad);
        assert_int_equal(world_turn(&w), 0);
        if (!is_put_out(&bad))
            fail_msg("crime %zu has no consequence", i);
        while (peer_next(&w.glove) > 0)
            continue;
        assert_int_equal(keeper_n_clients(w.keeper), 1);
        answers(&w, &good);
        peer_close(&bad);
        peer_close(&good);
        world_down(&w);
    }
}

static void before_the_greeting_nothing_is_passed_on(void **state)
{
    struct world w;
    struct peer c;
    struct msg_welcome welcome;
    struct msg_ping ping = { .seq = 1 };
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION + 1 };

    (void)state;
    world_up(&w);
    client_up(&w, &c, &welcome);
    peer_send(&c, MSG_PING, 0, 0, &ping);
    assert_int_equal(world_turn(&w), 0);
    assert_true(is_put_out(&c));
    peer_close(&c);
    client_up(&w, &c, &welcome);
    peer_send(&c, MSG_HELLO, 0, 0, &hello);
    assert_int_equal(world_turn(&w), 0);
    assert_true(is_put_out(&c));
    assert_int_equal(peer_next(&w.glove), 0);
    peer_close(&c);
    world_down(&w);
}

static void nobody_ends_the_runs_of_another(void **state)
{
    struct world w;
    struct peer c[2];
    struct msg_run run;
    struct msg_signal word = { .seq = 50, .signo = 9 };
    struct msg_kill kill = { .seq = 51 };
    struct msg_resize size = { .seq = 52, .rows = 24, .cols = 80 };
    struct msg_error refusal;
    struct msg_ok ok;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c[0]);
    client_greeted(&w, &c[1]);
    run = started(&w, &c[0], &(struct msg_run){ .seq = 4 });
    for (size_t i = 0; i < 2; i++) {
        word.run = kill.run = size.run = i == 0 ? 4 : run.seq;
        peer_send(&c[1], MSG_SIGNAL, 0, 0, &word);
        peer_send(&c[1], MSG_RESIZE, 0, 0, &size);
        peer_send(&c[1], MSG_KILL, 0, 0, &kill);
        assert_int_equal(world_turn(&w), 0);
        peer_expect(&c[1], MSG_ERROR, &refusal);
        assert_int_equal(refusal.error, ESRCH);
        peer_expect(&c[1], MSG_ERROR, &refusal);
        assert_int_equal(refusal.seq, 52);
        assert_int_equal(refusal.error, ESRCH);
        peer_expect(&c[1], MSG_OK, &ok);
        assert_int_equal(ok.seq, 51);
    }
    /* Nor all at once, which 0 would mean to the glove. */
    kill.run = 0;
    peer_send(&c[1], MSG_KILL, 0, 0, &kill);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&w.glove), 0);
    peer_close(&c[0]);
    peer_close(&c[1]);
    world_down(&w);
}

static void descriptors_of_a_run_go_with_it(void **state)
{
    struct world w;
    struct peer c;
    static char packed[16];
    struct msg_run run = { .seq = 3, .n_fds = 1, .flags = RUN_FLAG_GROUP, .cwd = "/" };
    uint8_t bytes[256];
    int fds[FD_PASS_MAX];
    size_t n_fds = FD_PASS_MAX;
    int pipe_fds[2];
    char byte;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, packed, 16, &run.argv), 0);
    peer_send_fds(&c, MSG_RUN, 0, 0, &run, &pipe_fds[1], 1);
    close(pipe_fds[1]);
    assert_int_equal(world_turn(&w), 0);
    assert_true(fd_recv(w.glove.fd, bytes, sizeof(bytes), fds, &n_fds, MSG_DONTWAIT) > 0);
    assert_int_equal(n_fds, 1);
    assert_int_equal(write(fds[0], "x", 1), 1);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    close(fds[0]);
    /* The keeper holds none back. */
    assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
    close(pipe_fds[0]);
    peer_close(&c);
    world_down(&w);
}

/* ---- clients that stop reading -------------------------------------------------------------- */

/* Fills the queue of a client and the socket before it, until the glove is not heard any more. */
static void flood(struct world *w, const uint32_t *channels, size_t n)
{
    for (size_t i = 0; !w->keeper->is_held; i++) {
        assert_true(i < 1000);
        peer_data(&w->glove, channels[i % n], WIRE_PAYLOAD_MAX, 0);
        assert_int_equal(world_turn(w), 0);
    }
}

static void who_stops_reading_holds_the_others_up_until_he_is_put_out(void **state)
{
    struct world w;
    struct peer good;
    struct peer deaf;
    struct msg_run run[2];
    struct msg_data data;
    struct pollfd polls[KEEPER_POLLS_MAX];
    uint64_t deadline_ns = CLOCK_NEVER_NS;

    (void)state;
    world_up(&w);
    client_greeted(&w, &deaf);
    client_greeted(&w, &good);
    run[0] = started(&w, &deaf, &(struct msg_run){ .seq = 1, .out = 2 });
    run[1] = started(&w, &good, &(struct msg_run){ .seq = 1, .out = 2 });
    flood(&w, &run[0].out, 1);
    peer_data(&w.glove, run[1].out, 10, 0);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&good), 0);
    (void)keeper_polls(w.keeper, polls, &deadline_ns);
    assert_int_not_equal(deadline_ns, CLOCK_NEVER_NS);
    assert_int_equal(polls[0].events, 0);
    /* His time is over. */
    w.keeper->stall_ms = 0;
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(keeper_n_clients(w.keeper), 1);
    peer_expect(&good, MSG_DATA, &data);
    assert_int_equal(data.bytes.size, 10);
    assert_true(is_put_out(&deaf));
    assert_int_equal(w.n_lost, 1);
    peer_close(&deaf);
    peer_close(&good);
    world_down(&w);
}

/* Its end is told again by every poll: who does not read must not make that a spin. */
static void a_glove_that_is_gone_waits_for_nobody(void **state)
{
    struct world w;
    struct peer deaf;
    struct msg_run run;

    (void)state;
    world_up(&w);
    client_greeted(&w, &deaf);
    run = started(&w, &deaf, &(struct msg_run){ .seq = 1, .out = 2 });
    flood(&w, &run.out, 1);
    assert_true(w.keeper->is_held);
    peer_close(&w.glove);
    assert_int_equal(world_turn(&w), -EPIPE);
    assert_int_equal(keeper_n_clients(w.keeper), 0);
    peer_close(&deaf);
    world_down(&w);
}

static void who_reads_again_in_time_misses_nothing(void **state)
{
    struct world w;
    struct peer c;
    struct peer other;
    struct msg_run run[2];
    size_t sent = 0;
    size_t got = 0;

    (void)state;
    world_up(&w);
    client_greeted(&w, &other);
    client_greeted(&w, &c);
    run[0] = started(&w, &c, &(struct msg_run){ .seq = 1, .out = 2 });
    run[1] = started(&w, &other, &(struct msg_run){ .seq = 1, .out = 2 });
    for (; !w.keeper->is_held; sent++) {
        peer_data(&w.glove, run[0].out, WIRE_PAYLOAD_MAX, 0);
        assert_int_equal(world_turn(&w), 0);
    }
    peer_data(&w.glove, run[1].out, 1, 0);
    do {
        while (peer_next(&c) > 0)
            got++;
        assert_int_equal(world_turn(&w), 0);
    } while (got < sent && w.keeper->clients[1]);
    assert_int_equal(got, sent);
    assert_int_equal(peer_next(&other), MSG_DATA);
    assert_int_equal(w.keeper->clients[1]->stalled_ns, 0);
    peer_close(&c);
    peer_close(&other);
    world_down(&w);
}

/* So many descriptors in a socket that this user may send no more. */
static void hoard(int fds[static 2])
{
    int many[FD_PASS_MAX];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (size_t i = 0; i < FD_PASS_MAX; i++)
        many[i] = fds[0];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fd_send(fds[0], "x", 1, many, FD_PASS_MAX, 0), 1);
}

/* A soft limit that the kernel has taken: valgrind keeps this one to itself. */
static bool descriptors_are_limited(const struct rlimit *limit)
{
    unsigned long long soft = 0;
    char line[256];
    FILE *limits = fopen("/proc/self/limits", "re");

    assert_non_null(limits);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, limit), 0);
    while (fgets(line, sizeof(line), limits))
        (void)sscanf(line, "Max open files %llu", &soft);
    assert_int_equal(fclose(limits), 0);
    return soft == limit->rlim_cur;
}

/* Any process of the user can bring that about, and nothing has been sent then. */
static void a_run_whose_descriptors_cannot_be_sent_is_refused(void **state)
{
    static char packed[16];
    struct msg_run run = { .seq = 3, .n_fds = 1, .flags = RUN_FLAG_GROUP, .out = 2, .cwd = "/" };
    struct world w;
    struct peer c;
    struct msg_error error;
    struct rlimit before;
    struct rlimit low;
    uid_t uid = geteuid();
    int fds[2];
    int r;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){ .rlim_cur = FD_PASS_MAX, .rlim_max = before.rlim_max };
    bool is_limited = descriptors_are_limited(&low);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!is_limited)
        skip();
    world_up(&w);
    client_greeted(&w, &c);
    assert_int_equal(wire_strs_pack((const char *[]){ "true", NULL }, packed, 16, &run.argv), 0);
    peer_send_fds(&c, MSG_RUN, 0, 0, &run, &c.fd, 1);
    hoard(fds);
    assert_true(descriptors_are_limited(&low));
    /* Root may send any number. */
    assert_int_equal(seteuid(uid ? uid : 65534), 0);
    r = world_turn(&w);
    assert_int_equal(seteuid(uid), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, 0);
    peer_expect(&c, MSG_ERROR, &error);
    assert_int_equal(error.seq, 3);
    assert_int_equal(error.error, EAGAIN);
    assert_int_equal(keeper_n_runs(w.keeper), 0);
    answers(&w, &c);
    close(fds[0]);
    close(fds[1]);
    peer_close(&c);
    world_down(&w);
}

/* Answers that nobody takes are no different from output. */
static void requests_without_reading_the_answers_come_to_an_end(void **state)
{
    struct world w;
    struct peer c;
    struct msg_kill kill = { .seq = 1, .run = 12345 };

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    for (size_t i = 0; keeper_n_clients(w.keeper); i++) {
        uint8_t frame[64];
        int n = msg_encode(MSG_KILL, 0, 0, &kill, frame, sizeof(frame));

        assert_true(i < 1000000);
        if (send(c.fd, frame, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
            assert_int_equal(errno, EAGAIN);
        if (i % 64 == 0)
            assert_int_equal(world_turn(&w), 0);
    }
    peer_close(&c);
    world_down(&w);
}

/* ---- who has left --------------------------------------------------------------------------- */

static void what_a_client_leaves_is_killed_drained_and_paid(void **state)
{
    struct world w;
    struct peer c;
    struct msg_welcome welcome;
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };
    struct msg_run run;
    struct msg_data data;
    struct msg_credit credit;
    struct msg_kill kill;
    struct msg_ok ok = { 0 };

    (void)state;
    world_up(&w);
    client_up(&w, &c, &welcome);
    peer_send(&c, MSG_HELLO, 0, 0, &hello);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&c), MSG_HELLO);
    run = started(&w, &c, &(struct msg_run){ .seq = 1, .in = 2, .out = 4 });
    peer_close(&c);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(w.lost_first, welcome.first_run);
    assert_int_equal(w.lost_n, 1);
    peer_expect(&w.glove, MSG_DATA, &data);
    assert_int_equal(w.glove.head.channel, run.in);
    assert_int_equal(w.glove.head.flags, WIRE_FLAG_FIN);
    peer_expect(&w.glove, MSG_CREDIT, &credit);
    assert_int_equal(w.glove.head.channel, run.out);
    peer_expect(&w.glove, MSG_KILL, &kill);
    assert_int_equal(kill.run, run.seq);
    peer_data(&w.glove, run.out, 5000, 0);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_CREDIT, &credit);
    assert_int_equal(credit.bytes, 5000);
    peer_data(&w.glove, run.out, 0, WIRE_FLAG_FIN);
    ok.seq = kill.seq;
    peer_send(&w.glove, MSG_OK, 0, 0, &ok);
    end_run(&w, run.seq);
    assert_int_equal(peer_next(&w.glove), 0);
    for (size_t i = 0; i < KEEPER_PLACES; i++)
        assert_int_equal(w.keeper->routes[i].number, 0);
    for (size_t i = 0; i < KEEPER_REQUESTS_MAX; i++)
        assert_int_equal(w.keeper->requests[i].seq, 0);
    world_down(&w);
}

/* A run in a group of its own is the group's to kill; one that has ended may have left others. */
static void only_runs_without_a_group_are_killed_by_the_glove(void **state)
{
    struct world w;
    struct peer c;
    struct msg_kill kill;
    struct msg_run ended;
    struct msg_ok ok = { 0 };

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    ended = started(&w, &c, &(struct msg_run){ .seq = 1 });
    end_run(&w, ended.seq);
    assert_int_equal(peer_next(&c), MSG_EXIT);
    (void)started(&w, &c, &(struct msg_run){ .seq = 2 });
    kill = (struct msg_kill){ .seq = 3, .run = 2 };
    peer_send(&c, MSG_KILL, 0, 0, &kill);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_KILL, &kill);
    peer_close(&c);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_KILL, &kill);
    assert_int_equal(kill.run, ended.seq);
    assert_int_equal(peer_next(&w.glove), 0);
    ok.seq = kill.seq;
    peer_send(&w.glove, MSG_OK, 0, 0, &ok);
    assert_int_equal(world_turn(&w), 0);
    world_down(&w);
}

/* His numbers are used in turn: all of them are looked at when he goes. */
static void a_client_runs_as_many_programs_as_he_likes(void **state)
{
    struct world w;
    struct peer c;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    for (uint32_t seq = 1; seq <= KEEPER_RUNS_MAX + 2; seq++) {
        struct msg_run run = started(&w, &c, &(struct msg_run){ .seq = seq });

        end_run(&w, run.seq);
        assert_int_equal(peer_next(&c), MSG_EXIT);
    }
    peer_close(&c);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(w.n_lost, 1);
    assert_int_equal(w.lost_n, KEEPER_RUNS_MAX - 1);
    world_down(&w);
}

static void answers_for_a_client_that_has_gone_are_swallowed(void **state)
{
    struct world w;
    struct peer c;
    struct peer other;
    struct msg_ping ping = { .seq = 1 };
    struct msg_ok ok = { 0 };

    (void)state;
    world_up(&w);
    client_greeted(&w, &other);
    client_greeted(&w, &c);
    peer_send(&c, MSG_PING, 0, 0, &ping);
    assert_int_equal(world_turn(&w), 0);
    peer_expect(&w.glove, MSG_PING, &ping);
    peer_close(&c);
    assert_int_equal(world_turn(&w), 0);
    ok.seq = ping.seq;
    peer_send(&w.glove, MSG_OK, 0, 0, &ok);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&other), 0);
    answers(&w, &other);
    peer_close(&other);
    world_down(&w);
}

/* Its reader is gone, and so may be its writer's patience. */
static void the_input_of_a_run_that_ends_is_ended(void **state)
{
    struct world w;
    struct peer c;
    struct msg_run run;
    struct msg_data data;

    (void)state;
    world_up(&w);
    client_greeted(&w, &c);
    run = started(&w, &c, &(struct msg_run){ .seq = 1, .in = 2 });
    end_run(&w, run.seq);
    peer_expect(&w.glove, MSG_DATA, &data);
    assert_int_equal(w.glove.head.channel, run.in);
    assert_int_equal(w.glove.head.flags, WIRE_FLAG_FIN);
    /* He did not know yet. */
    peer_data(&c, 2, 10, WIRE_FLAG_FIN);
    assert_int_equal(world_turn(&w), 0);
    assert_int_equal(peer_next(&w.glove), 0);
    assert_int_equal(peer_next(&c), MSG_EXIT);
    assert_int_equal(peer_next(&c), 0);
    peer_close(&c);
    world_down(&w);
}

/* ---- a glove that lies ---------------------------------------------------------------------- */

static void answer_for_nobody(const struct peer *glove, const struct msg_run *run)
{
    struct msg_ok ok = { .seq = run->seq + 1 };

    peer_send(glove, MSG_OK, 0, 0, &ok);
}

static void answer_zero(const struct peer *glove, const struct msg_run *run)
{
    struct msg_ok ok = { 0 };

    (void)run;
    peer_send(glove, MSG_OK, 0, 0, &ok);
}

static void second_exit(const struct peer *glove, const struct msg_run *run)
{
    struct msg_exit end = { .run = run->seq };

    peer_send(glove, MSG_EXIT, 0, 0, &end);
    peer_send(glove, MSG_EXIT, 0, 0, &end);
}

static void data_for_nobody(const struct peer *glove, const struct msg_run *run)
{
    peer_data(glove, run->err + 2, 1, 0);
}

static void data_on_zero(const struct peer *glove, const struct msg_run *run)
{
    (void)run;
    peer_data(glove, 0, 1, 0);
}

static void data_on_the_input(const struct peer *glove, const struct msg_run *run)
{
    peer_data(glove, run->in, 1, 0);
}

static void data_after_the_end(const struct peer *glove, const struct msg_run *run)
{
    peer_data(glove, run->out, 1, WIRE_FLAG_FIN);
    peer_data(glove, run->out, 1, 0);
}

static void credit_that_was_not_used(const struct peer *glove, const struct msg_run *run)
{
    peer_credit(glove, run->in, 1);
}

static void credit_for_output(const struct peer *glove, const struct msg_run *run)
{
    peer_credit(glove, run->out, 0);
}

static void a_greeting(const struct peer *glove, const struct msg_run *run)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };

    (void)run;
    peer_send(glove, MSG_HELLO, 0, 0, &hello);
}

static void a_request(const struct peer *glove, const struct msg_run *run)
{
    struct msg_ping ping = { .seq = run->seq };

    peer_send(glove, MSG_PING, 0, 0, &ping);
}

static void junk(const struct peer *glove, const struct msg_run *run)
{
    (void)run;
    send_raw(glove, MSG_OK, 5, 0, 0);
}

static void the_end(const struct peer *glove, const struct msg_run *run)
{
    (void)run;
    assert_int_equal(shutdown(glove->fd, SHUT_RDWR), 0);
}

static void a_glove_that_lies_is_lost(void **state)
{
    static void (*const lies[])(const struct peer *glove, const struct msg_run *run) = {
        answer_for_nobody, answer_zero,       second_exit,        data_for_nobody,
        data_on_zero,      data_on_the_input, data_after_the_end, credit_that_was_not_used,
        credit_for_output, a_greeting,        a_request,          junk,
        the_end,
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(lies); i++) {
        struct world w;
        struct peer c;
        struct msg_run run;

        world_up(&w);
        client_greeted(&w, &c);
        run = started(&w, &c, &(struct msg_run){ .seq = 1, .in = 2, .out = 4, .err = 6 });
        lies[i](&w.glove, &run);
        if (world_turn(&w) >= 0)
            fail_msg("lie %zu is believed", i);
        peer_close(&c);
        world_down(&w);
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

static void any_client_may_have_the_box_destroyed(void **state)
{
    struct world w;
    struct peer c;
    struct msg_welcome welcome;

    (void)state;
    world_up(&w);
    client_up(&w, &c, &welcome);
    send_raw(&c, MSG_DESTROY, 0, 0, 0);
    assert_int_equal(world_turn(&w), 1);
    assert_int_equal(w.keeper->destroyer_fd, w.keeper->clients[0]->fd);
    peer_close(&c);
    world_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_client_is_told_numbers_of_its_own),
        cmocka_unit_test(numbers_are_changed_both_ways),
        cmocka_unit_test(two_with_the_same_numbers_get_their_own),
        cmocka_unit_test(a_number_in_use_is_not_given_again),
        cmocka_unit_test(credit_goes_through_both_ways),
        cmocka_unit_test(full_tables_refuse_and_lose_nobody),
        cmocka_unit_test(more_clients_than_there_is_room_for_are_turned_away),
        cmocka_unit_test(who_breaks_the_protocol_loses_only_himself),
        cmocka_unit_test(before_the_greeting_nothing_is_passed_on),
        cmocka_unit_test(nobody_ends_the_runs_of_another),
        cmocka_unit_test(descriptors_of_a_run_go_with_it),
        cmocka_unit_test(who_stops_reading_holds_the_others_up_until_he_is_put_out),
        cmocka_unit_test(a_glove_that_is_gone_waits_for_nobody),
        cmocka_unit_test(a_run_whose_descriptors_cannot_be_sent_is_refused),
        cmocka_unit_test(who_reads_again_in_time_misses_nothing),
        cmocka_unit_test(requests_without_reading_the_answers_come_to_an_end),
        cmocka_unit_test(what_a_client_leaves_is_killed_drained_and_paid),
        cmocka_unit_test(only_runs_without_a_group_are_killed_by_the_glove),
        cmocka_unit_test(a_client_runs_as_many_programs_as_he_likes),
        cmocka_unit_test(answers_for_a_client_that_has_gone_are_swallowed),
        cmocka_unit_test(the_input_of_a_run_that_ends_is_ended),
        cmocka_unit_test(a_glove_that_lies_is_lost),
        cmocka_unit_test(any_client_may_have_the_box_destroyed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
