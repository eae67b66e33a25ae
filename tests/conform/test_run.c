/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_run.c - programs in a box: ends, output, input, and one run after another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "trial.h"

#define MIB (1024 * 1024UL)

/* ---- ends ----------------------------------------------------------------------------------- */

static void exit_codes_come_back(void **state)
{
    static const unsigned codes[] = { 0, 1, 2, 42, 124, 125, 126, 127, 128, 137, 255 };
    struct trial *t = *state;
    char script[32];

    trial_open(t);
    for (size_t i = 0; i < N_ELEMENTS(codes); i++) {
        (void)snprintf(script, sizeof(script), "exit %u", codes[i]);
        trial_sh(t, script);
        assert_true(t->end.has_exited);
        assert_int_equal(t->end.code, codes[i]);
        assert_int_equal(t->end.signo, 0);
        assert_int_equal(t->end.kill, BOX_KILL_NONE);
        assert_false(t->end.is_lost);
    }
}

static void signals_come_back(void **state)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGILL, SIGABRT, SIGKILL, SIGSEGV, SIGTERM };
    struct trial *t = *state;
    char script[32];

    trial_open(t);
    for (size_t i = 0; i < N_ELEMENTS(signals); i++) {
        (void)snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
        trial_sh(t, script);
        assert_true(t->end.has_exited);
        assert_int_equal(t->end.code, 0);
        assert_int_equal(t->end.signo, signals[i]);
        assert_int_equal(t->end.kill, BOX_KILL_NONE);
    }
}

static void what_cannot_be_executed_is_a_result(void **state)
{
    static const struct {
        const char *program;
        int error;
    } cases[] = {
        { "no-such-program", ENOENT }, { "/no/such/program", ENOENT },
        { "/etc/passwd", EACCES },     { "/usr", EACCES },
        { "/etc/passwd/x", ENOTDIR },
    };
    struct trial *t = *state;

    trial_open(t);
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        const char *const argv[] = { cases[i].program, NULL };
        struct box_run_spec spec = trial_spec(t, argv);

        assert_int_equal(trial_run(t, &spec), 0);
        assert_int_equal(t->end.exec_error, cases[i].error);
        assert_false(t->end.has_exited);
        assert_int_equal(t->end.survivors, 0);
        trial_says(t, "echo still", "still\n");
    }
}

static void a_working_directory_that_is_not_there_is_a_result(void **state)
{
    static const char *const argv[] = { "true", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    trial_open(t);
    spec = trial_spec(t, argv);
    spec.cwd = "/no/such/place";
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.exec_error, ENOENT);
}

static void arguments_too_long_are_refused_and_the_box_lives(void **state)
{
    struct trial *t = *state;
    char *big = calloc(1, 100000);
    const char *const argv[] = { "echo", big, NULL };
    struct box_run_spec spec;

    assert_non_null(big);
    memset(big, 'a', 99999);
    trial_open(t);
    spec = trial_spec(t, argv);
    assert_true(trial_run(t, &spec) < 0);
    assert_int_equal(t->err.blame, GB_BLAME_CALLER);
    assert_non_null(strstr(t->err.msg, "file"));
    big[40000] = '\0';
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->streams[1].total, 40001);
    free(big);
}

