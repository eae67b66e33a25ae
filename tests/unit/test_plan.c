/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_plan.c - a box compiled into steps: what every plan must hold, by made-up facts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "box/carry.h"
#include "box/native/plan.h"
#include "wire/msg.h"

#include <cmocka.h>

#define PLAN_MAX  (1024 * 1024UL)
#define STEPS_MAX 256
#define CLOSED    (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV)

/* ---- made-up facts -------------------------------------------------------------------------- */

static struct plan_entry entries[] = {
    { (char *)(uintptr_t) "/bin", (char *)(uintptr_t) "usr/bin" },
    { (char *)(uintptr_t) "/lib64", NULL },
    { (char *)(uintptr_t) "/etc/alternatives", NULL },
    { (char *)(uintptr_t) "/etc/ssl/certs", NULL },
};

static void add_group(struct plan_facts *facts, const char *controller, enum wall wall, bool is_v2,
                      const char *dir)
{
    struct hierarchy *h = &facts->groups.items[facts->groups.n++];

    *h = (struct hierarchy){ .controller = controller, .wall = wall, .is_v2 = is_v2 };
    (void)snprintf(h->dir, sizeof(h->dir), "%s", dir);
}

static struct plan_facts facts_of_root(void)
{
    struct plan_facts facts = {
        .is_root = true,
        .groups = { .layout = LAYOUT_HYBRID, .can_group_runs = true },
        .uid_base = 1000000,
        .gid_base = 1000000,
        .stride = 65536,
        .n_slots = 10,
        .tag = "tag-",
        .entries = entries,
        .n_entries = N_ELEMENTS(entries),
    };

    add_group(&facts, "memory", WALL_MEMORY, false, "/g/memory");
    add_group(&facts, "pids", WALL_PIDS, false, "/g/pids");
    add_group(&facts, "cpu", WALL_CPU, false, "/g/cpu");
    add_group(&facts, "cpuacct", WALL_CPU, false, "/g/cpuacct");
    add_group(&facts, "", WALL_KILL, true, "/g/unified");
    return facts;
}

static struct plan_facts facts_of_user(void)
{
    struct plan_facts facts = facts_of_root();

    facts.is_root = false;
    facts.groups = (struct hierarchies){ .layout = LAYOUT_V2, .can_group_runs = true };
    facts.uid_base = 100000;
    facts.gid_base = 200000;
    facts.stride = 3;
    facts.uid_tool = "/usr/bin/newuidmap";
    facts.gid_tool = "/usr/bin/newgidmap";
    add_group(&facts, "", WALL_KILL, true, "/g");
    return facts;
}

static struct box_spec spec_plain(void)
{
    return (struct box_spec){ .backend = "native",
                              .limits = limits_default(),
                              .workdir = BOX_WORKSPACE };
}

/* ---- a plan, decoded ------------------------------------------------------------------------ */

struct decoded {
    uint8_t type;
    union {
        struct msg_plan plan;
        struct msg_group group;
        struct msg_id id;
        struct msg_tmpfs tmpfs;
        struct msg_bind bind;
        struct msg_mount mount;
        struct msg_dir dir;
        struct msg_link link;
        struct msg_file file;
        struct msg_mask mask;
        struct msg_cover cover;
        struct msg_remount remount;
        char room[MSG_STRUCT_MAX];
    };
};

struct steps {
    struct buf bytes;
    size_t n;
    struct decoded all[STEPS_MAX];
};

static void compile(const struct plan_facts *facts, const struct box_spec *spec, wall_set walls,
                    struct steps *ret)
{
    struct gb_err err = { 0 };
    size_t at = 0;

    memset(ret, 0, sizeof(*ret));
    ret->bytes = (struct buf)BUF_INIT(PLAN_MAX);
    assert_int_equal(plan_compile(facts, spec, walls, "b_test", &ret->bytes, &err), 0);
    while (at < ret->bytes.len) {
        const uint8_t *bytes = (const uint8_t *)ret->bytes.data + at;
        struct decoded *step = &ret->all[ret->n++];
        struct wire_head head;

        assert_true(ret->n <= STEPS_MAX);
        assert_int_equal(wire_head_get(bytes, &head), 0);
        assert_true(msg_direction(head.type) & SPAWN_IN);
        step->type = head.type;
        assert_int_equal(msg_decode(head.type, bytes + WIRE_HEAD_SIZE, head.size, step->room), 0);
        at += WIRE_HEAD_SIZE + head.size;
    }
}

