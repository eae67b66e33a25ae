/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_spawner_group.c - control groups made, checked and swept with real processes in them.
 *
 * On this machine's own trees, under names that carry the test's pid.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "spawner/group.h"

#include <cmocka.h>

#define TOP "/sys/fs/cgroup"

static char name[48];

/* A v1 tree and, where there is one, the v2 tree. */
static const char *v1_tree(void)
{
    struct statfs fs;

    if (geteuid() != 0 || statfs(TOP "/pids", &fs) < 0 || fs.f_type != CGROUP_SUPER_MAGIC)
        skip();
    return TOP "/pids";
}

static const char *v2_tree(void)
{
    static const char *const places[] = { TOP "/unified", TOP };
    struct statfs fs;

    for (size_t i = 0; i < N_ELEMENTS(places); i++)
        if (geteuid() == 0 && statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
            return places[i];
    skip();
    return NULL;
}

static struct msg_group step_in(const char *dir, bool is_v2)
{
    (void)snprintf(name, sizeof(name), "glovebox-unit-%d-", (int)getpid());
    return (struct msg_group){
        .flags = is_v2 ? GROUP_FLAG_V2 : 0,
        .controller = is_v2 ? "" : "pids",
        .dir = dir,
        .name = name,
        .leaf = "",
    };
}

/* ---- processes in groups -------------------------------------------------------------------- */

static void join(const char *group, pid_t pid)
{
    char path[PATH_MAX + 16];
    char text[16];

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    assert_int_equal(fd_write_text(AT_FDCWD, path, text), 0);
}

static pid_t sleeper(const char *group)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        for (;;)
            (void)pause();
    }
    join(group, pid);
    return pid;
}

