/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_verdict.c - the truth table of the verdict: each row, each pair, every combination. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "run/verdict.h"

#include <cmocka.h>

/* A program that exited with 0 and had room left. */
static const struct run_facts good = {
    .has_exited = true,
    .disk_free = 1 << 20,
    .inodes_free = 100,
};

static void check(struct run_facts facts, enum verdict verdict)
{
    assert_string_equal(verdict_name(verdict_of(&facts)), verdict_name(verdict));
}

#define WITH(...)                  \
    ({                             \
        struct run_facts f = good; \
        __VA_ARGS__;               \
        f;                         \
    })

/* ---- each row ---- */

static void a_program_that_exits_with_0_is_ok(void **state)
{
    (void)state;
    check(good, VERDICT_OK);
}

static void another_exit_code_is_nonzero(void **state)
{
    (void)state;
    check(WITH(f.code = 1), VERDICT_NONZERO);
    check(WITH(f.code = 255), VERDICT_NONZERO);
}

static void an_end_by_signal_is_signal(void **state)
{
    (void)state;
    check(WITH(f.signo = SIGSEGV), VERDICT_SIGNAL);
    check(WITH(f.signo = SIGKILL), VERDICT_SIGNAL);
}

static void a_full_disk_decides_only_when_the_program_failed(void **state)
{
    (void)state;
    check(WITH(f.disk_free = 65535, f.code = 1), VERDICT_DISK);
    check(WITH(f.disk_free = 65536, f.code = 1), VERDICT_NONZERO);
    check(WITH(f.inodes_free = 0, f.code = 1), VERDICT_DISK);
    check(WITH(f.inodes_free = 1, f.code = 1), VERDICT_NONZERO);
    check(WITH(f.disk_free = 0, f.signo = SIGBUS), VERDICT_DISK);
    check(WITH(f.disk_free = 0), VERDICT_OK);
    check(WITH(f.inodes_free = 0), VERDICT_OK);
}

static void an_end_by_sigxfsz_is_disk_whatever_is_free(void **state)
{
    (void)state;
    check(WITH(f.signo = SIGXFSZ), VERDICT_DISK);
}

static void a_refused_fork_decides_only_when_the_program_failed(void **state)
{
    (void)state;
    check(WITH(f.pids_hits = 1, f.code = 1), VERDICT_PIDS);
    check(WITH(f.pids_hits = 1, f.signo = SIGABRT), VERDICT_PIDS);
    check(WITH(f.pids_hits = 9), VERDICT_OK);
}

static void an_oom_kill_decides_only_when_the_program_failed(void **state)
{
    (void)state;
    check(WITH(f.oom_kills = 1, f.signo = SIGKILL), VERDICT_MEMORY);
    check(WITH(f.oom_kills = 1, f.code = 1), VERDICT_MEMORY);
    check(WITH(f.oom_kills = 1), VERDICT_OK);
}

static void our_own_kills_decide_whatever_the_program_did(void **state)
{
    static const struct {
        enum kill_cause cause;
        enum verdict verdict;
    } rows[] = {
        { KILL_CAUSE_CANCEL, VERDICT_CANCELLED },
        { KILL_CAUSE_WALL, VERDICT_TIMEOUT },
        { KILL_CAUSE_CPU, VERDICT_CPU },
        { KILL_CAUSE_OUTPUT, VERDICT_OUTPUT },
    };

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        check(WITH(f.cause = rows[i].cause), rows[i].verdict);
        check(WITH(f.cause = rows[i].cause, f.signo = SIGKILL), rows[i].verdict);
        check(WITH(f.cause = rows[i].cause, f.has_exited = false), rows[i].verdict);
    }
}

static void what_is_lost_is_a_sandbox_error(void **state)
{
    (void)state;
    check(WITH(f.is_lost = true), VERDICT_SANDBOX_ERROR);
    check(WITH(f.has_exited = false), VERDICT_SANDBOX_ERROR);
    check((struct run_facts){ 0 }, VERDICT_SANDBOX_ERROR);
}

static void a_failure_without_counters_has_no_other_name(void **state)
{
    (void)state;
    check(WITH(f.is_uncounted = true, f.signo = SIGKILL), VERDICT_SANDBOX_ERROR);
    check(WITH(f.is_uncounted = true, f.code = 1), VERDICT_SANDBOX_ERROR);
    check(WITH(f.is_uncounted = true), VERDICT_OK);
    check(WITH(f.is_uncounted = true, f.cause = KILL_CAUSE_WALL), VERDICT_TIMEOUT);
}

/* ---- each pair ---- */

