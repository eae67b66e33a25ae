/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_spawner_guard.c - the guard acts when its spawner has died, and only then. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawner/guard.h"

#include <cmocka.h>

/* What a spawner does in a test; it ends, or is killed. */
typedef void (*life)(int fd);

static int told; /* the write end of a pipe: shared with the guard, as all memory is */

static char word_of_the_guard[] = "s";

static void stand_in(void *arg)
{
    const char *word = arg;

    if (write(told, word, 1) != 1)
        _exit(9);
}

static void wait_for_ever(int fd)
{
    (void)fd;
    for (;;)
        (void)pause();
}

static pid_t spawner_start(life live, int *ret_fd)
{
    int pair[2];
    pid_t pid;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        told = pair[1];
        close(pair[0]);
        live(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    *ret_fd = pair[0];
    return pid;
}

/* What was told until all who could tell are gone; NUL for nothing. */
static char said(int fd)
{
    struct pollfd in = { .fd = fd, .events = POLLIN };
    char word = '\0';

    assert_int_equal(poll(&in, 1, 30000), 1);
    assert_true(read(fd, &word, 1) >= 0);
    close(fd);
    return word;
}

static void live_guarded(int fd)
{
    if (guard_start(stand_in, word_of_the_guard) <= 0)
        _exit(1);
    (void)!write(fd, "u", 1);
    wait_for_ever(fd);
}

static void a_killed_spawner_has_a_stand_in(void **state)
{
    char word;
    int fd;
    pid_t pid = spawner_start(live_guarded, &fd);

    (void)state;
    assert_int_equal(read(fd, &word, 1), 1);
    assert_int_equal(word, 'u');
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(said(fd), 's');
    (void)waitpid(-1, NULL, 0); /* the guard has become ours */
}

static void live_dismissing(int fd)
{
    pid_t guard = guard_start(stand_in, word_of_the_guard);

    (void)fd;
    guard_dismiss(guard);
    if (guard <= 0 || kill(guard, 0) == 0)
        _exit(1);
}

static void a_dismissed_guard_does_nothing(void **state)
{
    int status;
    int fd;
    pid_t pid = spawner_start(live_dismissing, &fd);

    (void)state;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(said(fd), '\0');
}

static void live_without_descriptors(int fd)
{
    struct rlimit none = { 0, 0 };

    (void)fd;
    if (setrlimit(RLIMIT_NOFILE, &none) < 0 || guard_start(stand_in, word_of_the_guard) != 0)
        _exit(1);
}

/* Without a hold on the spawner a guard could not tell its death from anything else. */
static void without_a_descriptor_there_is_no_guard(void **state)
{
    int status;
    int fd;
    pid_t pid = spawner_start(live_without_descriptors, &fd);

    (void)state;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(said(fd), '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_spawner_has_a_stand_in),
        cmocka_unit_test(a_dismissed_guard_does_nothing),
        cmocka_unit_test(without_a_descriptor_there_is_no_guard),
    };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
