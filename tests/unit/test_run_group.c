/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_run_group.c - the groups of a run: made below a box's, filled, killed, read, removed.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "base/err.h"
#include "base/fd.h"
#include "box/native/run_group.h"

#include <cmocka.h>

struct place {
    struct hierarchies h;
    char paths[HIERARCHIES_MAX][PATH_MAX + 64];
    int dirs[HIERARCHIES_MAX];
    struct limits limits;
    struct gb_err err;
};

/* Box groups on this machine's own trees. */
static int make_place(void **state)
{
    static struct place place;

    memset(&place, 0, sizeof(place));
    *state = NULL;
    hierarchies_find(geteuid(), &place.h);
    if (place.h.missing || !place.h.can_group_runs)
        return 0;
    for (size_t i = 0; i < place.h.n; i++) {
        (void)snprintf(place.paths[i], sizeof(place.paths[i]), "%s/glovebox-unit-run-%d",
                       place.h.items[i].dir, (int)getpid());
        if (mkdir(place.paths[i], 0700) < 0)
            return -1;
        place.dirs[i] = open(place.paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    place.limits = limits_default();
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    int r = 0;

    for (size_t i = 0; place && i < place->h.n; i++) {
        close(place->dirs[i]);
        r |= rmdir(place->paths[i]);
    }
    return r;
}

static struct place *placed(void **state)
{
    if (!*state)
        skip();
    return *state;
}

static int open_run(struct place *place, unsigned number, struct run_group *group)
{
    return run_group_open(&place->h, WALLS_ALL, place->dirs, place->h.n, number, &place->limits,
                          group, &place->err);
}

/* A process that waits in the group for its end. */
static pid_t member(const struct run_group *g)
{
    char text[16];
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            (void)pause();
    }
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    for (size_t i = 0; i < g->n; i++)
        assert_int_equal(fd_write_text(g->dirs[i], "cgroup.procs", text), 0);
    return pid;
}

static void a_run_has_groups_with_its_own_limits(void **state)
{
    struct place *place = placed(state);
    struct run_group g;
    char text[64];

    place->limits.pids = 33;
    place->limits.memory_bytes = 64 << 20;
    assert_int_equal(open_run(place, 5, &g), 0);
    assert_true(g.is_own);
    assert_true(g.memory >= 0 && g.pids >= 0 && g.cpu >= 0 && g.kill >= 0);
    assert_true(fd_read_text(g.dirs[g.pids], "pids.max", text, sizeof(text)) > 0);
    assert_string_equal(text, "33\n");
    assert_true(fd_read_text(g.dirs[g.memory], g.is_v2 ? "memory.max" : "memory.limit_in_bytes",
                             text, sizeof(text)) > 0);
    assert_string_equal(text, "67108864\n");
    /* v1 counts TCP's buffers apart, and only where it is told to. */
    if (!g.is_v2) {
        assert_true(fd_read_text(g.dirs[g.memory], "memory.kmem.tcp.limit_in_bytes", text,
                                 sizeof(text)) > 0);
        assert_string_equal(text, "67108864\n");
    }
    for (size_t i = 0; i < place->h.n; i++)
        if (strcmp(place->h.items[i].controller, "cpu") == 0 && !place->h.items[i].counts_cpu)
            assert_int_equal(faccessat(place->dirs[i], "run-5", F_OK, 0), -1);
    run_group_close(&g);
    assert_int_equal(faccessat(place->dirs[0], "run-5", F_OK, 0), -1);
}

static void a_name_that_is_taken_fails_and_leaves_nothing(void **state)
{
    struct place *place = placed(state);
    size_t last = place->h.n - 1;
    struct run_group g;

    assert_int_equal(mkdirat(place->dirs[last], "run-1", 0700), 0);
    assert_int_equal(open_run(place, 1, &g), -EEXIST);
    assert_non_null(strstr(place->err.msg, "groups of a run"));
    assert_int_equal(faccessat(place->dirs[0], "run-1", F_OK, 0), -1);
    /* Removed with what was half made, or still there: not ours any more either way. */
    (void)unlinkat(place->dirs[last], "run-1", AT_REMOVEDIR);
}

static void a_kill_is_believed_when_the_group_is_empty(void **state)
{
    struct place *place = placed(state);
    struct run_group g;
    struct box_run_end end = { 0 };
    pid_t pids[3];
    int status;

    assert_int_equal(open_run(place, 1, &g), 0);
    for (size_t i = 0; i < N_ELEMENTS(pids); i++)
        pids[i] = member(&g);
    assert_int_equal(kill(pids[1], SIGSTOP), 0);
    assert_int_equal(run_group_wait(&g, 0), 3);
    assert_int_equal(run_group_kill(&g), 0);
    assert_int_equal(run_group_kill(&g), 0); /* twice is fine */
    assert_int_equal(run_group_wait(&g, 5000), 0);
    run_group_read(&g, &end);
    assert_int_equal(end.oom_kills, 0);
    assert_int_equal(end.pids_hits, 0);
    for (size_t i = 0; i < N_ELEMENTS(pids); i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(WTERMSIG(status), SIGKILL);
    }
    run_group_close(&g);
}

/* The box was removed under the run: nobody is left in what is not there. */
static void groups_that_were_removed_hold_nobody(void **state)
{
    struct place *place = placed(state);
    struct run_group g;

    assert_int_equal(open_run(place, 1, &g), 0);
    for (size_t i = 0; i < g.n; i++)
        assert_int_equal(unlinkat(g.parents[i], "run-1", AT_REMOVEDIR), 0);
    assert_int_equal(run_group_kill(&g), 0);
    assert_int_equal(run_group_wait(&g, 100), 0);
    run_group_close(&g);
}

/* Without groups of their own runs share the box's: what was before does not count. */
static void shared_groups_count_from_the_beginning_of_the_run(void **state)
{
    struct place *place = placed(state);
    struct box_run_end end = { 0 };
    struct run_group g;

    place->h.can_group_runs = false;
    assert_int_equal(open_run(place, 1, &g), 0);
    assert_false(g.is_own);
    assert_int_equal(run_group_kill(&g), -ENOTSUP);
    run_group_read(&g, &end);
    assert_int_equal(end.cpu_ns, 0);
    assert_int_equal(end.pids_hits, 0);
    run_group_close(&g);
    assert_int_equal(faccessat(place->dirs[0], "run-1", F_OK, 0), -1);
    place->h.can_group_runs = true;
}

/* As in a program that has used up all its descriptors. */
static rlim_t exhaust(struct rlimit *before)
{
    struct rlimit none = { 0 };

    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    none.rlim_max = before->rlim_max;
    return (rlim_t)setrlimit(RLIMIT_NOFILE, &none);
}

static void counters_that_cannot_be_read_are_not_zero(void **state)
{
    struct place *place = placed(state);
    struct box_run_end end = { 0 };
    struct run_group g;
    struct rlimit before;
    uint64_t used = 42;
    int r;

    assert_int_equal(open_run(place, 1, &g), 0);
    g.before.cpu_ns = g.before.oom_kills = 7; /* as of a group that runs share */
    assert_int_equal(exhaust(&before), 0);
    r = run_group_cpu_ns(&g, &used);
    run_group_read(&g, &end);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -EMFILE);
    assert_int_equal(used, 42);
    assert_int_equal(end.count_error, EMFILE);
    assert_int_equal(end.cpu_ns, 0);
    assert_int_equal(end.oom_kills, 0);
    run_group_close(&g);
}

static void a_run_is_not_begun_with_counters_that_cannot_be_read(void **state)
{
    struct place *place = placed(state);
    struct run_group g;
    struct rlimit before;
    int r;

    place->h.can_group_runs = false;
    assert_int_equal(exhaust(&before), 0);
    r = open_run(place, 1, &g);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -EMFILE);
    assert_non_null(strstr(place->err.msg, "counters of the box"));
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(a_run_has_groups_with_its_own_limits),
        PLACED(a_name_that_is_taken_fails_and_leaves_nothing),
        PLACED(a_kill_is_believed_when_the_group_is_empty),
        PLACED(groups_that_were_removed_hold_nobody),
        PLACED(shared_groups_count_from_the_beginning_of_the_run),
        PLACED(counters_that_cannot_be_read_are_not_zero),
        PLACED(a_run_is_not_begun_with_counters_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
