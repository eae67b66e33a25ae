/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_process.c - a run against a glove that lies, and a backend that only notes.
 *
 * Row P02 of the test matrix: the clock, the kills and the counters are the host's; what the glove
 * says decides nothing but how the main process ended.  The box here is a link, a vtable of notes
 * and a script in a thread.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "box/box.h"
#include "evil_glove.h"

/* What process.c asks of a box, and nothing more: box.c is not linked in. */
struct box {
    struct evil evil;
    int watch_fd;
    uint64_t cpu_ns;
    int cpu_result;
    unsigned opened;
    unsigned killed;
    unsigned closed;
    int close_result;
    bool is_attached;
    uint64_t files;  /* bytes that lie in its memory; UINT64_MAX: nobody counts them */
    uint64_t memory; /* all of it together; UINT64_MAX: only with the rest */
    unsigned counted;
    struct receipt receipt;
};

bool box_is_attached(const struct box *box)
{
    return box->is_attached;
}

const struct receipt *box_receipt(const struct box *box)
{
    return &box->receipt;
}

uint64_t box_memory_bytes(struct box *box)
{
    return box->memory;
}

int box_usage(struct box *box, struct box_usage *ret, struct gb_err *err)
{
    box->counted++;
    if (box->files == UINT64_MAX)
        return gb_fail(err, -ENOTSUP, GB_BLAME_HOST, "nothing is counted");
    *ret = (struct box_usage){ .memory_files = box->files };
    return 0;
}

struct link *box_link(struct box *box)
{
    return box->evil.link;
}

int box_settle(struct box *box, struct gb_err *err)
{
    (void)box;
    (void)err;
    return 0;
}

uint64_t box_ready_ns(const struct box *box)
{
    (void)box;
    return 0;
}

void box_set_run_seq(struct box *box, uint32_t seq)
{
    (void)box;
    (void)seq;
}

/* The vtable says what the types are.  NOLINTNEXTLINE(readability-non-const-parameter) */
static int note_open(struct box *box, const struct limits *limits, int *fds, size_t *n_fds,
                     bool *ret_has_v2, struct gb_err *err)
{
    (void)limits;
    (void)fds;
    (void)err;
    box->opened++;
    *n_fds = 0;
    *ret_has_v2 = false;
    return 0;
}

static int note_cpu(struct box *box, uint64_t *ret)
{
    *ret = box->cpu_ns;
    return box->cpu_result;
}

static int note_kill(struct box *box, struct gb_err *err)
{
    (void)err;
    box->killed++;
    atomic_store(&box->evil.is_killed, true);
    return 0;
}

static int note_close(struct box *box, bool is_left, struct box_run_end *ret, struct gb_err *err)
{
    (void)is_left;
    box->closed++;
    ret->cpu_ns = 4242;
    return box->close_result < 0
               ? gb_fail(err, box->close_result, GB_BLAME_HOST, "the group is stuck")
               : 0;
}

static int note_watch(struct box *box)
{
    return box->watch_fd;
}

static const struct box_ops notes = {
    .name = "notes",
    .run_open = note_open,
    .run_cpu_ns = note_cpu,
    .run_kill = note_kill,
    .run_close = note_close,
    .watch_fd = note_watch,
};

const struct box_ops *box_ops_of(const struct box *box)
{
    (void)box;
    return &notes;
}

/* ---- a run ---------------------------------------------------------------------------------- */

struct run {
    struct box box;
    struct box_run_spec spec;
    struct box_run_end end;
    char text[3][256];
    uint64_t totals[3];
    int refuse;
    uint64_t took_ns;
};

static int keep(void *user, int stream, const void *bytes, size_t len)
{
    struct run *run = user;
    size_t used = strlen(run->text[stream]);
    size_t room = sizeof(run->text[stream]) - 1 - used;

    memcpy(run->text[stream] + used, bytes, len < room ? len : room);
    run->totals[stream] += len;
    return run->refuse;
}

static void run_prepare(struct run *run)
{
    static const char *const argv[] = { "program", NULL };
    static const char *const env[] = { NULL };

    memset(run, 0, sizeof(*run));
    evil_up(&run->box.evil);
    evil_greet(&run->box.evil);
    run->box.watch_fd = -1;
    run->spec = (struct box_run_spec){
        .argv = argv,
        .env = env,
        .cwd = "/",
        .limits = limits_default(),
        .stdin_fd = -1,
        .cancel_fd = -1,
        .output = keep,
        .user = run,
    };
    run->spec.limits.wall_ms = 5000;
    run->box.receipt.limits = limits_default();
}

