/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_link.c - the host's end of a link against everything that a glove may say.
 *
 * Rows P01, P02 and C19 of the test matrix: whatever comes is taken, refused by losing that link,
 * or dropped as documented; nothing crashes, hangs, grows or keeps a descriptor.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "box/link_parts.h"
#include "evil_glove.h"

/* Numbers that the table may use: see open_for_table(). */
#define SEQ       1u /* of a request that waits */
#define CH_IN     2u /* receives */
#define CH_OUT    4u /* sends */
#define CH_CLOSED 6u
#define CH_ENDED  8u /* FIN has come */

struct taker {
    uint64_t bytes;
    unsigned fins;
    unsigned exits;
    struct msg_exit exit;
};

static void take_data(void *user, const uint8_t *bytes, size_t len)
{
    struct taker *taker = user;

    assert_non_null(bytes);
    taker->bytes += len;
}

static void take_fin(void *user)
{
    struct taker *taker = user;

    taker->fins++;
}

static const struct channel_ops take_ops = { take_data, take_fin };

static void take_exit(void *user, const struct msg_exit *msg)
{
    struct taker *taker = user;

    taker->exits++;
    taker->exit = *msg;
}

/* A greeted link with one request under way and a channel of each kind. */
static void open_for_table(struct evil *evil, struct taker *taker)
{
    struct msg_ping ping;
    uint32_t seq;

    *taker = (struct taker){ 0 };
    evil_up(evil);
    evil_greet(evil);
    assert_int_equal(link_request(evil->link, MSG_PING, &ping, NULL, 0, &seq, &evil->err), 0);
    assert_int_equal(seq, SEQ);
    assert_int_equal(link_channel_open(evil->link, &take_ops, taker), CH_IN);
    assert_int_equal(link_channel_open(evil->link, NULL, taker), CH_OUT);
    assert_int_equal(link_channel_open(evil->link, &take_ops, taker), CH_CLOSED);
    assert_int_equal(link_channel_open(evil->link, &take_ops, taker), CH_ENDED);
    link_channel_close(evil->link, CH_CLOSED);
    evil_data(evil, CH_ENDED, "", 0, true);
    assert_true(evil_pump(evil) > 0);
    taker->fins = 0;
    link_on_exit(evil->link, take_exit, taker);
}

/* ---- the table ------------------------------------------------------------------------------ */

enum outcome {
    LOST,
    FINE,
};

struct said {
    uint8_t type;
    uint8_t flags;
    uint32_t channel;
    uint32_t size; /* as the head says; so many zeros follow what `payload` has */
    uint8_t payload[48];
};

#define LE32(x) (uint8_t)(x), (uint8_t)((x) >> 8), (uint8_t)((x) >> 16), (uint8_t)((x) >> 24)
#define ALL     LE32(0xffffffffu)

#define OK_SIZE    12
#define ERROR_SIZE 12
#define EXIT_SIZE  52

