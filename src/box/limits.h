/* SPDX-License-Identifier: Apache-2.0 */
/* box/limits.h - what a box and a run may use.
 *
 * Base units, u64.  0 is invalid everywhere and there is no value for "unlimited": every run ends.
 * What is in force is limits_min(operator, request).
 */
#pragma once

#include <stdint.h>

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

/* A request as it comes: 0 means "not said". */
struct limits limits_or(struct limits said, struct limits otherwise);

/* The smaller of each; both complete. */
struct limits limits_min(struct limits a, struct limits b);

/* Within what the kernel and this program can do?  Names the first limit that is not. */
int limits_check(const struct limits *limits, struct gb_err *err);
