/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan.c - compiling a box into steps.
 *
 * The order is the order of the spawner's work: groups and ids first, then the root from its
 * tmpfs outwards; what lies under something comes after it, and the root is closed for writing
 * last.
 */
#include "box/native/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "wire/msg.h"

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

#define CPU_PERIOD_US 100000ULL

#define ROOT_BYTES  (4ULL << 20)
#define ROOT_INODES 4096
#define SHM_INODES  4096

#define BOX_HOSTNAME "box"

#define HOST_TREE (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV)
#define OWN_TREE  (MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV)

struct compiler {
    const struct plan_facts *facts;
    const struct box_spec *spec;
    wall_set walls;
    struct buf *out;
    int r; /* first failure */
};

static void step(struct compiler *c, uint8_t type, const void *msg)
{
    static const size_t most = WIRE_FRAME_MAX;
    int n;

    if (c->r < 0)
        return;
    c->r = buf_reserve(c->out, most);
    if (c->r < 0)
        return;
    n = msg_encode(type, 0, 0, msg, (uint8_t *)c->out->data + c->out->len, most);
    if (n < 0)
        c->r = n;
    else
        c->out->len += (size_t)n;
}

static bool has(const struct compiler *c, enum wall wall)
{
    return c->walls & 1u << wall;
}

/* ---- the plan's head, groups, ids ----------------------------------------------------------- */

static uint32_t plan_flags(const struct compiler *c)
{
    static const struct {
        enum wall wall;
        uint32_t flag;
    } table[] = {
        { WALL_USER_NS, PLAN_FLAG_USER_NS }, { WALL_PID, PLAN_FLAG_PID_NS },
        { WALL_NET, PLAN_FLAG_NET_NS },      { WALL_IPC, PLAN_FLAG_IPC_NS },
        { WALL_UTS, PLAN_FLAG_UTS_NS },      { WALL_CGROUP_NS, PLAN_FLAG_CGROUP_NS },
    };
    uint32_t flags = c->facts->is_root ? PLAN_FLAG_ROOT : 0;

    for (size_t i = 0; i < N_ELEMENTS(table); i++)
        if (has(c, table[i].wall))
            flags |= table[i].flag;
    return flags;
}

static void compile_head(struct compiler *c, const char *box_id)
{
    const struct plan_facts *facts = c->facts;
    struct msg_plan head = {
        .flags = plan_flags(c),
        .n_slots = facts->n_slots,
        .uid_base = facts->uid_base,
        .gid_base = facts->gid_base,
        .stride = facts->stride,
        .ttl_ms = c->spec->ttl_ms < UINT32_MAX ? (uint32_t)c->spec->ttl_ms : UINT32_MAX,
        .uid_tool = facts->uid_tool,
        .gid_tool = facts->gid_tool,
        .box = box_id,
        .hostname = BOX_HOSTNAME,
    };

    step(c, MSG_PLAN, &head);
}

/* Knobs of one group, as strings in one block. */
struct knobs {
    char texts[8][64];
    const char *list[9];
    size_t n;
};

static void knob(struct knobs *knobs, const char *file, uint64_t value)
{
    (void)snprintf(knobs->texts[knobs->n], sizeof(knobs->texts[0]), "%s=%llu", file,
                   (unsigned long long)value);
    knobs->list[knobs->n] = knobs->texts[knobs->n];
    knobs->n++;
}

static void knob_text(struct knobs *knobs, const char *text)
{
    (void)snprintf(knobs->texts[knobs->n], sizeof(knobs->texts[0]), "%s", text);
    knobs->list[knobs->n] = knobs->texts[knobs->n];
    knobs->n++;
}

static void knobs_v1(const struct limits *limits, struct allowance more, const char *controller,
                     struct knobs *knobs)
{
    uint64_t memory = limits->memory_bytes + more.bytes;

