/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_resolve.c - look-ups that were given up, before a fork. */
#include <errno.h>
#include <netdb.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "egress/resolve.h"

#include <cmocka.h>

/* In place of the C library's: a name server that answers when it is told to. */
static sem_t may_answer;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)ret;
    while (sem_wait(&may_answer) < 0)
        ;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_waited_for_where_nothing_is_looked_up),
        cmocka_unit_test(test_a_look_up_that_was_given_up_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
