/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_resolve.c - look-ups that were given up, before a fork. */
#include <dirent.h>
#include <errno.h>
#include <netdb.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "box/detached.h"
#include "egress/resolve.h"

#include <cmocka.h>

/* In place of the C library's: a name server that answers when it is told to. */
static sem_t may_answer;

/* Or after a while by itself; then what it did is seen by whoever is forked afterwards. */
#define SLOW_US 200000
#define ROUNDS  200
#define AT_ONCE 4
static atomic_bool is_slow;
static atomic_bool has_answered;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)ret;
    if (is_slow)
        (void)usleep(SLOW_US);
    else
        while (sem_wait(&may_answer) < 0)
            ;
    has_answered = true;
    return EAI_NONAME;
}

static void test_nobody_is_waited_for_where_nothing_is_looked_up(void **state)
{
    (void)state;
    assert_int_equal(resolve_quiet(0), 0);
}

static void test_a_look_up_that_was_given_up_is_waited_for(void **state)
{
    struct resolve *resolve = NULL;

    (void)state;
    assert_int_equal(sem_init(&may_answer, 0, 0), 0);
    assert_int_equal(resolve_begin("slow.test", &resolve), 0);
    resolve_free(resolve);
    assert_int_equal(resolve_quiet(clock_after_ms(20)), -ETIMEDOUT);
    assert_int_equal(sem_post(&may_answer), 0);
    assert_int_equal(resolve_quiet(clock_after_ms(30000)), 0);
    assert_int_equal(sem_destroy(&may_answer), 0);
}

static unsigned count_tasks(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned n = 0;

    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        n += entry->d_name[0] != '.';
    closedir(tasks);
    return n;
}

/* Not only that it has answered: on its way out it has locks. */
static void test_no_thread_is_left_afterwards(void **state)
{
    const unsigned before = count_tasks();

    (void)state;
    assert_int_equal(sem_init(&may_answer, 0, ROUNDS * AT_ONCE), 0);
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < AT_ONCE; j++) {
            struct resolve *resolve = NULL;

            assert_int_equal(resolve_begin("some.test", &resolve), 0);
            resolve_free(resolve);
        }
        assert_int_equal(resolve_quiet(clock_after_ms(30000)), 0);
        assert_int_equal(count_tasks(), before);
    }
    assert_int_equal(sem_destroy(&may_answer), 0);
}

struct birth {
    int r;
    bool has_answered;
};

static void tell_birth(void *user, int told_fd, int r)
{
    const struct birth birth = { .r = r, .has_answered = has_answered };

    (void)user;
    (void)fd_write_full(told_fd, &birth, sizeof(birth));
    _exit(0);
}

static void test_who_is_detached_is_forked_after_it(void **state)
{
    struct resolve *resolve = NULL;
    struct birth birth = { .r = -1 };

    (void)state;
    is_slow = true;
    has_answered = false;
    assert_int_equal(resolve_begin("slow.test", &resolve), 0);
    resolve_free(resolve);
    assert_int_equal(detached_start("test", tell_birth, NULL, &birth, sizeof(birth)), 0);
    assert_int_equal(birth.r, 0);
    assert_true(birth.has_answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_waited_for_where_nothing_is_looked_up),
        cmocka_unit_test(test_a_look_up_that_was_given_up_is_waited_for),
        cmocka_unit_test(test_no_thread_is_left_afterwards),
        cmocka_unit_test(test_who_is_detached_is_forked_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