    if (strcmp(controller, "memory") == 0) {
        knob(knobs, "memory.limit_in_bytes", memory);
        knob(knobs, "memory.memsw.limit_in_bytes", memory);
        knob(knobs, "memory.kmem.tcp.limit_in_bytes", memory);
    } else if (strcmp(controller, "pids") == 0) {
        knob(knobs, "pids.max", limits->pids + more.pids);
    } else if (strcmp(controller, "cpu") == 0) {
        /* A new group's period is CPU_PERIOD_US. */
        knob(knobs, "cpu.cfs_quota_us", limits->cpu_milli * CPU_PERIOD_US / 1000);
    }
}

static void knobs_v2(const struct limits *limits, struct allowance more, wall_set walls,
                     struct knobs *knobs)
{
    bool has_memory = walls & 1u << WALL_MEMORY;
    bool has_pids = walls & 1u << WALL_PIDS;
    char text[64];

    if (has_memory) {
        knob(knobs, "memory.max", limits->memory_bytes + more.bytes);
        knob(knobs, "memory.swap.max", 0);
    }
    if (has_pids)
        knob(knobs, "pids.max", limits->pids + more.pids);
    if (walls & 1u << WALL_CPU) {
        (void)snprintf(text, sizeof(text), "cpu.max=%llu %llu",
                       (unsigned long long)(limits->cpu_milli * CPU_PERIOD_US / 1000),
                       (unsigned long long)CPU_PERIOD_US);
        knob_text(knobs, text);
    }
    /* What runs below are limited by in groups of their own. */
    if (has_memory || has_pids) {
        (void)snprintf(text, sizeof(text), "cgroup.subtree_control=%s%s",
                       has_memory ? "+memory " : "", has_pids ? "+pids" : "");
        knob_text(knobs, text);
    }
}

static void compile_group(struct compiler *c, const struct hierarchy *h)
{
    bool is_v2_only = c->facts->groups.layout == LAYOUT_V2;
    struct allowance more = allowance(c->facts->groups.can_group_runs);
    struct knobs knobs = { .n = 0 };
    char packed[640];
    char name[48];
    struct msg_group group = {
        .wall = h->wall,
        .flags = h->is_v2 ? GROUP_FLAG_V2 : 0,
        .controller = h->controller,
        .dir = h->dir,
        .name = name,
        .leaf = is_v2_only ? "glove" : "",
    };

    if (!has(c, h->wall))
        return;
    (void)snprintf(name, sizeof(name), "glovebox-%s", c->facts->tag);
    if (is_v2_only)
        knobs_v2(&c->spec->limits, more, c->walls, &knobs);
    else
        knobs_v1(&c->spec->limits, more, h->controller, &knobs);
    knobs.list[knobs.n] = NULL;
    (void)wire_strs_pack(knobs.list, packed, sizeof(packed), &group.knobs);
    step(c, MSG_GROUP, &group);
}

/* Root has a whole range for each box and keeps the numbers readable: 1000 is base + 1000.  Others
 * have few ids, and a box takes three in a row. */
static void compile_ids(struct compiler *c)
{
    static const uint32_t inside[] = { 0, BOX_UID, 65534 };

    for (uint32_t i = 0; i < N_ELEMENTS(inside); i++) {
        struct msg_id id = {
            .wall = WALL_UID_RANGE,
            .inside = inside[i],
            .offset = c->facts->is_root ? inside[i] : i,
        };

        step(c, MSG_ID, &id);
    }
}

/* ---- the root ------------------------------------------------------------------------------- */

static void put_dir(struct compiler *c, const char *target, unsigned mode, unsigned owner)
{
    struct msg_dir dir = {
        .wall = WALL_MOUNT, .mode = mode, .uid = owner, .gid = owner, .target = target
    };

    step(c, MSG_DIR, &dir);
}

static void put_link(struct compiler *c, const char *target, const char *content)
{
    struct msg_link link = { .wall = WALL_MOUNT, .target = target, .content = content };

    step(c, MSG_LINK, &link);
}

static void put_file(struct compiler *c, const char *target, const char *text)
{
    struct msg_file file = {
        .wall = WALL_MOUNT,
        .mode = 0644,
        .target = target,
        .bytes = { .size = (uint32_t)strlen(text), .bytes = (const uint8_t *)text },
    };

    step(c, MSG_FILE, &file);
}