static void the_environment_is_the_callers_and_nothing_else(void **state)
{
    static const char *const argv[] = { "env", NULL };
    static const char *const env[] = { "PATH=/usr/bin", "A=1", "B=two words", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    assert_int_equal(setenv("GLOVEBOX_CONFORM_CANARY", "seen", 1), 0);
    trial_open(t);
    spec = trial_spec(t, argv);
    spec.env = env;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_string_equal(t->streams[1].text, "PATH=/usr/bin\nA=1\nB=two words\n");
}

static void a_run_has_three_descriptors(void **state)
{
    static const char *const argv[] = { "ls", "/proc/self/fd", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;
    int spare[8];

    for (size_t i = 0; i < N_ELEMENTS(spare); i++)
        spare[i] = open("/dev/null", O_RDONLY); /* NOLINT(android-cloexec-open): on purpose */
    trial_open(t);
    spec = trial_spec(t, argv);
    assert_int_equal(trial_run(t, &spec), 0);
    assert_string_equal(t->streams[1].text, "0\n1\n2\n3\n"); /* 3 is the directory itself */
    for (size_t i = 0; i < N_ELEMENTS(spare); i++)
        close(spare[i]);
}

/* ---- output --------------------------------------------------------------------------------- */

static void both_streams_arrive_whole_and_apart(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    trial_sh(t, "i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done");
    assert_int_equal(t->end.output_bytes[1], t->streams[1].total);
    assert_int_equal(t->end.output_bytes[2], t->streams[2].total);
    assert_int_equal(t->streams[1].total, 10 * 3 + 90 * 4 + 400 * 5);
    assert_int_equal(t->streams[2].total, t->streams[1].total);
    assert_int_equal(strncmp(t->streams[1].text, "o0\no1\n", 6), 0);
    assert_int_equal(strncmp(t->streams[2].text, "e0\ne1\n", 6), 0);
    assert_non_null(strstr(t->streams[2].text, "e498\ne499\n"));
}

static void any_byte_may_be_written(void **state)
{
    struct trial *t = *state;
    unsigned char all[256];

    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (unsigned char)i;
    trial_open(t);
    trial_sh(t, "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done");
    assert_int_equal(t->streams[1].total, 256);
    assert_memory_equal(t->streams[1].text, all, sizeof(all));
}

/* What a run wrote last is not lost when it is gone at once. */
static void the_last_output_of_quick_programs_arrives(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    for (int i = 0; i < 100; i++) {
        trial_sh(t, "echo out; echo err >&2; kill -9 $$");
        assert_string_equal(t->streams[1].text, "out\n");
        assert_string_equal(t->streams[2].text, "err\n");
        assert_int_equal(t->end.signo, SIGKILL);
    }
}

struct slow {
    struct trial *trial;
    uint64_t total;
    uint64_t hash;
    unsigned calls;
    uint64_t rss_most;
};

static uint64_t rss_bytes(void)
{
    char text[256];

    assert_true(fd_read_text(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) > 0);
    return strtoull(strchr(text, ' '), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A reader that is slower than the program: one pause in 16 pieces. */
static int take_slowly(void *user, int stream, const void *bytes, size_t len)
{
    struct slow *slow = user;

    assert_int_equal(stream, 1);
    slow->hash = trial_hash(slow->hash, bytes, len);
    slow->total += len;
    if (++slow->calls % 16 == 0) {
        uint64_t rss = rss_bytes();

        slow->rss_most = rss > slow->rss_most ? rss : slow->rss_most;
        (void)poll(NULL, 0, 5);
    }
    return 0;
}

static void a_slow_reader_gets_all_of_64_mib_in_little_memory(void **state)
{
    static const char *const argv[] = { "sh", "-c", "yes 0123456789abcde | head -c 67108864",
                                        NULL };
    struct trial *t = *state;
    struct slow slow = { .trial = t, .hash = TRIAL_HASH_START };
    uint64_t hash = TRIAL_HASH_START;
    uint64_t rss;
    struct box_run_spec spec;

    for (size_t i = 0; i < 64 * MIB / 16; i++)
        hash = trial_hash(hash, "0123456789abcde\n", 16);
    trial_open(t);
    trial_says(t, "echo", "\n");
    rss = rss_bytes();
    spec = trial_spec(t, argv);
    spec.output = take_slowly;
    spec.user = &slow;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.kill, BOX_KILL_NONE);
    assert_int_equal(slow.total, 64 * MIB);
    assert_int_equal(slow.hash, hash);
    assert_true(slow.rss_most < rss + 4 * (uint64_t)MIB);
}

static int refuse(void *user, int stream, const void *bytes, size_t len)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)len;
    return -EPIPE;
}

static void a_reader_that_has_gone_cancels(void **state)
{
    static const char *const argv[] = { "yes", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    trial_open(t);
    spec = trial_spec(t, argv);
    spec.output = refuse;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.kill, BOX_KILL_CANCEL);
    assert_int_equal(t->end.survivors, 0);
    trial_says(t, "echo next", "next\n");
}

static void output_of_a_background_process_is_cut_with_the_run(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    trial_says(t, "(sleep 1000; echo never) & echo now", "now\n");
    assert_true(t->end.wall_ns < 5000000000ULL);
}

/* ---- input ---------------------------------------------------------------------------------- */

static int memory_of(const char *pattern, size_t n)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fd_write_full(fd, pattern, strlen(pattern)), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void run_with_input(struct trial *t, const char *script, int fd)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);

    spec.stdin_fd = fd;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.survivors, 0);
}

