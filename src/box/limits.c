/* SPDX-License-Identifier: Apache-2.0 */
/* box/limits.c - what a box and a run may use, as one table.
 *
 * The bounds are those beyond which a number is a mistake, not a wish: a day of wall time, the
 * CPUs and the memory of the largest machines, what one process may hold of output. */
#include "box/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define WALL_MS_MAX   UINT64_C(86400000) /* a day */
#define CPU_MILLI_MAX UINT64_C(1024000)
#define CPU_MS_MAX    (WALL_MS_MAX * (CPU_MILLI_MAX / 1000))

enum unit {
    UNIT_MS,
    UNIT_BYTES,
    UNIT_MILLI,
    UNIT_COUNT,
};

struct row {
    const char *name;
    const char *flag;
    enum unit unit;
    size_t offset;
    uint64_t min;
    uint64_t max;
};

#define AT(field) offsetof(struct limits, field)
static const struct row rows[N_LIMITS] = {
    [LIMIT_WALL] = { "wall time", "--timeout", UNIT_MS, AT(wall_ms), 1, WALL_MS_MAX },
    [LIMIT_CPU_TIME] = { "CPU time", "--cpu-time", UNIT_MS, AT(cpu_ms), 1, CPU_MS_MAX },
    [LIMIT_MEMORY] = { "memory", "--memory", UNIT_BYTES, AT(memory_bytes), MIB, 64 * TIB },
    [LIMIT_CPUS] = { "CPUs", "--cpus", UNIT_MILLI, AT(cpu_milli), 10, CPU_MILLI_MAX },
    [LIMIT_PIDS] = { "processes", "--pids", UNIT_COUNT, AT(pids), 1, 32768 },
    [LIMIT_DISK] = { "disk space", "--disk", UNIT_BYTES, AT(disk_bytes), 64 * KIB, 64 * TIB },
    [LIMIT_INODES] = { "files", NULL, UNIT_COUNT, AT(inodes), 16, UINT32_MAX },
    [LIMIT_OUTPUT_KEEP] = { "kept output", NULL, UNIT_BYTES, AT(output_keep), 1, GIB },
    [LIMIT_OUTPUT_MAX] = { "output", "--output-max", UNIT_BYTES, AT(output_max), 1, 64 * TIB },
};

uint64_t limit_value(const struct limits *limits, enum limit limit)
{
    uint64_t value;

    memcpy(&value, (const char *)limits + rows[limit].offset, sizeof(value));
    return value;
}

static void set(struct limits *limits, enum limit limit, uint64_t value)
{
    memcpy((char *)limits + rows[limit].offset, &value, sizeof(value));
}

/* wall × CPUs, rounded up. */
static uint64_t full_cpu_ms(const struct limits *limits)
{
    unsigned __int128 ms = (unsigned __int128)limits->wall_ms * limits->cpu_milli;

    ms = (ms + 999) / 1000;
    return ms > UINT64_MAX ? UINT64_MAX : (uint64_t)ms;
}

struct limits limits_default(void)
{
    struct limits limits = {
        .wall_ms = 30000,
        .memory_bytes = 512 * MIB,
        .cpu_milli = 1000,
        .pids = 128,
        .disk_bytes = 256 * MIB,
        .inodes = 64 * KIB,
        .output_keep = 8 * MIB,
        .output_max = GIB,
    };

    limits.cpu_ms = full_cpu_ms(&limits);
    return limits;
}

struct limits limits_or(struct limits said, struct limits otherwise)
{
    struct limits limits = said;

    for (enum limit i = 0; i < N_LIMITS; i++)
        if (limit_value(&said, i) == 0)
            set(&limits, i, limit_value(&otherwise, i));
    if (said.cpu_ms == 0 && otherwise.cpu_ms == full_cpu_ms(&otherwise))
        limits.cpu_ms = full_cpu_ms(&limits);
    if (said.output_keep == 0 && limits.output_keep > limits.output_max)
        limits.output_keep = limits.output_max;
    return limits;
}

