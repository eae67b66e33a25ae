/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan_group.c - the groups of a box: their limits, and what of them it sees. */
#include "box/native/plan_group.h"

#include <stdio.h>
#include <string.h>

#include "box/native/knobs.h"
#include "box/native/plan_step.h"

/* What the glove itself may use besides the run's memory and processes: plenty where the run has
 * limits of its own below the box's, and no more than it and the run's minder need where the box's
 * are the run's. */
struct allowance {
    uint64_t bytes;
    uint64_t pids;
};

static struct allowance allowance(bool groups_runs)
{
    return groups_runs ? (struct allowance){ .bytes = 16ULL << 20, .pids = 16 }
                       : (struct allowance){ .bytes = 5ULL << 18, .pids = 2 };
}

/* Runs are limited, and read their limits, in groups of their own below, by what is passed on. */
static void pass_on(struct knobs *knobs, wall_set walls)
{
    bool has_memory = walls & 1u << WALL_MEMORY;
    bool has_pids = walls & 1u << WALL_PIDS;
    bool has_cpu = walls & 1u << WALL_CPU;

    if (has_memory || has_pids || has_cpu)
        knobs_add(knobs, "cgroup.subtree_control=%s%s%s", has_memory ? "+memory " : "",
                  has_pids ? "+pids " : "", has_cpu ? "+cpu" : "");
}

static bool shows_groups(const struct plan_compiler *c)
{
    return c->spec->shows_groups && plan_has(c, WALL_CGROUP_NS);
}

/* Is the group among those that plan_groups_view() mounts?  A hybrid host's v2 is not. */
static bool is_shown(const struct plan_compiler *c, const struct hierarchy *h)
{
    return shows_groups(c) && (!h->is_v2 || c->facts->groups.layout == LAYOUT_V2);
}

void plan_group(struct plan_compiler *c, const struct hierarchy *h)
{
    bool is_v2_only = c->facts->groups.layout == LAYOUT_V2;
    struct allowance more = allowance(c->facts->groups.can_group_runs);
    const struct knob_limits limits = {
        .memory_bytes = c->spec->limits.memory_bytes + more.bytes,
        .pids = c->spec->limits.pids + more.pids,
        .cpu_milli = c->spec->limits.cpu_milli,
    };
    struct knobs knobs = { .n = 0 };
    char packed[640];
    char name[48];
    struct msg_group group = {
        .wall = h->wall,
        .flags = (h->is_v2 ? GROUP_FLAG_V2 : 0) | (is_shown(c, h) ? GROUP_FLAG_SHOWN : 0),
        .controller = h->controller,
        .dir = h->dir,
        .name = name,
        .leaf = is_v2_only ? "glove" : "",
    };

    if (!plan_has(c, h->wall))
        return;
    (void)snprintf(name, sizeof(name), "glovebox-%s", c->facts->tag);
    if (is_v2_only) {
        knobs_v2(&knobs, c->walls, &limits);
        pass_on(&knobs, c->walls);
    } else {
        knobs_v1(&knobs, h->controller, &limits);
    }
    (void)wire_strs_pack(knobs.list, packed, sizeof(packed), &group.knobs);
    plan_step(c, MSG_GROUP, &group);
}

/* ---- the view of them ----------------------------------------------------------------------- */

#define VIEW       "/sys/fs/cgroup"
#define VIEW_FLAGS (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV | MOUNT_FLAG_NOEXEC)

static void put_tree(struct plan_compiler *c, const struct hierarchy *h)
{
    bool is_both = strcmp(h->controller, "cpu") == 0 && h->has_cpuacct;
    const char *const options[] = { h->controller, is_both ? "cpuacct" : NULL, NULL };
    char path[64];

    if (!plan_has(c, h->wall) || !is_shown(c, h))
        return;
    (void)snprintf(path, sizeof(path), VIEW "/%s", h->controller);
    if (h->is_v2)
        plan_put_mount(c, h->wall, "cgroup2", VIEW, VIEW_FLAGS, NULL);
    else
        plan_put_mount(c, h->wall, "cgroup", path, VIEW_FLAGS, options);
}

/* A JVM believes no limit unless it finds these two mounted besides the others.  The box has no
 * group there: what they would show is the host's, and is covered. */
static void put_empty_tree(struct plan_compiler *c, const char *controller)
{
    const char *const options[] = { controller, NULL };
    char path[64];

    (void)snprintf(path, sizeof(path), VIEW "/%s", controller);
    plan_put_mount(c, WALL_CGROUP_NS, "cgroup", path, VIEW_FLAGS, options);
    plan_put_mask(c, path);
}

static void put_cpus(struct plan_compiler *c)
{
    char cpus[LIMITS_CPUS_SIZE];
    char text[LIMITS_CPUS_SIZE + 1];

    plan_put_dir(c, "/sys/devices", 0755, 0);
    plan_put_dir(c, "/sys/devices/system", 0755, 0);
    plan_put_dir(c, "/sys/devices/system/cpu", 0755, 0);
    limits_cpus(&c->spec->limits, cpus);
    (void)snprintf(text, sizeof(text), "%s\n", cpus);
    plan_put_file(c, "/sys/devices/system/cpu/online", text);
    plan_put_file(c, "/sys/devices/system/cpu/possible", text);
}

void plan_groups_view(struct plan_compiler *c)
{
    const struct hierarchies *groups = &c->facts->groups;

    if (!shows_groups(c))
        return;
    plan_put_dir(c, "/sys", 0755, 0);
    plan_put_dir(c, "/sys/fs", 0755, 0);
    plan_put_dir(c, VIEW, 0755, 0);
    for (size_t i = 0; i < groups->n; i++)
        put_tree(c, &groups->items[i]);
    if (groups->has_idle_cpuset)
        put_empty_tree(c, "cpuset");
    if (groups->has_idle_cpuacct)
        put_empty_tree(c, "cpuacct");
    put_cpus(c);
}
