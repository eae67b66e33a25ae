/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_tie.c - what is held for a peer that does not read: as much as may be, and as long as
 * it must. */
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

/* The peer's socket takes less than what the box will send. */
static void tied_up(struct tied *tied, size_t held)
{
    int small = (int)PIECE;
    int pair[2];

    evil_up(&tied->evil);
    evil_greet(&tied->evil);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    tied->held = held;
    tied->peer = pair[1];
    tied->tie = (struct tie){ .held_in_all = &tied->held, .over = ignore };
    assert_int_equal(tie_open(&tied->tie, tied->evil.link, pair[0]), 0);
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

static void a_connection_over_the_bound_of_all_is_cut_off(void **state)
{
    size_t others = TIES_HELD_MAX - PIECE;
    struct tied tied;

    (void)state;
    tied_up(&tied, others);
    box_sends(&tied);
    assert_true(tied.held <= TIES_HELD_MAX);
    assert_true(tie_wish(&tied.tie).events & POLLOUT); /* it wants to be told of its end */
    assert_int_equal(tie_serve(&tied.tie, POLLOUT), -EPIPE);
    tie_close(&tied.tie);
    assert_int_equal(tied.held, others); /* what the others hold is theirs */
    tied_down(&tied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_goes_on_and_its_memory_is_given_back),
        cmocka_unit_test(a_connection_over_the_bound_of_all_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
