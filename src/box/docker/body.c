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
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/docker/docker.h"
#include "engine/container.h"
#include "engine/engine.h"

/* What the glove itself needs besides its runs. */
#define GLOVE_MEMORY (1ULL << 20)
#define GLOVE_PIDS   8

#define SHM_BYTES (16ULL << 20)

/* The engine's own network, by the name that Docker and Podman both have for it. */
#define BRIDGE "bridge"

static const char *const dropped[] = { "ALL", NULL };
static const char *const added[] = { "KILL", "SETUID", "SETGID", "SETPCAP", NULL };

/* With rules for its network: what the glove makes them with (glove/catch.c), and gives up with all
 * the rest before anything else runs. */
static const char *const added_rules[] = {
    "KILL", "SETUID", "SETGID", "SETPCAP", "NET_ADMIN", "NET_BIND_SERVICE", NULL,
};

/* The glove answers; an engine that writes the file itself would name its own machine's servers,
 * and where to search. */
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

/* Podman would add a limit of its own on processes, which not every engine may set.  All processes
 * of a user id count for it, also those outside: the group's limit is the one that holds. */
#define PODMAN_NPROC 32768

static const struct container_ulimit ulimits_podman[] = {
    { "core", 0, 0 },
    { "nofile", 8192, 8192 },
    { "nproc", PODMAN_NPROC, PODMAN_NPROC },
    { "memlock", 8 << 20, 8 << 20 },
    { "sigpending", 4096, 4096 },
    { "msgqueue", 819200, 819200 },
    { 0 },
};

#define PORTS_MAX  64
#define MOUNTS_MAX (1 + N_DOCKER_ETC + DOCKER_LAYERS_MAX + DOCKER_PLACES_MAX)

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

bool docker_is_offline(const struct engine *engine, const struct box_spec *spec)
{
    return !spec->has_network && !engine_is_podman(engine);
}

/* What the engine does not write there where it makes no network.  path: room for one. */
static struct container_mount etc_mount(const struct docker_glove *glove, enum docker_etc which,
                                        char path[static PATH_MAX])
{
    static const char *const targets[] = {
        [DOCKER_ETC_HOSTS] = "/etc/hosts",
        [DOCKER_ETC_RESOLV] = "/etc/resolv.conf",
    };
    const char *file = glove->etc[which];
    bool is_path = glove->dir[0];

    (void)snprintf(path, PATH_MAX, "%.*s/%s", (int)(PATH_MAX - sizeof(glove->etc[0]) - 1),
                   glove->dir, file);
    return (struct container_mount){
        .type = is_path ? "bind" : "volume",
        .source = is_path ? path : glove->volume,
        .part = is_path ? NULL : file,
        .target = targets[which],
        .is_read_only = true,
        .is_no_copy = !is_path,
    };
}

static void add_etc(struct container_mount *mounts, const struct box_spec *spec,
                    const struct docker_glove *glove, char paths[N_DOCKER_ETC][PATH_MAX])
{
    *mounts++ = etc_mount(glove, DOCKER_ETC_HOSTS, paths[DOCKER_ETC_HOSTS]);
    if (spec->net)
        *mounts = etc_mount(glove, DOCKER_ETC_RESOLV, paths[DOCKER_ETC_RESOLV]);
}

/* The glove's volume, those of layers where the spec wants them, and those of places that are
 * volumes; the rest of the list is empty.  How many. */
static size_t fill_mounts(struct container_mount mounts[static MOUNTS_MAX + 1],
                          const struct box_spec *spec, const struct docker_parts *parts,
                          const struct docker_layers *layers, const struct docker_places *places)
{
    size_t n = 0;

    mounts[n++] = (struct container_mount){
        .type = "volume",
        .source = parts->glove.volume,
        .target = DOCKER_GLOVE_DIR,
        .is_read_only = true,
        .is_no_copy = true,
    };
    for (size_t i = 0; i < layers->n; i++)
        mounts[n++] = (struct container_mount){
            .type = "volume",
            .source = layers->volumes[i],
            .target = spec->layers[i].target,
            .is_read_only = true,
            .is_no_copy = true,
        };
    for (size_t i = 0; i < places->n; i++)
        if (places->volumes[i][0])
            mounts[n++] = (struct container_mount){
                .type = "volume",
                .source = places->volumes[i],
                .target = places->paths[i],
                .is_no_copy = true,
            };
    return n;
}

