/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_v2_parent.c - where boxes are made on a host with v2 groups only, which this one is
 * not.
 *
 * The choice is tried over paths, the writes over files that stand for a tree, and the kernel's
 * rule about processes in a group that passes controllers on with the one controller that a hybrid
 * host's v2 tree has.
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
#include "base/fd.h"
#include "box/native/v2_parent.h"

#include <cmocka.h>

#define TOP     "/sys/fs/cgroup"
#define UNIFIED TOP "/unified"
#define SCOPE   "/user.slice/user-1000.slice/user@1000.service/app.slice/run-u1.scope"

/* ---- the choice ----------------------------------------------------------------------------- */

static void the_present_group_is_chosen_or_what_it_lies_in(void **state)
{
    static const struct {
        const char *present;
        uid_t uid;
        const char *dir; /* NULL: none */
        bool is_present;
    } table[] = {
        { SCOPE, 1000, TOP SCOPE, true },
        { SCOPE "/" V2_LEAF, 1000, TOP SCOPE, false },
        { SCOPE "/other", 1000, TOP SCOPE "/other", true },
        { "/", 1000, TOP, true },
        { "/glovebox-user-1000", 1000, TOP "/glovebox-user-1000", true },
        { "/glovebox-user-1000/" V2_LEAF, 1000, TOP "/glovebox-user-1000", false },
        { "/glovebox-user-1000/session/deep", 1000, TOP "/glovebox-user-1000", false },
        /* Another user's, and a name that only begins like it. */
        { "/glovebox-user-1000", 1001, TOP "/glovebox-user-1000", true },
        { "/glovebox-user-10000/x", 1000, TOP "/glovebox-user-10000/x", true },
        { SCOPE, 0, TOP, false },
        { "/", 0, TOP, true },
        { "/" V2_LEAF, 0, TOP, false },
        /* Outside of what is seen here, and no path at all. */
        { "/../../x", 1000, NULL, false },
        { "/..", 1000, NULL, false },
        { "", 1000, NULL, false },
        { "x", 1000, NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        char dir[GROUP_DIR_SIZE] = "";
        bool is_present = false;
        bool is_found = v2_parent_choose(TOP, table[i].present, table[i].uid, dir, &is_present);

        assert_int_equal(is_found, table[i].dir != NULL);
        if (!is_found)
            continue;
        assert_string_equal(dir, table[i].dir);
        assert_int_equal(is_present, table[i].is_present);
    }
}

static void a_path_that_is_too_long_is_no_place(void **state)
{
    char present[GROUP_DIR_SIZE + 1];
    char dir[GROUP_DIR_SIZE];
    bool is_present;

    (void)state;
    memset(present, 'x', sizeof(present) - 1);
    present[0] = '/';
    present[sizeof(present) - 1] = '\0';
    assert_false(v2_parent_choose(TOP, present, 1000, dir, &is_present));
}

/* ---- files that stand for a tree ------------------------------------------------------------ */

static void make_file(const char *dir, const char *name)
{
    char path[GROUP_DIR_SIZE + 64];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void each_controller_is_asked_for_alone(void **state)
{
    static const char *const names[] = { "memory", "cpu", NULL };
    char dir[] = "/tmp/glovebox-v2-XXXXXX";
    char path[128];
    char text[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(v2_parent_enable(dir, true, names), -ENOENT);
    make_file(dir, "cgroup.subtree_control");
    assert_int_equal(v2_parent_enable(dir, true, names), 0);
    (void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
    assert_true(fd_read_text(AT_FDCWD, path, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "+cpu")); /* the last one, from the start of the file */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* nobody was in the way: there is no leaf */
}

/* ---- the kernel ----------------------------------------------------------------------------- */

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            (void)fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
                          errno);                                                           \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)

static const char *const only_hugetlb[] = { "hugetlb", NULL };

static bool file_has(const char *dir, const char *name, const char *word)
{
    char path[GROUP_DIR_SIZE + 64];
    char text[4096];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0 && strstr(text, word);
}

static int write_to(const char *dir, const char *name, const char *text)
{
    char path[GROUP_DIR_SIZE + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return fd_write_text(AT_FDCWD, path, text);
}

static void need_hugetlb(void)
{
    struct statfs fs;

    if (geteuid() != 0 || statfs(UNIFIED, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
        !file_has(UNIFIED, "cgroup.controllers", "hugetlb"))
        skip();
}

static void join(const char *dir)
{
    CHECK(write_to(dir, "cgroup.procs", "0") == 0);
}

static bool is_in(const char *suffix)
{
    return file_has("/proc/self", "cgroup", suffix);
}

static void steps_aside(const char *dir)
{
    join(dir);
    CHECK(v2_parent_enable(dir, false, only_hugetlb) == -EBUSY);
    CHECK(!is_in(V2_LEAF));
    CHECK(v2_parent_enable(dir, true, only_hugetlb) == 0);
    CHECK(is_in("/" V2_LEAF));
    CHECK(file_has(dir, "cgroup.subtree_control", "hugetlb"));
    CHECK(v2_parent_enable(dir, true, only_hugetlb) == 0); /* twice is once */
}

/* A sibling stays in the group. */
static void goes_back(const char *dir)
{
    pid_t other;

    join(dir);
    other = fork();
    if (other == 0)
        for (;;)
            pause();
    CHECK(other > 0);
    CHECK(v2_parent_enable(dir, true, only_hugetlb) == -EBUSY);
    CHECK(!is_in(V2_LEAF));
    CHECK(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
}

static void in_group(void (*check)(const char *dir), bool leaves_leaf)
{
    char dir[128];
    char leaf[256];
    pid_t pid;
    int status;

    (void)snprintf(dir, sizeof(dir), UNIFIED "/glovebox-test-%d", (int)getpid());
    (void)snprintf(leaf, sizeof(leaf), "%s/" V2_LEAF, dir);
    assert_int_equal(mkdir(dir, 0755), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        check(dir);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rmdir(leaf), leaves_leaf ? 0 : -1);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(status, 0);
}

static void whoever_is_alone_in_a_group_steps_aside(void **state)
{
    bool was_on = file_has(UNIFIED, "cgroup.subtree_control", "hugetlb");

    (void)state;
    need_hugetlb();
    assert_int_equal(write_to(UNIFIED, "cgroup.subtree_control", "+hugetlb"), 0);
    in_group(steps_aside, true);
    in_group(goes_back, false);
    if (!was_on)
        assert_int_equal(write_to(UNIFIED, "cgroup.subtree_control", "-hugetlb"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_present_group_is_chosen_or_what_it_lies_in),
        cmocka_unit_test(a_path_that_is_too_long_is_no_place),
        cmocka_unit_test(each_controller_is_asked_for_alone),
        cmocka_unit_test(whoever_is_alone_in_a_group_steps_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
