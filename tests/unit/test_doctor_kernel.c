/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_doctor_kernel.c - doctor's notes, over files that stand for the kernel's settings. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/doctor_host.h"

#include <cmocka.h>

static const struct {
    const char *path;
    const char *bad;
    const char *good;
    const char *told; /* part of the note */
} table[] = {
    { "kernel/unprivileged_userns_clone", "0\n", "1\n", "for root only" },
    { "kernel/apparmor_restrict_unprivileged_userns", "1\n", "0\n", "AppArmor" },
    { "user/max_user_namespaces", "0\n", "100\n", "user namespaces are switched off" },
    { "user/max_net_namespaces", "0", "01\n", "max_net_namespaces=15000" },
    { "kernel/kptr_restrict", "0\n", "2\n", "kptr_restrict=1" },
    { "dev/tty/legacy_tiocsti", "1\n", "0\n", "TIOCSTI" },
    { "kernel/yama/ptrace_scope", "0\n", "1\n", "ptrace_scope=1" },
    { "fs/protected_symlinks", "0\n", "1\n", "protected_symlinks=1" },
    { "kernel/io_uring_disabled", "0\n", "2\n", "io_uring" },
    { "kernel/core_pattern", "|/usr/share/apport %p\n", "core\n", "core dumps" },
};

static const char *const folders[] = { "kernel", "kernel/yama", "user", "dev", "dev/tty", "fs" };

static char *make_tree(void)
{
    char *tree = strdup("/tmp/glovebox-sysctl-XXXXXX");
    char path[128];

    assert_non_null(tree);
    assert_non_null(mkdtemp(tree));
    for (size_t i = 0; i < N_ELEMENTS(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", tree, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    return tree;
}

static void put(const char *tree, const char *name, const char *text)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", tree, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void remove_tree(char *tree)
{
    char path[128];

    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", tree, table[i].path);
        (void)unlink(path);
    }
    for (size_t i = N_ELEMENTS(folders); i-- > 0;) {
        (void)snprintf(path, sizeof(path), "%s/%s", tree, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(tree), 0);
    free(tree);
}

static struct doctor_host *look(const char *tree)
{
    struct doctor_host *host = calloc(1, sizeof(*host));

    assert_non_null(host);
    doctor_kernel_look(host, tree);
    return host;
}

static void each_setting_has_its_note_and_no_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++) {
        char *tree = make_tree();
        struct doctor_host *host;

        for (size_t j = 0; j < N_ELEMENTS(table); j++)
            put(tree, table[j].path, i == j ? table[j].bad : table[j].good);
        host = look(tree);
        assert_int_equal(host->n_notes, 1);
        assert_non_null(strstr(host->notes[0], table[i].told));
        free(host);
        remove_tree(tree);
    }
}

static void all_of_them_fit(void **state)
{
    char *tree = make_tree();
    struct doctor_host *host;

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        put(tree, table[i].path, table[i].bad);
    host = look(tree);
    assert_int_equal(host->n_notes, N_ELEMENTS(table));
    for (size_t i = 0; i < host->n_notes; i++)
        assert_true(strlen(host->notes[i]) < sizeof(host->notes[0]) - 1); /* none is cut */
    free(host);
    remove_tree(tree);
}

static void a_kernel_without_them_is_not_blamed(void **state)
{
    char *tree = make_tree();
    struct doctor_host *host = look(tree);

    (void)state;
    assert_int_equal(host->n_notes, 0);
    free(host);
    put(tree, "kernel/kptr_restrict", "");
    host = look(tree);
    assert_int_equal(host->n_notes, 0);
    free(host);
    host = look("/nowhere/at/all");
    assert_int_equal(host->n_notes, 0);
    free(host);
    remove_tree(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_has_its_note_and_no_other),
        cmocka_unit_test(all_of_them_fit),
        cmocka_unit_test(a_kernel_without_them_is_not_blamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
