/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_link.c - the protocol of a glove: what it answers and what ends it. */
#include "glove_box.h"

/* ---- greetings ------------------------------------------------------------------------------ */

static void hello_comes_back_with_the_nonce(void **state)
{
    struct box *box = box_new();

    (void)state;
    box_greet(box);
    assert_int_equal(box->hello.magic, WIRE_MAGIC);
    assert_int_equal(box->hello.version, WIRE_VERSION);
    box_down(box);
}

static void hello_ends_it(struct msg_hello hello)
{
    struct box *box = box_new();

    box_send(box, MSG_HELLO, &hello);
    box_expect_end(box);
}

static void a_wrong_magic_or_version_ends_it(void **state)
{
    (void)state;
    hello_ends_it((struct msg_hello){ .magic = WIRE_MAGIC + 1, .version = WIRE_VERSION });
    hello_ends_it((struct msg_hello){ .magic = WIRE_MAGIC, .version = WIRE_VERSION + 1 });
}

static void anything_before_hello_ends_it(void **state)
{
    struct box *box = box_new();
    struct msg_ping ping = { .seq = 1 };

    (void)state;
    box_send(box, MSG_PING, &ping);
    box_expect_end(box);
}

static void a_second_hello_ends_it(void **state)
{
    struct msg_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION };
    struct box *box = box_new();

    (void)state;
    box_greet(box);
    box_send(box, MSG_HELLO, &hello);
    box_expect_end(box);
}

static void before_setup_only_harmless_requests_are_taken(void **state)
{
    struct box *box = box_new();
    struct msg_kill kill = { .seq = 7 };

    (void)state;
    box_greet(box);
    box_ping(box);
    assert_int_equal(box_limits(box), 0);
    box_send(box, MSG_BEAT, NULL);
    box_send(box, MSG_KILL, &kill);
    box_expect_end(box);
}

/* ---- setup ---------------------------------------------------------------------------------- */

static void setup_is_taken_once(void **state)
{
    struct box *box = box_up();

    (void)state;
    assert_int_equal(box_setup(box, 0, 0), EALREADY);
    assert_int_equal(box->error.step, GLOVE_STEP_REQUEST);
    box_down(box);
}

static void setup_tells_the_landlock_abi(void **state)
{
    struct box *box = box_new();
    long abi = syscall(444, NULL, 0, 1);

    (void)state;
    box_greet(box);
    assert_int_equal(box_setup(box, SETUP_FLAG_LANDLOCK, 0), 0);
    assert_int_equal(box->ok.value, abi);
    box_down(box);
}

static void setup_refuses_unknown_flags(void **state)
{
    struct box *box = box_new();

    (void)state;
    box_greet(box);
    assert_int_equal(box_setup(box, 1u << 31, 0), EINVAL);
    assert_int_equal(box_setup(box, 0, 0), 0);
    box_down(box);
}

static void programs_and_files_wait_for_limits(void **state)
{
    struct box *box = box_new();
    struct msg_put put = { .dir = "/tmp" };
    struct box_run run;

    (void)state;
    box_greet(box);
    assert_int_equal(box_setup(box, 0, 0), 0);
    run = box_sh(box, "true", "o");
    assert_int_equal(box_answer(box, run.seq), EINVAL);
    assert_int_equal(box->error.step, GLOVE_STEP_RLIMIT);
    assert_string_equal(box_text(box, run.out), "");
    put.seq = box->seq++;
    put.channel = box_stream_open(box);
    box_send(box, MSG_PUT, &put);
    assert_int_equal(box_answer(box, put.seq), EINVAL);
    box_down(box);
}

/* ---- what ends it --------------------------------------------------------------------------- */

static void bytes_end_it(const void *bytes, size_t len)
{
    struct box *box = box_up();

    box_send_bytes(box, bytes, len);
    box_expect_end(box);
}

static void head_ends_it(uint8_t type, uint8_t flags, uint32_t channel, uint32_t size)
{
    struct wire_head head = { .type = type, .flags = flags, .channel = channel, .size = size };
    uint8_t bytes[WIRE_HEAD_SIZE + 64] = { 0 };

    wire_head_put(bytes, &head);
    bytes_end_it(bytes, WIRE_HEAD_SIZE + (size < 64 ? size : 64));
}

