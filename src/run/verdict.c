/* SPDX-License-Identifier: Apache-2.0 */
/* run/verdict.c - the rules of the verdict, one predicate each, in the order of the enum. */
#include "run/verdict.h"

#include <signal.h>
#include <stddef.h>

#include "base/cleanup.h"

/* Its end is not known, or it did not end well. */
static bool has_failed(const struct run_facts *facts)
{
    return !facts->has_exited || facts->signo != 0 || facts->code != 0;
}

static bool is_disk_full(const struct run_facts *facts)
{
    return facts->has_exited &&
           (facts->disk_free < VERDICT_DISK_FREE_MIN || facts->inodes_free == 0);
}

/* A run that neither ended nor was ended by us is one that we know nothing about; of one that
 * failed without counters it is not known whether a limit ended it. */
static bool is_sandbox_error(const struct run_facts *facts)
{
    return facts->is_lost || (facts->cause == KILL_CAUSE_NONE &&
                              (!facts->has_exited || (facts->is_uncounted && has_failed(facts))));
}

static bool is_cancelled(const struct run_facts *facts)
{
    return facts->cause == KILL_CAUSE_CANCEL;
}

static bool is_timeout(const struct run_facts *facts)
{
    return facts->cause == KILL_CAUSE_WALL;
}

static bool is_cpu(const struct run_facts *facts)
{
    return facts->cause == KILL_CAUSE_CPU;
}

static bool is_output(const struct run_facts *facts)
{
    return facts->cause == KILL_CAUSE_OUTPUT;
}

static bool is_memory(const struct run_facts *facts)
{
    return facts->oom_kills > 0 && has_failed(facts);
}

static bool is_pids(const struct run_facts *facts)
{
    return facts->pids_hits > 0 && has_failed(facts);
}

static bool is_disk(const struct run_facts *facts)
{
    return facts->signo == SIGXFSZ || (is_disk_full(facts) && has_failed(facts));
}

static bool is_signal(const struct run_facts *facts)
{
    return facts->signo != 0;
}

static bool is_nonzero(const struct run_facts *facts)
{
    return facts->code != 0;
}

static bool is_ok(const struct run_facts *facts)
{
    return !has_failed(facts);
}

static const struct {
    const char *name;
    bool (*matches)(const struct run_facts *facts);
} rules[N_VERDICTS] = {
    [VERDICT_SANDBOX_ERROR] = { "sandbox_error", is_sandbox_error },
    [VERDICT_CANCELLED] = { "cancelled", is_cancelled },
    [VERDICT_TIMEOUT] = { "timeout", is_timeout },
    [VERDICT_CPU] = { "cpu", is_cpu },
    [VERDICT_OUTPUT] = { "output", is_output },
    [VERDICT_MEMORY] = { "memory", is_memory },
    [VERDICT_PIDS] = { "pids", is_pids },
    [VERDICT_DISK] = { "disk", is_disk },
    [VERDICT_SIGNAL] = { "signal", is_signal },
    [VERDICT_NONZERO] = { "nonzero", is_nonzero },
    [VERDICT_OK] = { "ok", is_ok },
};

enum verdict verdict_of(const struct run_facts *facts)
{
    for (enum verdict verdict = 0; verdict < N_VERDICTS; verdict++)
        if (rules[verdict].matches(facts))
            return verdict;
    return VERDICT_SANDBOX_ERROR;
}

const char *verdict_name(enum verdict verdict)
{
    return rules[verdict].name;
}

static const struct {
    enum run_event event;
    enum verdict decides;
    const char *name;
} events[] = {
    { RUN_EVENT_OOM_KILL, VERDICT_MEMORY, "oom_kill" },
    { RUN_EVENT_PIDS_MAX, VERDICT_PIDS, "pids_max" },
    { RUN_EVENT_DISK_FULL, VERDICT_DISK, "disk_full" },
};

unsigned verdict_events(const struct run_facts *facts, enum verdict verdict)
{
    unsigned rose = 0;

    if (facts->oom_kills > 0)
        rose |= RUN_EVENT_OOM_KILL;
    if (facts->pids_hits > 0)
        rose |= RUN_EVENT_PIDS_MAX;
    if (is_disk_full(facts))
        rose |= RUN_EVENT_DISK_FULL;
    for (size_t i = 0; i < N_ELEMENTS(events); i++)
        if (events[i].decides == verdict)
            rose &= ~(unsigned)events[i].event;
    return rose;
}

const char *run_event_name(enum run_event event)
{
    for (size_t i = 0; i < N_ELEMENTS(events); i++)
        if (events[i].event == event)
            return events[i].name;
    return NULL;
}

/* As a shell tells it. */
static int program_exit_code(const struct run_facts *facts)
{
    uint64_t code = facts->signo ? 128 + (uint64_t)facts->signo : facts->code;

    return code < 255 ? (int)code : 255;
}

int verdict_exit_code(enum verdict verdict, const struct run_facts *facts)
{
    static const int fixed[N_VERDICTS] = {
        [VERDICT_SANDBOX_ERROR] = 125, [VERDICT_CANCELLED] = 130, [VERDICT_TIMEOUT] = 124,
        [VERDICT_CPU] = 124,           [VERDICT_OUTPUT] = 153,    [VERDICT_MEMORY] = 137,
        [VERDICT_DISK] = 153,
    };
    int code;

    if (fixed[verdict])
        return fixed[verdict];
    code = program_exit_code(facts);
    return verdict == VERDICT_PIDS && code == 0 ? 1 : code;
}