static void put_bind(struct compiler *c, const char *source, const char *target, uint32_t flags)
{
    struct msg_bind bind = {
        .wall = WALL_MOUNT, .flags = flags, .source = source, .target = target
    };

    step(c, MSG_BIND, &bind);
}

static void put_tmpfs(struct compiler *c, const char *target, enum wall wall, uint64_t bytes,
                      uint64_t inodes, unsigned mode)
{
    struct msg_tmpfs tmpfs = {
        .wall = wall,
        .flags = OWN_TREE | MOUNT_FLAG_NOATIME,
        .mode = mode,
        .bytes = bytes,
        .inodes = inodes,
        .target = target,
    };

    step(c, MSG_TMPFS, &tmpfs);
}

static void put_mount(struct compiler *c, enum wall wall, const char *type, const char *target,
                      uint32_t flags, const char *const *options)
{
    char packed[256];
    struct msg_mount mount = { .wall = wall, .flags = flags, .type = type, .target = target };

    (void)wire_strs_pack(options, packed, sizeof(packed), &mount.options);
    step(c, MSG_MOUNT, &mount);
}

static void compile_image(struct compiler *c)
{
    put_bind(c, "/usr", "/usr", HOST_TREE);
    put_dir(c, "/etc", 0755, 0);
    put_dir(c, "/etc/ssl", 0755, 0);
    for (size_t i = 0; i < c->facts->n_entries; i++) {
        const struct plan_entry *entry = &c->facts->entries[i];

        if (entry->link)
            put_link(c, entry->path, entry->link);
        else
            put_bind(c, entry->path, entry->path, HOST_TREE | MOUNT_FLAG_OPTIONAL);
    }
}

/* What others on this machine cannot reach is not there for the box either. */
static void compile_certificates(struct compiler *c)
{
    const struct box_certificate *one = c->spec->net ? c->spec->certificates : NULL;

    if (one && one->path)
        put_dir(c, BOX_CERTIFICATES, 0755, 0);
    for (; one && one->path; one++)
        if (strcmp(one->path, one->target) != 0)
            put_bind(c, one->path, one->target, HOST_TREE | MOUNT_FLAG_OPTIONAL);
}