static void make(struct run_facts *facts, enum verdict verdict)
{
    static const enum kill_cause causes[N_VERDICTS] = {
        [VERDICT_CANCELLED] = KILL_CAUSE_CANCEL,
        [VERDICT_TIMEOUT] = KILL_CAUSE_WALL,
        [VERDICT_CPU] = KILL_CAUSE_CPU,
        [VERDICT_OUTPUT] = KILL_CAUSE_OUTPUT,
    };

    if (causes[verdict])
        facts->cause = causes[verdict];
    if (verdict == VERDICT_SANDBOX_ERROR)
        facts->is_lost = true;
    if (verdict == VERDICT_MEMORY)
        facts->oom_kills = 2;
    if (verdict == VERDICT_PIDS)
        facts->pids_hits = 2;
    if (verdict == VERDICT_DISK)
        facts->disk_free = 0;
    if (verdict == VERDICT_SIGNAL)
        facts->signo = SIGSEGV;
    if (verdict == VERDICT_MEMORY || verdict == VERDICT_PIDS || verdict == VERDICT_DISK ||
        verdict == VERDICT_NONZERO)
        facts->code = 3;
}

static bool is_kill(enum verdict verdict)
{
    return verdict >= VERDICT_CANCELLED && verdict <= VERDICT_OUTPUT;
}

static void of_two_the_one_further_up_wins(void **state)
{
    unsigned pairs = 0;

    (void)state;
    for (enum verdict low = 0; low < VERDICT_OK; low++) {
        for (enum verdict high = 0; high < low; high++) {
            struct run_facts facts = good;

            if (is_kill(low) && is_kill(high))
                continue; /* there is one cause */
            make(&facts, low);
            check(facts, low);
            make(&facts, high);
            check(facts, high);
            pairs++;
        }
    }
    assert_int_equal(pairs, 10 * 9 / 2 - 4 * 3 / 2);
}

/* ---- every combination, against the rules as DESIGN says them ---- */

static enum verdict expected(const struct run_facts *f)
{
    bool is_zero = f->has_exited && f->signo == 0 && f->code == 0;
    bool is_full = f->disk_free < 65536 || f->inodes_free == 0;

    if (f->is_lost || (!f->has_exited && f->cause == KILL_CAUSE_NONE))
        return VERDICT_SANDBOX_ERROR;
    if (f->is_uncounted && !is_zero && f->cause == KILL_CAUSE_NONE)
        return VERDICT_SANDBOX_ERROR;
    if (f->cause != KILL_CAUSE_NONE)
        return f->cause == KILL_CAUSE_CANCEL ? VERDICT_CANCELLED
               : f->cause == KILL_CAUSE_WALL ? VERDICT_TIMEOUT
               : f->cause == KILL_CAUSE_CPU  ? VERDICT_CPU
                                             : VERDICT_OUTPUT;
    if (f->oom_kills && !is_zero)
        return VERDICT_MEMORY;
    if (f->pids_hits && !is_zero)
        return VERDICT_PIDS;
    if (f->signo == SIGXFSZ || (is_full && !is_zero))
        return VERDICT_DISK;
    if (f->signo)
        return VERDICT_SIGNAL;
    return f->code ? VERDICT_NONZERO : VERDICT_OK;
}

static struct run_facts combination(unsigned n)
{
    static const uint32_t signals[] = { 0, SIGKILL, SIGXFSZ, SIGSEGV };
    struct run_facts facts = {
        .is_lost = n & 1,
        .has_exited = n >> 1 & 1,
        .code = n >> 2 & 1,
        .oom_kills = n >> 3 & 1,
        .pids_hits = n >> 4 & 1,
        .disk_free = n >> 5 & 1 ? 0 : 1 << 20,
        .inodes_free = n >> 6 & 1 ? 0 : 10,
        .signo = signals[n >> 7 & 3],
        .is_uncounted = n >> 9 & 1,
        .cause = n >> 10,
    };

    return facts;
}

static void every_combination_of_facts_has_its_verdict(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 5u << 10; n++) {
        struct run_facts facts = combination(n);

        assert_int_equal(verdict_of(&facts), expected(&facts));
    }
}

/* ---- events, names, codes ---- */