static void input_goes_through_unchanged(void **state)
{
    struct trial *t = *state;
    cleanup_close int fd = memory_of("sixteen bytes..\n", 2 * MIB / 16);
    uint64_t hash = TRIAL_HASH_START;

    for (size_t i = 0; i < 2 * MIB / 16; i++)
        hash = trial_hash(hash, "sixteen bytes..\n", 16);
    trial_open(t);
    run_with_input(t, "cat", fd);
    assert_int_equal(t->streams[1].total, 2 * MIB);
    assert_int_equal(t->streams[1].hash, hash);
    assert_int_equal(t->end.code, 0);
}

static void empty_and_absent_input_are_an_end(void **state)
{
    struct trial *t = *state;
    cleanup_close int fd = memory_of("", 0);

    trial_open(t);
    run_with_input(t, "cat; echo $?", fd);
    assert_string_equal(t->streams[1].text, "0\n");
    trial_says(t, "cat; echo $?", "0\n");
}

static void input_that_nobody_reads_does_no_harm(void **state)
{
    struct trial *t = *state;
    cleanup_close int fd = memory_of("0123456789abcdef", 4 * MIB / 16);

    trial_open(t);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        run_with_input(t, i % 2 ? "exit 3" : "exec 0<&-; echo closed; exit 3", fd);
        assert_int_equal(t->end.code, 3);
    }
    trial_says(t, "echo next", "next\n");
}

static void an_input_that_cannot_be_read_is_an_end(void **state)
{
    struct trial *t = *state;
    cleanup_close int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    trial_open(t);
    run_with_input(t, "wc -c", dir);
    assert_string_equal(t->streams[1].text, "0\n");
}

/* ---- one run after another ------------------------------------------------------------------ */

static const char posture[] =
    "grep -E '^(Uid|Gid|Groups|Sig(Blk|Ign)|Cap|NoNewPrivs|Seccomp)' /proc/self/status;"
    "for n in cgroup ipc mnt net pid user uts; do readlink /proc/self/ns/$n; done;"
    "cat /proc/self/mountinfo /proc/self/oom_score_adj; ulimit -a; umask; env | sort;"
    "ls /proc/self/fd; set -- /proc/[0-9]*; echo $#; cat /proc/self/attr/current 2>/dev/null;"
    "tty; ps -o tty= 2>/dev/null | sort -u; cat /proc/self/personality 2>/dev/null; nice";

static const char mischief[] =
    "ulimit -n 20; umask 0; trap '' TERM INT HUP; (setsid sleep 1000 &) ; sleep 1000 & "
    "(while :; do :; done) & echo up";

static void same_lines(const char *want, const char *got)
{
    while (*want || *got) {
        size_t a = strcspn(want, "\n");
        size_t b = strcspn(got, "\n");

        if (a != b || strncmp(want, got, a) != 0)
            fail_msg("'%.*s' was '%.*s' in the first run", (int)b, got, (int)a, want);
        want += a + (want[a] == '\n');
        got += b + (got[b] == '\n');
    }
}

static void a_later_run_stands_like_the_first(void **state)
{
    struct trial *t = *state;
    char *first;

    trial_open(t);
    trial_sh(t, posture);
    assert_true(t->streams[1].total > 2000);
    first = strdup(t->streams[1].text);
    assert_non_null(first);
    for (int i = 0; i < 5; i++) {
        trial_says(t, mischief, "up\n");
        trial_sh(t, posture);
        same_lines(first, t->streams[1].text);
    }
    free(first);
}

static void daemons_of_a_run_are_dead_before_the_next(void **state)
{
    struct trial *t = *state;
    struct ledger now;

    trial_open(t);
    trial_says(
        t,
        "i=0; while [ $i -lt 20 ]; do (setsid sleep 1000 >/dev/null 2>&1 &); i=$((i+1)); done;"
        "ls /proc/[0-9]*/stat | wc -l >/dev/null; echo up",
        "up\n");
    ledger_take(&t->scope, &now);
    assert_int_equal(now.processes, 1); /* the glove */
    trial_says(t, "cat /proc/[0-9]*/comm | grep -c sleep || :", "0\n");
}

