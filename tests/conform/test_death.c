/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_death.c - whoever of host, spawner and glove dies: the box goes, and nothing stays.
 *
 * The deaths are real (SIGKILL), at moments that an event picks: the first output of a run, the
 * first file of a transfer.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "trial.h"
#include "wire/crate.h"

/* The promise: within this time nothing is left. */
#define GONE_MS 2000

static void need_spawner(const struct trial *t)
{
    if (t->ops != &box_native)
        skip();
}

/* ---- victims -------------------------------------------------------------------------------- */

struct killer {
    struct trial *trial;
    pid_t victims[2];
    int signo;
    bool has_struck;
};

static void strike(struct killer *killer)
{
    for (size_t i = 0; !killer->has_struck && i < N_ELEMENTS(killer->victims); i++)
        if (killer->victims[i] > 0)
            assert_int_equal(kill(killer->victims[i], killer->signo), 0);
    killer->has_struck = true;
}

static int strike_on_output(void *user, int stream, const void *bytes, size_t len)
{
    (void)stream;
    (void)bytes;
    (void)len;
    strike(user);
    return 0;
}

static int strike_on_item(void *user, const struct crate_item *item)
{
    (void)item;
    strike(user);
    return 0;
}

static int ignore_data(void *user, const uint8_t *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
    return 0;
}

static int ignore_done(void *user)
{
    (void)user;
    return 0;
}

static const struct crate_ops strike_ops = { strike_on_item, ignore_data, ignore_done };

static const char busy[] =
    "(setsid sleep 1000 &); echo up; while :; do echo more; sleep 0.05; done";

/* ---- what must hold afterwards -------------------------------------------------------------- */

/* No program is started any more, no call hangs, and closing removes all.  A glove that has
 * outlived its spawner may still carry files. */
static void box_is_lost(struct trial *t)
{
    static const char *const argv[] = { "true", NULL };
    struct box_run_spec run = trial_spec(t, argv);
    struct box_get_spec get = { .dir = "/", .path = "", .max_files = 1, .max_bytes = 1 };
    struct killer none = { .has_struck = true };
    uint64_t started_ns = clock_now_ns();
    uint64_t mark;
    int r;

    /* A guard that has yet to wake may let a short program through. */
    do {
        r = trial_run(t, &run);
    } while (r == 0 && !t->end.is_lost &&
             clock_now_ns() - started_ns < trial_within_ms(1000) * NS_PER_MS);
    assert_true(r < 0 || t->end.is_lost);
    (void)box_put(t->box, BOX_WORKSPACE, NULL, 0, &mark, &t->err);
    (void)box_get(t->box, &get, &strike_ops, &none, &t->err);
    assert_true(clock_now_ns() - started_ns < trial_within_ms(20000) * NS_PER_MS);
    trial_close(t);
    ledger_await(&t->scope, &t->before, trial_within_ms(GONE_MS));
}

static void run_until_struck(struct trial *t, struct killer *killer)
{
    const char *const argv[] = { "sh", "-c", busy, NULL };
    struct box_run_spec spec = trial_spec(t, argv);
    uint64_t started_ns = clock_now_ns();

    spec.output = strike_on_output;
    spec.user = killer;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_true(killer->has_struck);
    assert_true(t->end.is_lost);
    assert_int_equal(t->end.survivors, 0);
    assert_true(clock_now_ns() - started_ns < trial_within_ms(5000) * NS_PER_MS);
}

/* ---- deaths --------------------------------------------------------------------------------- */

static void the_glove_dies_in_the_middle_of_a_run(void **state)
{
    struct trial *t = *state;
    struct killer killer = { .trial = t, .signo = SIGKILL };

    trial_open(t);
    killer.victims[0] = trial_glove(t);
    assert_true(killer.victims[0] > 1);
    run_until_struck(t, &killer);
    box_is_lost(t);
}

static void the_spawner_dies_in_the_middle_of_a_run(void **state)
{
    struct trial *t = *state;
    struct killer killer = { .trial = t, .signo = SIGKILL };

    need_spawner(t);
    trial_open(t);
    killer.victims[0] = trial_spawner();
    assert_true(killer.victims[0] > 1);
    run_until_struck(t, &killer);
    box_is_lost(t);
}

static void glove_and_spawner_die_in_the_middle_of_a_run(void **state)
{
    struct trial *t = *state;
    struct killer killer = { .trial = t, .signo = SIGKILL };

    need_spawner(t);
    trial_open(t);
    killer.victims[0] = trial_glove(t);
    killer.victims[1] = trial_spawner();
    run_until_struck(t, &killer);
    box_is_lost(t);
}