static int play(struct run *run, void (*script)(struct evil *evil))
{
    uint64_t started_ns = clock_now_ns();
    int r;

    evil_begin(&run->box.evil, script);
    r = box_run(&run->box, &run->spec, &run->end, &run->box.evil.err);
    run->took_ns = clock_now_ns() - started_ns;
    evil_end(&run->box.evil);
    assert_int_equal(run->box.opened, 1);
    assert_int_equal(run->box.closed, 1);
    assert_int_equal(run->end.cpu_ns, 4242); /* the host's counter, whatever the glove said */
    return r;
}

static void finish(struct evil *evil)
{
    evil_data(evil, evil->out, "", 0, true);
    evil_data(evil, evil->errs, "", 0, true);
}

/* ---- honest ones ---------------------------------------------------------------------------- */

static void honest(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    evil_data(evil, evil->out, "out", 3, false);
    evil_data(evil, evil->errs, "err", 3, true);
    evil_exit(evil, evil->run_seq, 3, 0);
    evil_data(evil, evil->out, "put", 3, true);
}

static void an_honest_glove_is_believed(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    assert_int_equal(play(&run, honest), 0);
    assert_true(run.end.has_exited);
    assert_int_equal(run.end.code, 3);
    assert_int_equal(run.end.kill, BOX_KILL_NONE);
    assert_string_equal(run.text[1], "output");
    assert_string_equal(run.text[2], "err");
    assert_int_equal(run.end.output_bytes[1], 6);
}

/* ---- memory that is taken already (R03) ----------------------------------------------------- */

static void no_script(struct evil *evil)
{
    (void)evil;
}

static void a_box_full_of_files_is_refused_before_anything_is_opened(void **state)
{
    struct run run;
    struct gb_err err = { 0 };

    (void)state;
    run_prepare(&run);
    run.box.is_attached = true;
    run.box.memory = UINT64_MAX;
    run.box.receipt.limits.memory_bytes = 64 << 20;
    run.spec.limits.memory_bytes = 64 << 20;
    for (uint64_t files = (32 << 20) + 1; files < 80 << 20; files += 8 << 20) {
        run.box.files = files;
        assert_int_equal(box_run(&run.box, &run.spec, &run.end, &err), -ENOSPC);
    }
    run.box.files = 48 << 20;
    assert_int_equal(box_run(&run.box, &run.spec, &run.end, &err), -ENOSPC);
    assert_non_null(strstr(err.msg, "48 MiB of the box's 64 MiB"));
    assert_non_null(strstr(gb_err_remedy(&err), "rmfile"));
    assert_non_null(strstr(gb_err_remedy(&err), "--memory"));
    assert_int_equal(run.box.opened, 0);
    evil_begin(&run.box.evil, no_script);
    evil_end(&run.box.evil);
}

static void check_enough(bool is_attached, uint64_t files, uint64_t own)
{
    struct run run;

    run_prepare(&run);
    run.box.is_attached = is_attached;
    run.box.files = files;
    run.box.memory = UINT64_MAX;
    run.box.receipt.limits.memory_bytes = 64 << 20;
    run.spec.limits.memory_bytes = own;
    assert_int_equal(play(&run, honest), 0);
}

static void half_of_its_memory_is_enough_for_a_run(void **state)
{
    (void)state;
    check_enough(true, 0, 64 << 20);
    check_enough(true, 32 << 20, 64 << 20);
    check_enough(true, 48 << 20, 32 << 20); /* a smaller run needs less */
    check_enough(true, UINT64_MAX, 64 << 20);
    check_enough(false, 60 << 20, 64 << 20); /* the steps of one request share what they leave */
}

/* What programs of the box use besides files is theirs to give back: it refuses nothing. */
static void files_are_counted_only_in_a_box_that_is_half_full(void **state)
{
    static const struct {
        uint64_t memory;
        unsigned counted;
    } cases[] = { { 0, 0 }, { 32 << 20, 0 }, { (32 << 20) + 1, 1 }, { 80 << 20, 1 } };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        struct run run;

        run_prepare(&run);
        run.box.is_attached = true;
        run.box.memory = cases[i].memory;
        run.box.receipt.limits.memory_bytes = 64 << 20;
        run.spec.limits.memory_bytes = 64 << 20;
        assert_int_equal(play(&run, honest), 0);
        assert_int_equal(run.box.counted, cases[i].counted);
    }
}

static void not_found(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_error(evil, evil->run_seq, ENOENT, GLOVE_STEP_EXEC);
    finish(evil);
}

static void no_fork(struct evil *evil)
{
    if (evil_await(evil, MSG_RUN))
        evil_error(evil, evil->run_seq, EAGAIN, GLOVE_STEP_FORK);
}

