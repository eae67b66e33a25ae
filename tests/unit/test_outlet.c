/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_outlet.c - output for a reader who may be slow, stuck or gone. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/outlet.h"

#include <cmocka.h>

#define MUCH (1 << 20)

static const char much[MUCH];

struct fixture {
    int in;
    int out;
    int cancel_in;
    int cancel_out;
    struct outlet outlet;
};

static void open_pipes(struct fixture *f)
{
    int ends[2];
    int cancel[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(cancel, O_CLOEXEC), 0);
    *f = (struct fixture){
        .in = ends[0], .out = ends[1], .cancel_in = cancel[0], .cancel_out = cancel[1]
    };
    outlet_init(&f->outlet, f->out, f->cancel_in);
}

static void close_pipes(struct fixture *f)
{
    outlet_clear(&f->outlet);
    close(f->in);
    close(f->out);
    close(f->cancel_in);
    close(f->cancel_out);
}

static int push(struct outlet *outlet, const char *bytes, size_t len)
{
    assert_int_equal(buf_add(&outlet->pending, bytes, len), 0);
    return outlet_push(outlet);
}

static void *read_all(void *user)
{
    static char seen[MUCH];
    const int *fd = user;

    return fd_read_full(*fd, seen, sizeof(seen)) == MUCH ? seen : NULL;
}

static void test_a_slow_reader_gets_everything(void **state)
{
    struct fixture f;
    pthread_t reader;
    void *seen = NULL;

    (void)state;
    open_pipes(&f);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &f.in), 0);
    assert_int_equal(push(&f.outlet, much, sizeof(much)), 0);
    assert_int_equal(f.outlet.pending.len, 0);
    assert_int_equal(pthread_join(reader, &seen), 0);
    assert_non_null(seen);
    assert_int_equal(outlet_finish(&f.outlet), 0);
    close_pipes(&f);
}

static void test_patience_ends_and_the_rest_goes_out_last(void **state)
{
    struct fixture f;
    pthread_t reader;
    void *seen = NULL;

    (void)state;
    open_pipes(&f);
    f.outlet.deadline_ns = clock_now_ns();
    assert_int_equal(push(&f.outlet, much, sizeof(much)), 0);
    assert_true(f.outlet.sent > 0 && f.outlet.sent < f.outlet.pending.len);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &f.in), 0);
    assert_int_equal(outlet_finish(&f.outlet), 0);
    assert_int_equal(pthread_join(reader, &seen), 0);
    assert_non_null(seen);
    close_pipes(&f);
}

static void test_who_is_told_to_end_leaves_a_reader_that_is_stuck(void **state)
{
    struct fixture f;

    (void)state;
    open_pipes(&f);
    assert_int_equal(write(f.cancel_out, "x", 1), 1);
    assert_int_equal(push(&f.outlet, much, sizeof(much)), 0);
    assert_int_equal(outlet_finish(&f.outlet), -ETIMEDOUT);
    assert_int_equal(push(&f.outlet, "x", 1), -ETIMEDOUT);
    close_pipes(&f);
}

static void test_a_terminal_that_nobody_reads_is_left_too(void **state)
{
    struct fixture f;
    int master = -1;
    int slave = -1;

    (void)state;
    open_pipes(&f);
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    outlet_clear(&f.outlet);
    outlet_init(&f.outlet, slave, f.cancel_in);
    f.outlet.deadline_ns = clock_now_ns();
    assert_int_equal(push(&f.outlet, much, sizeof(much)), 0);
    assert_true(f.outlet.sent < f.outlet.pending.len);
    assert_int_equal(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(write(f.cancel_out, "x", 1), 1);
    assert_int_equal(outlet_finish(&f.outlet), -ETIMEDOUT);
    close(master);
    close(slave);
    close_pipes(&f);
}

static void test_a_reader_that_has_left_and_a_full_disk_are_errors(void **state)
{
    struct fixture f;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    open_pipes(&f);
    close(f.in);
    f.in = -1;
    assert_int_equal(push(&f.outlet, "x", 1), -EPIPE);
    assert_int_equal(outlet_finish(&f.outlet), -EPIPE);
    outlet_clear(&f.outlet);
    outlet_init(&f.outlet, full, f.cancel_in);
    assert_int_equal(push(&f.outlet, "x", 1), -ENOSPC);
    close(full);
    close_pipes(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_reader_gets_everything),
        cmocka_unit_test(test_patience_ends_and_the_rest_goes_out_last),
        cmocka_unit_test(test_who_is_told_to_end_leaves_a_reader_that_is_stuck),
        cmocka_unit_test(test_a_terminal_that_nobody_reads_is_left_too),
        cmocka_unit_test(test_a_reader_that_has_left_and_a_full_disk_are_errors),
    };

    return cmocka_run_group_tests_name("outlet", tests, NULL, NULL);
}
