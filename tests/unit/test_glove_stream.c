/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_glove_stream.c - bytes between programs and the host: credit, ends, hostile
 * readers. */
#include "glove_box.h"

#define MANY (10u << 20)

/* What `seq 1 N | head -c len` writes. */
static uint64_t seq_hash(size_t len)
{
    uint64_t hash = 0;

    for (unsigned i = 1; len > 0; i++) {
        char line[16];
        size_t n = (size_t)snprintf(line, sizeof(line), "%u\n", i);

        n = n < len ? n : len;
        hash = box_hash(hash, line, n);
        len -= n;
    }
    return hash;
}

/* ---- out ------------------------------------------------------------------------------------ */

static void ten_megabytes_arrive_unchanged(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "seq 1 2000000 | head -c 10485760", "o");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->has_fin);
    assert_int_equal(out->total, MANY);
    assert_true(out->hash == seq_hash(MANY));
    box_down(box);
}

static void without_credit_nothing_comes_and_the_glove_serves_on(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "seq 1 2000000 | head -c 10485760", "o");
    struct box_stream *out = box_stream(box, run.out);
    struct box_run other;

    (void)state;
    box->may_credit = false;
    box_wait(box, out->total == WIRE_CREDIT_START);
    other = box_sh(box, "echo here", "o");
    assert_string_equal(box_text(box, other.out), "here\n");
    box_ping(box);
    assert_int_equal(out->total, WIRE_CREDIT_START);
    /* Odd drips, each of which is used up before the next. */
    for (uint64_t due = WIRE_CREDIT_START; due < MANY;) {
        uint32_t drip = MANY - due < 99991 ? (uint32_t)(MANY - due) : 99991;

        box_credit(box, run.out, drip);
        due += drip;
        box_wait(box, out->total == due);
    }
    box_credit(box, run.out, 1);
    box_wait(box, out->has_fin);
    assert_true(out->hash == seq_hash(MANY));
    box_down(box);
}

static void output_that_is_closed_ends_before_its_program(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "exec >&- 2>&-; read line; exit 3", "ioe");

    (void)state;
    assert_string_equal(box_text(box, run.out), "");
    assert_string_equal(box_text(box, run.err), "");
    box_ping(box);
    assert_int_equal(box->exits[run.seq - BOX_SEQ_FIRST], UINT32_MAX);
    box_send_data(box, run.in, "", 0, true);
    assert_int_equal(box_exit(box, &run), 3);
    box_down(box);
}

/* What its children wrote is told, though they end with it. */
static void output_outlives_its_program(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(
        box, "mkfifo f; (head -c 60000 /dev/zero; echo >f; sleep 1000) & read go <f; exit 4", "o");

    (void)state;
    assert_int_equal(box_exit(box, &run), 4);
    assert_int_equal(strlen(box_text(box, run.out)), 0);
    assert_int_equal(box_stream(box, run.out)->len, 60000);
    box_down(box);
}

/* The program opens its own output for reading and takes bytes that the glove has seen. */
static void a_program_that_reads_its_own_output_does_not_break_a_frame(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box,
                                "head -c 20000000 /dev/zero & for i in 1 2 3 4; do"
                                " dd if=/dev/stdout of=/dev/null bs=3001 count=500 iflag=nonblock"
                                " 2>/dev/null; done; wait",
                                "o");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    box_wait(box, out->has_fin);
    assert_true(out->total <= 20000000);
    box_ping(box);
    box_down(box);
}

static void small_writes_arrive_as_they_come(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "while read x; do echo got $x; done", "io");
    struct box_stream *out = box_stream(box, run.out);

    (void)state;
    for (int i = 0; i < 100; i++) {
        size_t before = out->len;

        box_send_data(box, run.in, "line\n", 5, false);
        box_wait(box, out->len == before + strlen("got line\n"));
    }
    box_send_data(box, run.in, "", 0, true);
    assert_int_equal(box_exit(box, &run), 0);
    box_down(box);
}

/* ---- in ------------------------------------------------------------------------------------- */

/* Sends len bytes as far as there is credit, waiting for more. */
static void send_paced(struct box *box, uint32_t channel, const uint8_t *bytes, size_t len)
{
    uint64_t sent = 0;

    box->credit = 0;
    while (sent < len) {
        uint64_t credit = WIRE_CREDIT_START + box->credit - sent;
        size_t n = len - sent < 50021 ? len - sent : 50021;

        if (credit < n) {
            assert_int_not_equal(box_next(box), 0);
            continue;
        }
        box_send_data(box, channel, bytes + sent, n, false);
        sent += n;
    }
    box_send_data(box, channel, "", 0, true);
}

static uint8_t *noise(size_t len)
{
    uint8_t *bytes = malloc(len);
    uint32_t x = 1;

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return bytes;
}

static void ten_megabytes_go_in_and_come_back(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "cat", "io");
    struct box_stream *out = box_stream(box, run.out);
    uint8_t *bytes = noise(MANY);

    (void)state;
    send_paced(box, run.in, bytes, MANY);
    box_wait(box, out->has_fin);
    assert_int_equal(out->total, MANY);
    assert_true(out->hash == box_hash(0, bytes, MANY));
    free(bytes);
    box_down(box);
}