static const struct {
    const char *name;
    enum outcome outcome;
    struct said frames[2];
} table[] = {
    /* no message of a glove */
    { "type 0", LOST, { { 0, 0, 0, 0, { 0 } } } },
    { "type 255", LOST, { { 255, 0, 0, 0, { 0 } } } },
    { "a request of the host", LOST, { { MSG_PING, 0, 0, 4, { LE32(1) } } } },
    { "a beat", LOST, { { MSG_BEAT, 0, 0, 0, { 0 } } } },
    { "a run", LOST, { { MSG_RUN, 0, 0, 48, { 0 } } } },
    { "a message of the spawner", LOST, { { MSG_GONE, 0, 0, 8, { 0 } } } },
    { "a step of a plan", LOST, { { MSG_GO, 0, 0, 0, { 0 } } } },
    /* heads */
    { "a payload of 4 GiB", LOST, { { MSG_OK, 0, 0, 0xffffffff, { 0 } } } },
    { "a payload one byte too long", LOST, { { MSG_DATA, 0, CH_IN, 65537, { 0 } } } },
    { "an unknown flag", LOST, { { MSG_DATA, 2, CH_IN, 1, { 0 } } } },
    { "all flags", LOST, { { MSG_DATA, 255, CH_IN, 1, { 0 } } } },
    { "FIN on an answer", LOST, { { MSG_OK, WIRE_FLAG_FIN, 0, OK_SIZE, { LE32(SEQ) } } } },
    { "FIN on credit", LOST, { { MSG_CREDIT, WIRE_FLAG_FIN, CH_OUT, 4, { LE32(1) } } } },
    /* answers */
    { "the answer", FINE, { { MSG_OK, 0, 0, OK_SIZE, { LE32(SEQ), LE32(7) } } } },
    { "an error", FINE, { { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(SEQ), LE32(2), LE32(1) } } } },
    { "an answer without a payload", LOST, { { MSG_OK, 0, 0, 0, { 0 } } } },
    { "an answer cut short", LOST, { { MSG_OK, 0, 0, OK_SIZE - 1, { LE32(SEQ) } } } },
    { "an answer with a byte too many", LOST, { { MSG_OK, 0, 0, OK_SIZE + 1, { LE32(SEQ) } } } },
    { "an answer to nothing", LOST, { { MSG_OK, 0, 0, OK_SIZE, { LE32(99) } } } },
    { "an answer to number 0", LOST, { { MSG_OK, 0, 0, OK_SIZE, { LE32(0) } } } },
    { "an error to nothing", LOST, { { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(99), LE32(2) } } } },
    { "an error without a number", LOST, { { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(SEQ) } } } },
    { "an error over 4095",
      LOST,
      { { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(SEQ), LE32(4096), LE32(1) } } } },
    { "an error that is negative", LOST, { { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(SEQ), ALL } } } },
    { "two answers",
      LOST,
      { { MSG_OK, 0, 0, OK_SIZE, { LE32(SEQ) } }, { MSG_OK, 0, 0, OK_SIZE, { LE32(SEQ) } } } },
    { "an answer and an error",
      LOST,
      { { MSG_OK, 0, 0, OK_SIZE, { LE32(SEQ) } },
        { MSG_ERROR, 0, 0, ERROR_SIZE, { LE32(SEQ), LE32(5), LE32(1) } } } },
    { "a second greeting", LOST, { { MSG_HELLO, 0, 0, 16, { LE32(WIRE_MAGIC), LE32(1) } } } },
    /* data */
    { "data", FINE, { { MSG_DATA, 0, CH_IN, 40, { 1 } } } },
    { "data and its end", FINE, { { MSG_DATA, WIRE_FLAG_FIN, CH_IN, 40, { 1 } } } },
    { "empty data", FINE, { { MSG_DATA, 0, CH_IN, 0, { 0 } } } },
    { "data on a closed channel", FINE, { { MSG_DATA, 0, CH_CLOSED, 40, { 1 } } } },
    { "data on channel 0", LOST, { { MSG_DATA, 0, 0, 1, { 1 } } } },
    { "data on a channel never opened", LOST, { { MSG_DATA, 0, 100, 1, { 1 } } } },
    { "data on an odd channel", LOST, { { MSG_DATA, 0, 3, 1, { 1 } } } },
    { "data on the last channel", LOST, { { MSG_DATA, 0, 0xffffffff, 1, { 1 } } } },
    { "data on a channel that only sends", LOST, { { MSG_DATA, 0, CH_OUT, 1, { 1 } } } },
    { "data behind the end", LOST, { { MSG_DATA, 0, CH_ENDED, 1, { 1 } } } },
    { "a second end", LOST, { { MSG_DATA, WIRE_FLAG_FIN, CH_ENDED, 0, { 0 } } } },
    { "the end twice",
      LOST,
      { { MSG_DATA, WIRE_FLAG_FIN, CH_IN, 1, { 1 } },
        { MSG_DATA, WIRE_FLAG_FIN, CH_IN, 0, { 0 } } } },
    /* credit */
    { "credit", FINE, { { MSG_CREDIT, 0, CH_OUT, 4, { LE32(1000) } } } },
    { "credit on a closed channel", FINE, { { MSG_CREDIT, 0, CH_CLOSED, 4, { ALL } } } },
    { "no credit", FINE, { { MSG_CREDIT, 0, CH_OUT, 4, { LE32(0) } } } },
    { "credit over what counts", LOST, { { MSG_CREDIT, 0, CH_OUT, 4, { ALL } } } },
    { "credit that adds up to too much",
      LOST,
      { { MSG_CREDIT, 0, CH_OUT, 4, { LE32(0x80000000u) } },
        { MSG_CREDIT, 0, CH_OUT, 4, { LE32(0x80000000u) } } } },
    { "credit on channel 0", LOST, { { MSG_CREDIT, 0, 0, 4, { LE32(1) } } } },
    { "credit on a channel never opened", LOST, { { MSG_CREDIT, 0, 100, 4, { LE32(1) } } } },
    { "credit without a number", LOST, { { MSG_CREDIT, 0, CH_OUT, 0, { 0 } } } },
    /* ends of runs */
    { "the end of an unknown run", FINE, { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(77) } } } },
    { "an end cut short", LOST, { { MSG_EXIT, 0, 0, EXIT_SIZE - 4, { LE32(1) } } } },
    { "exit code 256", LOST, { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(1), LE32(256) } } } },
    { "exit code -1", LOST, { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(1), ALL } } } },
    { "signal 65", LOST, { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(1), LE32(0), LE32(65) } } } },
    { "signal -1", LOST, { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(1), LE32(0), ALL } } } },
    { "a code and a signal",
      LOST,
      { { MSG_EXIT, 0, 0, EXIT_SIZE, { LE32(1), LE32(1), LE32(9) } } } },
};

static void say(const struct evil *evil, const struct said *said)
{
    static const uint8_t zeros[4096];
    struct wire_head head = {
        .size = said->size, .type = said->type, .flags = said->flags, .channel = said->channel
    };
    uint8_t bytes[WIRE_HEAD_SIZE];
    uint32_t n = said->size < sizeof(said->payload) ? said->size : sizeof(said->payload);

    wire_head_put(bytes, &head);
    evil_bytes(evil, bytes, sizeof(bytes));
    evil_bytes(evil, said->payload, n);
    evil_bytes(evil, zeros, said->size - n < sizeof(zeros) ? said->size - n : sizeof(zeros));
}

