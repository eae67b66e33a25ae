/* SPDX-License-Identifier: Apache-2.0 */
/* box/limits.h - what a box and a run may use.
 *
 * Base units, u64.  0 is invalid everywhere and there is no value for "unlimited": every run ends.
 * What is in force is limits_min(operator, request).
 */
#pragma once

#include <stdint.h>

#include "base/num.h"

struct gb_err;

struct limits {
    uint64_t wall_ms;
    uint64_t cpu_ms; /* CPU time of all processes of the run */
    uint64_t memory_bytes;
    uint64_t cpu_milli; /* thousandths of a CPU */
    uint64_t pids;
    uint64_t disk_bytes;
    uint64_t inodes;
    uint64_t output_keep; /* bytes of output kept in the log */
    uint64_t output_max;  /* bytes of output after which the run is killed */
};

/* wall 30 s, CPU time = wall × CPUs, 512 MiB, 1 CPU, 128 processes, 256 MiB and 64 Ki inodes of
 * disk, 8 MiB kept and 1 GiB in all of output. */
struct limits limits_default(void);

/* A request as it comes: 0 means "not said" and is taken from `otherwise`, which is complete.  Two
 * limits follow others when they are not said: a CPU time that was wall × CPUs in `otherwise` is so
 * in the result, and no more output is kept than may be written. */
struct limits limits_or(struct limits said, struct limits otherwise);

/* The smaller of each; both complete. */
struct limits limits_min(struct limits a, struct limits b);

/* The processors that a box is shown, as the kernel lists them: "0", "0-3". */
#define LIMITS_CPUS_SIZE 24
void limits_cpus(const struct limits *limits, char ret[static LIMITS_CPUS_SIZE]);

/* Within what the kernel and this program can do?  -ERANGE names the first limit that is not, what
 * was given and what is allowed. */
int limits_check(const struct limits *limits, struct gb_err *err);

/* One limit, for people: the fields of struct limits in their order. */
enum limit {
    LIMIT_WALL,
    LIMIT_CPU_TIME,
    LIMIT_MEMORY,
    LIMIT_CPUS,
    LIMIT_PIDS,
    LIMIT_DISK,
    LIMIT_INODES,
    LIMIT_OUTPUT_KEEP,
    LIMIT_OUTPUT_MAX,
    N_LIMITS,
};

uint64_t limit_value(const struct limits *limits, enum limit limit);

/* "--timeout"; NULL where the command line has none. */
const char *limit_flag(enum limit limit);

/* "1 MiB to 64 TiB". */
#define LIMIT_RANGE_MAX (2 * NUM_TEXT_MAX + 8)
const char *limit_range(enum limit limit, char text[static LIMIT_RANGE_MAX]);

/* "30 s", "512 MiB", "0.5", "128". */
const char *limit_text(const struct limits *limits, enum limit limit,
                       char text[static NUM_TEXT_MAX]);
