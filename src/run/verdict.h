/* SPDX-License-Identifier: Apache-2.0 */
/* run/verdict.h - how a run ended: a pure function from facts to one word.
 *
 * The order of enum verdict's rules is the order in which they are tried; the first that matches
 * wins.  Facts come from the host's own measurements (groups, clock, its own kills); the only word
 * taken from inside the box is how the main process ended and how full the disk was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum verdict {
    VERDICT_SANDBOX_ERROR, /* glove or link lost, or a wall failed: glovebox cannot tell */
    VERDICT_CANCELLED,     /* the caller asked for it */
    VERDICT_TIMEOUT,       /* killed at the wall limit */
    VERDICT_CPU,           /* killed at the CPU time limit */
    VERDICT_OUTPUT,        /* killed for writing more than output_max */
    VERDICT_MEMORY,
    VERDICT_PIDS,
    VERDICT_DISK,
    VERDICT_SIGNAL,
    VERDICT_NONZERO,
    VERDICT_OK,
    N_VERDICTS,
};

/* Why glovebox itself killed the run. */
enum kill_cause {
    KILL_CAUSE_NONE,
    KILL_CAUSE_CANCEL,
    KILL_CAUSE_WALL,
    KILL_CAUSE_CPU,
    KILL_CAUSE_OUTPUT,
};

/* With less room than this at the end of a failed run, the disk was its limit. */
#define VERDICT_DISK_FREE_MIN UINT64_C(65536)

struct run_facts {
    bool is_lost;          /* no EXIT came and no kill of ours explains it */
    enum kill_cause cause; /* what we killed it for */
    bool has_exited;       /* the main process's end is known */
    uint32_t code;
    uint32_t signo;    /* 0: exited with code */
    bool is_uncounted; /* the counters below could not be read, though there are some */
    uint64_t oom_kills;
    uint64_t pids_hits;   /* forks refused by the group */
    uint64_t disk_free;   /* bytes; at the end of the main process, as are */
    uint64_t inodes_free; /* inodes */
};

enum verdict verdict_of(const struct run_facts *facts);

/* "ok", "nonzero", … */
const char *verdict_name(enum verdict verdict);

/* Counters that rose without deciding: a set of bits. */
enum run_event {
    RUN_EVENT_OOM_KILL = 1 << 0,
    RUN_EVENT_PIDS_MAX = 1 << 1,
    RUN_EVENT_DISK_FULL = 1 << 2,
};
unsigned verdict_events(const struct run_facts *facts, enum verdict verdict);

/* "oom_kill", "pids_max", "disk_full"; of one bit. */
const char *run_event_name(enum run_event event);

/* The exit code of the command line (DESIGN: 124 timeout and cpu, 125 glovebox failed, 128+n
 * signal, 130 cancelled, 137 memory, 153 output and disk, 1 pids where the program's is 0). */
int verdict_exit_code(enum verdict verdict, const struct run_facts *facts);