static void compile_etc(struct compiler *c)
{
    static const struct {
        const char *path;
        const char *text;
    } files[] = {
        { "/etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
                         "box:x:1000:1000:box:" BOX_HOME ":/bin/sh\n"
                         "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
        { "/etc/group", "root:x:0:\nbox:x:1000:\nnogroup:x:65534:\n" },
        { "/etc/hosts", "127.0.0.1 localhost " BOX_HOSTNAME "\n::1 localhost\n" },
        { "/etc/hostname", BOX_HOSTNAME "\n" },
        { "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"
                                "services: files\nprotocols: files\n" },
        { "/etc/machine-id", "00000000000000000000000000000000\n" },
    };

    for (size_t i = 0; i < N_ELEMENTS(files); i++)
        put_file(c, files[i].path, files[i].text);
    /* Most resolvers take an empty one for this; some take it for a machine without names. */
    put_file(c, "/etc/resolv.conf", c->spec->net ? "nameserver 127.0.0.1\n" : "");
    /* Without a network pip has nothing to wait for: what is there satisfies it, other things fail
     * at once. */
    if (!c->spec->net)
        put_file(c, "/etc/pip.conf",
                 "[global]\nno-index = true\nbreak-system-packages = true\n"
                 "disable-pip-version-check = true\n");
}

/* One file system with the disk limit carries all that a run may write, but for shared memory. */
static void compile_disk(struct compiler *c)
{
    static const struct {
        const char *staged;
        const char *target;
        unsigned mode;
        unsigned owner;
    } dirs[] = {
        { "disk/workspace", BOX_WORKSPACE, 0755, BOX_UID },
        { "disk/home", BOX_HOME, 0755, BOX_UID },
        { "disk/tmp", "/tmp", 01777, 0 },
        { "disk/var_tmp", "/var/tmp", 01777, 0 },
        { "disk/run", "/run", 0755, BOX_UID },
    };
    const struct limits *limits = &c->spec->limits;

    put_dir(c, "/home", 0755, 0);
    put_dir(c, "/var", 0755, 0);
    put_tmpfs(c, "disk", WALL_DISK, limits->disk_bytes, limits->inodes, 0755);
    for (size_t i = 0; i < N_ELEMENTS(dirs); i++) {
        put_dir(c, dirs[i].staged, dirs[i].mode, dirs[i].owner);
        put_bind(c, dirs[i].staged, dirs[i].target, OWN_TREE | MOUNT_FLAG_INSIDE);
    }
}

static void compile_dev(struct compiler *c)
{
    static const struct {
        const char *path;
        unsigned major;
        unsigned minor;
    } nodes[] = {
        { "/dev/null", 1, 3 },   { "/dev/zero", 1, 5 },    { "/dev/full", 1, 7 },
        { "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 },
    };
    static const char *const pts[] = { "newinstance", "max=64", "ptmxmode=0666", "mode=620", NULL };
    const uint32_t flags = MOUNT_FLAG_NOSUID | MOUNT_FLAG_NOEXEC;
    const uint32_t own = flags | MOUNT_FLAG_NOATIME;

    put_dir(c, "/dev", 0755, 0);
    for (size_t i = 0; i < N_ELEMENTS(nodes); i++) {
        struct msg_bind bind = {
            .wall = WALL_MOUNT,
            .flags = flags | MOUNT_FLAG_DEVICE,
            .rdev = (uint32_t)makedev(nodes[i].major, nodes[i].minor),
            .source = nodes[i].path,
            .target = nodes[i].path,
        };

        step(c, MSG_BIND, &bind);
    }
    put_mount(c, WALL_MOUNT, "devpts", "/dev/pts", own, pts);
    put_link(c, "/dev/ptmx", "pts/ptmx");
    put_link(c, "/dev/fd", "/proc/self/fd");
    put_link(c, "/dev/stdin", "/proc/self/fd/0");
    put_link(c, "/dev/stdout", "/proc/self/fd/1");
    put_link(c, "/dev/stderr", "/proc/self/fd/2");
    put_tmpfs(c, "/dev/shm", WALL_DISK, c->spec->limits.memory_bytes / 2, SHM_INODES, 01777);
    /* Landlock asks where a queue lies even of mq_open(3), which names no path: a rule about this
     * directory answers for both.  Without a namespace of its own it would show the host's. */
    if (has(c, WALL_IPC))
        put_mount(c, WALL_IPC, "mqueue", "/dev/mqueue", own | MOUNT_FLAG_NODEV, NULL);
}

/* Boxes of root have users of their own and so shares of their own.  Boxes of an ordinary user are
 * all charged to that user: each may take a part of what the user has. */
static void put_share(struct compiler *c)
{
    struct msg_write share = { .wall = WALL_USER_NS,
                               .target = "/proc/sys/user/max_inotify_instances",
                               .text = "32\n" };

    if (!c->facts->is_root)
        step(c, MSG_WRITE, &share);
}

/* Of /proc, which is the kernel's and grows names with every release, what is not known to be
 * harmless is covered.  These stay: runtimes read them, and they tell of the kernel, not of
 * others' doings. */
static void compile_proc(struct compiler *c)
{
    static const char *const options[] = { "hidepid=invisible", NULL };
    static const char *const keep[] = {
        "cgroups",     "consoles", "cpuinfo",     "devices", "dma",     "execdomains",
        "filesystems", "loadavg",  "meminfo",     "misc",    "mounts",  "net",
        "self",        "stat",     "swaps",       "sys",     "sysvipc", "uptime",
        "version",     "vmstat",   "thread-self", NULL,
    };
    const uint32_t flags = MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV | MOUNT_FLAG_NOEXEC;
    struct msg_cover cover = { .wall = WALL_PID, .target = "/proc" };
    char packed[256];

    put_mount(c, WALL_PID, "proc", "/proc", flags, options);
    put_share(c);
    put_bind(c, "/proc/sys", "/proc/sys", flags | MOUNT_FLAG_RO | MOUNT_FLAG_INSIDE);
    (void)wire_strs_pack(keep, packed, sizeof(packed), &cover.keep);
    step(c, MSG_COVER, &cover);
}

/* Runtimes size their heaps and pools by what they read here. */
static void compile_groups_view(struct compiler *c)
{
    const uint32_t flags = MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV | MOUNT_FLAG_NOEXEC;
    uint64_t cpus = (c->spec->limits.cpu_milli + 999) / 1000;
    char text[32];
    char path[64];

    if (!c->spec->shows_groups || !has(c, WALL_CGROUP_NS))
        return;
    put_dir(c, "/sys", 0755, 0);
    put_dir(c, "/sys/fs", 0755, 0);
    put_dir(c, "/sys/fs/cgroup", 0755, 0);
    for (size_t i = 0; i < c->facts->groups.n; i++) {
        const struct hierarchy *h = &c->facts->groups.items[i];
        bool is_both = strcmp(h->controller, "cpu") == 0 && h->has_cpuacct;
        const char *const options[] = { h->controller, is_both ? "cpuacct" : NULL, NULL };

        if (!has(c, h->wall))
            continue;
        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", h->controller);
        if (!h->is_v2)
            put_mount(c, h->wall, "cgroup", path, flags, options);
        else if (c->facts->groups.layout == LAYOUT_V2)
            put_mount(c, h->wall, "cgroup2", "/sys/fs/cgroup", flags, NULL);
    }
    put_dir(c, "/sys/devices", 0755, 0);
    put_dir(c, "/sys/devices/system", 0755, 0);
    put_dir(c, "/sys/devices/system/cpu", 0755, 0);
    (void)snprintf(text, sizeof(text), cpus > 1 ? "0-%llu\n" : "0\n",
                   (unsigned long long)(cpus - 1));
    put_file(c, "/sys/devices/system/cpu/online", text);
    put_file(c, "/sys/devices/system/cpu/possible", text);
}

/* ---- toolchains ----------------------------------------------------------------------------- */

/* Directories above a tree, made in the box's own root. */
static void put_parents(struct compiler *c, const char *path)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        put_dir(c, part, 0755, 0);
    }
}