static void counters_that_did_not_decide_are_events(void **state)
{
    struct run_facts facts = WITH(f.oom_kills = 1, f.pids_hits = 1, f.disk_free = 0);
    unsigned all = RUN_EVENT_OOM_KILL | RUN_EVENT_PIDS_MAX | RUN_EVENT_DISK_FULL;

    (void)state;
    assert_int_equal(verdict_events(&facts, VERDICT_OK), all);
    assert_int_equal(verdict_events(&facts, VERDICT_TIMEOUT), all);
    assert_int_equal(verdict_events(&facts, VERDICT_MEMORY), all & ~RUN_EVENT_OOM_KILL);
    assert_int_equal(verdict_events(&facts, VERDICT_PIDS), all & ~RUN_EVENT_PIDS_MAX);
    assert_int_equal(verdict_events(&facts, VERDICT_DISK), all & ~RUN_EVENT_DISK_FULL);
    assert_int_equal(verdict_events(&good, VERDICT_OK), 0);
    facts.has_exited = false; /* then nobody told how full the disk was */
    assert_int_equal(verdict_events(&facts, VERDICT_TIMEOUT),
                     RUN_EVENT_OOM_KILL | RUN_EVENT_PIDS_MAX);
    assert_string_equal(run_event_name(RUN_EVENT_OOM_KILL), "oom_kill");
    assert_string_equal(run_event_name(RUN_EVENT_PIDS_MAX), "pids_max");
    assert_string_equal(run_event_name(RUN_EVENT_DISK_FULL), "disk_full");
}

static void verdicts_have_the_documented_names(void **state)
{
    static const char *const names[] = { "sandbox_error", "cancelled", "timeout", "cpu",
                                         "output",        "memory",    "pids",    "disk",
                                         "signal",        "nonzero",   "ok" };

    (void)state;
    assert_int_equal(N_ELEMENTS(names), N_VERDICTS);
    for (enum verdict verdict = 0; verdict < N_VERDICTS; verdict++)
        assert_string_equal(verdict_name(verdict), names[verdict]);
}

static void check_code(struct run_facts facts, int code)
{
    assert_int_equal(verdict_exit_code(verdict_of(&facts), &facts), code);
}

static void exit_codes_are_the_documented_ones(void **state)
{
    (void)state;
    check_code(good, 0);
    check_code(WITH(f.code = 7), 7);
    check_code(WITH(f.code = 255), 255);
    check_code(WITH(f.signo = SIGSEGV), 139);
    check_code(WITH(f.signo = SIGKILL, f.oom_kills = 1), 137);
    check_code(WITH(f.code = 1, f.oom_kills = 1), 137);
    check_code(WITH(f.code = 5, f.pids_hits = 1), 5);
    check_code(WITH(f.signo = SIGABRT, f.pids_hits = 1), 134);
    check_code(WITH(f.code = 1, f.disk_free = 0), 153);
    check_code(WITH(f.signo = SIGXFSZ), 153);
    check_code(WITH(f.cause = KILL_CAUSE_WALL, f.signo = SIGKILL), 124);
    check_code(WITH(f.cause = KILL_CAUSE_CPU, f.signo = SIGKILL), 124);
    check_code(WITH(f.cause = KILL_CAUSE_OUTPUT, f.signo = SIGKILL), 153);
    check_code(WITH(f.cause = KILL_CAUSE_CANCEL), 130);
    check_code(WITH(f.is_lost = true), 125);
    assert_int_equal(verdict_exit_code(VERDICT_PIDS, &good), 1);
}

/* What a box says about its program is not believed to fit into a byte. */
static void exit_codes_fit_into_a_byte(void **state)
{
    (void)state;
    check_code(WITH(f.code = 256), 255);
    check_code(WITH(f.code = UINT32_MAX), 255);
    check_code(WITH(f.signo = 200), 255);
    check_code(WITH(f.signo = UINT32_MAX), 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_exits_with_0_is_ok),
        cmocka_unit_test(another_exit_code_is_nonzero),
        cmocka_unit_test(an_end_by_signal_is_signal),
        cmocka_unit_test(a_full_disk_decides_only_when_the_program_failed),
        cmocka_unit_test(an_end_by_sigxfsz_is_disk_whatever_is_free),
        cmocka_unit_test(a_refused_fork_decides_only_when_the_program_failed),
        cmocka_unit_test(an_oom_kill_decides_only_when_the_program_failed),
        cmocka_unit_test(our_own_kills_decide_whatever_the_program_did),
        cmocka_unit_test(what_is_lost_is_a_sandbox_error),
        cmocka_unit_test(a_failure_without_counters_has_no_other_name),
        cmocka_unit_test(of_two_the_one_further_up_wins),
        cmocka_unit_test(every_combination_of_facts_has_its_verdict),
        cmocka_unit_test(counters_that_did_not_decide_are_events),
        cmocka_unit_test(verdicts_have_the_documented_names),
        cmocka_unit_test(exit_codes_are_the_documented_ones),
        cmocka_unit_test(exit_codes_fit_into_a_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
