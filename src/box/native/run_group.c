/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/run_group.c - the groups of one run and their counters. */
#include "box/native/run_group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/fd.h"
#include "box/native/knobs.h"

/* The kernel tells of a group's changes at most every 10 ms, later ones behind a timer, and takes
 * the timer away with the group: when the spawner's guard removes it, nobody is told. */
#define LOOK_AGAIN_MS 10

/* ---- counters ------------------------------------------------------------------------------- */

enum counter {
    COUNTER_CPU,
    COUNTER_OOM_KILLS,
    COUNTER_PIDS_HITS,
    COUNTER_MEMORY_PEAK,
};

/* Where a counter is, in v1's tree and in v2's. */
static const struct {
    const char *file;
    const char *key;
    uint64_t unit;
} places[][2] = {
    [COUNTER_CPU] = { { "cpuacct.usage", NULL, 1 }, { "cpu.stat", "usage_usec", 1000 } },
    [COUNTER_OOM_KILLS] = { { "memory.oom_control", "oom_kill", 1 },
                            { "memory.events", "oom_kill", 1 } },
    [COUNTER_PIDS_HITS] = { { "pids.events", "max", 1 }, { "pids.events", "max", 1 } },
    [COUNTER_MEMORY_PEAK] = { { "memory.max_usage_in_bytes", NULL, 1 },
                              { "memory.peak", NULL, 1 } },
};

/* Which directory has it; -1: nobody counts. */
static int holder_of(const struct run_group *g, enum counter counter)
{
    return counter == COUNTER_CPU ? g->cpu : counter == COUNTER_PIDS_HITS ? g->pids : g->memory;
}

/* What nobody counts is 0. */
static int counter_read(const struct run_group *g, enum counter counter, uint64_t *ret)
{
    int holder = holder_of(g, counter);
    /* CPU time may be counted in the v2 tree also where all the rest is v1's. */
    bool is_v2 = counter == COUNTER_CPU ? holder == g->kill : g->is_v2;
    uint64_t value = 0;
    int r = holder < 0 ? 0
                       : count_read(g->dirs[holder], places[counter][is_v2].file,
                                    places[counter][is_v2].key, &value);

    if (r == 0)
        *ret = value * places[counter][is_v2].unit;
    return r;
}

/* Those that decide about a verdict. */
static int counters_read(const struct run_group *g, struct counters *ret)
{
    int r = counter_read(g, COUNTER_CPU, &ret->cpu_ns);

    if (r == 0)
        r = counter_read(g, COUNTER_OOM_KILLS, &ret->oom_kills);
    return r < 0 ? r : counter_read(g, COUNTER_PIDS_HITS, &ret->pids_hits);
}

int run_group_cpu_ns(const struct run_group *g, uint64_t *ret)
{
    uint64_t now;
    int r = counter_read(g, COUNTER_CPU, &now);

    if (r == 0)
        *ret = now - g->before.cpu_ns;
    return r;
}

void run_group_read(const struct run_group *g, struct box_run_end *ret)
{
    struct counters now = g->before;

    ret->count_error = -counters_read(g, &now);
    ret->cpu_ns = now.cpu_ns - g->before.cpu_ns;
    ret->oom_kills = now.oom_kills - g->before.oom_kills;
    ret->pids_hits = now.pids_hits - g->before.pids_hits;
    /* Told, but nothing hangs on them. */
    (void)counter_read(g, COUNTER_MEMORY_PEAK, &ret->memory_peak);
    if (ret->oom_kills)
        (void)count_read(g->dirs[g->memory], "memory.stat", "shmem", &ret->memory_files);
}

/* ---- making --------------------------------------------------------------------------------- */

/* The CPU limit is the box's; a v2 group has it too, because runtimes look no further than there.
 */
static int limit(const struct run_group *g, int dir, const struct hierarchy *h, wall_set walls,
                 const struct limits *limits)
{
    const struct knob_limits own = {
        .memory_bytes = limits->memory_bytes,
        .pids = limits->pids,
        .cpu_milli = limits->cpu_milli,
    };
    struct knobs knobs = { .n = 0 };

    if (!h->is_v2) {
        knobs_v1(&knobs, h->controller, &own);
    } else if (g->is_v2) {
        knobs_v2(&knobs, walls, &own);
        if (walls & 1u << WALL_MEMORY)
            knobs_add(&knobs, "memory.oom.group=1");
    }
    return knobs_write(&knobs, dir);
}