/* Where a step puts something, or NULL. */
static const char *target_of(const struct decoded *step)
{
    switch (step->type) {
    case MSG_TMPFS:
        return step->tmpfs.target;
    case MSG_BIND:
        return step->bind.target;
    case MSG_MOUNT:
        return step->mount.target;
    case MSG_DIR:
        return step->dir.target;
    case MSG_LINK:
        return step->link.target;
    case MSG_FILE:
        return step->file.target;
    default:
        return NULL;
    }
}

static size_t position(const struct steps *steps, uint8_t type, const char *target)
{
    for (size_t i = 0; i < steps->n; i++) {
        const char *at = target_of(&steps->all[i]);

        if (steps->all[i].type == type && at && strcmp(at, target) == 0)
            return i;
    }
    return SIZE_MAX;
}

static size_t count(const struct steps *steps, uint8_t type)
{
    size_t n = 0;

    for (size_t i = 0; i < steps->n; i++)
        n += steps->all[i].type == type;
    return n;
}

/* ---- what holds for every plan -------------------------------------------------------------- */

static bool is_made_before(const struct steps *steps, size_t before, const char *dir)
{
    for (size_t i = 0; i < before; i++) {
        const char *at = target_of(&steps->all[i]);

        if (at && strcmp(at, dir) == 0)
            return true;
    }
    return false;
}

static void parents_come_first(const struct steps *steps)
{
    for (size_t i = 0; i < steps->n; i++) {
        const char *target = target_of(&steps->all[i]);
        char parent[PATH_MAX];

        if (!target || !strchr(target, '/') || strrchr(target, '/') == target)
            continue;
        (void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(target, '/') - target),
                       target);
        if (!is_made_before(steps, i, parent))
            fail_msg("'%s' comes before its directory", target);
    }
}

static void mounts_are_closed(const struct steps *steps)
{
    for (size_t i = 0; i < steps->n; i++) {
        const struct decoded *step = &steps->all[i];

        if (step->type == MSG_TMPFS) {
            assert_int_equal(step->tmpfs.flags & (MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV),
                             MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV);
            assert_true(step->tmpfs.bytes > 0 && step->tmpfs.inodes > 0);
        } else if (step->type == MSG_MOUNT) {
            assert_true(step->mount.flags & MOUNT_FLAG_NOSUID);
            assert_true(step->mount.flags & MOUNT_FLAG_NOEXEC);
        } else if (step->type == MSG_BIND && step->bind.flags & MOUNT_FLAG_DEVICE) {
            assert_true(step->bind.flags & MOUNT_FLAG_NOSUID);
            assert_true(step->bind.flags & MOUNT_FLAG_NOEXEC);
        } else if (step->type == MSG_BIND && step->bind.flags & MOUNT_FLAG_INSIDE) {
            assert_true(step->bind.flags & MOUNT_FLAG_NOSUID);
            assert_true(step->bind.flags & MOUNT_FLAG_NODEV);
        } else if (step->type == MSG_BIND && (step->bind.flags & CLOSED) != CLOSED) {
            fail_msg("the host's '%s' is not read-only, nosuid, nodev", step->bind.source);
        }
    }
}

/* Of the host a plan shows what the facts, the toolchains and the fixed list name. */
static void only_listed_trees_are_shown(const struct steps *steps, const struct plan_facts *facts,
                                        const struct box_spec *spec)
{
    for (size_t i = 0; i < steps->n; i++) {
        const struct msg_bind *bind = &steps->all[i].bind;
        bool is_known = false;

        if (steps->all[i].type != MSG_BIND || bind->flags & (MOUNT_FLAG_INSIDE | MOUNT_FLAG_DEVICE))
            continue;
        is_known = strcmp(bind->source, "/usr") == 0;
        for (size_t k = 0; k < facts->n_entries; k++)
            is_known = is_known || strcmp(bind->source, facts->entries[k].path) == 0;
        for (const char *const *tree = spec->toolchains; tree && *tree; tree++)
            is_known = is_known || strcmp(bind->source, *tree) == 0;
        if (!is_known)
            fail_msg("the plan shows '%s'", bind->source);
        assert_string_equal(bind->source, bind->target);
    }
}

