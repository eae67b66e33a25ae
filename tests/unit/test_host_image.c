/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_host_image.c - what of this machine a box sees: an allow-list, met by a real /etc. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "box/native/plan.h"

#include <cmocka.h>

static void gather(struct plan_facts *facts)
{
    struct gb_err err = { 0 };

    memset(facts, 0, sizeof(*facts));
    assert_int_equal(plan_facts_gather(facts, &err), 0);
    assert_true(facts->n_entries > 0);
}

static const struct plan_entry *entry_of(const struct plan_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->n_entries; i++)
        if (strcmp(facts->entries[i].path, path) == 0)
            return &facts->entries[i];
    return NULL;
}

static void nothing_private_is_in_the_list(void **state)
{
    static const char *const never[] = {
        "/etc/passwd", "/etc/shadow",      "/etc/group",       "/etc/gshadow",
        "/etc/hosts",  "/etc/sudoers",     "/etc/ssh",         "/etc/machine-id",
        "/etc/fstab",  "/etc/resolv.conf", "/etc/ssl/private",
    };
    static const char *const places[] = { "/root", "/home", "/var",  "/tmp", "/run",  "/srv",
                                          "/opt",  "/mnt",  "/boot", "/sys", "/proc", "/dev" };
    struct plan_facts facts;

    (void)state;
    gather(&facts);
    for (size_t i = 0; i < N_ELEMENTS(never); i++)
        assert_null(entry_of(&facts, never[i]));
    for (size_t i = 0; i < facts.n_entries; i++) {
        assert_true(path_is_clean_absolute(facts.entries[i].path));
        for (size_t k = 0; k < N_ELEMENTS(places); k++)
            assert_false(path_is_in(facts.entries[i].path, places[k]));
    }
    plan_facts_clear(&facts);
}

/* Names that merely begin like a listed one are others. */
static void names_are_whole_names(void **state)
{
    struct plan_facts facts;

    (void)state;
    gather(&facts);
    assert_null(entry_of(&facts, "/etc/perl-secrets"));
    assert_null(entry_of(&facts, "/etc/services.d"));
    for (size_t i = 0; i < facts.n_entries; i++) {
        const char *name = path_base(facts.entries[i].path);

        assert_string_not_equal(name, "ld.so.preload");
        assert_true(name[0] != '.');
    }
    plan_facts_clear(&facts);
}

/* A link into /usr is a link in the box too, another one is bound: what it leads to may not be
 * there. */
static void links_into_usr_are_kept_as_links(void **state)
{
    struct plan_facts facts;

    (void)state;
    gather(&facts);
    for (size_t i = 0; i < facts.n_entries; i++) {
        const struct plan_entry *entry = &facts.entries[i];
        char link[PATH_MAX];
        ssize_t n = readlink(entry->path, link, sizeof(link) - 1);
        bool is_of_usr;

        link[n < 0 ? 0 : n] = '\0';
        is_of_usr = strncmp(link + strspn(link, "./"), "usr/", 4) == 0;
        assert_int_equal(entry->link != NULL, is_of_usr);
        if (entry->link)
            assert_string_equal(entry->link, link);
    }
    plan_facts_clear(&facts);
}

static void no_entry_comes_twice(void **state)
{
    struct plan_facts facts;

    (void)state;
    gather(&facts);
    for (size_t i = 0; i < facts.n_entries; i++) {
        assert_ptr_equal(entry_of(&facts, facts.entries[i].path), &facts.entries[i]);
        assert_int_equal(access(facts.entries[i].path, F_OK), 0);
    }
    plan_facts_clear(&facts);
}

static void clearing_twice_is_fine(void **state)
{
    struct plan_facts facts;

    (void)state;
    gather(&facts);
    plan_facts_clear(&facts);
    plan_facts_clear(&facts);
    assert_int_equal(facts.n_entries, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_private_is_in_the_list),   cmocka_unit_test(names_are_whole_names),
        cmocka_unit_test(links_into_usr_are_kept_as_links), cmocka_unit_test(no_entry_comes_twice),
        cmocka_unit_test(clearing_twice_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