static void each_lie_is_taken_refused_or_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        struct evil evil;
        struct taker taker;
        int r;

        open_for_table(&evil, &taker);
        say(&evil, &table[i].frames[0]);
        if (table[i].frames[1].type)
            say(&evil, &table[i].frames[1]);
        r = evil_pump(&evil);
        if ((r < 0) != (table[i].outcome == LOST) || (r < 0 && r != -EPROTO))
            fail_msg("%s: %d %s", table[i].name, r, evil.err.msg);
        assert_int_equal(link_is_lost(evil.link), table[i].outcome == LOST);
        if (r < 0)
            assert_int_equal(evil.err.blame, GB_BLAME_PEER);
        evil_down(&evil);
    }
}

/* A lost link says the same to everybody, for ever. */
static void a_lost_link_fails_every_call(void **state)
{
    struct evil evil;
    struct taker taker;
    struct msg_ping ping;
    uint64_t value;
    uint32_t step;
    uint32_t seq;

    (void)state;
    open_for_table(&evil, &taker);
    evil_frame(&evil, 200, 0, 0, "", 0);
    assert_int_equal(evil_pump(&evil), -EPROTO);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(link_pump(evil.link, CLOCK_NEVER_NS, NULL, 0, &evil.err), -EPROTO);
        assert_int_equal(link_request(evil.link, MSG_PING, &ping, NULL, 0, &seq, &evil.err),
                         -EPROTO);
        assert_int_equal(link_await(evil.link, SEQ, CLOCK_NEVER_NS, &value, &step, &evil.err),
                         -EPROTO);
    }
    evil_down(&evil);
}

/* ---- greetings ------------------------------------------------------------------------------ */

static void greeting_is(struct msg_hello wrong, bool has_nonce, int outcome)
{
    struct evil evil;

    evil_up(&evil);
    assert_int_equal(link_greet(evil.link, &evil.err), 0);
    assert_int_equal(evil_pump(&evil), 0);
    assert_true(evil_await(&evil, MSG_HELLO));
    if (has_nonce)
        wrong.nonce += evil.nonce;
    evil_msg(&evil, MSG_HELLO, &wrong);
    assert_int_equal(evil_pump(&evil), outcome);
    evil_down(&evil);
}

static void only_the_right_greeting_is_taken(void **state)
{
    (void)state;
    greeting_is((struct msg_hello){ WIRE_MAGIC, WIRE_VERSION, 0 }, true, 1);
    greeting_is((struct msg_hello){ WIRE_MAGIC + 1, WIRE_VERSION, 0 }, true, -EPROTO);
    greeting_is((struct msg_hello){ WIRE_MAGIC, WIRE_VERSION + 1, 0 }, true, -EPROTO);
    greeting_is((struct msg_hello){ WIRE_MAGIC, 0, 0 }, true, -EPROTO);
    greeting_is((struct msg_hello){ WIRE_MAGIC, WIRE_VERSION, 1 }, true, -EPROTO);
    greeting_is((struct msg_hello){ WIRE_MAGIC, WIRE_VERSION, 0 }, false, -EPROTO);
}

static void nothing_comes_before_the_greeting(void **state)
{
    static const uint8_t types[] = { MSG_OK, MSG_ERROR, MSG_EXIT, MSG_DATA, MSG_CREDIT };
    static const uint8_t zeros[64];

    (void)state;
    for (size_t i = 0; i < sizeof(types); i++) {
        struct evil evil;

        evil_up(&evil);
        assert_int_equal(link_greet(evil.link, &evil.err), 0);
        evil_frame(&evil, types[i], 0, 0, zeros, OK_SIZE);
        assert_int_equal(evil_pump(&evil), -EPROTO);
        evil_down(&evil);
    }
}

/* ---- streams of bytes ----------------------------------------------------------------------- */

static void frames_may_drip_byte_by_byte(void **state)
{
    struct msg_ok ok = { .seq = SEQ, .value = 77 };
    struct evil evil;
    struct taker taker;
    uint8_t frame[64];
    uint64_t value;
    uint32_t step;
    int n;

    (void)state;
    open_for_table(&evil, &taker);
    n = msg_encode(MSG_OK, 0, 0, &ok, frame, sizeof(frame));
    for (int i = 0; i < n; i++) {
        assert_int_equal(link_answer(evil.link, SEQ, &value, &step), 0);
        evil_bytes(&evil, frame + i, 1);
        assert_int_equal(evil_pump(&evil), 1);
    }
    assert_int_equal(link_answer(evil.link, SEQ, &value, &step), 1);
    assert_int_equal(value, 77);
    assert_int_equal(link_answer(evil.link, SEQ, &value, &step), -EINVAL);
    evil_down(&evil);
}

