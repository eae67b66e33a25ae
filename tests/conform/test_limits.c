/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_limits.c - every limit ends or refuses what crosses it, and the box lives on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "trial.h"

#define MIB (1024 * 1024UL)

/* What a kill may take on a busy machine. */
#define LATE_NS (3 * NS_PER_S)

static void expect_kill(const struct trial *t, enum box_kill kill)
{
    assert_int_equal(t->end.kill, kill);
    assert_int_equal(t->end.survivors, 0);
    assert_false(t->end.is_lost);
}

static void box_is_well(struct trial *t)
{
    struct ledger now;

    trial_says(t, "echo well", "well\n");
    ledger_take(&t->scope, &now);
    assert_int_equal(now.processes, 1);
}

/* ---- time ----------------------------------------------------------------------------------- */

static void wall_time_ends_a_sleeper(void **state)
{
    struct trial *t = *state;

    t->spec.limits.wall_ms = 300;
    trial_open(t);
    trial_sh(t, "echo before; sleep 1000; echo after");
    expect_kill(t, BOX_KILL_WALL);
    assert_string_equal(t->streams[1].text, "before\n");
    assert_in_range(t->end.wall_ns, 300 * NS_PER_MS, 300 * NS_PER_MS + LATE_NS);
    box_is_well(t);
}

static void wall_time_ends_whoever_hides(void **state)
{
    static const char *const scripts[] = {
        "trap '' TERM INT HUP QUIT; while :; do sleep 1000; done",
        "setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000",
        "kill -STOP $$",
        "exec 1>&- 2>&-; sleep 1000",
        "while :; do (setsid sleep 1000 &); sleep 0.01; done",
    };
    struct trial *t = *state;

    t->spec.limits.wall_ms = 200;
    trial_open(t);
    for (size_t i = 0; i < N_ELEMENTS(scripts); i++) {
        trial_sh(t, scripts[i]);
        expect_kill(t, BOX_KILL_WALL);
        assert_true(t->end.wall_ns < 200 * NS_PER_MS + LATE_NS);
        box_is_well(t);
    }
}

static void cpu_time_ends_a_spinner(void **state)
{
    struct trial *t = *state;

    t->spec.limits.cpu_ms = 200;
    trial_open(t);
    trial_sh(t, "while :; do :; done");
    expect_kill(t, BOX_KILL_CPU);
    assert_true(t->end.cpu_ns >= 200 * NS_PER_MS);
    assert_true(t->end.cpu_ns < 1000 * NS_PER_MS);
    box_is_well(t);
}

static void cpu_time_is_that_of_all_processes(void **state)
{
    struct trial *t = *state;

    t->spec.limits.cpu_ms = 300;
    t->spec.limits.cpu_milli = 2000;
    trial_open(t);
    trial_sh(t, "for i in 1 2 3 4; do (setsid sh -c 'while :; do :; done') & done; sleep 1000");
    expect_kill(t, BOX_KILL_CPU);
    box_is_well(t);
}

static void sleeping_costs_no_cpu_time(void **state)
{
    struct trial *t = *state;

    t->spec.limits.cpu_ms = 100;
    trial_open(t);
    trial_sh(t, "sleep 0.3");
    expect_kill(t, BOX_KILL_NONE);
    assert_int_equal(t->end.code, 0);
}

/* ---- memory and processes ------------------------------------------------------------------- */

static void memory_over_the_limit_is_killed_and_told(void **state)
{
    struct trial *t = *state;

    t->spec.limits.memory_bytes = 48 * MIB;
    trial_open(t);
    trial_sh(t, "head -c 200000000 /dev/zero | tail -c 150000000 | wc -c");
    assert_int_equal(t->end.kill, BOX_KILL_NONE);
    assert_true(t->end.oom_kills > 0);
    assert_in_range(t->end.memory_peak, 32 * MIB, 50 * MIB); /* with what is the glove's */
    box_is_well(t);
    assert_int_equal(t->end.oom_kills, 0);
}

static void files_count_as_memory_and_are_told_apart(void **state)
{
    struct trial *t = *state;

    t->spec.limits.memory_bytes = 32 * MIB;
    trial_open(t);
    trial_sh(t, "cat /dev/zero > /tmp/fill");
    assert_true(t->end.oom_kills > 0);
    assert_true(t->end.memory_files > 16 * MIB);
}