/* Where people keep secrets in trees that hold interpreters too. */
static void put_masks(struct compiler *c, const char *tree)
{
    static const char *const secrets[] = {
        "credentials",
        "credentials.toml",
        ".npmrc",
        ".netrc",
        ".pypirc",
        ".git-credentials",
        "pip.conf",
        ".pip",
        ".ssh",
        ".aws",
        ".gnupg",
        ".docker",
        ".kube",
        ".config",
        ".condarc",
        ".env",
        ".cargo/credentials",
        ".cargo/credentials.toml",
    };
    char path[PATH_MAX + 64];

    for (size_t i = 0; i < N_ELEMENTS(secrets); i++) {
        struct msg_mask mask = { .wall = WALL_MOUNT, .target = path };

        (void)snprintf(path, sizeof(path), "%s/%s", tree, secrets[i]);
        step(c, MSG_MASK, &mask);
    }
}

static void compile_toolchains(struct compiler *c)
{
    for (const char *const *tree = c->spec->toolchains; tree && *tree; tree++) {
        if (path_is_in(*tree, "/usr"))
            continue;
        put_parents(c, *tree);
        put_bind(c, *tree, *tree, HOST_TREE | MOUNT_FLAG_VEILED);
        put_masks(c, *tree);
    }
}

/* What glovebox itself made for boxes: plain files alone, behind directories of this user's. */
static void compile_layers(struct compiler *c)
{
    for (const struct box_layer *layer = c->spec->layers; layer && layer->source; layer++) {
        put_parents(c, layer->target);
        put_bind(c, layer->source, layer->target, HOST_TREE | MOUNT_FLAG_CLOSED);
    }
}