static void a_link_that_ends_is_lost_wherever_it_ends(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= WIRE_HEAD_SIZE + 8; cut++) {
        uint8_t frame[WIRE_HEAD_SIZE + 8] = { 8, 0, 0, 0, MSG_DATA, 0, 0, 0, CH_IN };
        struct evil evil;
        struct taker taker;

        open_for_table(&evil, &taker);
        assert_true(evil_await(&evil, MSG_PING)); /* what is unread would make it a reset */
        evil_bytes(&evil, frame, cut);
        close(take_fd(&evil.fd));
        assert_int_equal(evil_pump(&evil), -EPIPE);
        assert_int_equal(taker.bytes, cut == sizeof(frame) ? 8 : 0);
        assert_int_equal(taker.fins, 0);
        evil_down(&evil);
    }
}

static uint32_t noise_state = 20240607;

static uint32_t noise(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 17;
    noise_state ^= noise_state << 5;
    return noise_state;
}

/* Bytes without sense, and frames with right heads and senseless payloads. */
static void noise_ends_the_link_or_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct evil evil;
        struct taker taker;
        uint8_t bytes[512];
        size_t len = noise() % sizeof(bytes);

        open_for_table(&evil, &taker);
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)noise();
        if (i % 3 == 0)
            evil_bytes(&evil, bytes, len);
        else
            evil_frame(&evil, bytes[0] % 90, i % 3 == 1 ? 0 : bytes[1] & 1, bytes[2] % 10, bytes,
                       (uint32_t)len);
        (void)evil_pump(&evil);
        evil_down(&evil);
    }
}

static void a_million_empty_frames_cost_no_memory(void **state)
{
    static uint8_t frames[1024 * WIRE_HEAD_SIZE];
    struct wire_head head = { .type = MSG_DATA, .channel = CH_IN };
    struct evil evil;
    struct taker taker;

    (void)state;
    open_for_table(&evil, &taker);
    for (size_t i = 0; i < sizeof(frames); i += WIRE_HEAD_SIZE)
        wire_head_put(frames + i, &head);
    for (int i = 0; i < 1000; i++) {
        evil_bytes(&evil, frames, sizeof(frames));
        assert_true(evil_pump(&evil) > 0);
    }
    assert_int_equal(taker.bytes, 0);
    assert_false(link_is_lost(evil.link));
    evil_down(&evil);
}

/* As much as it likes, as long as it waits for credit; what it is given never exceeds what was
 * taken. */
static void credit_follows_what_was_taken(void **state)
{
    static const uint8_t bytes[WIRE_PAYLOAD_MAX];
    struct evil evil;
    struct taker taker;

    (void)state;
    open_for_table(&evil, &taker);
    for (uint64_t sent = 0; sent < 16 << 20; sent += sizeof(bytes)) {
        static uint8_t payload[WIRE_PAYLOAD_MAX];
        struct wire_head head = { 0 };

        evil_data(&evil, CH_IN, bytes, sizeof(bytes), false);
        assert_true(evil_pump(&evil) > 0);
        assert_int_equal(taker.bytes, sent + sizeof(bytes));
        do {
            assert_true(evil_read(&evil, &head, payload) != 0);
        } while (head.type != MSG_CREDIT);
        assert_int_equal(head.channel, CH_IN);
        assert_int_equal(wire_get_u32(payload), sizeof(bytes));
    }
    evil_down(&evil);
}

/* ---- time ----------------------------------------------------------------------------------- */

static void chatter(struct evil *evil)
{
    static const uint8_t zero[4];

    while (send(evil->fd, "", 0, MSG_NOSIGNAL) == 0) {
        struct pollfd gone = { .fd = evil->fd, .events = POLLRDHUP };

        if (poll(&gone, 1, 0) > 0 && gone.revents & (POLLHUP | POLLRDHUP))
            return;
        evil_frame(evil, MSG_CREDIT, 0, CH_OUT, zero, 4);
    }
}

/* A glove that talks without end about something else has not answered. */
static void a_deadline_holds_under_chatter(void **state)
{
    struct evil evil;
    struct taker taker;
    uint64_t started_ns = clock_now_ns();
    uint64_t value;
    uint32_t step;

    (void)state;
    open_for_table(&evil, &taker);
    evil_begin(&evil, chatter);
    assert_int_equal(link_await(evil.link, SEQ, clock_after_ms(100), &value, &step, &evil.err),
                     -ETIMEDOUT);
    assert_true(clock_now_ns() - started_ns < 5 * NS_PER_S);
    evil_end(&evil);
}

