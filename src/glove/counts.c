/* SPDX-License-Identifier: Apache-2.0 */
/* glove/counts.c - what the box has used.
 *
 * For boxes whose host cannot see their groups: those of an engine on another machine.  Programs in
 * the box can read the same files, and change none of them.
 */
#include "glove/counts.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/count.h"
#include "glove/glove.h"

struct place {
    const char *file;
    const char *key; /* the number stands behind it; NULL: alone in the file */
    uint64_t unit;
    uint32_t flags;
};

/* The first that can be read counts: v1's, then v2's. */
static const struct place cpu[] = {
    { "cpuacct/cpuacct.usage", NULL, 1, COUNTS_FLAG_CPU },
    { "cpu,cpuacct/cpuacct.usage", NULL, 1, COUNTS_FLAG_CPU },
    { "cpu.stat", "usage_usec", 1000, COUNTS_FLAG_CPU | COUNTS_FLAG_V2 },
};
static const struct place memory_peak[] = {
    { "memory/memory.max_usage_in_bytes", NULL, 1, 0 },
    { "memory.peak", NULL, 1, COUNTS_FLAG_V2 },
};
static const struct place memory_files[] = {
    { "memory/memory.stat", "shmem", 1, 0 },
    { "memory.stat", "shmem", 1, COUNTS_FLAG_V2 },
};
static const struct place oom_kills[] = {
    { "memory/memory.oom_control", "oom_kill", 1, COUNTS_FLAG_MEMORY },
    { "memory.events", "oom_kill", 1, COUNTS_FLAG_MEMORY | COUNTS_FLAG_V2 },
};
static const struct place pids_hits[] = {
    { "pids/pids.events", "max", 1, COUNTS_FLAG_PIDS },
    { "pids.events", "max", 1, COUNTS_FLAG_PIDS | COUNTS_FLAG_V2 },
};

static const struct place memory_now[] = {
    { "memory/memory.usage_in_bytes", NULL, 1, 0 },
    { "memory.current", NULL, 1, COUNTS_FLAG_V2 },
};
static const struct place pids_now[] = {
    { "pids/pids.current", NULL, 1, 0 },
    { "pids.current", NULL, 1, COUNTS_FLAG_V2 },
};

static uint64_t read_first(int dir, const struct place *places, size_t n, uint32_t *flags)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        if (count_read(dir, places[i].file, places[i].key, &value) == 0) {
            *flags |= places[i].flags;
            return value * places[i].unit;
        }
    return 0;
}

int counts_tell(struct glove *glove, const void *msg)
{
    const struct msg_usage *request = msg;
    struct msg_counts counts = { .seq = request->seq };
    cleanup_close int dir = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir >= 0) {
        counts.cpu_ns = read_first(dir, cpu, N_ELEMENTS(cpu), &counts.flags);
        counts.memory_peak = read_first(dir, memory_peak, N_ELEMENTS(memory_peak), &counts.flags);
        counts.memory_files =
            read_first(dir, memory_files, N_ELEMENTS(memory_files), &counts.flags);
        counts.oom_kills = read_first(dir, oom_kills, N_ELEMENTS(oom_kills), &counts.flags);
        counts.pids_hits = read_first(dir, pids_hits, N_ELEMENTS(pids_hits), &counts.flags);
        counts.memory_now = read_first(dir, memory_now, N_ELEMENTS(memory_now), &counts.flags);
        counts.pids_now = read_first(dir, pids_now, N_ELEMENTS(pids_now), &counts.flags);
    }
    return link_send(&glove->link, MSG_COUNTS, 0, 0, &counts);
}