static void kill_and_wait(pid_t pid)
{
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ended = { .fd = pidfd, .events = POLLIN };

    assert_true(pidfd >= 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(poll(&ended, 1, (int)trial_within_ms(GONE_MS)), 1);
}

static void they_die_between_runs(void **state)
{
    struct trial *t = *state;

    for (int i = 0; i < (t->ops == &box_native ? 2 : 1); i++) {
        pid_t victim;

        trial_open(t);
        trial_says(t, "echo x", "x\n");
        victim = i ? trial_spawner() : trial_glove(t);
        kill_and_wait(victim);
        box_is_lost(t);
    }
}

/* A host that does nothing but close. */
static void they_die_and_the_box_is_closed_at_once(void **state)
{
    struct trial *t = *state;

    bool has_spawner = t->ops == &box_native;

    for (int i = 0; i < (has_spawner ? 20 : 6); i++) {
        trial_open(t);
        assert_int_equal(kill(has_spawner && i % 2 ? trial_spawner() : trial_glove(t), SIGKILL), 0);
        trial_close(t);
        ledger_await(&t->scope, &t->before, trial_within_ms(GONE_MS));
    }
}

static void the_glove_dies_in_the_middle_of_a_get(void **state)
{
    struct trial *t = *state;
    struct box_get_spec spec = {
        .dir = BOX_WORKSPACE, .path = "", .max_files = 100, .max_bytes = 1 << 30
    };
    struct killer killer = { .trial = t, .signo = SIGKILL };

    trial_open(t);
    trial_says(t, "for i in 1 2 3; do head -c 30000000 /dev/zero > f$i; done", "");
    killer.victims[0] = trial_glove(t);
    assert_true(box_get(t->box, &spec, &strike_ops, &killer, &t->err) < 0);
    assert_int_equal(t->err.blame, GB_BLAME_PEER);
    box_is_lost(t);
}

/* The last byte of a file that goes in comes from a pipe whose writer kills first. */
static void the_glove_dies_in_the_middle_of_a_put(void **state)
{
    static const char bytes[1 << 16];
    struct trial *t = *state;
    int ends[2];
    struct box_file file = { .path = "x", .mode = 0644, .size = 1 << 26 };
    uint64_t mark;
    pid_t victim;
    pid_t writer;

    trial_open(t);
    victim = trial_glove(t);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    file.fd = ends[0];
    writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        close(ends[0]);
        for (int i = 0; i < 1 << 10; i++) {
            if (i == 100)
                (void)kill(victim, SIGKILL);
            if (fd_write_full(ends[1], bytes, sizeof(bytes)) < 0)
                break;
        }
        _exit(0);
    }
    close(ends[1]);
    assert_true(box_put(t->box, BOX_WORKSPACE, &file, 1, &mark, &t->err) < 0);
    close(ends[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    box_is_lost(t);
}

/* A glove that stands still is not waited for: the clock is the host's. */
static void a_stopped_glove_does_not_stop_the_clock(void **state)
{
    struct trial *t = *state;
    struct killer killer = { .trial = t, .signo = SIGSTOP };
    const char *const argv[] = { "sh", "-c", busy, NULL };
    struct box_run_spec spec;

    t->spec.limits.wall_ms = 400;
    trial_open(t);
    killer.victims[0] = trial_glove(t);
    spec = trial_spec(t, argv);
    spec.output = strike_on_output;
    spec.user = &killer;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_true(t->end.is_lost || t->end.kill == BOX_KILL_WALL);
    assert_int_equal(t->end.survivors, 0);
    assert_true(t->end.wall_ns < trial_within_ms(5000) * NS_PER_MS);
    trial_close(t);
    ledger_await(&t->scope, &t->before, trial_within_ms(GONE_MS));
}

/* ---- the host itself ------------------------------------------------------------------------ */

static int tell_output(void *user, int stream, const void *bytes, size_t len)
{
    (void)stream;
    (void)bytes;
    (void)len;
    return fd_write_full(*(int *)user, "u", 1);
}

/* Opens a box, tells by a byte that a program runs in it, and waits for its death. */
static void host_main(struct trial *t, int tell_fd) __attribute__((noreturn));

static void host_main(struct trial *t, int tell_fd)
{
    const char *const argv[] = { "sh", "-c", "(setsid sleep 1000 &); echo; exec sleep 1000", NULL };
    struct box_run_spec spec;

    if (box_open(&t->spec, &t->box, &t->err) < 0)
        _exit(1);
    spec = trial_spec(t, argv);
    spec.output = tell_output;
    spec.user = &tell_fd;
    (void)box_run(t->box, &spec, &t->end, &t->err);
    _exit(2);
}

static pid_t host_start(struct trial *t)
{
    int pair[2];
    char byte;
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(pair[0]);
        host_main(t, pair[1]);
    }
    close(pair[1]);
    assert_int_equal(fd_read_full(pair[0], &byte, 1), 1);
    close(pair[0]);
    return pid;
}

static pid_t child_of(pid_t parent)
{
    char path[64];
    char text[256];

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return 0;
    return (pid_t)strtol(text, NULL, 10);
}

static void the_host_dies(void **state)
{
    struct trial *t = *state;
    struct ledger now;
    pid_t host = host_start(t);

    ledger_take(&t->scope, &now);
    assert_true(now.processes >= 3);
    assert_true(now.groups > 0);
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    ledger_await(&t->scope, &t->before, trial_within_ms(GONE_MS));
}

/* All at once: the end of the link kills the box, and the guard removes it. */
static void host_and_spawner_die_together(void **state)
{
    struct trial *t = *state;
    pid_t spawner;
    pid_t host;

    need_spawner(t);
    host = host_start(t);
    spawner = child_of(host);
    assert_true(spawner > 1);
    assert_int_equal(kill(spawner, SIGKILL), 0);
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    ledger_await(&t->scope, &t->before, trial_within_ms(GONE_MS));
    trial_open(t);
    trial_says(t, "echo next", "next\n");
    trial_close(t);
    ledger_expect(&t->scope, &t->before);
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(the_glove_dies_in_the_middle_of_a_run),
        TRIAL_TEST(the_spawner_dies_in_the_middle_of_a_run),
        TRIAL_TEST(glove_and_spawner_die_in_the_middle_of_a_run),
        TRIAL_TEST(they_die_between_runs),
        TRIAL_TEST(they_die_and_the_box_is_closed_at_once),
        TRIAL_TEST(the_glove_dies_in_the_middle_of_a_get),
        TRIAL_TEST(the_glove_dies_in_the_middle_of_a_put),
        TRIAL_TEST(a_stopped_glove_does_not_stop_the_clock),
        TRIAL_TEST(the_host_dies),
        TRIAL_TEST(host_and_spawner_die_together),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