static void processes_over_the_limit_are_refused_and_told(void **state)
{
    struct trial *t = *state;

    t->spec.limits.pids = 16;
    trial_open(t);
    trial_sh(t, "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; echo all");
    assert_true(t->end.pids_hits > 0);
    assert_null(strstr(t->streams[1].text, "all"));
    box_is_well(t);
    assert_int_equal(t->end.pids_hits, 0);
}

static void a_fork_bomb_ends_with_its_run(void **state)
{
    struct trial *t = *state;

    t->spec.limits.pids = 64;
    t->spec.limits.wall_ms = 700;
    trial_open(t);
    trial_sh(t, "b() { b | b & b; }; b 2>/dev/null; wait; sleep 1000");
    assert_true(t->end.pids_hits > 0);
    assert_int_equal(t->end.survivors, 0);
    assert_true(t->end.wall_ns < 700 * NS_PER_MS + LATE_NS);
    box_is_well(t);
}

/* ---- disk ----------------------------------------------------------------------------------- */

static void the_disk_has_an_end(void **state)
{
    struct trial *t = *state;

    t->spec.limits.disk_bytes = 4 * MIB;
    trial_open(t);
    trial_sh(t, "for i in 1 2 3; do head -c 2000000 /dev/zero | cat > /tmp/f$i || exit 9; done");
    assert_int_equal(t->end.code, 9);
    assert_non_null(strstr(t->streams[2].text, "No space left"));
    assert_true(t->end.disk_free < 65536);
    trial_says(t, "rm /tmp/f*", "");
    assert_true(t->end.disk_free > 3 * MIB);
    box_is_well(t);
}

static bool has_disks(const struct box_ops *ops)
{
    return ops->disks;
}

/* Nor more than their number times the limit where they are several. */
static void every_disk_has_the_same_end(void **state)
{
    struct trial *t = *state;

    t->spec.limits.disk_bytes = 2 * MIB;
    trial_open(t);
    trial_sh(t, "for d in /tmp /workspace; do for i in 1 2; do"
                " head -c 1500000 /dev/zero > $d/f$i 2>/dev/null || echo $d; done; done; rm -f"
                " /tmp/f?; exit 9");
    assert_string_equal(t->streams[1].text, "/tmp\n/workspace\n");
    assert_true(t->end.disk_free < 65536);
    trial_says(t,
               "for d in / /usr /etc /dev /proc /sys /bin /root /.glovebox; do"
               " (echo x > $d/f) 2>/dev/null && echo $d; done; :",
               "");
}

/* Everything a run can write is one disk, whatever its name. */
static void all_writable_places_are_one_disk(void **state)
{
    struct trial *t = *state;

    if (t->ops->disks)
        skip();
    t->spec.limits.disk_bytes = 4 * MIB;
    trial_open(t);
    trial_sh(t, "for d in /workspace /tmp /var/tmp /home/box /run; do"
                " head -c 1500000 /dev/zero > $d/f || exit 9; done");
    assert_int_equal(t->end.code, 9);
    trial_says(t,
               "for d in / /usr /etc /dev /proc /sys /bin /opt /root; do"
               " (echo x > $d/f) 2>/dev/null && echo $d; done; :",
               "");
}

static void a_file_over_the_disk_is_a_signal(void **state)
{
    struct trial *t = *state;

    t->spec.limits.disk_bytes = 1 * MIB;
    trial_open(t);
    trial_sh(t, "exec head -c 3000000 /dev/zero > /tmp/f");
    assert_int_equal(t->end.signo, SIGXFSZ);
}

static void inodes_have_an_end(void **state)
{
    struct trial *t = *state;

    t->spec.limits.inodes = 200;
    trial_open(t);
    trial_sh(t, "i=0; while [ $i -lt 400 ]; do : > f$i || exit 9; i=$((i+1)); done");
    assert_true(t->end.code != 0);
    assert_int_equal(t->end.inodes_free, 0);
    trial_says(t, "rm -f f*", "");
    box_is_well(t);
}