static int make_own(struct run_group *g, size_t i, const struct hierarchy *h, wall_set walls,
                    const struct limits *limits)
{
    char name[24];
    int r;

    (void)snprintf(name, sizeof(name), "run-%u", g->number);
    if (mkdirat(g->parents[i], name, 0755) < 0)
        return -errno;
    g->dirs[i] = openat(g->parents[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->dirs[i] < 0)
        return -errno;
    /* Whatever the caller's umask: the run reads its limits here where the box's group is shown. */
    if (fchmod(g->dirs[i], 0755) < 0)
        return -errno;
    r = limit(g, g->dirs[i], h, walls, limits);
    if (!h->is_v2) {
        g->joins[i] = openat(g->dirs[i], "tasks", O_WRONLY | O_CLOEXEC);
        return r == 0 && g->joins[i] < 0 ? -errno : r;
    }
    /* The glove, who has no right on it, must be able to let a child be born here. */
    if (r == 0 && fchmodat(g->dirs[i], "cgroup.procs", 0666, 0) < 0)
        r = -errno;
    return r;
}

/* The CPU limit is the box's: a run needs no group in a tree that has nothing else. */
static bool is_for_runs(const struct hierarchy *h)
{
    return strcmp(h->controller, "cpu") != 0 || h->counts_cpu;
}

static void note_roles(struct run_group *g, size_t i, const struct hierarchy *h, wall_set walls)
{
    const struct {
        const char *controller;
        int *role;
    } roles[] = {
        { "memory", &g->memory },
        { "pids", &g->pids },
    };

    if (h->is_v2)
        g->kill = (int)i;
    /* Without its controller a v2 group has no such counter. */
    if (h->is_v2 && g->is_v2) {
        g->memory = walls & 1u << WALL_MEMORY ? (int)i : -1;
        g->pids = walls & 1u << WALL_PIDS ? (int)i : -1;
    }
    if (h->counts_cpu)
        g->cpu = (int)i;
    for (size_t k = 0; k < N_ELEMENTS(roles); k++)
        if (strcmp(h->controller, roles[k].controller) == 0)
            *roles[k].role = (int)i;
}

int run_group_open(const struct hierarchies *h, wall_set walls, const int *groups, size_t n_groups,
                   unsigned number, const struct limits *limits, struct run_group *ret,
                   struct gb_err *err)
{
    size_t at = 0;
    int r = 0;

    *ret = (struct run_group){
        .is_own = h->can_group_runs,
        .is_v2 = h->layout == LAYOUT_V2,
        .number = number,
        .memory = -1,
        .pids = -1,
        .cpu = -1,
        .kill = -1,
    };
    for (size_t i = 0; i < h->n && at < n_groups && r == 0; i++) {
        const struct hierarchy *item = &h->items[i];
        int parent = groups[at];

        if (!(walls & 1u << item->wall))
            continue;
        at++;
        if (!is_for_runs(item))
            continue;
        ret->parents[ret->n] = parent;
        ret->dirs[ret->n] = ret->is_own ? -1 : parent;
        ret->joins[ret->n] = -1;
        note_roles(ret, ret->n, item, walls);
        ret->n++;
        if (ret->is_own)
            r = make_own(ret, ret->n - 1, item, walls, limits);
    }
    if (r < 0) {
        run_group_close(ret);
        return gb_fail(err, r, GB_BLAME_HOST, "making the groups of a run: %s", strerror(-r));
    }
    r = ret->is_own ? 0 : counters_read(ret, &ret->before);
    if (r < 0)
        return gb_fail(err, r, GB_BLAME_HOST, "reading the counters of the box: %s", strerror(-r));
    return 0;
}

/* ---- killing -------------------------------------------------------------------------------- */

/* A group can only have been removed when it was empty: by a spawner whose glove has died. */
static bool is_removed(int error)
{
    return error == ENOENT || error == ENODEV;
}

int run_group_kill(const struct run_group *g)
{
    int r;

    if (!g->is_own || g->kill < 0)
        return -ENOTSUP;
    r = fd_write_text(g->dirs[g->kill], "cgroup.kill", "1");
    return is_removed(-r) ? 0 : r;
}

static uint32_t count_lines(int dir, const char *file)
{
    char text[65536];
    uint32_t n = 0;

    if (fd_read_text(dir, file, text, sizeof(text)) < 0)
        return 1;
    for (const char *at = text; *at; at++)
        n += *at == '\n';
    return n;
}

uint32_t run_group_wait(const struct run_group *g, int timeout_ms)
{
    uint64_t deadline_ns = clock_after_ms((uint64_t)timeout_ms);
    cleanup_close int events = openat(g->dirs[g->kill], "cgroup.events", O_RDONLY | O_CLOEXEC);
    struct pollfd change = { .fd = events, .events = POLLPRI };

    if (events < 0 && is_removed(errno))
        return 0;
    for (;;) {
        char text[128] = "";
        int left_ms;
        ssize_t n = pread(events, text, sizeof(text) - 1, 0);

        if ((n > 0 && strstr(text, "populated 0")) || (n < 0 && is_removed(errno)))
            return 0;
        left_ms = clock_poll_ms(deadline_ns);
        if (left_ms == 0)
            return count_lines(g->dirs[g->kill], "cgroup.procs");
        (void)poll(&change, 1, left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS);
    }
}

void run_group_leave(struct run_group *g)
{
    for (size_t i = 0; g->is_own && i < g->n; i++) {
        drop_fd(&g->joins[i]);
        drop_fd(&g->dirs[i]);
    }
}

void run_group_close(struct run_group *g)
{
    char name[24];

    run_group_leave(g);
    (void)snprintf(name, sizeof(name), "run-%u", g->number);
    /* What cannot be removed yet goes with the box. */
    for (size_t i = 0; g->is_own && i < g->n; i++)
        (void)unlinkat(g->parents[i], name, AT_REMOVEDIR);
    g->n = 0;
}