static void order_is_right(const struct steps *steps)
{
    const struct decoded *last = &steps->all[steps->n - 2];
    size_t root = position(steps, MSG_TMPFS, "root");

    assert_int_equal(steps->all[0].type, MSG_PLAN);
    assert_int_equal(steps->all[steps->n - 1].type, MSG_GO);
    assert_int_equal(last->type, MSG_REMOUNT);
    assert_string_equal(last->remount.target, "/");
    assert_int_equal(last->remount.flags, CLOSED);
    assert_int_equal(count(steps, MSG_REMOUNT), 1);
    assert_int_equal(count(steps, MSG_PLAN), 1);
    for (size_t i = 1; i < steps->n - 1; i++) {
        bool is_early = steps->all[i].type == MSG_GROUP || steps->all[i].type == MSG_ID;

        assert_int_equal(is_early, i < root);
    }
}

static void holds(const struct plan_facts *facts, const struct box_spec *spec, wall_set walls)
{
    static struct steps steps;

    compile(facts, spec, walls, &steps);
    order_is_right(&steps);
    parents_come_first(&steps);
    mounts_are_closed(&steps);
    only_listed_trees_are_shown(&steps, facts, spec);
    buf_clear(&steps.bytes);
}

static void every_plan_is_closed_and_in_order(void **state)
{
    static const char *const trees[] = { "/opt/node/v20", "/srv/x", NULL };
    static const char *const workdirs[] = {
        "/workspace", "/workspace/a/b", "/app", "/a/b/c", "/tmp", "/tmp/x", "/run/x", "/home/box/x",
    };
    struct box_file seed = { .path = "main.py", .mode = 0644, .bytes = "1", .size = 1 };
    struct plan_facts facts[] = { facts_of_root(), facts_of_user() };

    (void)state;
    for (size_t f = 0; f < N_ELEMENTS(facts); f++)
        for (size_t w = 0; w < N_ELEMENTS(workdirs); w++)
            for (unsigned bits = 0; bits < 8; bits++) {
                struct box_spec spec = spec_plain();

                spec.workdir = workdirs[w];
                spec.shows_groups = bits & 1;
                spec.toolchains = bits & 2 ? trees : NULL;
                spec.seed = bits & 4 ? &seed : NULL;
                holds(&facts[f], &spec, WALLS_ALL);
                holds(&facts[f], &spec, WALLS_ALL & ~(1u << WALL_MEMORY | 1u << WALL_NET));
            }
}

