/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_docker_groups.c - a container's counters as this machine sees them.
 *
 * The groups are made here, named as an engine names them, with one process as the container.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "box/docker/docker.h"
#include "wire/msg.h"

#include <cmocka.h>

#define DECIDING (COUNTS_FLAG_CPU | COUNTS_FLAG_MEMORY | COUNTS_FLAG_PIDS)

static const char *const trees[] = { "memory", "pids", "cpuacct" };

struct container {
    char id[64];
    char paths[N_ELEMENTS(trees)][PATH_MAX];
    pid_t pid;
};

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

/* Skipped where this user may not make groups, or the machine has v2's tree alone. */
static int make_container(void **state)
{
    static struct container c;
    char text[24];

    memset(&c, 0, sizeof(c));
    *state = NULL;
    (void)snprintf(c.id, sizeof(c.id), "glovebox-unit-container-%d", (int)getpid());
    for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
        (void)snprintf(c.paths[i], PATH_MAX, "/sys/fs/cgroup/%s/%s", trees[i], c.id);
        if (mkdir(c.paths[i], 0700) < 0 && i == 0)
            return 0;
    }
    c.pid = sleeper();
    (void)snprintf(text, sizeof(text), "%d", (int)c.pid);
    for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
        char file[PATH_MAX + 16];

        (void)snprintf(file, sizeof(file), "%s/cgroup.procs", c.paths[i]);
        if (fd_write_text(AT_FDCWD, file, text) < 0)
            return -1;
    }
    *state = &c;
    return 0;
}

static void end_process(struct container *c)
{
    if (c->pid > 0) {
        assert_int_equal(kill(c->pid, SIGKILL), 0);
        assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
    }
    c->pid = 0;
    for (size_t i = 0; i < N_ELEMENTS(trees); i++)
        (void)rmdir(c->paths[i]);
}

static int remove_container(void **state)
{
    if (*state)
        end_process(*state);
    return 0;
}

static struct container *made(void **state)
{
    if (!*state)
        skip();
    return *state;
}

static void what_is_there_is_counted_and_flagged(void **state)
{
    struct container *c = made(state);
    struct docker_groups groups;
    struct msg_counts counts;
    uint64_t cpu_ns = 0;

    docker_groups_open(c->pid, c->id, &groups);
    assert_true(docker_groups_are_seen(&groups));
    assert_int_equal(docker_groups_read(&groups, &counts), 0);
    assert_int_equal(counts.flags, DECIDING);
    assert_int_equal(counts.pids_now, 1);
    assert_int_equal(docker_groups_cpu_ns(&groups, &cpu_ns), 0);
    assert_true(cpu_ns >= counts.cpu_ns);
    docker_groups_close(&groups);
}

static void somebody_elses_process_is_not_the_container(void **state)
{
    struct container *c = made(state);
    struct docker_groups groups;

    docker_groups_open(getpid(), c->id, &groups);
    assert_false(docker_groups_are_seen(&groups));
    docker_groups_close(&groups);
}

/* The container has ended, and its engine has removed the groups. */
static void groups_that_are_gone_count_nothing(void **state)
{
    struct container *c = made(state);
    struct docker_groups groups;
    struct msg_counts counts;
    uint64_t cpu_ns = 42;

    docker_groups_open(c->pid, c->id, &groups);
    end_process(c);
    (void)docker_groups_read(&groups, &counts);
    assert_int_equal(counts.flags, 0);
    assert_true(docker_groups_cpu_ns(&groups, &cpu_ns) < 0);
    assert_int_equal(cpu_ns, 42);
    docker_groups_close(&groups);
}

static void counters_that_cannot_be_opened_are_an_error(void **state)
{
    struct container *c = made(state);
    struct docker_groups groups;
    struct msg_counts counts;
    struct rlimit before;
    struct rlimit none;
    uint64_t cpu_ns = 42;
    int read;
    int cpu;

    docker_groups_open(c->pid, c->id, &groups);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    read = docker_groups_read(&groups, &counts);
    cpu = docker_groups_cpu_ns(&groups, &cpu_ns);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(read, -EMFILE);
    assert_int_equal(counts.flags, 0);
    assert_int_equal(cpu, -EMFILE);
    assert_int_equal(cpu_ns, 42);
    docker_groups_close(&groups);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, make_container, remove_container)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE(what_is_there_is_counted_and_flagged),
        MADE(somebody_elses_process_is_not_the_container),
        MADE(groups_that_are_gone_count_nothing),
        MADE(counters_that_cannot_be_opened_are_an_error),
    };

    return cmocka_run_group_tests_name("docker_groups", tests, NULL, NULL);
}
