/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_stale.c - what dead owners of slots left, and hosts whose groups are not as usual.
 *
 * Records and groups are fabricated in the run directory of the test.  A record is believed only
 * about groups of its own slot; a slot whose lock is held belongs to somebody who lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "trial.h"

#define MANY_GROUPS 200

static void need_root_native(const struct trial *t)
{
    if (t->ops != &box_native || geteuid() != 0)
        skip();
}

/* ---- fabricating ---------------------------------------------------------------------------- */

static void slot_path(const struct trial *t, unsigned slot, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/slots", t->run_dir);
    (void)mkdir(path, 0700);
    (void)snprintf(path, PATH_MAX, "%s/slots/%u", t->run_dir, slot);
}

static void slot_write(const struct trial *t, unsigned slot, const void *bytes, size_t len)
{
    char path[PATH_MAX];
    cleanup_close int fd = -1;

    slot_path(t, slot, path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, bytes, len), 0);
}

static void slot_says(const struct trial *t, unsigned slot, const char *text)
{
    slot_write(t, slot, text, strlen(text));
}

/* A record ends at an empty line. */
static bool slot_is_empty(const struct trial *t, unsigned slot)
{
    char path[PATH_MAX];
    char first = '\n';
    cleanup_close int fd = -1;

    slot_path(t, slot, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(fd_read_full(fd, &first, 1) >= 0);
    return first == '\n';
}

static void group_name(const struct trial *t, size_t tree, unsigned slot,
                       char path[static PATH_MAX])
{
    assert_true(snprintf(path, PATH_MAX, "%.3000s/%.60s%u", t->scope.trees[tree], t->scope.tag,
                         slot) < PATH_MAX);
}

/* A process that sleeps in a group; it waits for its death. */
static pid_t sleeper_in(const char *group)
{
    char path[PATH_MAX + 16];
    char text[16];
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        for (;;)
            (void)pause();
    }
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    assert_int_equal(fd_write_text(AT_FDCWD, path, text), 0);
    return pid;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_box_works(struct trial *t)
{
    trial_open(t);
    trial_says(t, "echo fine", "fine\n");
    trial_close(t);
}

/* ---- records -------------------------------------------------------------------------------- */

static void records_that_say_nothing_true_do_no_harm(void **state)
{
    static const char *const records[] = {
        "box b_gone\ngroup /sys/fs/cgroup/memory/glovebox-none-0\n",
        "box b_torn\ngroup /sys/fs/cgroup/memory/glo",
        "group \n",
        "group\n",
        "group /\n",
        "group relative/glovebox-0\n",
        "\n\n\n",
        "box",
        "another version's format: 3\n",
    };
    struct trial *t = *state;
    char garbage[9000];

    need_root_native(t);
    for (size_t i = 0; i < N_ELEMENTS(records); i++) {
        slot_says(t, 0, records[i]);
        a_box_works(t);
        assert_true(slot_is_empty(t, 0));
    }
    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = (char)(i * 2654435761u >> 13);
    slot_write(t, 0, garbage, sizeof(garbage));
    a_box_works(t);
    memset(garbage, 'g', sizeof(garbage));
    slot_write(t, 0, garbage, sizeof(garbage));
    a_box_works(t);
    ledger_expect(&t->scope, &t->before);
}

/* The groups of a dead owner, with processes in them and groups below them. */
static void what_a_record_names_is_swept(void **state)
{
    struct trial *t = *state;
    char record[8192] = "box b_dead\n";
    char path[PATH_MAX];
    char below[PATH_MAX + 8];
    pid_t lost;

    need_root_native(t);
    for (size_t i = 0; i < t->scope.n_trees; i++) {
        group_name(t, i, 0, path);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(below, sizeof(below), "%s/run-7", path);
        assert_int_equal(mkdir(below, 0700), 0);
        (void)strncat(record, "group ", sizeof(record) - strlen(record) - 1);
        (void)strncat(record, path, sizeof(record) - strlen(record) - 1);
        (void)strncat(record, "\n", sizeof(record) - strlen(record) - 1);
    }
    lost = sleeper_in(below);
    slot_says(t, 0, record);
    a_box_works(t);
    assert_true(has_ended(lost));
    end(lost);
    ledger_expect(&t->scope, &t->before);
}

/* Groups without a record: the owner died before it could write one. */
static void groups_of_our_name_without_a_record_are_swept(void **state)
{
    struct trial *t = *state;
    char path[PATH_MAX];

    need_root_native(t);
    for (size_t i = 0; i < t->scope.n_trees; i++) {
        group_name(t, i, 0, path);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    a_box_works(t);
    ledger_expect(&t->scope, &t->before);
}

/* A record that points at a stranger: a group that is no box's, another slot's, another
 * directory's way out. */
static void strangers_are_never_touched(void **state)
{
    struct trial *t = *state;
    char stranger[PATH_MAX];
    char neighbour[PATH_MAX];
    char record[4 * PATH_MAX];
    pid_t pids[2];

    need_root_native(t);
    (void)snprintf(stranger, sizeof(stranger), "%.3000s/conform-stranger-%d", t->scope.trees[0],
                   (int)getpid());
    group_name(t, 0, 10, neighbour); /* its name ends like that of slot 0 */
    assert_int_equal(mkdir(stranger, 0700), 0);
    assert_int_equal(mkdir(neighbour, 0700), 0);
    pids[0] = sleeper_in(stranger);
    pids[1] = sleeper_in(neighbour);
    (void)snprintf(record, sizeof(record), "box b_x\ngroup %s\ngroup %s\ngroup %s/../%s\n",
                   stranger, neighbour, neighbour, strrchr(stranger, '/') + 1);
    slot_says(t, 0, record);
    a_box_works(t);
    assert_false(has_ended(pids[0]));
    assert_false(has_ended(pids[1]));
    assert_int_equal(access(stranger, F_OK), 0);
    assert_int_equal(access(neighbour, F_OK), 0);
    end(pids[0]);
    end(pids[1]);
    assert_int_equal(rmdir(stranger), 0);
    assert_int_equal(rmdir(neighbour), 0);
}

/* ---- locks ---------------------------------------------------------------------------------- */

static void a_slot_in_use_is_passed_over(void **state)
{
    struct trial *t = *state;
    char path[PATH_MAX];
    char group[PATH_MAX];
    char record[PATH_MAX + 32];
    char now[PATH_MAX + 32];
    cleanup_close int lock = -1;
    pid_t pid;

    need_root_native(t);
    group_name(t, 0, 0, group);
    assert_int_equal(mkdir(group, 0700), 0);
    pid = sleeper_in(group);
    (void)snprintf(record, sizeof(record), "box b_other\ngroup %s\n", group);
    slot_says(t, 0, record);
    slot_path(t, 0, path);
    lock = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    a_box_works(t);
    assert_false(has_ended(pid));
    assert_true(fd_read_text(AT_FDCWD, path, now, sizeof(now)) > 0);
    assert_string_equal(now, record);
    assert_true(slot_is_empty(t, 1));
    /* Let go, it is a dead owner's. */
    close(take_fd(&lock));
    a_box_works(t);
    assert_true(has_ended(pid));
    end(pid);
    ledger_expect(&t->scope, &t->before);
}

/* The one that is taken is swept; each of the rest waits for its own taker. */
static void hundreds_of_stale_slots_cost_the_sweep_of_one(void **state)
{
    struct trial *t = *state;
    char path[PATH_MAX];
    char record[PATH_MAX + 32];
    uint64_t started_ns;

    need_root_native(t);
    for (unsigned i = 0; i < MANY_GROUPS; i++) {
        group_name(t, 0, i, path);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(record, sizeof(record), "box b_old\ngroup %s\n", path);
        slot_says(t, i, record);
    }
    started_ns = clock_now_ns();
    a_box_works(t);
    assert_true(clock_now_ns() - started_ns < trial_within_ms(1000) * NS_PER_MS);
    for (unsigned i = 0; i < MANY_GROUPS; i++) {
        group_name(t, 0, i, path);
        assert_int_equal(slot_is_empty(t, i), i == 0);
        assert_int_equal(rmdir(path), i == 0 ? -1 : 0);
    }
    ledger_expect(&t->scope, &t->before);
}

/* ---- other layouts of groups ---------------------------------------------------------------- */

static int cover(const char *path, const char *options)
{
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

static void uncover(const char *path)
{
    assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static void without_groups_a_box_is_refused_or_says_so(void **state)
{
    struct trial *t = *state;
    struct ledger before;
    int broken = -2;

    need_root_native(t);
    assert_int_equal(cover("/sys/fs/cgroup", "size=64k"), 0);
    ledger_take(&t->scope, &before);
    t->spec.ret_broken = &broken;
    assert_true(box_open(&t->spec, &t->box, &t->err) < 0);
    assert_int_equal(broken, WALL_MEMORY);
    assert_non_null(strstr(t->err.msg, "'memory'"));
    assert_non_null(strstr(t->err.msg, "remedy"));
    ledger_expect(&t->scope, &before);
    t->spec.may_miss = 1u << WALL_MEMORY | 1u << WALL_CPU | 1u << WALL_PIDS;
    trial_open(t);
    assert_int_equal(box_receipt(t->box)->walls, WALLS_ALL & ~t->spec.may_miss);
    assert_string_equal(box_receipt(t->box)->accounting, "box");
    for (int i = 0; i < 5; i++)
        trial_says(t, "(setsid sleep 1000 >/dev/null 2>&1 &) ; echo open", "open\n");
    trial_says(t, "cat /proc/[0-9]*/comm | grep -c sleep || :", "0\n");
    trial_close(t);
    ledger_expect(&t->scope, &before);
    uncover("/sys/fs/cgroup");
}

static void groups_that_are_read_only_refuse_a_box(void **state)
{
    struct trial *t = *state;

    need_root_native(t);
    assert_int_equal(mount(t->scope.trees[0], t->scope.trees[0], NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, t->scope.trees[0], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL),
                     0);
    assert_true(box_open(&t->spec, &t->box, &t->err) < 0);
    assert_non_null(strstr(t->err.msg, "cannot be built"));
    assert_non_null(strstr(t->err.msg, "remedy"));
    uncover(t->scope.trees[0]);
    a_box_works(t);
}

/* A limit that cannot be set refuses the box: it is never made without it. */
static void a_knob_that_refuses_refuses_the_box(void **state)
{
    struct trial *t = *state;
    char mine[PATH_MAX];
    const char *tree = NULL;

    need_root_native(t);
    for (size_t i = 0; i < t->scope.n_trees; i++)
        if (strstr(t->scope.trees[i], "/cpu") && !strstr(t->scope.trees[i], "cpuacct"))
            tree = t->scope.trees[i];
    if (!tree)
        skip();
    /* Below a group with a tenth of a CPU nobody can have ten. */
    (void)snprintf(mine, sizeof(mine), "%.3000s/conform-narrow-%d", tree, (int)getpid());
    assert_int_equal(mkdir(mine, 0700), 0);
    {
        cleanup_close int dir = open(mine, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(fd_write_text(dir, "cpu.cfs_quota_us", "10000"), 0);
    }
    assert_int_equal(mount(mine, tree, NULL, MS_BIND, NULL), 0);
    t->spec.limits.cpu_milli = 1000;
    assert_true(box_open(&t->spec, &t->box, &t->err) < 0);
    assert_non_null(strstr(t->err.msg, "'cpu'"));
    uncover(tree);
    assert_int_equal(rmdir(mine), 0);
    a_box_works(t);
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(records_that_say_nothing_true_do_no_harm),
        TRIAL_TEST(what_a_record_names_is_swept),
        TRIAL_TEST(groups_of_our_name_without_a_record_are_swept),
        TRIAL_TEST(strangers_are_never_touched),
        TRIAL_TEST(a_slot_in_use_is_passed_over),
        TRIAL_TEST(hundreds_of_stale_slots_cost_the_sweep_of_one),
        TRIAL_TEST(without_groups_a_box_is_refused_or_says_so),
        TRIAL_TEST(groups_that_are_read_only_refuse_a_box),
        TRIAL_TEST(a_knob_that_refuses_refuses_the_box),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