static void expect_killed(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void expect_alive(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- making --------------------------------------------------------------------------------- */

static void a_group_is_made_and_limited(void **state)
{
    static const char *const knobs[] = { "pids.max=17", NULL };
    struct msg_group step = step_in(v1_tree(), false);
    struct group group;
    char packed[64];
    char text[32];
    uint32_t left;

    (void)state;
    assert_int_equal(wire_strs_pack(knobs, packed, sizeof(packed), &step.knobs), 0);
    assert_int_equal(group_make(&step, 7, &group), 0);
    assert_int_equal(group_limit(&step, &group), 0);
    assert_true(group.join_fd >= 0);
    assert_true(fd_read_text(group.dir_fd, "pids.max", text, sizeof(text)) > 0);
    assert_string_equal(text, "17\n");
    assert_int_equal(group_make(&step, 7, &(struct group){ 0 }), -EEXIST);
    assert_int_equal(group_sweep(group.path, 1000, &left), 0);
    assert_int_equal(access(group.path, F_OK), -1);
    group_close(&group);
    group_close(&group);
}

static void a_knob_that_fails_is_told(void **state)
{
    static const char *const bad[] = { "pids.max=lots", "pids.none=1", "no equals sign" };
    struct msg_group step = step_in(v1_tree(), false);

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
        const char *const knobs[] = { bad[i], NULL };
        struct group group;
        char packed[64];
        uint32_t left;

        assert_int_equal(wire_strs_pack(knobs, packed, sizeof(packed), &step.knobs), 0);
        assert_int_equal(group_make(&step, 0, &group), 0);
        assert_true(group_limit(&step, &group) < 0);
        group_close(&group);
        assert_int_equal(group_sweep(group.path, 1000, &left), 0);
    }
}

static void a_path_too_long_is_refused(void **state)
{
    static char dir[PATH_MAX];
    char path[PATH_MAX];
    struct msg_group step = { .dir = dir, .name = "glovebox-" };

    (void)state;
    memset(dir, 'd', sizeof(dir) - 5);
    assert_int_equal(group_path(&step, 0, path), -ENAMETOOLONG);
    dir[100] = '\0';
    assert_int_equal(group_path(&step, 4294967295u, path), 0);
    assert_non_null(strstr(path, "d/glovebox-4294967295"));
}

/* With a leaf the glove lives below: v2 wants processes in leaves only. */
static void a_leaf_is_what_one_is_born_in(void **state)
{
    struct msg_group step = step_in(v2_tree(), true);
    struct group group;
    struct stat st;
    uint32_t left;

    (void)state;
    step.leaf = "glove";
    assert_int_equal(group_make(&step, 0, &group), 0);
    assert_int_equal(fstatat(group.dir_fd, "glove", &st, 0), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(fstat(group.dir_fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700); /* nobody else comes in */
    group_close(&group);
    assert_int_equal(group_sweep(group.path, 1000, &left), 0);
}

/* ---- checking ------------------------------------------------------------------------------- */

static int check(const char *controller, const char *leaf, const char *path, const char *cgroups)
{
    struct msg_group step = { .controller = controller, .leaf = leaf };
    struct group group = { .leaf_fd = -1 };

    (void)snprintf(group.path, sizeof(group.path), "%s", path);
    return group_check(&step, &group, cgroups);
}

static bool is_in(pid_t pid, const char *suffix)
{
    char path[64];
    char text[4096];

    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    return fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0 && strstr(text, suffix);
}

/* As the first process of a box whose group is shown to it. */
static void a_group_that_is_seen_is_born_in_and_left_for_the_leaf(void **state)
{
    struct msg_group step = step_in(v2_tree(), true);
    struct group group;
    char suffix[96];
    uint32_t left;
    int status;
    pid_t pid;

    (void)state;
    step.leaf = "glove";
    step.flags |= GROUP_FLAG_SHOWN;
    assert_int_equal(group_make(&step, 4, &group), 0);
    assert_true(group_is_seen(&group));
    (void)snprintf(suffix, sizeof(suffix), "/%s4/glove\n", name);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool is_right = fd_write_text(group.join_fd, "cgroup.procs", "0") == 0 &&
                        !is_in(getpid(), suffix) && group_enter_leaf(&group) == 0 &&
                        is_in(getpid(), suffix);

        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    group_close(&group);
    assert_int_equal(group_sweep(group.path, 2000, &left), 0);
}

static void membership_is_read_from_whole_names(void **state)
{
    static const char cgroups[] = "9:pids:/glovebox-3\n"
                                  "4:cpu,cpuacct:/a/glovebox-3\n"
                                  "1:name=systemd:/glovebox-4\n"
                                  "0::/glovebox-3/glove\n";

    (void)state;
    assert_int_equal(check("pids", "", TOP "/pids/glovebox-3", cgroups), 0);
    assert_int_equal(check("cpu", "", TOP "/cpu/a/glovebox-3", cgroups), 0);
    assert_int_equal(check("cpuacct", "", TOP "/cpu/a/glovebox-3", cgroups), 0);
    assert_int_equal(check("", "glove", TOP "/glovebox-3", cgroups), 0);
    assert_int_equal(check("", "", TOP "/glovebox-3", cgroups), -ESRCH);
    assert_int_equal(check("pids", "", TOP "/pids/glovebox-13", cgroups), -ESRCH);
    assert_int_equal(check("pids", "", TOP "/pids/x-3", cgroups), -ESRCH);
    assert_int_equal(check("memory", "", TOP "/memory/glovebox-3", cgroups), -ESRCH);
    assert_int_equal(check("acct", "", TOP "/cpu/glovebox-3", cgroups), -ESRCH);
    assert_int_equal(check("pids", "", TOP "/pids/glovebox-3", ""), -ESRCH);
    assert_int_equal(check("pids", "", TOP "/pids/glovebox-3", "garbage\n9\n:\n"), -ESRCH);
}

/* ---- sweeping ------------------------------------------------------------------------------- */

static void sweeping_nothing_is_done_at_once(void **state)
{
    uint32_t left = 9;

    (void)state;
    assert_int_equal(group_sweep(TOP "/pids/glovebox-never-was", 1000, &left), 0);
    assert_int_equal(left, 0);
    assert_int_equal(group_sweep("/no/such/place/at/all", 1000, &left), 0);
}

static void only_groups_are_ever_removed(void **state)
{
    char dir[] = "/tmp/glovebox-no-group-XXXXXX";
    uint32_t left = 9;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(group_sweep(dir, 100, &left), -ENOTSUP);
    assert_int_equal(left, 0);
    assert_int_equal(rmdir(dir), 0);
}

static void sweep_of(const char *tree, bool is_v2)
{
    struct msg_group step = step_in(tree, is_v2);
    struct group group;
    char below[PATH_MAX + 16];
    char deeper[PATH_MAX + 32];
    pid_t pids[3];
    uint32_t left = 9;

    assert_int_equal(group_make(&step, 0, &group), 0);
    (void)snprintf(below, sizeof(below), "%s/run-1", group.path);
    (void)snprintf(deeper, sizeof(deeper), "%s/x", below);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(mkdir(deeper, 0700), 0);
    pids[0] = sleeper(group.path);
    pids[1] = sleeper(below);
    pids[2] = sleeper(deeper);
    assert_int_equal(kill(pids[1], SIGSTOP), 0);
    group_close(&group);
    assert_int_equal(group_sweep(group.path, 5000, &left), 0);
    assert_int_equal(left, 0);
    assert_int_equal(access(group.path, F_OK), -1);
    for (size_t i = 0; i < N_ELEMENTS(pids); i++)
        expect_killed(pids[i]);
}

static void whatever_lives_below_a_group_goes_with_it(void **state)
{
    (void)state;
    sweep_of(v1_tree(), false);
}

static void in_v2_too(void **state)
{
    (void)state;
    sweep_of(v2_tree(), true);
}

/* A neighbour whose name begins like the swept one is another group. */
static void neighbours_live_on(void **state)
{
    struct msg_group step = step_in(v1_tree(), false);
    struct group one;
    struct group twelve;
    pid_t pids[2];
    uint32_t left;

    (void)state;
    assert_int_equal(group_make(&step, 1, &one), 0);
    assert_int_equal(group_make(&step, 12, &twelve), 0);
    pids[0] = sleeper(one.path);
    pids[1] = sleeper(twelve.path);
    assert_int_equal(group_sweep(one.path, 5000, &left), 0);
    expect_killed(pids[0]);
    expect_alive(pids[1]);
    assert_int_equal(group_sweep(twelve.path, 5000, &left), 0);
    group_close(&one);
    group_close(&twelve);
}

/* What cannot be removed is told when the time is up. */
static void what_stays_is_told_in_time(void **state)
{
    struct msg_group step = step_in(v1_tree(), false);
    char deep[PATH_MAX + 64];
    struct group group;
    uint64_t started_ns = clock_now_ns();
    uint32_t left = 0;

    (void)state;
    assert_int_equal(group_make(&step, 0, &group), 0);
    /* Deeper than a sweep goes: glovebox itself makes one level. */
    (void)snprintf(deep, sizeof(deep), "%s", group.path);
    for (int i = 0; i < 7; i++) {
        (void)strncat(deep, "/d", sizeof(deep) - strlen(deep) - 1);
        assert_int_equal(mkdir(deep, 0700), 0);
    }
    assert_int_equal(group_sweep(group.path, 100, &left), -EBUSY);
    assert_true(clock_now_ns() - started_ns < 5 * NS_PER_S);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(rmdir(deep), 0);
        *strrchr(deep, '/') = '\0';
    }
    assert_int_equal(group_sweep(group.path, 1000, &left), 0);
    group_close(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_made_and_limited),
        cmocka_unit_test(a_knob_that_fails_is_told),
        cmocka_unit_test(a_path_too_long_is_refused),
        cmocka_unit_test(a_leaf_is_what_one_is_born_in),
        cmocka_unit_test(a_group_that_is_seen_is_born_in_and_left_for_the_leaf),
        cmocka_unit_test(membership_is_read_from_whole_names),
        cmocka_unit_test(sweeping_nothing_is_done_at_once),
        cmocka_unit_test(only_groups_are_ever_removed),
        cmocka_unit_test(whatever_lives_below_a_group_goes_with_it),
        cmocka_unit_test(in_v2_too),
        cmocka_unit_test(neighbours_live_on),
        cmocka_unit_test(what_stays_is_told_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
