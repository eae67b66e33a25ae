/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_hierarchy.c - where groups can be made, on layouts that this machine does not have.
 *
 * Row L13 of the test matrix.  Each layout is put together in a mount namespace of its own, from
 * this machine's trees, bound where another machine would have them.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/native/hierarchy.h"

#include <cmocka.h>

#define TOP     "/sys/fs/cgroup"
#define NOBODYS 54321 /* a user that nobody is */

/* A failed check ends the child that it is in, and tells where. */
#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            (void)fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
                          errno);                                                           \
            _exit(1);                                                                       \
        }                                                                                   \
    } while (0)

static const wall_set limited = 1u << WALL_MEMORY | 1u << WALL_PIDS | 1u << WALL_CPU;

static bool is_fs(const char *path, long magic)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 && fs.f_type == magic;
}

/* The layouts are made of the trees of a hybrid one. */
static void need_hybrid_root(void)
{
    if (geteuid() != 0 || !is_fs(TOP "/memory", CGROUP_SUPER_MAGIC) ||
        !is_fs(TOP "/unified", CGROUP2_SUPER_MAGIC))
        skip();
}

/* ---- layouts -------------------------------------------------------------------------------- */

static char saved[] = "/tmp/glovebox-trees-XXXXXX";

static void bind_tree(const char *from, const char *to)
{
    char source[128];
    char target[128];

    (void)snprintf(source, sizeof(source), "%s/%s", saved, from);
    (void)snprintf(target, sizeof(target), TOP "/%s", to);
    CHECK(mkdir(target, 0755) == 0 || errno == EEXIST);
    CHECK(mount(source, target, NULL, MS_BIND, NULL) == 0);
}

static void lock_tree(const char *name)
{
    char target[128];

    (void)snprintf(target, sizeof(target), TOP "/%s", name);
    CHECK(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
}

static void in_layout(void (*check)(void))
{
    pid_t pid;
    int status;

    assert_true(mkdtemp(saved) || errno == EINVAL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        CHECK(unshare(CLONE_NEWNS) == 0);
        CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        CHECK(mount(TOP, saved, NULL, MS_BIND | MS_REC, NULL) == 0);
        CHECK(mount("tmpfs", TOP, "tmpfs", 0, "size=64k,mode=755") == 0);
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rmdir(saved), 0);
    (void)snprintf(saved, sizeof(saved), "/tmp/glovebox-trees-XXXXXX");
    assert_int_equal(status, 0);
}

static const struct hierarchy *item_of(const struct hierarchies *h, const char *controller)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->items[i].controller, controller) == 0)
            return &h->items[i];
    return NULL;
}

static void check_none(void)
{
    struct hierarchies h;

    hierarchies_find(0, &h);
    CHECK(h.layout == LAYOUT_NONE);
    CHECK(h.n == 0);
    CHECK(!h.can_group_runs);
    CHECK(h.missing == limited);
    CHECK(strstr(h.reasons[WALL_MEMORY], "no such controller is mounted"));
}

static void check_v1(void)
{
    struct hierarchies h;

    bind_tree("memory", "memory");
    bind_tree("pids", "pids");
    bind_tree("cpu", "cpu");
    bind_tree("cpuacct", "cpuacct");
    hierarchies_find(0, &h);
    CHECK(h.layout == LAYOUT_V1);
    CHECK(h.n == 4);
    CHECK(h.missing == 0);
    CHECK(!h.can_group_runs); /* nothing could kill a group at once */
    CHECK(item_of(&h, "cpuacct") && item_of(&h, "cpuacct")->counts_cpu);
    CHECK(!item_of(&h, "cpu")->counts_cpu);
}

static void check_hybrid(void)
{
    struct hierarchies h;

    check_v1();
    bind_tree("unified", "unified");
    hierarchies_find(0, &h);
    CHECK(h.layout == LAYOUT_HYBRID);
    CHECK(h.n == 4);
    CHECK(h.missing == 0);
    CHECK(h.can_group_runs);
    CHECK(!item_of(&h, "cpuacct")); /* the v2 tree counts */
    CHECK(item_of(&h, "")->counts_cpu && !item_of(&h, "cpu")->counts_cpu);
    CHECK(item_of(&h, "") && item_of(&h, "")->is_v2 && item_of(&h, "")->wall == WALL_KILL);
    CHECK(strcmp(item_of(&h, "memory")->dir, TOP "/memory") == 0);
}

/* systemd mounts cpu and cpuacct together and makes two names of it: one group, of both. */
static void check_joined(void)
{
    struct hierarchies h;

    bind_tree("memory", "memory");
    bind_tree("pids", "pids");
    bind_tree("cpuacct", "cpu,cpuacct");
    CHECK(symlink("cpu,cpuacct", TOP "/cpu") == 0);
    CHECK(symlink("cpu,cpuacct", TOP "/cpuacct") == 0);
    bind_tree("unified", "unified");
    hierarchies_find(0, &h);
    CHECK(h.layout == LAYOUT_HYBRID);
    CHECK(h.n == 4);
    CHECK(h.missing == 0);
    CHECK(item_of(&h, "cpu") && item_of(&h, "cpu")->has_cpuacct);
    CHECK(item_of(&h, "")->counts_cpu && !item_of(&h, "cpu")->counts_cpu);
    CHECK(!item_of(&h, "cpuacct"));
}

