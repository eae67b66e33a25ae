/* SPDX-License-Identifier: Apache-2.0 */
/* conform/test_life.c - boxes come and go: opening, receipts, refusals, closing, leaks. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "trial.h"

#define MANY_BOXES      200
#define MANY_CONTAINERS 30
#define SETTLED_AFTER   20

/* Longer than a glove takes silence for. */
#define THINKING_MS 12000

#ifdef __SANITIZE_ADDRESS__
#    define RSS_MAY_GROW_KIB UINT64_MAX /* freed memory stays with the sanitizer */
#else
#    define RSS_MAY_GROW_KIB 512
#endif

/* ---- opening -------------------------------------------------------------------------------- */

static void a_box_opens_and_closes(void **state)
{
    struct trial *t = *state;
    struct ledger now;

    trial_open(t);
    ledger_take(&t->scope, &now);
    assert_int_equal(now.groups, t->scope.n_trees);
    assert_int_equal(now.processes, 1);
    trial_close(t);
    ledger_expect(&t->scope, &t->before);
}

static void the_receipt_tells_what_holds(void **state)
{
    struct trial *t = *state;
    const struct receipt *receipt;

    t->spec.limits.memory_bytes = 96 << 20;
    trial_open(t);
    receipt = box_receipt(t->box);
    assert_string_equal(receipt->backend, t->ops->name);
    assert_int_equal(receipt->walls, t->walls);
    assert_string_equal(receipt->net, "none");
    assert_string_equal(receipt->seccomp, "default");
    assert_true(receipt->landlock > 0);
    if (!receipt->groups) /* on the engine's machine only */
        assert_ptr_equal(t->ops, &box_docker);
    else
        assert_true(strcmp(receipt->groups, "v1") == 0 || strcmp(receipt->groups, "v2") == 0);
    assert_memory_equal(&receipt->limits, &t->spec.limits, sizeof(receipt->limits));
}

