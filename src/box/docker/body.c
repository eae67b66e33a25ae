/* SPDX-License-Identifier: Apache-2.0 */
/* box/docker/body.c - what a box is, in the words of a container.
 *
 * The body is made from a fixed template and the numbers of the limits; nothing that a request says
 * reaches it but the name of the image, whether it has a network or rules for one, and ports.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/docker/docker.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "gen/filters.h"

/* What the glove itself needs besides its runs. */
#define GLOVE_MEMORY (1ULL << 20)
#define GLOVE_PIDS   8

#define SMALL_BYTES (16ULL << 20)

/* The engine's own network, by the name that Docker and Podman both have for it. */
#define BRIDGE "bridge"

static const char *const dropped[] = { "ALL", NULL };
static const char *const added[] = { "KILL", "SETUID", "SETGID", "SETPCAP", NULL };
static const char *const security[] = { "no-new-privileges:true", "seccomp=" gb_filter_engine,
                                        NULL };

/* With rules for its network: what the glove makes them with (glove/catch.c), and gives up with all
 * the rest before anything else runs. */
static const char *const added_rules[] = {
    "KILL", "SETUID", "SETGID", "SETPCAP", "NET_ADMIN", "NET_BIND_SERVICE", NULL,
};
static const char *const security_rules[] = { "no-new-privileges:true",
                                              "seccomp=" gb_filter_engine_rules, NULL };

/* What a run has no business with: secrets and figures of the machine, its devices and modules.  In
 * place of the engine's own list, which newer ones make longer: theirs is in it but for the
 * processors' counters of heat.  Whole directories where runs need none of it; of /sys/devices they
 * need the processors, of /sys/fs the groups. */
static const char *const masked[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/buddyinfo",
    "/proc/bus",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/crypto",
    "/proc/diskstats",
    "/proc/driver",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/modules",
    "/proc/pagetypeinfo",
    "/proc/partitions",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/softirqs",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/tty",
    "/proc/vmallocinfo",
    "/proc/zoneinfo",
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices/LNXSYSTM:00",
    "/sys/devices/platform",
    "/sys/devices/pnp0",
    "/sys/devices/virtual",
    "/sys/firmware",
    "/sys/hypervisor",
    "/sys/kernel",
    "/sys/module",
    "/sys/power",
};

/* Where the devices of a machine hang: a root for each bus that a socket or bridge begins with, of
 * the first domain, and the first of some more domains.  Those that are not there cost nothing. */
#define PCI_BUSES     256
#define PCI_DOMAINS   16
#define PCI_ROOT_SIZE sizeof("/sys/devices/pci0000:00")

struct masks {
    char roots[PCI_BUSES + PCI_DOMAINS - 1][PCI_ROOT_SIZE];
    const char *paths[N_ELEMENTS(masked) + PCI_BUSES + PCI_DOMAINS];
};

static void fill_masks(struct masks *masks)
{
    size_t n = 0;

    for (unsigned bus = 0; bus < PCI_BUSES; bus++)
        (void)snprintf(masks->roots[n++], PCI_ROOT_SIZE, "/sys/devices/pci0000:%02x", bus & 0xff);
    for (unsigned domain = 1; domain < PCI_DOMAINS; domain++)
        (void)snprintf(masks->roots[n++], PCI_ROOT_SIZE, "/sys/devices/pci%04x:00",
                       domain & 0xffff);
    for (size_t i = 0; i < N_ELEMENTS(masked); i++)
        masks->paths[i] = masked[i];
    for (size_t i = 0; i < n; i++)
        masks->paths[N_ELEMENTS(masked) + i] = masks->roots[i];
}

/* The glove answers; the engine would name its own machine's servers, and where to search. */
static const char *const name_servers[] = { "127.0.0.1", NULL };
static const char *const nowhere[] = { ".", NULL };

static const struct container_ulimit ulimits[] = {
    { "core", 0, 0 },
    { "nofile", 8192, 8192 },
    { "memlock", 8 << 20, 8 << 20 },
    { "sigpending", 4096, 4096 },
    { "msgqueue", 819200, 819200 },
    { 0 },
};

#define PORTS_MAX   64
#define MOUNTS_MAX  8
#define OPTIONS_MAX 96

struct places {
    char options[MOUNTS_MAX][OPTIONS_MAX];
    const char *pairs[2 * MOUNTS_MAX + 1];
    size_t n;
};

/* The run owns it: an engine may give it the mode that the image's directory has instead. */
static void add_place(struct places *places, const char *path, uint64_t bytes, uint64_t inodes,
                      const char *mode)
{
    char *options = places->options[places->n / 2];

    (void)snprintf(options, OPTIONS_MAX,
                   "rw,nosuid,nodev,exec,size=%" PRIu64 ",nr_inodes=%" PRIu64
                   ",mode=%s,uid=%u,gid=%u",
                   bytes, inodes, mode, BOX_UID, BOX_GID);
    places->pairs[places->n++] = path;
    places->pairs[places->n++] = options;
}

/* The disk limit is that of the workspace, and of /tmp once more: an engine has no way to share it.
 * All of it is memory, which has a limit of its own. */