/* More than the pipe holds: the rest waits in the glove, and is there when the program reads. */
static void a_program_that_reads_late_gets_everything(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "kill -STOP $$; exec cat", "io");
    struct box_stream *out = box_stream(box, run.out);
    struct msg_signal go = { .seq = box->seq++, .run = run.seq, .signo = SIGCONT };
    uint8_t *bytes = noise(WIRE_PAYLOAD_MAX);
    uint64_t hash = 0;
    uint64_t sent = 0;

    (void)state;
    do {
        while (WIRE_CREDIT_START + box->credit - sent >= WIRE_PAYLOAD_MAX) {
            box_send_data(box, run.in, bytes, WIRE_PAYLOAD_MAX, false);
            hash = box_hash(hash, bytes, WIRE_PAYLOAD_MAX);
            sent += WIRE_PAYLOAD_MAX;
        }
        box_ping(box);
    } while (WIRE_CREDIT_START + box->credit - sent >= WIRE_PAYLOAD_MAX);
    box_send_data(box, run.in, "", 0, true);
    box_send(box, MSG_SIGNAL, &go);
    assert_int_equal(box_answer(box, go.seq), 0);
    /* It may not have stopped yet when the signal came. */
    while (!out->has_fin) {
        go.seq = box->seq++;
        box_send(box, MSG_SIGNAL, &go);
        (void)box_answer(box, go.seq);
    }
    assert_int_equal(out->total, sent);
    assert_true(out->hash == hash);
    free(bytes);
    box_down(box);
}

static void input_that_nobody_reads_is_thrown_away(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(box, "exec <&-; cat <&3 3</dev/null; exit 0", "i");
    uint8_t *bytes = noise(2u << 20);

    (void)state;
    send_paced(box, run.in, bytes, 2u << 20);
    assert_int_equal(box_exit(box, &run), 0);
    box_ping(box);
    free(bytes);
    box_down(box);
}

static void data_behind_a_run_that_fails_is_thrown_away(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_start(box, (const char *[]){ "/no/such", NULL }, "/", "i");
    uint8_t *bytes = noise(1u << 20);

    (void)state;
    send_paced(box, run.in, bytes, 1u << 20);
    assert_int_equal(box_answer(box, run.seq), ENOENT);
    box_ping(box);
    free(bytes);
    box_down(box);
}

/* A program may fill its own input pipe; what the host sends then waits, and nobody else does. */
static void a_program_that_fills_its_own_input_waits_alone(void **state)
{
    struct box *box = box_up();
    struct box_run run = box_sh(
        box,
        "head -c 4000000 /dev/zero | dd of=/dev/stdin bs=4096 oflag=nonblock 2>/dev/null; echo full; sleep 1000",
        "io");
    struct box_stream *out = box_stream(box, run.out);
    struct box_run other;

    (void)state;
    box_wait(box, out->len == 5);
    box_send_data(box, run.in, "more", 4, true);
    other = box_sh(box, "cat", "io");
    box_send_data(box, other.in, "served", 6, true);
    assert_string_equal(box_text(box, other.out), "served");
    box_down(box);
}

static void seven_programs_talk_at_once(void **state)
{
    struct box *box = box_up();
    struct box_run runs[7];
    uint8_t *bytes = noise(100000);
    uint64_t hash = box_hash(0, bytes, 100000);

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(runs); i++) {
        runs[i] = box_sh(box, "cat", "io");
        box_send_data(box, runs[i].in, bytes, 50000, false);
    }
    for (size_t i = 0; i < N_ELEMENTS(runs); i++)
        box_send_data(box, runs[i].in, bytes + 50000, 50000, true);
    for (size_t i = 0; i < N_ELEMENTS(runs); i++) {
        struct box_stream *out = box_stream(box, runs[i].out);

        box_wait(box, out->has_fin);
        assert_int_equal(out->total, 100000);
        assert_true(out->hash == hash);
    }
    free(bytes);
    box_down(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_megabytes_arrive_unchanged),
        cmocka_unit_test(without_credit_nothing_comes_and_the_glove_serves_on),
        cmocka_unit_test(output_that_is_closed_ends_before_its_program),
        cmocka_unit_test(output_outlives_its_program),
        cmocka_unit_test(a_program_that_reads_its_own_output_does_not_break_a_frame),
        cmocka_unit_test(small_writes_arrive_as_they_come),
        cmocka_unit_test(ten_megabytes_go_in_and_come_back),
        cmocka_unit_test(a_program_that_reads_late_gets_everything),
        cmocka_unit_test(input_that_nobody_reads_is_thrown_away),
        cmocka_unit_test(data_behind_a_run_that_fails_is_thrown_away),
        cmocka_unit_test(a_program_that_fills_its_own_input_waits_alone),
        cmocka_unit_test(seven_programs_talk_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
