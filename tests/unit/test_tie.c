/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tie.c - what is held for a peer that does not read: as much as may be, and as long as
 * it must. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "box/link_parts.h"
#include "box/tie.h"
#include "evil_glove.h"

#define PIECE  4096u
#define PIECES 32u

_Static_assert(PIECE *PIECES <= WIRE_CREDIT_START, "an honest glove's");

struct tied {
    struct evil evil;
    struct tie tie;
    size_t held; /* of all ties, as their owner counts */
    int peer;
};

static void ignore(void *user)
{
    (void)user;
}

/* One more on a link.  The peer's socket takes less than what the box will send. */
static void tie_up(struct tied *tied, struct link *link, size_t held)
{
    int small = (int)PIECE;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    tied->held = held;
    tied->peer = pair[1];
    tied->tie = (struct tie){ .held_in_all = &tied->held, .over = ignore };
    assert_int_equal(tie_open(&tied->tie, link, pair[0]), 0);
}

static void tied_up(struct tied *tied, size_t held)
{
    evil_up(&tied->evil);
    evil_greet(&tied->evil);
    tie_up(tied, tied->evil.link, held);
}

static void tied_down(struct tied *tied)
{
    tie_close(&tied->tie);
    close(tied->peer);
    evil_down(&tied->evil);
}

static void box_sends(struct tied *tied)
{
    static const uint8_t piece[PIECE];

    for (unsigned i = 0; i < PIECES; i++) {
        evil_data(&tied->evil, tied->tie.out, piece, sizeof(piece), false);
        assert_true(evil_pump(&tied->evil) >= 0);
    }
}

