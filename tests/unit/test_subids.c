/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_subids.c - subordinate ids out of files that administrators wrote.
 *
 * The files lie at fixed places: each case binds its own over them in a mount namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/native/subids.h"

#include <cmocka.h>

#define USER 54321 /* has no name */

struct ids {
    const char *subuid;
    const char *subgid;
    int code;
    uint32_t uid_base;
    uint32_t gid_base;
    uint32_t count;
    const char *word; /* of the error */
};

static const struct ids cases[] = {
    { "54321:100000:65536\n", "54321:200000:65536\n", 0, 100000, 200000, 65536, "" },
    { "a:1:2\n54321:100000:9\n54321:300000:99\n", "54321:5:50\n", 0, 300000, 5, 50, "" },
    { "54321:100000:3", "54321:100000:3", 0, 100000, 100000, 3, "" },
    { "54321:100000:2\n", "54321:100000:65536\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "", "", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54322:100000:65536\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "5432:100000:65536\n543210:1:99\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54321:0:65536\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54321:-5:65536\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54321:4294967290:65536\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54321:x:y\n::\n:\n54321\n54321:1\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
    { "54321:99999999999999999999:9\n", "54321:1:9\n", -ENOENT, 0, 0, 0, "no subordinate ids" },
};

static int put_over(const char *path, const char *text)
{
    char name[] = "/tmp/glovebox-subids-XXXXXX";
    cleanup_close int fd = mkostemp(name, O_CLOEXEC);
    int r;

    if (fd < 0 || fd_write_full(fd, text, strlen(text)) < 0)
        return -1;
    r = mount(name, path, NULL, MS_BIND, NULL);
    (void)unlink(name);
    return r;
}

/* In a child: 0 when all is as the case says, else the line. */
static int check(const struct ids *ids)
{
    struct subids found = { 0 };
    struct gb_err err = { 0 };

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        put_over("/etc/subuid", ids->subuid) < 0 || put_over("/etc/subgid", ids->subgid) < 0)
        return __LINE__;
    if (subids_find(USER, &found, &err) != ids->code)
        return __LINE__;
    if (ids->code < 0)
        return strstr(err.msg, ids->word) ? 0 : __LINE__;
    if (found.uid_base != ids->uid_base || found.gid_base != ids->gid_base)
        return __LINE__;
    return found.count == ids->count && found.uid_tool && found.gid_tool ? 0 : __LINE__;
}

static void files_are_read_as_they_are(void **state)
{
    (void)state;
    if (geteuid() != 0 || access("/usr/bin/newuidmap", X_OK) < 0 ||
        access("/etc/subuid", F_OK) < 0 || access("/etc/subgid", F_OK) < 0)
        skip();
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(check(&cases[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("case %zu, line %d", i, WEXITSTATUS(status));
    }
}

static void a_user_without_ids_is_told_what_is_missing(void **state)
{
    struct subids found;
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(subids_find(USER, &found, &err), -ENOENT);
    assert_int_equal(err.blame, GB_BLAME_HOST);
    assert_true(strstr(err.msg, "newuidmap") || strstr(err.msg, "/etc/subuid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_as_they_are),
        cmocka_unit_test(a_user_without_ids_is_told_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