/* ---- output --------------------------------------------------------------------------------- */

static void output_over_the_limit_is_cut_at_the_byte(void **state)
{
    struct trial *t = *state;

    t->spec.limits.output_keep = 1000;
    t->spec.limits.output_max = 1000003;
    trial_open(t);
    trial_sh(t, "yes");
    expect_kill(t, BOX_KILL_OUTPUT);
    assert_int_equal(t->end.output_bytes[1], 1000003);
    assert_int_equal(t->streams[1].total, 1000003);
    box_is_well(t);
}

static void output_of_exactly_the_limit_is_fine(void **state)
{
    struct trial *t = *state;

    t->spec.limits.output_keep = 1000;
    t->spec.limits.output_max = 100000;
    trial_open(t);
    trial_sh(t, "head -c 60000 /dev/zero; head -c 40000 /dev/zero >&2");
    expect_kill(t, BOX_KILL_NONE);
    assert_int_equal(t->end.code, 0);
    assert_int_equal(t->end.output_bytes[1] + t->end.output_bytes[2], 100000);
    trial_sh(t, "head -c 60000 /dev/zero; head -c 40001 /dev/zero >&2; sleep 1000");
    expect_kill(t, BOX_KILL_OUTPUT);
    assert_int_equal(t->end.output_bytes[1] + t->end.output_bytes[2], 100000);
}

/* ---- cancelling ----------------------------------------------------------------------------- */

static int cancellable(struct trial *t, const char *script, int fd)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);

    spec.cancel_fd = fd;
    return trial_run(t, &spec);
}

static void what_is_cancelled_before_it_starts_ends_at_once(void **state)
{
    struct trial *t = *state;
    cleanup_close int fd = eventfd(1, EFD_CLOEXEC);

    trial_open(t);
    assert_int_equal(cancellable(t, "sleep 1000", fd), 0);
    expect_kill(t, BOX_KILL_CANCEL);
    assert_true(t->end.wall_ns < LATE_NS);
    box_is_well(t);
}

struct canceller {
    struct trial *trial;
    int fd;
};

/* Cancels when the program has said something. */
static int cancel_on_output(void *user, int stream, const void *bytes, size_t len)
{
    struct canceller *c = user;

    (void)stream;
    (void)bytes;
    (void)len;
    return fd_write_full(c->fd, "\1\0\0\0\0\0\0\0", 8);
}

static void what_runs_can_be_cancelled(void **state)
{
    static const char *const argv[] = { "sh", "-c", "trap '' TERM; echo up; sleep 1000 & wait",
                                        NULL };
    struct trial *t = *state;
    cleanup_close int fd = eventfd(0, EFD_CLOEXEC);
    struct canceller canceller = { .trial = t, .fd = fd };
    struct box_run_spec spec;

    trial_open(t);
    spec = trial_spec(t, argv);
    spec.cancel_fd = fd;
    spec.output = cancel_on_output;
    spec.user = &canceller;
    assert_int_equal(trial_run(t, &spec), 0);
    expect_kill(t, BOX_KILL_CANCEL);
    assert_true(t->end.wall_ns < LATE_NS);
    box_is_well(t);
}

static void a_cancel_that_never_comes_changes_nothing(void **state)
{
    struct trial *t = *state;
    cleanup_close int fd = eventfd(0, EFD_CLOEXEC);

    trial_open(t);
    assert_int_equal(cancellable(t, "echo fine", fd), 0);
    expect_kill(t, BOX_KILL_NONE);
    assert_string_equal(t->streams[1].text, "fine\n");
}

/* ---- a caller that has used up its descriptors ------------------------------------------------
 */

#define FDS_MAX 256

struct hogged {
    struct rlimit before;
    int fds[FDS_MAX];
    size_t n;
};

/* From the first byte of output on this process can open nothing. */
static int hog(void *user, int stream, const void *bytes, size_t len)
{
    struct hogged *hogged = user;
    struct rlimit limit = hogged->before;

    (void)stream;
    (void)bytes;
    (void)len;
    limit.rlim_cur = FDS_MAX;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    while (hogged->n < FDS_MAX && (hogged->fds[hogged->n] = dup(0)) >= 0)
        hogged->n++;
    return 0;
}