static void fill_places(struct places *places, const struct box_spec *spec)
{
    const struct limits *limits = &spec->limits;

    add_place(places, BOX_WORKSPACE, limits->disk_bytes, limits->inodes, "0755");
    add_place(places, "/tmp", limits->disk_bytes, limits->inodes, "1777");
    add_place(places, BOX_HOME, SMALL_BYTES, 4096, "0755");
    add_place(places, "/var/tmp", SMALL_BYTES, 4096, "1777");
    add_place(places, "/run", SMALL_BYTES, 4096, "1777");
    if (spec->workdir && strcmp(spec->workdir, BOX_WORKSPACE) != 0)
        add_place(places, spec->workdir, limits->disk_bytes, limits->inodes, "0755");
}

static int fill_ports(struct container_port ports[static PORTS_MAX + 1],
                      const struct box_spec *spec, struct gb_err *err)
{
    const struct box_port *port = spec->ports;
    size_t n = 0;

    for (; port && port->port; port++) {
        if (n == PORTS_MAX)
            return gb_fail(err, -E2BIG, GB_BLAME_CALLER, "at most %d ports", PORTS_MAX);
        ports[n++] = (struct container_port){ port->port, port->host_ip, port->host_port };
    }
    return 0;
}

/* The glove's volume, and those of layers where the spec wants them; the rest of the list is empty.
 */
static void fill_mounts(struct container_mount mounts[static DOCKER_LAYERS_MAX + 2],
                        const struct box_spec *spec, const struct docker_glove *glove,
                        const struct docker_layers *layers)
{
    mounts[0] = (struct container_mount){
        .type = "volume",
        .source = glove->volume,
        .target = DOCKER_GLOVE_DIR,
        .is_read_only = true,
        .is_no_copy = true,
    };
    for (size_t i = 0; i < layers->n; i++)
        mounts[i + 1] = (struct container_mount){
            .type = "volume",
            .source = layers->volumes[i],
            .target = spec->layers[i].target,
            .is_read_only = true,
            .is_no_copy = true,
        };
}

int docker_create_filler(struct engine *engine, const struct box_spec *spec, const char *volume,
                         const char *target, char *ret_id, struct gb_err *err)
{
    static const char *const nothing[] = { "/nothing", NULL };
    const struct container_mount mounts[] = {
        { .type = "volume", .source = volume, .target = target, .is_no_copy = true },
        { 0 },
    };
    struct docker_marks marks;
    const struct container_spec body = {
        .image = spec->image_id ? spec->image_id : spec->image,
        .platform = spec->engine->platform,
        .entrypoint = nothing,
        .labels = marks.labels,
        .network_mode = "none",
        .mounts = mounts,
    };

    docker_marks_init(spec, &marks);
    return container_create(engine, &body, ret_id, NULL, err);
}

int docker_create(struct engine *engine, const struct box_spec *spec,
                  const struct docker_glove *glove, const struct docker_layers *layers,
                  char *ret_id, wall_set *ret_missing, struct gb_err *err)
{
    const struct limits *limits = &spec->limits;
    struct places places = { 0 };
    struct masks masks = { 0 };
    struct container_port ports[PORTS_MAX + 1] = { 0 };
    struct docker_marks marks;
    char warnings[CONTAINER_WARNINGS_SIZE] = "";
    char program[sizeof(DOCKER_GLOVE_DIR) + sizeof(glove->file)];
    const char *const entrypoint[] = { program, "-", NULL };
    struct container_mount mounts[DOCKER_LAYERS_MAX + 2] = { 0 };
    struct container_spec body = {
        .image = spec->image_id ? spec->image_id : spec->image,
        .platform = spec->engine->platform,
        .entrypoint = entrypoint,
        .labels = marks.labels,
        .workdir = "/",
        .user = "0:0",
        .hostname = "box",
        .has_stdin = true,
        .network_mode = spec->has_network ? BRIDGE : "none",
        .runtime = spec->engine->runtime,
        .ipc_mode = "private",
        .cgroupns_mode = "private",
        .log_driver = "none",
        .memory_bytes = limits->memory_bytes + GLOVE_MEMORY,
        .memory_swap_bytes = limits->memory_bytes + GLOVE_MEMORY,
        .nano_cpus = limits->cpu_milli * 1000000,
        .pids = limits->pids + GLOVE_PIDS,
        .shm_bytes = SMALL_BYTES,
        .oom_score_adj = 500,
        .is_read_only = true,
        .is_auto_removed = true,
        .cap_drop = dropped,
        .cap_add = spec->net ? added_rules : added,
        .security_opts = spec->net ? security_rules : security,
        .name_servers = spec->net ? name_servers : NULL,
        .name_search = spec->net ? nowhere : NULL,
        .masked = masks.paths,
        .tmpfs = places.pairs,
        .mounts = mounts,
        .ulimits = ulimits,
        .ports = spec->has_network ? ports : NULL,
    };
    int r = fill_ports(ports, spec, err);

    if (r < 0)
        return r;
    (void)snprintf(program, sizeof(program), DOCKER_GLOVE_DIR "/%s", glove->file);
    docker_marks_init(spec, &marks);
    fill_mounts(mounts, spec, glove, layers);
    fill_places(&places, spec);
    fill_masks(&masks);
    r = container_create(engine, &body, ret_id, warnings, err);
    *ret_missing = docker_missing_of(warnings);
    return r;
}
