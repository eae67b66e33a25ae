/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/knobs.c - the limits of a group, as files of the kernel and what is written there. */
#include "box/native/knobs.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/knob.h"

#define CPU_PERIOD_US 100000ULL

void knobs_add(struct knobs *knobs, const char *format, ...)
{
    char *text = knobs->texts[knobs->n];
    va_list args;

    assert(knobs->n < KNOBS_MAX);
    va_start(args, format);
    (void)vsnprintf(text, sizeof(knobs->texts[0]), format, args);
    va_end(args);
    knobs->list[knobs->n++] = text;
    knobs->list[knobs->n] = NULL;
}

static void number(struct knobs *knobs, const char *file, uint64_t value)
{
    knobs_add(knobs, "%s=%llu", file, (unsigned long long)value);
}

static unsigned long long quota_us(const struct knob_limits *limits)
{
    return limits->cpu_milli * CPU_PERIOD_US / 1000;
}

void knobs_v1(struct knobs *knobs, const char *controller, const struct knob_limits *limits)
{
    if (strcmp(controller, "memory") == 0) {
        number(knobs, "memory.limit_in_bytes", limits->memory_bytes);
        number(knobs, "memory.memsw.limit_in_bytes", limits->memory_bytes);
        /* TCP's buffers are counted by themselves, and only in groups in which this is written:
         * the limit of a group above does not count what is sent below. */
        number(knobs, "memory.kmem.tcp.limit_in_bytes", limits->memory_bytes);
    } else if (strcmp(controller, "pids") == 0) {
        number(knobs, "pids.max", limits->pids);
    } else if (strcmp(controller, "cpu") == 0 && limits->cpu_milli) {
        /* A new group's period is CPU_PERIOD_US. */
        number(knobs, "cpu.cfs_quota_us", quota_us(limits));
    }
}

void knobs_v2(struct knobs *knobs, wall_set walls, const struct knob_limits *limits)
{
    if (walls & 1u << WALL_MEMORY) {
        number(knobs, "memory.max", limits->memory_bytes);
        number(knobs, "memory.swap.max", 0);
    }
    if (walls & 1u << WALL_PIDS)
        number(knobs, "pids.max", limits->pids);
    if (walls & 1u << WALL_CPU && limits->cpu_milli)
        knobs_add(knobs, "cpu.max=%llu %llu", quota_us(limits), CPU_PERIOD_US);
}

int knobs_write(const struct knobs *knobs, int dir_fd)
{
    for (size_t i = 0; i < knobs->n; i++) {
        int r = knob_write(dir_fd, knobs->list[i]);

        if (r < 0)
            return r;
    }
    return 0;
}