struct limits limits_min(struct limits a, struct limits b)
{
    for (enum limit i = 0; i < N_LIMITS; i++)
        if (limit_value(&b, i) < limit_value(&a, i))
            set(&a, i, limit_value(&b, i));
    return a;
}

const char *limit_flag(enum limit limit)
{
    return rows[limit].flag;
}

/* value / 1000 with as many of its three decimals as are not zero. */
static void thousandths_text(uint64_t value, const char *unit, char text[static NUM_TEXT_MAX])
{
    unsigned rest = (unsigned)(value % 1000);
    int decimals = 3;

    while (rest > 0 && rest % 10 == 0) {
        rest /= 10;
        decimals--;
    }
    if (rest > 0)
        (void)snprintf(text, NUM_TEXT_MAX, "%" PRIu64 ".%0*u%s", value / 1000, decimals, rest,
                       unit);
    else
        (void)snprintf(text, NUM_TEXT_MAX, "%" PRIu64 "%s", value / 1000, unit);
}

static const char *value_text(enum unit unit, uint64_t value, char text[static NUM_TEXT_MAX])
{
    switch (unit) {
    case UNIT_MS:
        if (value < 1000)
            (void)snprintf(text, NUM_TEXT_MAX, "%" PRIu64 " ms", value);
        else
            thousandths_text(value, " s", text);
        break;
    case UNIT_BYTES:
        (void)num_size_text(value, text);
        break;
    case UNIT_MILLI:
        thousandths_text(value, "", text);
        break;
    case UNIT_COUNT:
        (void)snprintf(text, NUM_TEXT_MAX, "%" PRIu64, value);
        break;
    }
    return text;
}

const char *limit_text(const struct limits *limits, enum limit limit,
                       char text[static NUM_TEXT_MAX])
{
    return value_text(rows[limit].unit, limit_value(limits, limit), text);
}

const char *limit_range(enum limit limit, char text[static LIMIT_RANGE_MAX])
{
    const struct row *row = &rows[limit];
    char min[NUM_TEXT_MAX];
    char max[NUM_TEXT_MAX];

    (void)snprintf(text, LIMIT_RANGE_MAX, "%s to %s", value_text(row->unit, row->min, min),
                   value_text(row->unit, row->max, max));
    return text;
}

static int out_of_range(enum limit limit, uint64_t value, struct gb_err *err)
{
    char given[NUM_TEXT_MAX];
    char range[LIMIT_RANGE_MAX];

    return gb_fail(err, -ERANGE, GB_BLAME_CALLER, "%s: %s is out of range, %s is allowed",
                   rows[limit].name, value_text(rows[limit].unit, value, given),
                   limit_range(limit, range));
}

void limits_cpus(const struct limits *limits, char ret[static LIMITS_CPUS_SIZE])
{
    uint64_t cpus = (limits->cpu_milli + 999) / 1000;

    if (cpus > 1)
        (void)snprintf(ret, LIMITS_CPUS_SIZE, "0-%" PRIu64, cpus - 1);
    else
        (void)snprintf(ret, LIMITS_CPUS_SIZE, "0");
}

int limits_check(const struct limits *limits, struct gb_err *err)
{
    char keep[NUM_TEXT_MAX];
    char most[NUM_TEXT_MAX];

    for (enum limit i = 0; i < N_LIMITS; i++) {
        uint64_t value = limit_value(limits, i);

        if (value < rows[i].min || value > rows[i].max)
            return out_of_range(i, value, err);
    }
    if (limits->output_keep > limits->output_max)
        return gb_fail(err, -ERANGE, GB_BLAME_CALLER,
                       "kept output: %s is more than the %s that may be written",
                       num_size_text(limits->output_keep, keep),
                       num_size_text(limits->output_max, most));
    return 0;
}