static void malformed_frames_end_it(void **state)
{
    (void)state;
    head_ends_it(99, 0, 0, 0);                         /* unknown */
    head_ends_it(MSG_OK, 0, 0, 12);                    /* wrong direction */
    head_ends_it(MSG_PLAN, 0, 0, 0);                   /* a spawner's */
    head_ends_it(MSG_PING, 0, 0, 3);                   /* too short */
    head_ends_it(MSG_PING, 0, 0, 5);                   /* trailing byte */
    head_ends_it(MSG_PING, 0, 2, 4);                   /* on a channel */
    head_ends_it(MSG_PING, WIRE_FLAG_FIN, 0, 4);       /* a flag of DATA */
    head_ends_it(MSG_PING, 2, 0, 4);                   /* unknown flag */
    head_ends_it(MSG_RUN, 0, 0, WIRE_PAYLOAD_MAX + 1); /* too long */
    head_ends_it(MSG_DATA, 0, 2, 1);                   /* no such channel */
    head_ends_it(MSG_DATA, WIRE_FLAG_FIN, 2, 0);       /* no such channel */
    head_ends_it(MSG_DATA, 0, 0, 1);                   /* no channel */
    head_ends_it(MSG_CREDIT, 0, 0, 4);                 /* no channel */
    head_ends_it(MSG_CREDIT, 0, 3, 4);                 /* not the host's */
    head_ends_it(MSG_CREDIT, WIRE_FLAG_FIN, 2, 4);     /* a flag of DATA */
}

static void run_with_channels(struct box *box, uint32_t in, uint32_t out, uint32_t n_fds)
{
    char bytes[16];
    const char *argv[] = { "cat", NULL };
    struct msg_run msg = { .seq = box->seq++, .in = in, .out = out, .n_fds = n_fds, .cwd = "/" };

    assert_int_equal(wire_strs_pack(argv, bytes, sizeof(bytes), &msg.argv), 0);
    box_send(box, MSG_RUN, &msg);
}

static void channels_that_the_host_may_not_choose_end_it(void **state)
{
    static const uint32_t pairs[][2] = { { 3, 0 }, { 0, 5 }, { 2, 2 } };
    struct box *box;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(pairs); i++) {
        box = box_up();
        run_with_channels(box, pairs[i][0], pairs[i][1], 0);
        box_expect_end(box);
    }
    box = box_up();
    run_with_channels(box, 2, 0, 0);
    run_with_channels(box, 2, 0, 0);
    box_expect_end(box);
}

static void more_data_than_credit_ends_it(void **state)
{
    static uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct box *box = box_up();
    struct box_run run = box_sh(box, "kill -STOP $$", "i");
    uint64_t sent = 0;

    (void)state;
    /* As much as there is credit for, until no more comes. */
    do {
        while (WIRE_CREDIT_START + box->credit - sent >= sizeof(bytes)) {
            box_send_data(box, run.in, bytes, sizeof(bytes), false);
            sent += sizeof(bytes);
        }
        box_ping(box);
    } while (WIRE_CREDIT_START + box->credit - sent >= sizeof(bytes));
    assert_true(sent > WIRE_CREDIT_START);
    box_send_data(box, run.in, bytes, sizeof(bytes), false);
    box_expect_end(box);
}

static void data_or_credit_the_wrong_way_ends_it(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat", "io");

    (void)state;
    box_send_data(box, run.out, "x", 1, false);
    box_expect_end(box);
    box = box_up();
    run = box_sh(box, "cat", "io");
    box_credit(box, run.in, 1);
    box_expect_end(box);
}

static void data_behind_fin_ends_it(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat", "i");

    (void)state;
    box_send_data(box, run.in, "", 0, true);
    box_send_data(box, run.in, "x", 1, false);
    box_expect_end(box);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static void descriptors_that_no_run_takes_end_it(void **state)
{
    struct msg_ping ping = { .seq = 1 };
    struct box *box = box_up();
    uint8_t frame[64];
    int n = msg_encode(MSG_PING, 0, 0, &ping, frame, sizeof(frame));

    (void)state;
    assert_int_equal(fd_send(box->fd, frame, (size_t)n, (int[]){ 0, 1 }, 2, 0), n);
    box_expect_end(box);
}

static void a_run_without_its_descriptors_ends_it(void **state)
{
    struct box *box = box_up();

    (void)state;
    run_with_channels(box, 0, 0, 1);
    box_expect_end(box);
}

/* ---- life and death ------------------------------------------------------------------------- */

static void the_end_of_the_link_ends_every_program(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "trap '' TERM HUP INT; sleep 1000 & echo up; wait", "o");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->len == 3);
    box_down(box);
}