static void put_seed(struct compiler *c, const char *dir)
{
    const struct box_file *seed = c->spec->seed;
    char path[PATH_MAX + NAME_MAX + 32];
    struct msg_file file = { .wall = WALL_MOUNT, .uid = BOX_UID, .gid = BOX_GID, .target = path };

    if (!seed)
        return;
    (void)snprintf(path, sizeof(path), "%s/%s", dir, seed->path);
    file.mode = seed->mode;
    file.bytes.bytes = seed->bytes;
    file.bytes.size = (uint32_t)seed->size;
    step(c, MSG_FILE, &file);
}

/* Directories of the run user below a staged one, "" or "/a/b", and the seed in the last. */
static void put_staged(struct compiler *c, const char *staged, const char *below)
{
    char path[PATH_MAX + 32];
    size_t used = (size_t)snprintf(path, sizeof(path), "%s", staged);

    while (*below) {
        size_t len = strcspn(below + 1, "/") + 1;

        used += (size_t)snprintf(path + used, sizeof(path) - used, "%.*s", (int)len, below);
        put_dir(c, path, 0755, BOX_UID);
        below += len;
    }
    put_seed(c, path);
}

/* A working directory outside the workspace lies on the same disk; one below a place on the disk
 * is a directory there. */
static void compile_workdir(struct compiler *c)
{
    static const struct {
        const char *place;
        const char *staged;
    } places[] = {
        { BOX_WORKSPACE, "disk/workspace" }, { BOX_HOME, "disk/home" }, { "/tmp", "disk/tmp" },
        { "/var/tmp", "disk/var_tmp" },      { "/run", "disk/run" },
    };
    const char *dir = c->spec->workdir ? c->spec->workdir : BOX_WORKSPACE;

    for (size_t i = 0; i < N_ELEMENTS(places); i++) {
        if (!path_is_in(dir, places[i].place))
            continue;
        put_staged(c, places[i].staged, dir + strlen(places[i].place));
        return;
    }
    put_dir(c, "disk/workdir", 0755, BOX_UID);
    put_parents(c, dir);
    put_bind(c, "disk/workdir", dir, OWN_TREE | MOUNT_FLAG_INSIDE);
    put_seed(c, "disk/workdir");
}

int plan_compile(const struct plan_facts *facts, const struct box_spec *spec, wall_set walls,
                 const char *box_id, struct buf *ret, struct gb_err *err)
{
    struct compiler c = { .facts = facts, .spec = spec, .walls = walls, .out = ret };
    struct msg_remount close_root = { .wall = WALL_MOUNT, .flags = HOST_TREE, .target = "/" };
    struct msg_go go;

    compile_head(&c, box_id);
    for (size_t i = 0; i < facts->groups.n; i++)
        compile_group(&c, &facts->groups.items[i]);
    compile_ids(&c);
    put_tmpfs(&c, "root", WALL_MOUNT, ROOT_BYTES, ROOT_INODES, 0755);
    compile_image(&c);
    compile_certificates(&c);
    compile_etc(&c);
    compile_disk(&c);
    compile_dev(&c);
    compile_proc(&c);
    compile_groups_view(&c);
    compile_toolchains(&c);
    compile_layers(&c);
    compile_workdir(&c);
    step(&c, MSG_REMOUNT, &close_root);
    memset(&go, 0, sizeof(go));
    step(&c, MSG_GO, &go);
    if (c.r < 0)
        return gb_fail(err, c.r, GB_BLAME_BUG, "compiling the plan of a box: %s", strerror(-c.r));
    return 0;
}

int plan_print(const struct buf *plan, struct buf *ret)
{
    size_t at = 0;

    while (at < plan->len) {
        const uint8_t *bytes = (const uint8_t *)plan->data + at;
        _Alignas(16) char msg[MSG_STRUCT_MAX];
        char line[512];
        struct wire_head head;

        if (wire_head_get(bytes, &head) < 0 ||
            msg_decode(head.type, bytes + WIRE_HEAD_SIZE, head.size, msg) < 0)
            return -EPROTO;
        msg_text(head.type, msg, line, sizeof(line));
        (void)buf_puts(ret, line);
        (void)buf_putc(ret, '\n');
        at += WIRE_HEAD_SIZE + head.size;
    }
    return buf_error(ret);
}