static void check_missing(void)
{
    struct hierarchies h;

    bind_tree("memory", "memory");
    bind_tree("cpu", "cpu");
    bind_tree("cpuacct", "cpuacct");
    hierarchies_find(0, &h);
    CHECK(h.missing == 1u << WALL_PIDS);
    CHECK(strstr(h.reasons[WALL_PIDS], "/pids"));
    /* A directory that is no group tree is none. */
    CHECK(mkdir(TOP "/pids", 0755) == 0);
    hierarchies_find(0, &h);
    CHECK(h.missing == 1u << WALL_PIDS);
}

static void check_read_only(void)
{
    struct hierarchies h;

    check_hybrid();
    lock_tree("memory");
    hierarchies_find(0, &h);
    CHECK(h.missing == 1u << WALL_MEMORY);
    CHECK(strstr(h.reasons[WALL_MEMORY], "no right to make groups there"));
    CHECK(!item_of(&h, "memory"));
    CHECK(item_of(&h, "pids"));
}

/* This machine's v2 tree has no controllers to pass on: it must be said, not passed over. */
static void check_v2(void)
{
    struct hierarchies h;
    char source[128];

    (void)snprintf(source, sizeof(source), "%s/unified", saved);
    CHECK(mount(source, TOP, NULL, MS_BIND, NULL) == 0);
    hierarchies_find(0, &h);
    CHECK(h.layout == LAYOUT_V2);
    CHECK(h.n == 1 && h.items[0].is_v2);
    CHECK(h.can_group_runs);
    CHECK(h.missing == limited);
    CHECK(strstr(h.reasons[WALL_MEMORY], "does not pass on"));
    CHECK(mount(NULL, TOP, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
    hierarchies_find(0, &h);
    CHECK(h.n == 0);
    CHECK(h.missing == limited);
    CHECK(strstr(h.reasons[WALL_MEMORY], "no right"));
}

static void each_layout_is_known(void **state)
{
    static void (*const checks[])(void) = {
        check_none, check_v1, check_hybrid, check_joined, check_missing, check_read_only, check_v2,
    };

    (void)state;
    need_hybrid_root();
    for (size_t i = 0; i < N_ELEMENTS(checks); i++)
        in_layout(checks[i]);
}

static void layouts_have_names(void **state)
{
    (void)state;
    assert_string_equal(layout_name(LAYOUT_NONE), "none");
    assert_string_equal(layout_name(LAYOUT_V1), "v1");
    assert_string_equal(layout_name(LAYOUT_HYBRID), "hybrid");
    assert_string_equal(layout_name(LAYOUT_V2), "v2");
}

/* ---- ordinary users ------------------------------------------------------------------------- */

static void become_nobodys(void)
{
    CHECK(setgroups(0, NULL) == 0);
    CHECK(setresgid(NOBODYS, NOBODYS, NOBODYS) == 0);
    CHECK(setresuid(NOBODYS, NOBODYS, NOBODYS) == 0);
}

static void find_as_user(struct hierarchies *ret)
{
    become_nobodys();
    hierarchies_find(NOBODYS, ret);
}

static void check_no_right(void)
{
    struct hierarchies h;

    find_as_user(&h);
    CHECK(h.missing == limited);
    CHECK(h.n == 0);
    CHECK(!h.can_group_runs);
}

static void check_delegated(void)
{
    struct hierarchies h;

    find_as_user(&h);
    CHECK(h.missing == 0);
    CHECK(h.n == 4); /* not the v2 one: its common ancestor is root's */
    CHECK(!h.can_group_runs);
    for (size_t i = 0; i < h.n; i++) {
        CHECK(strstr(h.items[i].dir, "/glovebox-user-54321"));
        CHECK(access(h.items[i].dir, W_OK) == 0);
    }
}

static void in_child(void (*check)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void remove_delegated(const char *where)
{
    char dirs[1024];
    char *save = NULL;

    (void)snprintf(dirs, sizeof(dirs), "%s", where);
    for (char *dir = strtok_r(dirs, " ", &save); dir; dir = strtok_r(NULL, " ", &save))
        assert_int_equal(rmdir(dir), 0);
}

static void a_user_has_what_was_delegated_and_nothing_else(void **state)
{
    struct gb_err err = { 0 };
    char where[1024] = "";

    (void)state;
    need_hybrid_root();
    in_child(check_no_right);
    assert_int_equal(hierarchies_delegate(NOBODYS, NOBODYS, where, sizeof(where), &err), 0);
    assert_non_null(strstr(where, TOP "/memory/glovebox-user-54321"));
    assert_null(strstr(where, "unified"));
    /* Twice is once. */
    assert_int_equal(hierarchies_delegate(NOBODYS, NOBODYS, where, sizeof(where), &err), 0);
    in_child(check_delegated);
    remove_delegated(where);
    in_child(check_no_right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_is_known),
        cmocka_unit_test(layouts_have_names),
        cmocka_unit_test(a_user_has_what_was_delegated_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