static void fill_tmpfs(const char *pairs[static 2 * DOCKER_PLACES_MAX + 1],
                       const struct docker_places *places)
{
    size_t n = 0;

    for (size_t i = 0; i < places->n; i++)
        if (!places->volumes[i][0]) {
            pairs[n++] = places->paths[i];
            pairs[n++] = places->options[i];
        }
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

/* What is the same of every box. */
static const struct container_spec template = {
    .workdir = "/",
    .user = "0:0",
    .hostname = BOX_HOSTNAME,
    .has_stdin = true,
    .is_unchecked = true,
    .ipc_mode = "private",
    .cgroupns_mode = "private",
    .log_driver = "none",
    .shm_bytes = SHM_BYTES,
    .oom_score_adj = 500,
    .is_first = true,
    .is_read_only = true,
    .is_auto_removed = true,
    .cap_drop = dropped,
    .masked = docker_masks,
};

/* What a container's words point to while it is made. */
struct body {
    struct container_port ports[PORTS_MAX + 1];
    struct docker_marks marks;
    char program[sizeof(DOCKER_GLOVE_DIR) + sizeof(((struct docker_glove *)NULL)->file)];
    char cpus[LIMITS_CPUS_SIZE];
    const char *entrypoint[4];
    struct container_mount mounts[MOUNTS_MAX + 1];
    char etc[N_DOCKER_ETC][PATH_MAX];
    const char *tmpfs[2 * DOCKER_PLACES_MAX + 1];
};

/* Of a body that is zeroed, all but its mounts. */
static int fill_body(struct body *body, const struct box_spec *spec,
                     const struct docker_parts *parts, const struct docker_places *places,
                     struct gb_err *err)
{
    int r = fill_ports(body->ports, spec, err);

    if (r < 0)
        return r;
    (void)snprintf(body->program, sizeof(body->program), DOCKER_GLOVE_DIR "/%s", parts->glove.file);
    limits_cpus(&spec->limits, body->cpus);
    body->entrypoint[0] = body->program;
    body->entrypoint[1] = "-";
    body->entrypoint[2] = body->cpus;
    docker_marks_init(spec, &body->marks);
    fill_tmpfs(body->tmpfs, places);
    return 0;
}

static void add_limits(struct container_spec *container, const struct limits *limits)
{
    container->memory_bytes = limits->memory_bytes + GLOVE_MEMORY;
    container->memory_swap_bytes = limits->memory_bytes + GLOVE_MEMORY;
    container->nano_cpus = limits->cpu_milli * 1000000;
    container->pids = limits->pids + GLOVE_PIDS;
}

static void add_network(struct container_spec *container, const struct engine *engine,
                        const struct box_spec *spec, const struct body *body)
{
    container->is_offline = docker_is_offline(engine, spec);
    container->network_mode = spec->has_network ? BRIDGE : "none";
    container->ports = spec->has_network ? body->ports : NULL;
    container->cap_add = spec->net ? added_rules : added;
    if (spec->net && !container->is_offline) {
        container->name_servers = name_servers;
        container->name_search = nowhere;
    }
}

static void add_parts(struct container_spec *container, const struct engine *engine,
                      const struct box_spec *spec, const struct docker_parts *parts,
                      const struct body *body)
{
    container->image = spec->image_id ? spec->image_id : spec->image;
    container->platform = spec->engine->platform;
    container->runtime = spec->engine->runtime;
    container->entrypoint = body->entrypoint;
    container->labels = body->marks.labels;
    container->security_opts = parts->profile.options;
    container->tmpfs = body->tmpfs;
    container->mounts = body->mounts;
    container->ulimits = engine_is_podman(engine) ? ulimits_podman : ulimits;
}

int docker_create(struct engine *engine, const struct box_spec *spec,
                  const struct docker_parts *parts, const struct docker_layers *layers,
                  const struct docker_places *places, char *ret_id, wall_set *ret_missing,
                  struct gb_err *err)
{
    struct container_spec container = template;
    char warnings[CONTAINER_WARNINGS_SIZE] = "";
    struct body body = { 0 };
    size_t n_mounts;
    int r = fill_body(&body, spec, parts, places, err);

    if (r < 0)
        return r;
    n_mounts = fill_mounts(body.mounts, spec, parts, layers, places);
    if (docker_is_offline(engine, spec))
        add_etc(body.mounts + n_mounts, spec, &parts->glove, body.etc);
    add_parts(&container, engine, spec, parts, &body);
    add_limits(&container, &spec->limits);
    add_network(&container, engine, spec, &body);
    r = container_create(engine, &container, ret_id, warnings, err);
    *ret_missing = docker_missing_of(warnings);
    return r;
}