static void a_deadline_holds_in_silence(void **state)
{
    struct evil evil;
    struct taker taker;
    uint64_t value;
    uint32_t step;

    (void)state;
    open_for_table(&evil, &taker);
    assert_int_equal(link_await(evil.link, SEQ, clock_after_ms(20), &value, &step, &evil.err),
                     -ETIMEDOUT);
    assert_false(link_is_lost(evil.link));
    /* It may still come. */
    evil_ok(&evil, SEQ, 5);
    assert_int_equal(link_await(evil.link, SEQ, 0, &value, &step, &evil.err), 0);
    assert_int_equal(value, 5);
    evil_down(&evil);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static unsigned count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* C19: descriptors that a box sends are dropped by the kernel, the frames beside them count. */
static void descriptors_from_a_glove_are_never_held(void **state)
{
    struct evil evil;
    struct taker taker;
    unsigned before;
    int fds[8];

    (void)state;
    open_for_table(&evil, &taker);
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        fds[i] = dup(0); /* NOLINT(android-cloexec-dup): closed below */
    before = count_fds();
    for (int i = 0; i < 200; i++) {
        uint8_t frame[WIRE_HEAD_SIZE + 1] = { 1, 0, 0, 0, MSG_DATA, 0, 0, 0, CH_IN };

        assert_int_equal(fd_send(evil.fd, frame, sizeof(frame), fds, N_ELEMENTS(fds), MSG_NOSIGNAL),
                         sizeof(frame));
        assert_true(evil_pump(&evil) > 0);
        assert_int_equal(count_fds(), before);
    }
    assert_int_equal(taker.bytes, 200);
    for (size_t i = 0; i < N_ELEMENTS(fds); i++)
        close(fds[i]);
    evil_down(&evil);
}

/* Behind whatever is queued, and with the first byte of their own frame. */
static void descriptors_go_with_their_request(void **state)
{
    static const char bytes[100000];
    struct evil evil;
    struct taker taker;
    struct msg_ping ping;
    struct wire_head head = { 0 };
    static uint8_t payload[WIRE_PAYLOAD_MAX];
    int got[4];
    size_t n_got = 4;
    uint8_t one[WIRE_HEAD_SIZE];
    uint32_t seq;

    (void)state;
    open_for_table(&evil, &taker);
    assert_true(evil_await(&evil, MSG_PING));
    assert_int_equal(link_channel_send(evil.link, CH_OUT, bytes, sizeof(bytes), true), 0);
    assert_int_equal(link_request(evil.link, MSG_PING, &ping, (int[]){ 0, 1 }, 2, &seq, &evil.err),
                     0);
    for (size_t left = sizeof(bytes); left > 0; left -= head.size)
        assert_int_equal(evil_read(&evil, &head, payload), MSG_DATA);
    assert_int_equal(head.flags, WIRE_FLAG_FIN);
    assert_int_equal(fd_recv(evil.fd, one, sizeof(one), got, &n_got, 0), sizeof(one));
    assert_int_equal(n_got, 2);
    assert_int_equal(one[4], MSG_PING);
    close(got[0]);
    close(got[1]);
    evil_down(&evil);
}

/* ---- sinks
 * --------------------------------------------------------------------------------------------- */

struct pourer {
    struct taker taker;
    uint64_t asked;
    unsigned refusals;
    size_t most; /* what take() lets through */
};

static size_t pour(void *user, size_t len)
{
    struct pourer *pourer = user;
    size_t n = len < pourer->most ? len : pourer->most;

    pourer->asked += len;
    pourer->most -= n;
    return n;
}

static void note_refusal(void *user)
{
    struct pourer *pourer = user;

    pourer->refusals++;
}

static const struct channel_ops pour_ops = { take_data, take_fin, pour, note_refusal };

/* A greeted link whose first channel goes straight into a pipe. */
static void open_with_sink(struct evil *evil, struct pourer *pourer, int ends[2])
{
    *pourer = (struct pourer){ .most = SIZE_MAX };
    evil_up(evil);
    evil_greet(evil);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(link_channel_open(evil->link, &pour_ops, pourer), CH_IN);
    link_channel_sink(evil->link, CH_IN, ends[1]);
}

static void close_with_sink(struct evil *evil, const int ends[2])
{
    evil_down(evil);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
}

static void a_sink_gets_the_bytes_of_its_channel_alone(void **state)
{
    struct evil evil;
    struct pourer pourer;
    struct taker other = { 0 };
    char text[64] = "";
    int ends[2];

    (void)state;
    open_with_sink(&evil, &pourer, ends);
    assert_int_equal(link_channel_open(evil.link, &take_ops, &other), CH_OUT);
    pourer.most = 7;
    evil_data(&evil, CH_IN, "one", 3, false);
    evil_data(&evil, CH_OUT, "elsewhere", 9, false);
    evil_data(&evil, CH_IN, "", 0, false);
    evil_data(&evil, CH_IN, "two and more", 12, false); /* four of it may go */
    evil_data(&evil, CH_OUT, "", 0, true);
    evil_data(&evil, CH_IN, "", 0, true);
    assert_true(evil_pump(&evil) > 0);
    assert_int_equal(read(ends[0], text, sizeof(text)), 7);
    assert_string_equal(text, "onetwo ");
    assert_int_equal(pourer.asked, 15);
    assert_int_equal(pourer.taker.fins, 1);
    assert_int_equal(other.bytes, 9);
    assert_int_equal(other.fins, 1);
    close_with_sink(&evil, ends);
}

static void lies_are_found_out_beside_a_sink_too(void **state)
{
    for (int i = 0; i < 5; i++) {
        struct evil evil;
        struct pourer pourer;
        int ends[2];

        (void)state;
        open_with_sink(&evil, &pourer, ends);
        if (i == 0)
            evil_frame(&evil, MSG_DATA, 2, CH_IN, "x", 1);
        else if (i == 1)
            evil_data(&evil, 100, "x", 1, false);
        else if (i == 2)
            evil_frame(&evil, 200, 0, 0, "", 0);
        else if (i == 3)
            say(&evil, &(struct said){ MSG_DATA, 0, CH_IN, 0xffffffff, { 0 } });
        else
            evil_data(&evil, CH_IN, "x", 1, true);
        if (i == 4)
            evil_data(&evil, CH_IN, "behind the end", 14, false);
        assert_int_equal(evil_pump(&evil), -EPROTO);
        assert_int_equal(pourer.asked, i == 4 ? 1 : 0);
        close_with_sink(&evil, ends);
    }
}

static void nothing_is_poured_before_the_greeting(void **state)
{
    struct pourer pourer = { .most = SIZE_MAX };
    struct evil evil;
    int ends[2];

    (void)state;
    evil_up(&evil);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(link_channel_open(evil.link, &pour_ops, &pourer), CH_IN);
    link_channel_sink(evil.link, CH_IN, ends[1]);
    assert_int_equal(link_greet(evil.link, &evil.err), 0);
    evil_data(&evil, CH_IN, "early", 5, false);
    assert_int_equal(evil_pump(&evil), -EPROTO);
    assert_int_equal(pourer.asked, 0);
    close_with_sink(&evil, ends);
}

static uint64_t drain(int fd)
{
    static char bytes[1 << 16];
    uint64_t total = 0;
    ssize_t n;

    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        total += (uint64_t)n;
    return total;
}

/* Fills the pipe until a frame is stuck in the middle; the bytes that were sent. */
static uint64_t fill(struct evil *evil, struct pourer *pourer, int pipe_fd)
{
    static const char bytes[20000];
    uint64_t sent = 0;

    assert_true(fcntl(pipe_fd, F_SETPIPE_SZ, 4096) > 0);
    for (int i = 0; i < 4; i++) {
        evil_data(evil, CH_IN, bytes, sizeof(bytes), false);
        sent += sizeof(bytes);
        assert_true(evil_pump(evil) >= 0);
    }
    assert_true(pourer->asked < sent);
    return sent;
}

static void a_full_sink_holds_the_link_and_loses_nothing(void **state)
{
    struct evil evil;
    struct pourer pourer;
    uint64_t sent;
    uint64_t got = 0;
    int ends[2];

    (void)state;
    open_with_sink(&evil, &pourer, ends);
    sent = fill(&evil, &pourer, ends[1]);
    for (int i = 0; i < 100 && got < sent; i++) {
        got += drain(ends[0]);
        assert_true(evil_pump(&evil) >= 0);
    }
    assert_int_equal(got, sent);
    close_with_sink(&evil, ends);
}

/* The owner gives up while a frame is stuck: what is left of it reaches nobody, least of all the
 * next channel, and the frames behind it are understood. */
static void a_sink_that_is_closed_in_the_middle_of_a_frame_gets_no_more(void **state)
{
    struct evil evil;
    struct pourer pourer;
    struct taker next = { 0 };
    uint32_t channel;
    uint64_t before;
    int ends[2];

    (void)state;
    open_with_sink(&evil, &pourer, ends);
    (void)fill(&evil, &pourer, ends[1]);
    link_channel_close(evil.link, CH_IN);
    before = drain(ends[0]);
    assert_true(before > 0);
    channel = link_channel_open(evil.link, &take_ops, &next);
    assert_int_equal(channel, CH_OUT);
    evil_data(&evil, CH_IN, "late", 4, true);
    evil_data(&evil, channel, "next", 4, true);
    for (int i = 0; i < 20; i++)
        assert_true(evil_pump(&evil) >= 0);
    assert_int_equal(drain(ends[0]), 0);
    assert_int_equal(next.bytes, 4);
    assert_int_equal(next.fins, 1);
    assert_int_equal(pourer.taker.fins, 0);
    close_with_sink(&evil, ends);
}

/* While it stays full, too: the pipe is not waited for any more. */
static void a_full_sink_that_is_closed_holds_nothing(void **state)
{
    struct evil evil;
    struct pourer pourer;
    struct taker next = { 0 };
    uint32_t channel;
    int ends[2];

    (void)state;
    open_with_sink(&evil, &pourer, ends);
    (void)fill(&evil, &pourer, ends[1]);
    link_channel_close(evil.link, CH_IN);
    channel = link_channel_open(evil.link, &take_ops, &next);
    evil_data(&evil, channel, "next", 4, true);
    for (int i = 0; i < 20; i++)
        assert_true(evil_pump(&evil) >= 0);
    assert_int_equal(next.bytes, 4);
    close_with_sink(&evil, ends);
}

static void a_sink_without_a_reader_is_told_once_and_dropped(void **state)
{
    static const char bytes[1000];
    struct evil evil;
    struct pourer pourer;
    int ends[2];

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); /* as every program with sinks must */
    open_with_sink(&evil, &pourer, ends);
    close(ends[0]);
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    evil_data(&evil, CH_IN, bytes, sizeof(bytes), false);
    assert_true(evil_pump(&evil) > 0);
    assert_int_equal(pourer.refusals, 1);
    evil_data(&evil, CH_IN, "", 0, true);
    assert_true(evil_pump(&evil) > 0);
    assert_int_equal(pourer.taker.fins, 1);
    close_with_sink(&evil, ends);
    (void)signal(SIGPIPE, SIG_DFL);
}