/* The peer takes what there is; how much. */
static size_t peer_takes(const struct tied *tied)
{
    uint8_t bytes[PIECE];
    size_t taken = 0;
    ssize_t n;

    while ((n = recv(tied->peer, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        taken += (size_t)n;
    return taken;
}

static void what_is_held_goes_on_and_its_memory_is_given_back(void **state)
{
    struct tied tied;
    size_t taken = 0;

    (void)state;
    tied_up(&tied, 0);
    box_sends(&tied);
    assert_true(tied.held > 0);
    assert_non_null(tied.tie.held);
    for (unsigned i = 0; taken < (size_t)PIECE * PIECES && i < 10 * PIECES; i++) {
        taken += peer_takes(&tied);
        assert_int_equal(tie_serve(&tied.tie, POLLOUT), 0);
    }
    assert_int_equal(taken, PIECE * PIECES);
    assert_int_equal(tied.held, 0);
    assert_null(tied.tie.held);
    tied_down(&tied);
}

/* A piece whose bytes tell their place in the stream. */
static void box_sends_from(struct tied *tied, size_t at)
{
    uint8_t piece[PIECE];

    for (size_t i = 0; i < sizeof(piece); i++)
        piece[i] = (uint8_t)((at + i) % 251);
    evil_data(&tied->evil, tied->tie.out, piece, sizeof(piece), false);
    assert_true(evil_pump(&tied->evil) >= 0);
}

/* The peer takes part of a piece, as it should be from there on; how much. */
static size_t peer_takes_from(const struct tied *tied, size_t at)
{
    uint8_t bytes[PIECE / 2 + 7];
    ssize_t n = recv(tied->peer, bytes, sizeof(bytes), MSG_DONTWAIT);

    for (ssize_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], (at + (size_t)i) % 251);
    return n > 0 ? (size_t)n : 0;
}

/* More comes while some of what is held has gone on: behind the rest of it, not into it. */
static void a_slow_peer_gets_every_byte_in_its_place(void **state)
{
    const size_t all = (size_t)PIECE * PIECES * 4;
    size_t sent = 0;
    size_t taken = 0;
    struct tied tied;

    (void)state;
    tied_up(&tied, 0);
    for (unsigned i = 0; taken < all && i < 40 * PIECES; i++) {
        if (sent < all && sent - taken < (size_t)PIECE * PIECES / 2) {
            box_sends_from(&tied, sent);
            sent += PIECE;
        }
        taken += peer_takes_from(&tied, taken);
        assert_int_equal(tie_serve(&tied.tie, POLLOUT), 0);
    }
    assert_int_equal(taken, all);
    tied_down(&tied);
}

static void a_connection_over_the_bound_of_all_is_cut_off(void **state)
{
    size_t others = TIES_HELD_MAX - PIECE;
    struct tied tied;
    struct pollfd wish;

    (void)state;
    tied_up(&tied, others);
    box_sends(&tied);
    assert_true(tied.held <= TIES_HELD_MAX);
    evil_data(&tied.evil, tied.tie.out, NULL, 0, true);
    assert_true(evil_pump(&tied.evil) >= 0);
    assert_true(tie_is_sending(&tied.tie)); /* to the peer it has not ended */
    wish = tie_wish(&tied.tie);
    assert_int_equal(poll(&wish, 1, 0), 1); /* though the peer takes nothing */
    assert_int_equal(tie_serve(&tied.tie, wish.revents), -ENOBUFS);
    tie_close(&tied.tie);
    assert_int_equal(tied.held, others); /* what the others hold is theirs */
    tied_down(&tied);
}

/* The box sends so much, and the peer takes all of it. */
static void carry(struct evil *evil, struct tied *tied, size_t much)
{
    static const uint8_t piece[PIECE];
    size_t taken = 0;

    for (size_t sent = 0; sent < much; sent += sizeof(piece)) {
        evil_data(evil, tied->tie.out, piece, sizeof(piece), false);
        assert_true(evil_pump(evil) >= 0);
        while (tied->tie.held_len > 0) {
            taken += peer_takes(tied);
            assert_int_equal(tie_serve(&tied->tie, POLLOUT), 0);
        }
    }
    assert_int_equal(taken + peer_takes(tied), much);
}

static void more_is_under_way_where_much_is_carried(void **state)
{
    static const uint8_t piece[PIECE];
    size_t sent = 0;
    size_t taken = 0;
    struct tied tied;

    (void)state;
    tied_up(&tied, 0);
    assert_int_equal(tied.tie.window, WIRE_CREDIT_START);
    carry(&tied.evil, &tied, WIRE_CREDIT_WIDE + WIRE_CREDIT_START);
    assert_int_equal(tied.tie.window, WIRE_CREDIT_WIDE);
    /* Nobody reads: what may come is held, the window and no more. */
    for (; sent < 3 * (size_t)WIRE_CREDIT_START; sent += sizeof(piece)) {
        evil_data(&tied.evil, tied.tie.out, piece, sizeof(piece), false);
        assert_true(evil_pump(&tied.evil) >= 0);
    }
    assert_true(tied.held > 2 * WIRE_CREDIT_START && tied.held <= WIRE_CREDIT_WIDE);
    while (taken < sent) {
        taken += peer_takes(&tied);
        assert_int_equal(tie_serve(&tied.tie, POLLOUT), 0);
    }
    assert_int_equal(tied.held, 0);
    tied_down(&tied);
}

/* The peer sends on from there, as much as its socket takes; how much. */
static size_t peer_sends_from(const struct tied *tied, size_t at, size_t end)
{
    static uint8_t bytes[WIRE_CREDIT_START];
    ssize_t n;

    for (size_t i = at; i < end; i++)
        bytes[i - at] = (uint8_t)(i % 251);
    n = send(tied->peer, bytes, end - at, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

/* The glove takes part of what has come, as it should be from there on; how much of the stream. */
static size_t glove_takes_from(const struct tied *tied, struct wire_reader *reader, size_t at)
{
    const uint8_t *payload;
    struct wire_head head;
    size_t taken = 0;
    size_t room;
    uint8_t *to = wire_reader_room(reader, &room);
    ssize_t n = recv(tied->evil.fd, to, room < PIECE ? room : PIECE, MSG_DONTWAIT);

    wire_reader_fed(reader, n > 0 ? (size_t)n : 0);
    while (wire_reader_next(reader, &head, &payload) > 0) {
        assert_int_equal(head.type, MSG_DATA);
        assert_int_equal(head.channel, tied->tie.in);
        for (size_t i = 0; i < head.size; i++)
            assert_int_equal(payload[i], (at + taken + i) % 251);
        taken += head.size;
    }
    return taken;
}

/* The link's socket takes less than all of it, which is queued behind. */
static void several_frames_at_once_come_whole_and_in_their_order(void **state)
{
    static struct wire_reader reader;
    const size_t all = WIRE_CREDIT_START;
    size_t sent = 0;
    size_t taken = 0;
    uint64_t most = 0;
    int small = (int)PIECE;
    struct tied tied;

    (void)state;
    tied_up(&tied, 0);
    assert_int_equal(setsockopt(tied.evil.link->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
                     0);
    wire_reader_init(&reader);
    while (sent < all) {
        uint64_t before = tied.tie.bytes_received;

        sent += peer_sends_from(&tied, sent, all);
        assert_int_equal(tie_serve(&tied.tie, POLLIN), 0);
        most = tied.tie.bytes_received - before > most ? tied.tie.bytes_received - before : most;
    }
    assert_true(most > WIRE_PAYLOAD_MAX);
    for (size_t i = 0; taken < all && i < 2 * all / PIECE; i++) {
        taken += glove_takes_from(&tied, &reader, taken);
        assert_true(evil_pump(&tied.evil) >= 0);
    }
    assert_int_equal(taken, all);
    tied_down(&tied);
}

/* Eight at a time: a thousand that carry much hold what a thousand others do, and 6 MiB more. */
static void few_windows_are_wide_at_a_time(void **state)
{
    static struct tied tied[12];
    size_t much = WIRE_CREDIT_WIDE + WIRE_CREDIT_START;
    size_t n_wide = 0;

    (void)state;
    tied_up(&tied[0], 0);
    for (size_t i = 1; i < N_ELEMENTS(tied); i++)
        tie_up(&tied[i], tied[0].evil.link, 0);
    for (size_t i = 0; i < N_ELEMENTS(tied); i++) {
        carry(&tied[0].evil, &tied[i], much);
        n_wide += tied[i].tie.window == WIRE_CREDIT_WIDE;
    }
    assert_int_equal(n_wide, 8);
    assert_int_equal(tied[11].tie.window, WIRE_CREDIT_START);
    tie_close(&tied[1].tie);
    carry(&tied[0].evil, &tied[11], PIECE); /* whose window is free now */
    assert_int_equal(tied[11].tie.window, WIRE_CREDIT_WIDE);
    for (size_t i = 1; i < N_ELEMENTS(tied); i++) {
        tie_close(&tied[i].tie);
        close(tied[i].peer);
    }
    tied_down(&tied[0]);
}

/* As tied_up(), but over TCP, whose ends are of two kinds. */
static void tied_up_tcp(struct tied *tied)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(at);
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    evil_up(&tied->evil);
    evil_greet(&tied->evil);
    tied->held = 0;
    tied->tie = (struct tie){ .held_in_all = &tied->held, .over = ignore };
    assert_int_equal(bind(door, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(ours, (struct sockaddr *)&at, len), 0);
    tied->peer = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    close(door);
    assert_int_equal(tie_open(&tied->tie, tied->evil.link, ours), 0);
}

/* The peer answers, perhaps ends, and resets; then the box says something.  What the host does. */
static int answered_and_reset(struct tied *tied, bool with_end, bool *ret_has_end)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    struct wire_head head;
    uint32_t in;
    int r;

    tied_up_tcp(tied);
    in = tied->tie.in;
    assert_int_equal(send(tied->peer, "too much", 8, 0), 8);
    if (with_end)
        assert_int_equal(shutdown(tied->peer, SHUT_WR), 0);
    fd_reset_at_close(tied->peer);
    close(tied->peer);
    tied->peer = -1;
    box_sends(tied);
    assert_true(tie_wish(&tied->tie).events & POLLOUT);
    r = tie_serve(&tied->tie, POLLIN | POLLOUT | POLLERR | POLLHUP);
    assert_int_equal(evil_read(&tied->evil, &head, payload), MSG_DATA);
    assert_int_equal(head.channel, in);
    assert_int_equal(head.size, 8);
    *ret_has_end = !tied->tie.in;
    tie_close(&tied->tie);
    evil_down(&tied->evil);
    return r;
}

static void what_a_peer_said_before_it_went_is_passed_on(void **state)
{
    struct tied tied;
    bool has_end;

    (void)state;
    assert_int_equal(answered_and_reset(&tied, false, &has_end), -ECONNRESET);
    assert_false(has_end);
    assert_int_equal(answered_and_reset(&tied, true, &has_end), -EPIPE);
    assert_true(has_end);
}

static void a_peer_that_could_not_be_reached_any_more_has_not_ended(void **state)
{
    struct tied tied;

    (void)state;
    tied_up(&tied, 0);
    tied.tie.error = ETIMEDOUT;
    assert_int_equal(shutdown(tied.peer, SHUT_WR), 0); /* as the kernel tells it, the second time */
    assert_int_equal(tie_serve(&tied.tie, POLLIN | POLLOUT), -ETIMEDOUT);
    assert_true(tied.tie.in != 0);
    tied_down(&tied);
}

/* It blocks in what it says, and would never come to read; but its words have a bound. */
static void a_peer_that_nobody_hears_can_speak(void **state)
{
    static const uint8_t words[65536];
    struct tied tied;
    size_t said = 0;
    int r = 0;

    (void)state;
    tied_up(&tied, 0);
    box_sends(&tied);
    tie_deaf(&tied.tie);
    assert_int_equal(tied.tie.in, 0);
    while (r == 0 && said < 4 << 20) {
        ssize_t n = send(tied.peer, words, sizeof(words), MSG_DONTWAIT | MSG_NOSIGNAL);

        said += n > 0 ? (size_t)n : 0;
        assert_true(tie_wish(&tied.tie).events & POLLIN);
        r = tie_serve(&tied.tie, POLLIN);
    }
    assert_int_equal(r, -EPIPE);
    assert_true(said > 1 << 20);
    tied_down(&tied);
}

static void a_peer_that_nobody_hears_may_end(void **state)
{
    struct tied tied;

    (void)state;
    tied_up(&tied, 0);
    box_sends(&tied);
    tie_deaf(&tied.tie);
    assert_int_equal(shutdown(tied.peer, SHUT_WR), 0);
    assert_int_equal(tie_serve(&tied.tie, POLLIN), 0);
    assert_false(tie_wish(&tied.tie).events & POLLIN); /* or it would be told so for ever */
    assert_true(tie_wish(&tied.tie).events & POLLOUT);
    tied_down(&tied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_goes_on_and_its_memory_is_given_back),
        cmocka_unit_test(a_slow_peer_gets_every_byte_in_its_place),
        cmocka_unit_test(several_frames_at_once_come_whole_and_in_their_order),
        cmocka_unit_test(a_connection_over_the_bound_of_all_is_cut_off),
        cmocka_unit_test(more_is_under_way_where_much_is_carried),
        cmocka_unit_test(few_windows_are_wide_at_a_time),
        cmocka_unit_test(what_a_peer_said_before_it_went_is_passed_on),
        cmocka_unit_test(a_peer_that_could_not_be_reached_any_more_has_not_ended),
        cmocka_unit_test(a_peer_that_nobody_hears_can_speak),
        cmocka_unit_test(a_peer_that_nobody_hears_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