static void groups_of_a_run_go_with_it(void **state)
{
    struct trial *t = *state;
    struct ledger with_box;

    trial_open(t);
    ledger_take(&t->scope, &with_box);
    for (int i = 0; i < 10; i++)
        trial_says(t, "true", "");
    ledger_await(&t->scope, &with_box, 2000);
    for (size_t i = 0; i < t->scope.n_trees; i++) {
        char path[PATH_MAX + 64];

        (void)snprintf(path, sizeof(path), "%s/%s0/run-10", t->scope.trees[i], t->scope.tag);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static int run_fresh(struct trial *t, const char *script)
{
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };
    struct box_run_spec spec = trial_spec(t, argv);

    spec.is_fresh = true;
    return trial_run(t, &spec);
}

/* A box that cannot be watched serves once: it is never taken for new. */
static void a_fresh_run_finds_nothing_of_earlier_ones(void **state)
{
    static const char *const traces[] = { "echo >/tmp/x", "mkdir /dev/shm/x", "(:)",
                                          "chmod 700 ." };
    struct trial *t = *state;

    for (size_t i = 0; i < N_ELEMENTS(traces); i++) {
        int r;

        trial_open(t);
        assert_int_equal(run_fresh(t, ":"), 0);
        r = run_fresh(t, traces[i]);
        if (t->ops == &box_native)
            assert_int_equal(r, 0);
        assert_int_equal(run_fresh(t, ":"), -ESTALE);
        assert_int_equal(run_fresh(t, ":"), -ESTALE);
        trial_says(t, "echo next", "next\n");
        trial_close(t);
    }
}

/* More runs than any table of the link has rows. */
static void hundreds_of_runs_fit_into_one_box(void **state)
{
    struct trial *t = *state;
    struct ledger settled;

    trial_open(t);
    for (int i = 0; i < 300; i++) {
        trial_says(t, "echo x", "x\n");
        if (i == 10)
            ledger_take(&t->scope, &settled);
    }
    ledger_expect(&t->scope, &settled);
}

static void runs_that_never_start_leave_nothing(void **state)
{
    static const char *const argv[] = { "no-such-program", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    trial_open(t);
    spec = trial_spec(t, argv);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(trial_run(t, &spec), 0);
        assert_int_equal(t->end.exec_error, ENOENT);
    }
    trial_says(t, "echo next", "next\n");
}

static void counters_are_of_the_run_alone(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    if (strcmp(box_receipt(t->box)->accounting, "run") != 0)
        skip();
    trial_sh(t, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    assert_true(t->end.cpu_ns > 20000000);
    assert_true(t->end.cpu_ns < t->end.wall_ns + 50000000);
    trial_sh(t, "head -c 60000000 /dev/zero | tail -c 50000000 | wc -c");
    assert_true(t->end.memory_peak > 40000000);
    trial_sh(t, "true");
    assert_true(t->end.cpu_ns < 20000000);
    assert_true(t->end.memory_peak < 20000000);
    assert_true(t->end.memory_peak > 0);
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(exit_codes_come_back),
        TRIAL_TEST(signals_come_back),
        TRIAL_TEST(what_cannot_be_executed_is_a_result),
        TRIAL_TEST(a_working_directory_that_is_not_there_is_a_result),
        TRIAL_TEST(arguments_too_long_are_refused_and_the_box_lives),
        TRIAL_TEST(the_environment_is_the_callers_and_nothing_else),
        TRIAL_TEST(a_run_has_three_descriptors),
        TRIAL_TEST(both_streams_arrive_whole_and_apart),
        TRIAL_TEST(any_byte_may_be_written),
        TRIAL_TEST(the_last_output_of_quick_programs_arrives),
        TRIAL_TEST(a_slow_reader_gets_all_of_64_mib_in_little_memory),
        TRIAL_TEST(a_reader_that_has_gone_cancels),
        TRIAL_TEST(output_of_a_background_process_is_cut_with_the_run),
        TRIAL_TEST(input_goes_through_unchanged),
        TRIAL_TEST(empty_and_absent_input_are_an_end),
        TRIAL_TEST(input_that_nobody_reads_does_no_harm),
        TRIAL_TEST(an_input_that_cannot_be_read_is_an_end),
        TRIAL_TEST(a_later_run_stands_like_the_first),
        TRIAL_TEST(daemons_of_a_run_are_dead_before_the_next),
        TRIAL_TEST(groups_of_a_run_go_with_it),
        TRIAL_TEST(a_fresh_run_finds_nothing_of_earlier_ones),
        TRIAL_TEST(hundreds_of_runs_fit_into_one_box),
        TRIAL_TEST(runs_that_never_start_leave_nothing),
        TRIAL_TEST(counters_are_of_the_run_alone),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