static void a_program_that_cannot_start_is_a_result_and_a_glove_that_cannot_is_not(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    assert_int_equal(play(&run, not_found), 0);
    assert_int_equal(run.end.exec_error, ENOENT);
    assert_false(run.end.has_exited);
    run_prepare(&run);
    assert_int_equal(play(&run, no_fork), -EAGAIN);
    assert_non_null(strstr(run.box.evil.err.msg, "step"));
}

/* ---- lies ----------------------------------------------------------------------------------- */

static void exit_alone(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_exit(evil, evil->run_seq, 0, 0);
    finish(evil);
}

static void an_end_without_a_beginning_ends_it(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    (void)play(&run, exit_alone);
    assert_true(run.took_ns < 4 * NS_PER_S);
}

static void many_exits(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    evil_exit(evil, evil->run_seq + 1, 9, 0);
    evil_exit(evil, 0, 9, 0);
    evil_exit(evil, evil->run_seq, 0, SIGSEGV);
    evil_exit(evil, evil->run_seq, 9, 0);
    finish(evil);
}

static void the_first_end_of_the_run_counts_and_no_others(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    assert_int_equal(play(&run, many_exits), 0);
    assert_int_equal(run.end.signo, SIGSEGV);
    assert_int_equal(run.end.code, 0);
}

static void silence(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    (void)evil_await(evil, MSG_HELLO); /* until the end */
}

static void mute(struct evil *evil)
{
    (void)evil_await(evil, MSG_HELLO);
}

/* Neither answer nor end ever comes. */
static void a_silent_glove_does_not_stop_the_clock(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.spec.limits.wall_ms = 100;
    (void)play(&run, mute);
    assert_int_equal(run.end.kill, BOX_KILL_WALL);
    assert_true(run.box.killed > 0);
    assert_true(run.took_ns < 6 * NS_PER_S);
}

static void endless_chatter(struct evil *evil)
{
    static const uint8_t zero[4];
    struct pollfd gone = { .fd = evil->fd, .events = POLLRDHUP };

    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    while (poll(&gone, 1, 0) == 0 || !(gone.revents & (POLLHUP | POLLRDHUP)))
        evil_frame(evil, MSG_CREDIT, 0, evil->out, zero, 4);
}

static void chatter_does_not_stop_the_clock(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.spec.limits.wall_ms = 100;
    (void)play(&run, endless_chatter);
    assert_int_equal(run.end.kill, BOX_KILL_WALL);
    assert_true(run.took_ns < 6 * NS_PER_S);
}

static void endless_output(struct evil *evil)
{
    static const char bytes[WIRE_PAYLOAD_MAX];
    struct pollfd gone = { .fd = evil->fd, .events = POLLRDHUP };

    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    while (poll(&gone, 1, 0) == 0 || !(gone.revents & (POLLHUP | POLLRDHUP)))
        evil_data(evil, evil->out, bytes, sizeof(bytes), false);
}

/* However much it sends: counted to the byte, never handed on, and the drain has an end too. */
static void output_without_end_is_cut(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.spec.limits.output_max = 1000001;
    (void)play(&run, endless_output);
    assert_int_equal(run.end.kill, BOX_KILL_OUTPUT);
    assert_int_equal(run.end.output_bytes[1], 1000001);
    assert_int_equal(run.totals[1], 1000001);
    assert_true(run.took_ns < 6 * NS_PER_S);
}

/* Floods until it is killed, and a little longer: what is under way at the kill. */
static void output_until_killed(struct evil *evil)
{
    static const char bytes[WIRE_PAYLOAD_MAX];

    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    while (!atomic_load(&evil->is_killed))
        evil_data(evil, evil->out, bytes, sizeof(bytes), false);
    for (int i = 0; i < 40; i++)
        evil_data(evil, evil->out, bytes, sizeof(bytes), false);
    evil_exit(evil, evil->run_seq, 0, SIGKILL);
    finish(evil);
}

static void sleep_until_killed(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    while (!atomic_load(&evil->is_killed))
        (void)poll(NULL, 0, 1);
    evil_exit(evil, evil->run_seq, 0, SIGKILL);
    finish(evil);
}

/* The first reason stays, whatever else is crossed while it dies. */
static void refused_output_cancels(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.refuse = -EPIPE;
    run.spec.limits.output_max = 1 << 20;
    (void)play(&run, output_until_killed);
    assert_int_equal(run.end.kill, BOX_KILL_CANCEL);
}

static void unfinished(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    evil_data(evil, evil->out, "half", 4, false);
    evil_exit(evil, evil->run_seq, 0, 0);
    (void)evil_await(evil, MSG_HELLO);
}

static void streams_that_never_end_are_given_up(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    assert_int_equal(play(&run, unfinished), 0);
    assert_true(run.end.has_exited);
    assert_string_equal(run.text[1], "half");
    assert_true(run.took_ns < 4 * NS_PER_S);
}