/* ---- bounds of this side -------------------------------------------------------------------- */

static void requests_and_channels_have_an_end(void **state)
{
    struct evil evil;
    struct taker taker;
    struct msg_ping ping;
    uint32_t seq = 0;
    uint64_t value;
    uint32_t step;
    int n = 1;

    (void)state;
    open_for_table(&evil, &taker);
    while (link_request(evil.link, MSG_PING, &ping, NULL, 0, &seq, &evil.err) == 0)
        n++;
    assert_int_equal(n, 32);
    assert_int_equal(evil.err.code, -EBUSY);
    assert_int_equal(evil.err.blame, GB_BLAME_BUG);
    evil_ok(&evil, 32, 0);
    assert_true(evil_pump(&evil) > 0);
    assert_int_equal(link_answer(evil.link, 32, &value, &step), 1);
    assert_int_equal(link_request(evil.link, MSG_PING, &ping, NULL, 0, &seq, &evil.err), 0);
    for (n = 0; link_channel_open(evil.link, &take_ops, &taker); n++)
        continue;
    assert_int_equal(n, 64 + 2 * 1024 + 2 * 256 - 3); /* three are open */
    link_channel_close(evil.link, CH_IN);
    assert_true(link_channel_open(evil.link, &take_ops, &taker) > CH_ENDED);
    evil_down(&evil);
}

