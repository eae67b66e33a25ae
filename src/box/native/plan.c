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
#include "box/native/plan_group.h"
#include "box/native/plan_step.h"
#include "wire/msg.h"

#define ROOT_BYTES  (4ULL << 20)
#define ROOT_INODES 4096
#define SHM_INODES  4096

#define PIP_CONF "[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\n"

/* ---- the plan's head, groups, ids ----------------------------------------------------------- */

static uint32_t plan_flags(const struct plan_compiler *c)
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
        if (plan_has(c, table[i].wall))
            flags |= table[i].flag;
    return flags;
}

static void compile_head(struct plan_compiler *c, const char *box_id)
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

    plan_step(c, MSG_PLAN, &head);
}

/* Root has a whole range for each box and keeps the numbers readable: 1000 is base + 1000.  Others
 * have few ids, and a box takes three in a row. */
static void compile_ids(struct plan_compiler *c)
{
    static const uint32_t inside[] = { 0, BOX_UID, 65534 };

    for (uint32_t i = 0; i < N_ELEMENTS(inside); i++) {
        struct msg_id id = {
            .wall = WALL_UID_RANGE,
            .inside = inside[i],
            .offset = c->facts->is_root ? inside[i] : i,
        };

        plan_step(c, MSG_ID, &id);
    }
}

/* ---- the root ------------------------------------------------------------------------------- */

static void compile_image(struct plan_compiler *c)
{
    plan_put_bind(c, "/usr", "/usr", HOST_TREE);
    plan_put_dir(c, "/etc", 0755, 0);
    plan_put_dir(c, "/etc/ssl", 0755, 0);
    for (size_t i = 0; i < c->facts->n_entries; i++) {
        const struct plan_entry *entry = &c->facts->entries[i];

        if (entry->link)
            plan_put_link(c, entry->path, entry->link);
        else
            plan_put_bind(c, entry->path, entry->path, HOST_TREE | MOUNT_FLAG_OPTIONAL);
    }
}

/* What others on this machine cannot reach is not there for the box either. */
static void compile_certificates(struct plan_compiler *c)
{
    const struct box_certificate *one = c->spec->net ? c->spec->certificates : NULL;

    if (one && one->path)
        plan_put_dir(c, BOX_CERTIFICATES, 0755, 0);
    for (; one && one->path; one++)
        if (strcmp(one->path, one->target) != 0)
            plan_put_bind(c, one->path, one->target, HOST_TREE | MOUNT_FLAG_OPTIONAL);
}

static void compile_etc(struct plan_compiler *c)
{
    static const struct {
        const char *path;
        const char *text;
    } files[] = {
        { "/etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
                         "box:x:1000:1000:box:" BOX_HOME ":/bin/sh\n"
                         "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
        { "/etc/group", "root:x:0:\nbox:x:1000:\nnogroup:x:65534:\n" },
        { "/etc/hosts", BOX_HOSTS },
        { "/etc/hostname", BOX_HOSTNAME "\n" },
        { "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"
                                "services: files\nprotocols: files\n" },
        { "/etc/machine-id", "00000000000000000000000000000000\n" },
    };

    for (size_t i = 0; i < N_ELEMENTS(files); i++)
        plan_put_file(c, files[i].path, files[i].text);
    /* Most resolvers take an empty one for this; some take it for a machine without names. */
    plan_put_file(c, "/etc/resolv.conf", c->spec->net ? BOX_RESOLV : "");
    /* What is there satisfies pip, whoever installed it.  Without a network it has nothing to wait
     * for: other things fail at once. */
    plan_put_file(c, "/etc/pip.conf", c->spec->net ? PIP_CONF : PIP_CONF "no-index = true\n");
}

/* One file system with the disk limit carries all that a run may write, but for shared memory. */
static void compile_disk(struct plan_compiler *c)
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

    plan_put_dir(c, "/home", 0755, 0);
    plan_put_dir(c, "/var", 0755, 0);
    plan_put_tmpfs(c, "disk", WALL_DISK, limits->disk_bytes, limits->inodes, 0755);
    for (size_t i = 0; i < N_ELEMENTS(dirs); i++) {
        plan_put_dir(c, dirs[i].staged, dirs[i].mode, dirs[i].owner);
        plan_put_bind(c, dirs[i].staged, dirs[i].target, OWN_TREE | MOUNT_FLAG_INSIDE);
    }
}

static void compile_dev(struct plan_compiler *c)
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

    plan_put_dir(c, "/dev", 0755, 0);
    for (size_t i = 0; i < N_ELEMENTS(nodes); i++) {
        struct msg_bind bind = {
            .wall = WALL_MOUNT,
            .flags = flags | MOUNT_FLAG_DEVICE,
            .rdev = (uint32_t)makedev(nodes[i].major, nodes[i].minor),
            .source = nodes[i].path,
            .target = nodes[i].path,
        };

        plan_step(c, MSG_BIND, &bind);
    }
    plan_put_mount(c, WALL_MOUNT, "devpts", "/dev/pts", own, pts);
    plan_put_link(c, "/dev/ptmx", "pts/ptmx");
    plan_put_link(c, "/dev/fd", "/proc/self/fd");
    plan_put_link(c, "/dev/stdin", "/proc/self/fd/0");
    plan_put_link(c, "/dev/stdout", "/proc/self/fd/1");
    plan_put_link(c, "/dev/stderr", "/proc/self/fd/2");
    plan_put_tmpfs(c, "/dev/shm", WALL_DISK, c->spec->limits.memory_bytes / 2, SHM_INODES, 01777);
    /* Landlock asks where a queue lies even of mq_open(3), which names no path: a rule about this
     * directory answers for both.  Without a namespace of its own it would show the host's. */
    if (plan_has(c, WALL_IPC))
        plan_put_mount(c, WALL_IPC, "mqueue", "/dev/mqueue", own | MOUNT_FLAG_NODEV, NULL);
}