static void the_same_facts_make_the_same_plan(void **state)
{
    static struct steps a;
    static struct steps b;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();

    (void)state;
    compile(&facts, &spec, WALLS_ALL, &a);
    compile(&facts, &spec, WALLS_ALL, &b);
    assert_int_equal(a.bytes.len, b.bytes.len);
    assert_memory_equal(a.bytes.data, b.bytes.data, a.bytes.len);
    buf_clear(&a.bytes);
    buf_clear(&b.bytes);
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The knobs of the group of a controller as one text, "a=1 b=2 ". */
static const char *knobs_of(const struct steps *steps, const char *controller)
{
    static char text[512];

    for (size_t i = 0; i < steps->n; i++) {
        const struct msg_group *group = &steps->all[i].group;
        const char *at = NULL;
        const char *knob;

        if (steps->all[i].type != MSG_GROUP || strcmp(group->controller, controller) != 0)
            continue;
        text[0] = '\0';
        while ((knob = wire_strs_next(&group->knobs, &at)) != NULL) {
            (void)strncat(text, knob, sizeof(text) - strlen(text) - 1);
            (void)strncat(text, " ", sizeof(text) - strlen(text) - 1);
        }
        return text;
    }
    return NULL;
}

static struct limits odd_limits(void)
{
    struct limits limits = limits_default();

    limits.memory_bytes = 100 << 20;
    limits.pids = 50;
    limits.cpu_milli = 1500;
    return limits;
}

static void v1_groups_carry_every_limit(void **state)
{
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();

    (void)state;
    spec.limits = odd_limits();
    compile(&facts, &spec, WALLS_ALL, &steps);
    assert_int_equal(count(&steps, MSG_GROUP), 5);
    assert_string_equal(knobs_of(&steps, "memory"),
                        "memory.limit_in_bytes=121634816 memory.memsw.limit_in_bytes=121634816 "
                        "memory.kmem.tcp.limit_in_bytes=121634816 ");
    assert_string_equal(knobs_of(&steps, "pids"), "pids.max=66 ");
    assert_string_equal(knobs_of(&steps, "cpu"), "cpu.cfs_quota_us=150000 ");
    for (size_t i = 0; i < steps.n; i++)
        if (steps.all[i].type == MSG_GROUP)
            assert_string_equal(steps.all[i].group.name, "glovebox-tag-");
    buf_clear(&steps.bytes);
}

static void v2_groups_carry_every_limit(void **state)
{
    static struct steps steps;
    struct plan_facts facts = facts_of_user();
    struct box_spec spec = spec_plain();

    (void)state;
    spec.limits = odd_limits();
    compile(&facts, &spec, WALLS_ALL, &steps);
    assert_int_equal(count(&steps, MSG_GROUP), 1);
    assert_string_equal(knobs_of(&steps, ""),
                        "memory.max=121634816 memory.swap.max=0 pids.max=66 cpu.max=150000 100000 "
                        "cgroup.subtree_control=+memory +pids +cpu ");
    assert_string_equal(steps.all[1].group.leaf, "glove");
    assert_int_equal(steps.all[1].group.flags, GROUP_FLAG_V2);
    buf_clear(&steps.bytes);
}

static void walls_that_are_left_out_leave_no_step(void **state)
{
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    wall_set walls = WALLS_ALL & ~(1u << WALL_MEMORY | 1u << WALL_PIDS | 1u << WALL_NET);

    (void)state;
    compile(&facts, &spec, WALLS_ALL, &steps);
    assert_int_equal(steps.all[0].plan.flags,
                     PLAN_FLAG_ROOT | PLAN_FLAG_USER_NS | PLAN_FLAG_PID_NS | PLAN_FLAG_NET_NS |
                         PLAN_FLAG_IPC_NS | PLAN_FLAG_UTS_NS | PLAN_FLAG_CGROUP_NS);
    buf_clear(&steps.bytes);
    compile(&facts, &spec, walls, &steps);
    assert_int_equal(count(&steps, MSG_GROUP), 3);
    assert_null(knobs_of(&steps, "memory"));
    assert_null(knobs_of(&steps, "pids"));
    assert_false(steps.all[0].plan.flags & PLAN_FLAG_NET_NS);
    assert_true(steps.all[0].plan.flags & PLAN_FLAG_IPC_NS);
    buf_clear(&steps.bytes);
}

/* ---- ids
 * ------------------------------------------------------------------------------------------------
 */

static void ids_are(const struct plan_facts *facts, const uint32_t (*want)[2])
{
    static struct steps steps;
    struct box_spec spec = spec_plain();
    size_t n = 0;

    compile(facts, &spec, WALLS_ALL, &steps);
    assert_int_equal(count(&steps, MSG_ID), 3);
    for (size_t i = 0; i < steps.n && n < 3; i++) {
        if (steps.all[i].type != MSG_ID)
            continue;
        assert_int_equal(steps.all[i].id.inside, want[n][0]);
        assert_int_equal(steps.all[i].id.offset, want[n][1]);
        n++;
    }
    assert_int_equal(steps.all[0].plan.stride, facts->stride);
    assert_string_equal(steps.all[0].plan.uid_tool, facts->uid_tool ? facts->uid_tool : "");
    buf_clear(&steps.bytes);
}

static void three_ids_are_mapped_and_never_the_callers(void **state)
{
    static const uint32_t of_root[][2] = { { 0, 0 }, { 1000, 1000 }, { 65534, 65534 } };
    static const uint32_t of_user[][2] = { { 0, 0 }, { 1000, 1 }, { 65534, 2 } };
    struct plan_facts root = facts_of_root();
    struct plan_facts user = facts_of_user();

    (void)state;
    ids_are(&root, of_root);
    ids_are(&user, of_user);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void devices_are_the_six_harmless_ones(void **state)
{
    static const struct {
        const char *path;
        unsigned minor;
        unsigned major;
    } nodes[] = {
        { "/dev/null", 3, 1 },   { "/dev/zero", 5, 1 },    { "/dev/full", 7, 1 },
        { "/dev/random", 8, 1 }, { "/dev/urandom", 9, 1 }, { "/dev/tty", 0, 5 },
    };
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    size_t n = 0;

    (void)state;
    compile(&facts, &spec, WALLS_ALL, &steps);
    for (size_t i = 0; i < steps.n; i++)
        n += steps.all[i].type == MSG_BIND && steps.all[i].bind.flags & MOUNT_FLAG_DEVICE;
    assert_int_equal(n, N_ELEMENTS(nodes));
    for (size_t i = 0; i < N_ELEMENTS(nodes); i++) {
        size_t at = position(&steps, MSG_BIND, nodes[i].path);

        assert_true(at < steps.n);
        assert_int_equal(steps.all[at].bind.rdev, makedev(nodes[i].major, nodes[i].minor));
    }
    buf_clear(&steps.bytes);
}

static bool keeps(const struct msg_cover *cover, const char *name)
{
    const char *at = NULL;
    const char *kept;

    while ((kept = wire_strs_next(&cover->keep, &at)) != NULL)
        if (strcmp(kept, name) == 0)
            return true;
    return false;
}

static void proc_is_covered_but_for_a_few_names(void **state)
{
    static const char *const hidden[] = { "kcore",      "kallsyms", "keys",   "timer_list",
                                          "config.gz",  "cmdline",  "kmsg",   "sysrq-trigger",
                                          "interrupts", "modules",  "mtrr",   "scsi",
                                          "bus",        "fs",       "driver", "irq" };
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    size_t proc;
    size_t sys;

    (void)state;
    compile(&facts, &spec, WALLS_ALL, &steps);
    proc = position(&steps, MSG_MOUNT, "/proc");
    sys = position(&steps, MSG_BIND, "/proc/sys");
    assert_true(proc < sys && sys < steps.n);
    assert_true(steps.all[sys].bind.flags & MOUNT_FLAG_RO);
    assert_int_equal(count(&steps, MSG_COVER), 1);
    for (size_t i = 0; i < steps.n; i++) {
        if (steps.all[i].type != MSG_COVER)
            continue;
        assert_true(i > proc);
        assert_string_equal(steps.all[i].cover.target, "/proc");
        assert_true(keeps(&steps.all[i].cover, "self"));
        for (size_t k = 0; k < N_ELEMENTS(hidden); k++)
            assert_false(keeps(&steps.all[i].cover, hidden[k]));
    }
    buf_clear(&steps.bytes);
}

static void secrets_of_a_toolchain_are_masked_behind_its_bind(void **state)
{
    static const char *const trees[] = { "/opt/tool", "/usr/lib/tool", NULL };
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    size_t bind;
    size_t n = 0;

    (void)state;
    spec.toolchains = trees;
    compile(&facts, &spec, WALLS_ALL, &steps);
    bind = position(&steps, MSG_BIND, "/opt/tool");
    assert_true(bind < steps.n);
    assert_int_equal(position(&steps, MSG_BIND, "/usr/lib/tool"), SIZE_MAX); /* /usr shows it */
    for (size_t i = 0; i < steps.n; i++) {
        if (steps.all[i].type != MSG_MASK)
            continue;
        assert_true(i > bind);
        assert_true(path_is_in(steps.all[i].mask.target, "/opt/tool"));
        n += strcmp(steps.all[i].mask.target, "/opt/tool/.npmrc") == 0;
    }
    assert_int_equal(n, 1);
    buf_clear(&steps.bytes);
}

static void the_disk_has_the_limits_and_is_the_runs(void **state)
{
    static struct steps steps;
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    size_t disk;
    size_t dir;

    (void)state;
    spec.limits.disk_bytes = 12345678;
    spec.limits.inodes = 4321;
    compile(&facts, &spec, WALLS_ALL, &steps);
    disk = position(&steps, MSG_TMPFS, "disk");
    dir = position(&steps, MSG_DIR, "disk/workspace");
    assert_true(disk < dir && dir < steps.n);
    assert_int_equal(steps.all[disk].tmpfs.bytes, 12345678);
    assert_int_equal(steps.all[disk].tmpfs.inodes, 4321);
    assert_int_equal(steps.all[disk].tmpfs.wall, WALL_DISK);
    assert_int_equal(steps.all[dir].dir.uid, BOX_UID);
    buf_clear(&steps.bytes);
}

static void a_seed_lies_in_the_working_directory(void **state)
{
    static const struct {
        const char *workdir;
        const char *target;
    } cases[] = {
        { "/workspace", "disk/workspace/main.py" },
        { "/tmp/x/y", "disk/tmp/x/y/main.py" },
        { "/app", "disk/workdir/main.py" },
        { NULL, "disk/workspace/main.py" },
    };
    struct box_file seed = { .path = "main.py", .mode = 0640, .bytes = "code", .size = 4 };
    struct plan_facts facts = facts_of_root();

    (void)state;
    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        static struct steps steps;
        struct box_spec spec = spec_plain();
        const struct msg_file *file;
        size_t at;

        spec.workdir = cases[i].workdir;
        spec.seed = &seed;
        compile(&facts, &spec, WALLS_ALL, &steps);
        at = position(&steps, MSG_FILE, cases[i].target);
        assert_true(at < steps.n);
        file = &steps.all[at].file;
        assert_int_equal(file->uid, BOX_UID);
        assert_int_equal(file->mode, 0640);
        assert_int_equal(file->bytes.size, 4);
        assert_memory_equal(file->bytes.bytes, "code", 4);
        buf_clear(&steps.bytes);
    }
}

/* ---- printing ------------------------------------------------------------------------------- */

static void a_network_brings_a_name_server_and_certificates(void **state)
{
    char path[] = "/opt/ca.pem";
    char target[] = BOX_CERTIFICATES "/PIP_CERT.pem";
    char shown[] = "/usr/share/ca.pem";
    const struct box_certificate certificates[] = { { path, target }, { shown, shown }, { 0 } };
    const struct carry_spec net = { 0 };
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    struct steps steps;
    size_t at;

    (void)state;
    spec.certificates = certificates;
    compile(&facts, &spec, WALLS_ALL, &steps);
    at = position(&steps, MSG_FILE, "/etc/resolv.conf");
    assert_int_equal(steps.all[at].file.bytes.size, 0);
    assert_int_equal(position(&steps, MSG_BIND, target), SIZE_MAX);
    buf_clear(&steps.bytes);
    spec.net = &net;
    compile(&facts, &spec, WALLS_ALL, &steps);
    at = position(&steps, MSG_FILE, "/etc/resolv.conf");
    assert_int_equal(steps.all[at].file.bytes.size, strlen("nameserver 127.0.0.1\n"));
    at = position(&steps, MSG_BIND, target);
    assert_true(at != SIZE_MAX && position(&steps, MSG_DIR, BOX_CERTIFICATES) < at);
    assert_string_equal(steps.all[at].bind.source, path);
    assert_int_equal(steps.all[at].bind.flags, CLOSED | MOUNT_FLAG_OPTIONAL);
    assert_int_equal(position(&steps, MSG_BIND, shown), SIZE_MAX);
    buf_clear(&steps.bytes);
}

static void a_plan_prints_a_line_for_each_step(void **state)
{
    static struct steps steps;
    cleanup_buf struct buf text = BUF_INIT(PLAN_MAX);
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    size_t lines = 0;

    (void)state;
    compile(&facts, &spec, WALLS_ALL, &steps);
    assert_int_equal(plan_print(&steps.bytes, &text), 0);
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    assert_int_equal(lines, steps.n);
    assert_int_equal(strncmp(text.data, "PLAN ", 5), 0);
    assert_non_null(strstr(text.data, "\nREMOUNT "));
    steps.bytes.data[4] = (char)200;
    assert_int_equal(plan_print(&steps.bytes, &text), -EPROTO);
    buf_clear(&steps.bytes);
}

static void a_plan_without_room_is_an_error(void **state)
{
    cleanup_buf struct buf small = BUF_INIT(60000);
    struct plan_facts facts = facts_of_root();
    struct box_spec spec = spec_plain();
    struct gb_err err = { 0 };

    (void)state;
    assert_int_equal(plan_compile(&facts, &spec, WALLS_ALL, "b_x", &small, &err), -EMSGSIZE);
    assert_int_equal(err.blame, GB_BLAME_BUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_closed_and_in_order),
        cmocka_unit_test(the_same_facts_make_the_same_plan),
        cmocka_unit_test(v1_groups_carry_every_limit),
        cmocka_unit_test(v2_groups_carry_every_limit),
        cmocka_unit_test(walls_that_are_left_out_leave_no_step),
        cmocka_unit_test(three_ids_are_mapped_and_never_the_callers),
        cmocka_unit_test(devices_are_the_six_harmless_ones),
        cmocka_unit_test(proc_is_covered_but_for_a_few_names),
        cmocka_unit_test(secrets_of_a_toolchain_are_masked_behind_its_bind),
        cmocka_unit_test(the_disk_has_the_limits_and_is_the_runs),
        cmocka_unit_test(a_seed_lies_in_the_working_directory),
        cmocka_unit_test(a_network_brings_a_name_server_and_certificates),
        cmocka_unit_test(a_plan_prints_a_line_for_each_step),
        cmocka_unit_test(a_plan_without_room_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