static void what_is_sent_is_bounded_by_credit(void **state)
{
    static const char bytes[WIRE_CREDIT_START + 1];
    struct evil evil;
    struct taker taker;

    (void)state;
    open_for_table(&evil, &taker);
    assert_int_equal(link_channel_room(evil.link, CH_OUT), WIRE_CREDIT_START);
    assert_int_equal(link_channel_room(evil.link, CH_CLOSED), 0);
    assert_int_equal(link_channel_send(evil.link, CH_OUT, bytes, sizeof(bytes), false), -EINVAL);
    assert_int_equal(link_channel_send(evil.link, CH_OUT, bytes, WIRE_CREDIT_START, false), 0);
    assert_int_equal(link_channel_room(evil.link, CH_OUT), 0);
    assert_int_equal(link_channel_send(evil.link, CH_OUT, bytes, 1, false), -EINVAL);
    assert_int_equal(link_channel_send(evil.link, 50, bytes, 1, false), -EINVAL);
    evil_frame(&evil, MSG_CREDIT, 0, CH_OUT, (uint8_t[]){ LE32(10) }, 4);
    assert_true(evil_pump(&evil) > 0);
    assert_int_equal(link_channel_room(evil.link, CH_OUT), 10);
    evil_down(&evil);
}

/* However much credit it gives, a glove that does not read bounds what is queued for it. */
/* A part of it is on its way: it can be neither taken back nor left out. */
static void half_a_frame_that_cannot_be_kept_loses_the_link(void **state)
{
    static const uint8_t bytes[WIRE_PAYLOAD_MAX];
    int room = 2 * WIRE_PAYLOAD_MAX;
    int small = 4096;
    struct evil evil;
    uint32_t channel;
    int pair[2];

    (void)state;
    evil_up(&evil);
    evil_greet(&evil);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    assert_int_equal(send(pair[1], bytes, sizeof(bytes), MSG_DONTWAIT), sizeof(bytes));
    assert_int_equal(setsockopt(evil.link->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    channel = link_channel_open(evil.link, NULL, NULL);
    evil.link->out.max = 0; /* as if nothing more could be allocated */
    assert_int_equal(link_channel_feed(evil.link, channel, pair[0]), sizeof(bytes));
    assert_true(link_is_lost(evil.link));
    assert_non_null(strstr(evil.link->why, "no memory"));
    close(pair[0]);
    close(pair[1]);
    evil_down(&evil);
}

static void what_is_queued_is_bounded_by_the_queue(void **state)
{
    static const char bytes[WIRE_PAYLOAD_MAX];
    struct evil evil;
    struct taker taker;
    uint64_t sent = 0;
    size_t room;

    (void)state;
    open_for_table(&evil, &taker);
    evil_frame(&evil, MSG_CREDIT, 0, CH_OUT, (uint8_t[]){ LE32(0x40000000u) }, 4);
    assert_true(evil_pump(&evil) > 0);
    while ((room = link_channel_room(evil.link, CH_OUT)) > 0) {
        size_t n = room < sizeof(bytes) ? room : sizeof(bytes);

        assert_int_equal(link_channel_send(evil.link, CH_OUT, bytes, n, false), 0);
        sent += n;
    }
    assert_true(sent < LINK_QUEUE_MAX + (4 << 20));
    assert_false(link_is_lost(evil.link));
    evil_down(&evil);
}

static void a_request_too_long_is_the_callers_fault(void **state)
{
    static char text[WIRE_PAYLOAD_MAX + 1];
    struct evil evil;
    struct taker taker;
    struct msg_put put = { .dir = text };
    uint32_t seq;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    open_for_table(&evil, &taker);
    assert_int_equal(link_request(evil.link, MSG_PUT, &put, NULL, 0, &seq, &evil.err), -EMSGSIZE);
    assert_int_equal(evil.err.blame, GB_BLAME_CALLER);
    assert_false(link_is_lost(evil.link));
    evil_down(&evil);
}

/* A write to a glove that is gone is an error, never a signal. */
static void a_dead_glove_raises_no_signal(void **state)
{
    struct msg_ping ping;
    struct evil evil;
    struct taker taker;
    uint32_t seq;

    (void)state;
    open_for_table(&evil, &taker);
    close(take_fd(&evil.fd));
    assert_true(link_request(evil.link, MSG_PING, &ping, (int[]){ 0 }, 1, &seq, &evil.err) < 0);
    assert_true(link_is_lost(evil.link));
    evil_down(&evil);
    open_for_table(&evil, &taker);
    close(take_fd(&evil.fd));
    (void)link_request(evil.link, MSG_PING, &ping, NULL, 0, &seq, &evil.err);
    assert_true(evil_pump(&evil) < 0);
    evil_down(&evil);
}

static void what_a_glove_said_before_it_ended_is_heard(void **state)
{
    struct msg_ping ping;
    struct evil evil;
    struct taker taker;
    uint64_t value;
    uint32_t step = 0;
    uint32_t seq;

    (void)state;
    open_for_table(&evil, &taker);
    evil_error(&evil, SEQ, EINVAL, GLOVE_STEP_SECCOMP);
    close(take_fd(&evil.fd));
    assert_true(link_request(evil.link, MSG_PING, &ping, (int[]){ 0 }, 1, &seq, &evil.err) < 0);
    assert_true(link_is_lost(evil.link));
    assert_int_equal(link_answer(evil.link, SEQ, &value, &step), 0);
    link_last_words(evil.link);
    assert_int_equal(link_answer(evil.link, SEQ, &value, &step), -EINVAL);
    assert_int_equal(step, GLOVE_STEP_SECCOMP);
    assert_true(link_is_lost(evil.link));
    evil_down(&evil);
}

/* Nothing to read: it neither waits nor loses a link that is not lost. */
static void a_living_glove_need_not_have_said_anything(void **state)
{
    struct evil evil;
    struct taker taker;

    (void)state;
    open_for_table(&evil, &taker);
    link_last_words(evil.link);
    assert_false(link_is_lost(evil.link));
    evil_down(&evil);
}

/* Behind a message that was none, nothing is believed. */
static void a_liar_has_no_last_words(void **state)
{
    struct evil evil;
    struct taker taker;
    uint64_t value;
    uint32_t step = 0;

    (void)state;
    open_for_table(&evil, &taker);
    evil_ok(&evil, SEQ + 1000, 0);
    assert_true(evil_pump(&evil) < 0);
    evil_error(&evil, SEQ, EINVAL, GLOVE_STEP_SECCOMP);
    link_last_words(evil.link);
    assert_int_equal(link_answer(evil.link, SEQ, &value, &step), 0);
    evil_down(&evil);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_glove_said_before_it_ended_is_heard),
        cmocka_unit_test(a_living_glove_need_not_have_said_anything),
        cmocka_unit_test(a_liar_has_no_last_words),
        cmocka_unit_test(each_lie_is_taken_refused_or_dropped),
        cmocka_unit_test(a_lost_link_fails_every_call),
        cmocka_unit_test(only_the_right_greeting_is_taken),
        cmocka_unit_test(nothing_comes_before_the_greeting),
        cmocka_unit_test(frames_may_drip_byte_by_byte),
        cmocka_unit_test(a_link_that_ends_is_lost_wherever_it_ends),
        cmocka_unit_test(noise_ends_the_link_or_nothing),
        cmocka_unit_test(a_million_empty_frames_cost_no_memory),
        cmocka_unit_test(credit_follows_what_was_taken),
        cmocka_unit_test(a_deadline_holds_under_chatter),
        cmocka_unit_test(a_deadline_holds_in_silence),
        cmocka_unit_test(descriptors_from_a_glove_are_never_held),
        cmocka_unit_test(descriptors_go_with_their_request),
        cmocka_unit_test(a_sink_gets_the_bytes_of_its_channel_alone),
        cmocka_unit_test(lies_are_found_out_beside_a_sink_too),
        cmocka_unit_test(nothing_is_poured_before_the_greeting),
        cmocka_unit_test(a_full_sink_holds_the_link_and_loses_nothing),
        cmocka_unit_test(a_sink_that_is_closed_in_the_middle_of_a_frame_gets_no_more),
        cmocka_unit_test(a_full_sink_that_is_closed_holds_nothing),
        cmocka_unit_test(a_sink_without_a_reader_is_told_once_and_dropped),
        cmocka_unit_test(requests_and_channels_have_an_end),
        cmocka_unit_test(what_is_sent_is_bounded_by_credit),
        cmocka_unit_test(half_a_frame_that_cannot_be_kept_loses_the_link),
        cmocka_unit_test(what_is_queued_is_bounded_by_the_queue),
        cmocka_unit_test(a_request_too_long_is_the_callers_fault),
        cmocka_unit_test(a_dead_glove_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