/* Boxes of root have users of their own and so shares of their own.  Boxes of an ordinary user are
 * all charged to that user: each may take a part of what the user has. */
static void put_share(struct plan_compiler *c)
{
    struct msg_write share = { .wall = WALL_USER_NS,
                               .target = "/proc/sys/user/max_inotify_instances",
                               .text = "32\n" };

    if (!c->facts->is_root)
        plan_step(c, MSG_WRITE, &share);
}

/* Of /proc, which is the kernel's and grows names with every release, what is not known to be
 * harmless is covered.  These stay: runtimes read them, and they tell of the kernel, not of
 * others' doings. */
static void compile_proc(struct plan_compiler *c)
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

    plan_put_mount(c, WALL_PID, "proc", "/proc", flags, options);
    put_share(c);
    plan_put_bind(c, "/proc/sys", "/proc/sys", flags | MOUNT_FLAG_RO | MOUNT_FLAG_INSIDE);
    (void)wire_strs_pack(keep, packed, sizeof(packed), &cover.keep);
    plan_step(c, MSG_COVER, &cover);
}

/* ---- toolchains ----------------------------------------------------------------------------- */

/* Directories above a tree, made in the box's own root. */
static void put_parents(struct plan_compiler *c, const char *path)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        plan_put_dir(c, part, 0755, 0);
    }
}

/* Where people keep secrets in trees that hold interpreters too. */
static void put_masks(struct plan_compiler *c, const char *tree)
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
        (void)snprintf(path, sizeof(path), "%s/%s", tree, secrets[i]);
        plan_put_mask(c, path);
    }
}

static void compile_toolchains(struct plan_compiler *c)
{
    for (const char *const *tree = c->spec->toolchains; tree && *tree; tree++) {
        if (path_is_in(*tree, "/usr"))
            continue;
        put_parents(c, *tree);
        plan_put_bind(c, *tree, *tree, HOST_TREE | MOUNT_FLAG_VEILED);
        put_masks(c, *tree);
    }
}

/* What glovebox itself made for boxes: plain files alone, behind directories of this user's. */
static void compile_layers(struct plan_compiler *c)
{
    for (const struct box_layer *layer = c->spec->layers; layer && layer->source; layer++) {
        put_parents(c, layer->target);
        plan_put_bind(c, layer->source, layer->target, HOST_TREE | MOUNT_FLAG_CLOSED);
    }
}

static void put_seed(struct plan_compiler *c, const char *dir)
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
    plan_step(c, MSG_FILE, &file);
}

/* Directories of the run user below a staged one, "" or "/a/b", and the seed in the last. */
static void put_staged(struct plan_compiler *c, const char *staged, const char *below)
{
    char path[PATH_MAX + 32];
    size_t used = (size_t)snprintf(path, sizeof(path), "%s", staged);

    while (*below) {
        size_t len = strcspn(below + 1, "/") + 1;

        used += (size_t)snprintf(path + used, sizeof(path) - used, "%.*s", (int)len, below);
        plan_put_dir(c, path, 0755, BOX_UID);
        below += len;
    }
    put_seed(c, path);
}

/* A working directory outside the workspace lies on the same disk; one below a place on the disk
 * is a directory there. */
static void compile_workdir(struct plan_compiler *c)
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
    plan_put_dir(c, "disk/workdir", 0755, BOX_UID);
    put_parents(c, dir);
    plan_put_bind(c, "disk/workdir", dir, OWN_TREE | MOUNT_FLAG_INSIDE);
    put_seed(c, "disk/workdir");
}

int plan_compile(const struct plan_facts *facts, const struct box_spec *spec, wall_set walls,
                 const char *box_id, struct buf *ret, struct gb_err *err)
{
    struct plan_compiler c = { .facts = facts, .spec = spec, .walls = walls, .out = ret };
    struct msg_remount close_root = { .wall = WALL_MOUNT, .flags = HOST_TREE, .target = "/" };
    struct msg_go go;

    compile_head(&c, box_id);
    for (size_t i = 0; i < facts->groups.n; i++)
        plan_group(&c, &facts->groups.items[i]);
    compile_ids(&c);
    plan_put_tmpfs(&c, "root", WALL_MOUNT, ROOT_BYTES, ROOT_INODES, 0755);
    compile_image(&c);
    compile_certificates(&c);
    compile_etc(&c);
    compile_disk(&c);
    compile_dev(&c);
    compile_proc(&c);
    plan_groups_view(&c);
    compile_toolchains(&c);
    compile_layers(&c);
    compile_workdir(&c);
    plan_step(&c, MSG_REMOUNT, &close_root);
    memset(&go, 0, sizeof(go));
    plan_step(&c, MSG_GO, &go);
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