static void let_go(const struct hogged *hogged)
{
    for (size_t i = 0; i < hogged->n; i++)
        close(hogged->fds[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &hogged->before), 0);
}

/* Counters of this machine cannot be read then: no limit may seem to be reached, and none to be
 * kept.  Whether the counters are read here at all; what a glove tells needs no descriptor. */
static bool is_blind(struct trial *t, const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);
    struct hogged hogged = { .n = 0 };
    uint64_t began_ns = clock_now_ns();
    int r;

    spec.output = hog;
    spec.user = &hogged;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &hogged.before), 0);
    r = trial_run(t, &spec);
    let_go(&hogged);
    assert_true(hogged.n > 0);
    assert_true(clock_now_ns() - began_ns < t->spec.limits.wall_ms * NS_PER_MS);
    if (!box_receipt(t->box)->groups) {
        assert_int_equal(r, 0);
        assert_int_equal(t->end.count_error, 0);
        return false;
    }
    assert_int_equal(t->end.kill, BOX_KILL_NONE);
    assert_int_equal(t->end.count_error, EMFILE);
    assert_true(r == 0 || r == -EMFILE);
    return true;
}

static void a_limit_that_nobody_can_watch_is_neither_kept_nor_reached(void **state)
{
    struct trial *t = *state;

    t->spec.limits.cpu_ms = 200;
    t->spec.limits.memory_bytes = 48 * MIB;
    trial_open(t);
    if (!is_blind(t, "echo up; while :; do :; done"))
        expect_kill(t, BOX_KILL_CPU);
    trial_close(t);
    t->spec.limits.cpu_ms = limits_default().cpu_ms;
    trial_open(t);
    if (!is_blind(t, "echo up; head -c 200000000 /dev/zero | tail -c 150000000 | wc -c"))
        assert_true(t->end.oom_kills > 0);
    trial_close(t);
}

/* ---- a limit of a run below that of its box ------------------------------------------------- */

static void each_run_has_its_own_limits(void **state)
{
    static const char *const argv[] = { "sh", "-c",
                                        "head -c 60000000 /dev/zero | tail -c 50000000 | wc -c",
                                        NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    trial_open(t);
    if (strcmp(box_receipt(t->box)->accounting, "run") != 0)
        skip();
    spec = trial_spec(t, argv);
    spec.limits.memory_bytes = 32 * MIB;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_true(t->end.oom_kills > 0);
    spec.limits.memory_bytes = 256 * MIB;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.oom_kills, 0);
    assert_string_equal(t->streams[1].text, "50000000\n");
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(wall_time_ends_a_sleeper),
        TRIAL_TEST(wall_time_ends_whoever_hides),
        TRIAL_TEST(cpu_time_ends_a_spinner),
        TRIAL_TEST(cpu_time_is_that_of_all_processes),
        TRIAL_TEST(sleeping_costs_no_cpu_time),
        TRIAL_TEST(memory_over_the_limit_is_killed_and_told),
        TRIAL_TEST(files_count_as_memory_and_are_told_apart),
        TRIAL_TEST(processes_over_the_limit_are_refused_and_told),
        TRIAL_TEST(a_fork_bomb_ends_with_its_run),
        TRIAL_TEST(the_disk_has_an_end),
        TRIAL_TEST(all_writable_places_are_one_disk),
        TRIAL_TEST_IF(every_disk_has_the_same_end, has_disks),
        TRIAL_TEST(a_file_over_the_disk_is_a_signal),
        TRIAL_TEST(inodes_have_an_end),
        TRIAL_TEST(output_over_the_limit_is_cut_at_the_byte),
        TRIAL_TEST(output_of_exactly_the_limit_is_fine),
        TRIAL_TEST(what_is_cancelled_before_it_starts_ends_at_once),
        TRIAL_TEST(what_runs_can_be_cancelled),
        TRIAL_TEST(a_cancel_that_never_comes_changes_nothing),
        TRIAL_TEST(a_limit_that_nobody_can_watch_is_neither_kept_nor_reached),
        TRIAL_TEST(each_run_has_its_own_limits),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