/* The receipt is a promise: what it says is asked from inside. */
static void the_receipt_is_true(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    trial_says(t,
               "sed -n 's/^Seccomp:\t//p; s/^NoNewPrivs:\t//p; s/^CapBnd:\t//p' /proc/self/status",
               "0000000000000000\n1\n2\n");
    trial_says(t, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo\n");
    trial_says(t, "id -u; id -g; hostname", "1000\n1000\nbox\n");
}

static void two_boxes_live_side_by_side(void **state)
{
    struct trial *t = *state;
    struct box *other = NULL;

    trial_open(t);
    trial_says(t, "echo mine > /tmp/x; cat /tmp/x", "mine\n");
    other = take_ptr(t->box);
    trial_open(t);
    trial_says(t, "ls /tmp", "");
    trial_close(t);
    t->box = other;
    trial_says(t, "cat /tmp/x", "mine\n");
}

static void a_working_directory_of_its_own_is_made(void **state)
{
    static const char *const argv[] = { "pwd", NULL };
    struct trial *t = *state;
    struct box_run_spec spec;

    t->spec.workdir = "/app/work";
    trial_open(t);
    spec = trial_spec(t, argv);
    spec.cwd = "/app/work";
    assert_int_equal(trial_run(t, &spec), 0);
    assert_string_equal(t->streams[1].text, "/app/work\n");
    trial_says(t, "touch /app/work/x && ls /app/work", "x\n");
}

static void put_text(const char *dir, const char *name, unsigned mode, const char *text)
{
    char path[96];
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void remove_tree(const char *dir, const char *const *names)
{
    char path[96];

    for (; *names; names++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, *names);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

/* Read-only, first on the PATH, and without the secrets that such trees hold. */
static void a_toolchain_is_shown_without_its_secrets(void **state)
{
    static const char *const names[] = { "hello", ".npmrc", NULL };
    struct trial *t = *state;
    char tree[] = "/opt/glovebox-tool-XXXXXX";
    const char *const list[] = { tree, NULL };
    char script[256];

    if (!t->ops->shows_host || !mkdtemp(tree))
        skip();
    assert_int_equal(chmod(tree, 0755), 0);
    put_text(tree, "hello", 0755, "#!/bin/sh\necho tool\n");
    put_text(tree, ".npmrc", 0644, "token\n");
    t->spec.toolchains = list;
    trial_open(t);
    assert_int_equal(strncmp(box_path(t->box), tree, strlen(tree)), 0);
    (void)snprintf(script, sizeof(script),
                   "%s/hello; cat %s/.npmrc 2>/dev/null; touch %s/new 2>/dev/null || echo closed",
                   tree, tree, tree);
    trial_says(t, script, "tool\nclosed\n");
    trial_close(t);
    remove_tree(tree, names);
}

/* Work can be handed over before the box stands. */
static void a_box_that_is_begun_takes_work(void **state)
{
    struct trial *t = *state;

    assert_int_equal(box_begin(&t->spec, &t->box, &t->err), 0);
    trial_says(t, "echo first", "first\n");
    assert_int_equal(box_receipt(t->box)->walls, t->walls);
    assert_int_equal(box_settle(t->box, &t->err), 0);
    trial_says(t, "echo second", "second\n");
}

static void a_seed_is_there_when_the_box_stands(void **state)
{
    struct trial *t = *state;
    struct box_file seed = { .path = "main.sh", .mode = 0755, .bytes = "echo $0\n", .size = 8 };

    if (!t->ops->plants)
        skip();
    t->spec.seed = &seed;
    t->spec.workdir = "/tmp/deep/place";
    trial_open(t);
    trial_says(t, "cd /tmp/deep/place; stat -c '%a %u %s' main.sh .; sh main.sh",
               "755 1000 8\n755 1000 60\nmain.sh\n");
}

static void a_box_with_a_time_to_live_ends_by_itself(void **state)
{
    struct trial *t = *state;
    struct ledger now;
    uint64_t deadline_ns;

    t->spec.ttl_ms = 300;
    trial_open(t);
    deadline_ns = clock_after_ms(trial_within_ms(5000));
    do {
        ledger_take(&t->scope, &now);
        (void)poll(NULL, 0, 5);
    } while (now.processes + now.groups > 0 && clock_now_ns() < deadline_ns);
    assert_int_equal(now.processes, 0);
    assert_int_equal(now.groups, 0);
    trial_close(t);
}

static bool has_beats(const struct box_ops *ops)
{
    return ops->beats;
}

/* Nobody hears of such a caller for longer than a glove waits for a sign of life. */
static void a_caller_may_think_for_long(void **state)
{
    struct trial *t = *state;

    trial_open(t);
    (void)poll(NULL, 0, THINKING_MS);
    trial_says(t, "echo still here", "still here\n");
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refused(struct trial *t, int code, const char *word)
{
    t->err = (struct gb_err){ 0 };
    assert_int_equal(box_open(&t->spec, &t->box, &t->err), code);
    assert_null(t->box);
    assert_int_equal(t->err.code, code);
    if (!strstr(t->err.msg, word))
        fail_msg("'%s' is not in: %s", word, t->err.msg);
    ledger_expect(&t->scope, &t->before);
}

static void what_cannot_be_built_is_refused_by_name(void **state)
{
    static const struct {
        const char *tree;
        int code;
        const char *word;
    } trees[] = {
        { "/nonexistent/tree", -ENOENT, "/nonexistent/tree" },
        { "relative/tree", -EINVAL, "absolute" },
        { "/", -EINVAL, "not all of this machine" },
        { "/usr/../root", -EINVAL, "absolute" },
        { "/proc/self", -EINVAL, "/proc" },
        { "/var/tmp", -EINVAL, "/var/tmp" },
        { "/etc/ssl", -EINVAL, "/etc" },
        { "/etc/passwd", -EINVAL, "/etc" },
        { "/usr/bin/env", -ENOTDIR, "not a directory" },
    };
    struct trial *t = *state;

    if (!t->ops->shows_host)
        skip();
    for (size_t i = 0; i < N_ELEMENTS(trees); i++) {
        const char *const list[] = { trees[i].tree, NULL };

        t->spec.toolchains = list;
        refused(t, trees[i].code, trees[i].word);
    }
    t->spec.toolchains = NULL;
}

static void a_closed_tree_is_refused_with_its_remedy(void **state)
{
    struct trial *t = *state;
    char tree[] = "/opt/glovebox-closed-XXXXXX";
    const char *const list[] = { tree, NULL };

    if (!t->ops->shows_host || !mkdtemp(tree))
        skip();
    t->spec.toolchains = list;
    refused(t, -EACCES, "remedy: chmod o+rX");
    assert_int_equal(rmdir(tree), 0);
}

static void limits_out_of_range_are_refused(void **state)
{
    struct trial *t = *state;
    const struct limits good = t->spec.limits;

    t->spec.limits.memory_bytes = 0;
    refused(t, -ERANGE, "memory");
    t->spec.limits = good;
    t->spec.limits.pids = UINT64_MAX;
    refused(t, -ERANGE, "process");
    t->spec.limits = good;
    t->spec.limits.wall_ms = UINT64_MAX;
    refused(t, -ERANGE, "wall");
    t->spec.limits = good;
}

static void a_run_directory_of_others_is_refused(void **state)
{
    struct trial *t = *state;

    if (t->ops != &box_native)
        skip();
    assert_int_equal(chmod(t->run_dir, 0777), 0);
    refused(t, -EPERM, "written by others");
    assert_int_equal(chmod(t->run_dir, 0700), 0);
    trial_open(t);
}

/* What fails while the box is being built is told by the first call that needs it. */
static void a_wall_that_breaks_later_is_told_by_name(void **state)
{
    static const char *const argv[] = { "true", NULL };
    struct trial *t = *state;
    struct box_run_spec run = trial_spec(t, argv);
    int broken = -2;

    if (t->ops != &box_native || geteuid() != 0)
        skip();
    /* The device is not the one that a box wants. */
    assert_int_equal(mount("/dev/zero", "/dev/full", NULL, MS_BIND, NULL), 0);
    ledger_take(&t->scope, &t->before);
    t->spec.ret_broken = &broken;
    refused(t, -ENODEV, "'mount' cannot be built at /dev/full");
    assert_int_equal(broken, WALL_MOUNT);
    for (int i = 0; i < 20; i++) {
        int r = box_begin(&t->spec, &t->box, &t->err);

        assert_int_equal(r < 0 ? r : trial_run(t, &run), -ENODEV);
        assert_non_null(strstr(t->err.msg, "'mount' cannot be built at /dev/full"));
        assert_non_null(strstr(t->err.msg, "remedy"));
        assert_true(r < 0 || trial_run(t, &run) < 0);
        trial_close(t);
        ledger_expect(&t->scope, &t->before);
    }
    assert_int_equal(umount2("/dev/full", MNT_DETACH), 0);
    t->before.mounts--;
}

static void unknown_backends_are_refused_with_the_known_ones(void **state)
{
    struct trial *t = *state;

    t->spec.backend = "teleport";
    refused(t, -EINVAL, t->ops->name);
    t->spec.backend = "disabled";
    refused(t, -EPERM, "disabled");
}

/* ---- closing -------------------------------------------------------------------------------- */

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    assert_int_equal(box_close(NULL), 0);
}

static int stop_at_once(void *user, int stream, const void *bytes, size_t len)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)len;
    return -ECANCELED;
}

/* Every state that a caller can leave a box in. */
static void a_box_closes_from_every_state(void **state)
{
    static const char *const sleeper[] = { "sh", "-c", "sleep 1000 & echo; sleep 1000", NULL };
    struct trial *t = *state;
    struct box_run_spec spec = trial_spec(t, sleeper);
    struct box_file torn = { .path = "x", .mode = 0644, .fd = -1, .size = 10 };
    uint64_t mark;

    trial_open(t); /* never used */
    trial_close(t);
    for (int i = 0; i < 10; i++) { /* not yet built */
        assert_int_equal(box_begin(&t->spec, &t->box, &t->err), 0);
        trial_close(t);
    }
    trial_open(t); /* after a cancelled run */
    spec.output = stop_at_once;
    assert_int_equal(trial_run(t, &spec), 0);
    assert_int_equal(t->end.kill, BOX_KILL_CANCEL);
    trial_close(t);
    trial_open(t); /* after a transfer that broke off */
    assert_int_equal(box_put(t->box, BOX_WORKSPACE, &torn, 1, &mark, &t->err), -EBADF);
    trial_close(t);
    trial_open(t); /* full disk */
    trial_sh(t, "cat /dev/zero > /tmp/full");
    trial_close(t);
    trial_open(t); /* thousands of processes' remains */
    trial_sh(t, "i=0; while [ $i -lt 300 ]; do (setsid true &); i=$((i+1)); done");
    trial_close(t);
    ledger_expect(&t->scope, &t->before);
}

/* ---- leaks ---------------------------------------------------------------------------------- */

static uint64_t rss_kib(void)
{
    char text[256];

    assert_true(fd_read_text(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) > 0);
    return strtoull(strchr(text, ' '), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void many_boxes_one_after_another_leave_nothing(void **state)
{
    struct trial *t = *state;
    uint64_t settled = 0;

    int many = t->ops == &box_docker ? MANY_CONTAINERS : MANY_BOXES;

    for (int i = 0; i < many; i++) {
        trial_open(t);
        trial_says(t, "echo x", "x\n");
        trial_close(t);
        if (i == SETTLED_AFTER)
            settled = rss_kib();
    }
    ledger_expect(&t->scope, &t->before);
    if (rss_kib() > settled && rss_kib() - settled > RSS_MAY_GROW_KIB)
        fail_msg("memory grew from %llu to %llu KiB", (unsigned long long)settled,
                 (unsigned long long)rss_kib());
}

int main(void)
{
    static const struct trial_test tests[] = {
        TRIAL_TEST(a_box_opens_and_closes),
        TRIAL_TEST(the_receipt_tells_what_holds),
        TRIAL_TEST(the_receipt_is_true),
        TRIAL_TEST(two_boxes_live_side_by_side),
        TRIAL_TEST(a_working_directory_of_its_own_is_made),
        TRIAL_TEST(a_toolchain_is_shown_without_its_secrets),
        TRIAL_TEST(a_box_that_is_begun_takes_work),
        TRIAL_TEST(a_seed_is_there_when_the_box_stands),
        TRIAL_TEST(a_box_with_a_time_to_live_ends_by_itself),
        TRIAL_TEST_IF(a_caller_may_think_for_long, has_beats),
        TRIAL_TEST(what_cannot_be_built_is_refused_by_name),
        TRIAL_TEST(a_closed_tree_is_refused_with_its_remedy),
        TRIAL_TEST(limits_out_of_range_are_refused),
        TRIAL_TEST(a_run_directory_of_others_is_refused),
        TRIAL_TEST(a_wall_that_breaks_later_is_told_by_name),
        TRIAL_TEST(unknown_backends_are_refused_with_the_known_ones),
        TRIAL_TEST(closing_nothing_is_fine),
        TRIAL_TEST(a_box_closes_from_every_state),
        TRIAL_TEST(many_boxes_one_after_another_leave_nothing),
    };

    return trial_main(tests, N_ELEMENTS(tests));
}