static void silence_longer_than_the_beat_ends_it(void **state)
{
    struct box *box = box_new();

    (void)state;
    box_greet(box);
    assert_int_equal(box_setup(box, 0, 50), 0);
    box_expect_end(box);
}

static void beats_keep_it_alive(void **state)
{
    struct box *box = box_new();
    uint64_t until;

    (void)state;
    box_greet(box);
    assert_int_equal(box_setup(box, 0, 1000), 0);
    until = clock_after_ms(2200);
    while (clock_now_ns() < until) {
        struct pollfd p = { .fd = box->fd, .events = POLLIN };

        box_send(box, MSG_BEAT, NULL);
        assert_int_equal(poll(&p, 1, 50), 0);
    }
    box_ping(box);
    box_down(box);
}

static void a_thousand_requests_in_a_row_are_answered(void **state)
{
    struct box *box = box_up();
    uint32_t first = box->seq;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct msg_ping ping = { .seq = box->seq++ };

        box_send(box, MSG_PING, &ping);
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(box_next(box), MSG_OK);
        assert_int_equal(box->ok.seq, first + (uint32_t)i);
    }
    box_down(box);
}

static void a_host_that_never_reads_answers_ends_it(void **state)
{
    struct msg_ping ping = { .seq = 1 };
    struct box *box = box_up();
    uint8_t frame[64];
    ssize_t n = msg_encode(MSG_PING, 0, 0, &ping, frame, sizeof(frame));
    int status;

    (void)state;
    for (int i = 0; i < 10000000 && n > 0; i++)
        n = send(box->fd, frame, (size_t)n, MSG_NOSIGNAL);
    assert_true(n < 0);
    assert_int_equal(waitpid(box->pid, &status, 0), box->pid);
    assert_int_equal(status, 1 << 8);
    close(box->fd);
    box_remove_dir(box);
    free(box);
}

static void a_frame_may_come_in_pieces(void **state)
{
    struct msg_ping ping = { .seq = 77 };
    struct box *box = box_up();
    uint8_t frame[64];
    int n = msg_encode(MSG_PING, 0, 0, &ping, frame, sizeof(frame));

    (void)state;
    for (int i = 0; i < n; i++)
        box_send_bytes(box, frame + i, 1);
    assert_int_equal(box_answer(box, 77), 0);
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_comes_back_with_the_nonce),
        cmocka_unit_test(a_wrong_magic_or_version_ends_it),
        cmocka_unit_test(anything_before_hello_ends_it),
        cmocka_unit_test(a_second_hello_ends_it),
        cmocka_unit_test(before_setup_only_harmless_requests_are_taken),
        cmocka_unit_test(setup_is_taken_once),
        cmocka_unit_test(setup_tells_the_landlock_abi),
        cmocka_unit_test(setup_refuses_unknown_flags),
        cmocka_unit_test(programs_and_files_wait_for_limits),
        cmocka_unit_test(malformed_frames_end_it),
        cmocka_unit_test(channels_that_the_host_may_not_choose_end_it),
        cmocka_unit_test(more_data_than_credit_ends_it),
        cmocka_unit_test(data_or_credit_the_wrong_way_ends_it),
        cmocka_unit_test(data_behind_fin_ends_it),
        cmocka_unit_test(descriptors_that_no_run_takes_end_it),
        cmocka_unit_test(a_run_without_its_descriptors_ends_it),
        cmocka_unit_test(the_end_of_the_link_ends_every_program),
        cmocka_unit_test(silence_longer_than_the_beat_ends_it),
        cmocka_unit_test(beats_keep_it_alive),
        cmocka_unit_test(a_thousand_requests_in_a_row_are_answered),
        cmocka_unit_test(a_host_that_never_reads_answers_ends_it),
        cmocka_unit_test(a_frame_may_come_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