static void hang_up(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    evil_data(evil, evil->out, "last", 4, false);
    (void)shutdown(evil->fd, SHUT_RDWR);
}

static void break_protocol(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    evil_data(evil, evil->out, "last", 4, false);
    evil_frame(evil, 250, 0, 0, "", 0);
    (void)evil_await(evil, MSG_HELLO);
}

static void a_lost_link_is_a_lost_run_and_keeps_its_output(void **state)
{
    static void (*const scripts[])(struct evil *) = { hang_up, break_protocol };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(scripts); i++) {
        struct run run;

        run_prepare(&run);
        assert_int_equal(play(&run, scripts[i]), 0);
        assert_true(run.end.is_lost);
        assert_false(run.end.has_exited);
        assert_string_equal(run.text[1], "last");
        assert_true(run.took_ns < 4 * NS_PER_S);
    }
}

/* ---- the host's own reasons ----------------------------------------------------------------- */

static void a_backend_that_lost_its_hold_ends_the_run(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.box.watch_fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(play(&run, silence), 0);
    assert_true(run.end.is_lost);
    assert_true(run.box.killed > 0);
    close(run.box.watch_fd);
}

/* No limit was reached, and none can be watched. */
static void cpu_time_that_cannot_be_read_ends_the_run_without_a_reason(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.spec.limits.cpu_ms = 50;
    run.box.cpu_ns = 50 * NS_PER_MS;
    run.box.cpu_result = -EMFILE;
    assert_int_equal(play(&run, sleep_until_killed), 0);
    assert_int_equal(run.end.kill, BOX_KILL_NONE);
    assert_int_equal(run.end.count_error, EMFILE);
    assert_true(run.box.killed > 0);
    assert_true(run.took_ns < 4 * NS_PER_S);
}

static void the_hosts_counter_of_cpu_time_decides(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.spec.limits.cpu_ms = 50;
    run.box.cpu_ns = 50 * NS_PER_MS;
    (void)play(&run, sleep_until_killed);
    assert_int_equal(run.end.kill, BOX_KILL_CPU);
}

static void a_group_that_cannot_be_closed_is_an_error(void **state)
{
    struct run run;

    (void)state;
    run_prepare(&run);
    run.box.close_result = -EBUSY;
    assert_int_equal(play(&run, honest), -EBUSY);
    assert_string_equal(run.box.evil.err.msg, "the group is stuck");
}

/* ---- input ---------------------------------------------------------------------------------- */

static void ignore_input(struct evil *evil)
{
    if (!evil_await(evil, MSG_RUN))
        return;
    evil_ok(evil, evil->run_seq, 12);
    if (!evil_await(evil, MSG_DATA))
        return;
    evil_exit(evil, evil->run_seq, 0, 0);
    finish(evil);
}

/* Without credit the host sends what it may and waits, without spinning and without a limit of its
 * own being forgotten. */
static void input_without_credit_is_held_back(void **state)
{
    static const char bytes[1 << 16];
    struct run run;
    int ends[2];

    (void)state;
    run_prepare(&run);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], bytes, sizeof(bytes)), sizeof(bytes));
    close(ends[1]);
    run.spec.stdin_fd = ends[0];
    assert_int_equal(play(&run, ignore_input), 0);
    assert_true(run.end.has_exited);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_glove_is_believed),
        cmocka_unit_test(a_box_full_of_files_is_refused_before_anything_is_opened),
        cmocka_unit_test(files_are_counted_only_in_a_box_that_is_half_full),
        cmocka_unit_test(half_of_its_memory_is_enough_for_a_run),
        cmocka_unit_test(a_program_that_cannot_start_is_a_result_and_a_glove_that_cannot_is_not),
        cmocka_unit_test(an_end_without_a_beginning_ends_it),
        cmocka_unit_test(the_first_end_of_the_run_counts_and_no_others),
        cmocka_unit_test(a_silent_glove_does_not_stop_the_clock),
        cmocka_unit_test(chatter_does_not_stop_the_clock),
        cmocka_unit_test(output_without_end_is_cut),
        cmocka_unit_test(refused_output_cancels),
        cmocka_unit_test(streams_that_never_end_are_given_up),
        cmocka_unit_test(a_lost_link_is_a_lost_run_and_keeps_its_output),
        cmocka_unit_test(a_backend_that_lost_its_hold_ends_the_run),
        cmocka_unit_test(the_hosts_counter_of_cpu_time_decides),
        cmocka_unit_test(cpu_time_that_cannot_be_read_ends_the_run_without_a_reason),
        cmocka_unit_test(a_group_that_cannot_be_closed_is_an_error),
        cmocka_unit_test(input_without_credit_is_held_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
