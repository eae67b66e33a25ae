/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/usage.c - what a box uses, from the counters of its groups. */
#include "box/native/usage.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/count.h"
#include "box/box.h"

/* Where a counter is found: of two rows for one, the first that is there counts.  A key is that of
 * a line; the counter of a whole box includes its runs (total_… in v1). */
static const struct {
    size_t offset;
    const char *file;
    const char *key;
    uint64_t scale;
} counters[] = {
    { offsetof(struct box_usage, memory_bytes), "memory.current", NULL, 1 },
    { offsetof(struct box_usage, memory_bytes), "memory.usage_in_bytes", NULL, 1 },
    { offsetof(struct box_usage, memory_peak), "memory.peak", NULL, 1 },
    { offsetof(struct box_usage, memory_peak), "memory.max_usage_in_bytes", NULL, 1 },
    { offsetof(struct box_usage, memory_files), "memory.stat", "total_shmem", 1 },
    { offsetof(struct box_usage, memory_files), "memory.stat", "shmem", 1 },
    { offsetof(struct box_usage, cpu_ns), "cpuacct.usage", NULL, 1 },
    { offsetof(struct box_usage, cpu_ns), "cpu.stat", "usage_usec", 1000 },
    { offsetof(struct box_usage, processes), "pids.current", NULL, 1 },
};

void usage_read(const int *dirs, size_t n, struct box_usage *ret)
{
    *ret = (struct box_usage){ 0 };
    for (size_t i = 0; i < N_ELEMENTS(counters); i++) {
        uint64_t *field = (uint64_t *)(void *)((char *)ret + counters[i].offset);
        uint64_t value;

        for (size_t dir = 0; *field == 0 && dir < n; dir++)
            if (count_read(dirs[dir], counters[i].file, counters[i].key, &value) == 0)
                *field = value * counters[i].scale;
    }
}

int usage_memory_bytes(const int *dirs, size_t n, uint64_t *ret)
{
    static const char *const files[] = { "memory.usage_in_bytes", "memory.current" };

    for (size_t dir = 0; dir < n; dir++)
        for (size_t i = 0; i < N_ELEMENTS(files); i++)
            if (count_read(dirs[dir], files[i], NULL, ret) == 0)
                return 0;
    return -ENOENT;
}
