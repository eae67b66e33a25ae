/* SPDX-License-Identifier: Apache-2.0 */
/* tool/runtime.c - create_runtime_env and cleanup_env. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"
#include "json/writer.h"
#include "run/environment.h"
#include "run/packages.h"
#include "tool/dependencies.h"
#include "tool/environment.h"
#include "tool/image_cmd.h"
#include "tool/ports.h"
#include "tool/tool.h"

#define ENV_MAX       500
#define ENV_BYTES_MAX (24 << 10) /* of what a run takes, its own and the packages' aside */
#define MEMORY_BYTES  (UINT64_C(512) << 20)
#define CPU_MILLI     500
#define TTL_S         86400
#define TTL_MAX_S     4233600  /* 49 days */
#define RUN_MAX_MS    86400000 /* the longest that a run may take */

/* ---- create_runtime_env --------------------------------------------------------------------- */

struct create_args {
    char *image;
    char **dependencies;
    char **env_vars;
    bool network;
    char **port_bindings;
    bool use_image_cmd;
    char *memory;
    double cpus;
    uint64_t pids;
    char *disk;
    uint64_t ttl_sec;
};

#define AT(field) offsetof(struct create_args, field)
static const struct bind_field create_fields[] = {
    { "image", BIND_STR, AT(image),
      .help = "Image; default: the configured one, or " BOX_IMAGE_DOCKER " in a container." },
    { "dependencies", BIND_STRS, AT(dependencies),
      .help = "Packages to install first, such as numpy>=1.26; of npm's: npm:left-pad, chalk@^4. "
              "They need no network: true." },
    { "env_vars", BIND_PAIRS, AT(env_vars), .help = "Variables of every run." },
    { "network", BIND_BOOL, AT(network), .help = "Network in the environment; default false." },
    { "port_bindings", BIND_PAIRS, AT(port_bindings),
      .help = "Port in the environment to port of the host, on 127.0.0.1." },
    { "use_image_cmd", BIND_BOOL, AT(use_image_cmd),
      .help = "Start the image's own command; default false." },
    { "memory", BIND_STR, AT(memory), .help = "Such as 256m; default 512m." },
    { "cpus", BIND_DOUBLE, AT(cpus), .min = 0, .max = 1024, .help = "CPUs; default 0.5." },
    { "pids", BIND_U64, AT(pids), .min = 1, .max = 32768,
      .help = "Processes and threads; default: the configured limit." },
    { "disk", BIND_STR, AT(disk), .help = "Such as 1g; default: the configured limit." },
    { "ttl_sec", BIND_U64, AT(ttl_sec), .min = 1, .max = TTL_MAX_S,
      .help = "Seconds after which it ends by itself; default 86400." },
    { 0 },
};
static const struct bind create_bind = TOOL_BIND(create_fields);

/* With more no run of the environment could ever begin. */
static int check_variables(const struct create_args *args, struct gb_err *err)
{
    size_t bytes = 0;
    size_t n = 0;

    for (char **at = args->env_vars; at && at[0]; at += 2, n++) {
        if (!run_env_is_name(at[0]))
            return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                           "env_vars: '%.100s' is no name of a variable", at[0]);
        bytes += strlen(at[0]) + strlen(at[1]) + 8;
    }
    if (n > ENV_MAX || bytes > ENV_BYTES_MAX)
        return gb_fail(err, -E2BIG, GB_BLAME_CALLER,
                       "env_vars: too long: %d variables and %d KiB are allowed" GB_REMEDY
                       "put more into a file of the workspace",
                       ENV_MAX, ENV_BYTES_MAX >> 10);
    return 0;
}

/* An engine has its own bridge, and binds ports to it; else both go through the link. */
static bool uses_bridge(const struct create_args *args, const struct box_ops *ops)
{
    return args->network && ops->has_bridge;
}

/* What a backend does not do is refused; to leave it out silently would be a lie. */
static int check_possible(const struct create_args *args, const struct box_ops *ops,
                          const struct port_bindings *ports, struct gb_err *err)
{
    const char *what = args->network && !ops->has_bridge && !ops->carries ? "network"
                       : args->use_image_cmd && ops->shows_host           ? "use_image_cmd"
                                                                          : NULL;

    if (what)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "%s: environments of backend '%s' do not have that" GB_REMEDY
                       "GLOVEBOX_BACKEND=docker has it",
                       what, ops->name);
    if (ports->has_udp && !uses_bridge(args, ops))
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "port_bindings: ports of UDP need the network of an engine" GB_REMEDY
                       "leave '/udp' out, or use GLOVEBOX_BACKEND=docker with network: true");
    if (!ops->keep && !ops->is_held)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER, "boxes of backend '%s' cannot live on",
                       ops->name);
    return 0;
}

/* What the request says, else the operator's, else the tools' own. */
static int choose_image(const struct create_args *args, const struct box_ops *ops,
                        struct box_spec *box, struct gb_err *err)
{
    if (args->image && !args->image[strspn(args->image, " \t\r\n")])
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "image name is required");
    if (args->image)
        box->image = args->image;
    else if (!ops->shows_host && strcmp(box->image, BOX_IMAGE_HOST) == 0)
        box->image = BOX_IMAGE_DOCKER;
    if (ops->shows_host == (strcmp(box->image, BOX_IMAGE_HOST) == 0))
        return 0;
    if (ops->shows_host)
        return gb_fail(err, -ENOTSUP, GB_BLAME_CALLER,
                       "image '%.100s': backend '%s' has only the image '" BOX_IMAGE_HOST
                       "', this machine's own programs" GB_REMEDY "say \"image\": \"" BOX_IMAGE_HOST
                       "\"",
                       box->image, ops->name);
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                   "image '" BOX_IMAGE_HOST
                   "': backend '%s' has images of its engine only" GB_REMEDY
                   "name one, such as \"" BOX_IMAGE_DOCKER "\"",
                   ops->name);
}

static int size_of(const char *key, const char *text, uint64_t *ret, struct gb_err *err)
{
    if (!text || num_parse_size(text, ret) == 0)
        return 0;
    return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "%s: '%.40s' is no size, such as 256m", key,
                   text);
}

/* What is asked for, else the tools' own, and never more than the operator's. */
static int limits_of(const struct create_args *args, const struct limits *most, struct limits *ret,
                     struct gb_err *err)
{
    struct limits said = {
        .memory_bytes = MEMORY_BYTES,
        .cpu_milli = CPU_MILLI,
        .pids = args->pids,
    };
    int r = size_of("memory", args->memory, &said.memory_bytes, err);

    if (r == 0)
        r = size_of("disk", args->disk, &said.disk_bytes, err);
    if (r < 0)
        return r;
    if (args->cpus > 0)
        said.cpu_milli = (uint64_t)(args->cpus * 1000 + 0.5);
    *ret = limits_min(limits_or(said, *most), *most);
    return limits_check(ret, err);
}

/* The engine's own network asks nobody before it dials. */
static int check_denied(const struct tool_host *host, const struct create_args *args,
                        const struct box_spec *box, struct gb_err *err)
{
    if (!host->net_caps.denied || !uses_bridge(args, box_backend(box->backend, NULL)))
        return 0;
    return gb_fail(err, -EACCES, GB_BLAME_CALLER,
                   "network: the engine's own network cannot keep what net.deny says");
}

/* Which of the two ways it is. */
static void choose_network(const struct create_args *args, struct port_bindings *ports,
                           struct box_spec *box, struct environment_spec *spec)
{
    if (uses_bridge(args, box_backend(box->backend, NULL))) {
        box->has_network = true;
        box->ports = ports->engine;
        return;
    }
    spec->net_rules = args->network ? "full" : NULL;
    spec->ports = ports->link;
    spec->n_ports = ports->n;
}

static int check(const struct create_args *args, struct box_spec *box,
                 struct port_bindings **ret_ports, struct dependencies *ret_dependencies,
                 struct gb_err *err)
{
    const struct box_ops *ops = box_backend(box->backend, err);
    int r = ops ? dependencies_read(args->dependencies, ops, ret_dependencies, err) : -EINVAL;

    if (r == 0)
        r = check_variables(args, err);
    if (r == 0)
        r = port_bindings_parse(args->port_bindings, ret_ports, err);
    if (r == 0)
        r = check_possible(args, ops, *ret_ports, err);
    return r ? r : choose_image(args, ops, box, err);
}

/* The remedy of an engine that lacks the image is a tool here. */
static int tell_absent(int code, const char *image, struct gb_err *err)
{
    char remedy[160];

    if (code != -ENOENT || !err || strcmp(image, BOX_IMAGE_HOST) == 0)
        return code;
    (void)snprintf(remedy, sizeof(remedy), "fetch it first: pull_image {\"image\": \"%.100s\"}",
                   image);
    err->msg[gb_err_len(err)] = '\0';
    gb_add_remedy(err, remedy);
    return code;
}

static int make(struct tool_call *call, const struct environment_spec *spec, bool uses_image_cmd,
                struct environment *ret, struct gb_err *err)
{
    cleanup_image_cmd struct image_cmd cmd = { 0 };
    uint64_t wall_ms = spec->ttl_ms < RUN_MAX_MS ? spec->ttl_ms : RUN_MAX_MS;
    struct gb_err ignored = { 0 };
    int r = 0;

    if (uses_image_cmd)
        r = image_cmd_find(call, spec->box->image, &cmd, err);
    if (r == 0)
        r = environment_make(call->host, spec, ret, err);
    if (r < 0)
        return tell_absent(r, spec->box->image, err);
    if (uses_image_cmd)
        r = image_cmd_start(call->host, ret, &cmd, wall_ms, err);
    if (r < 0)
        (void)environment_remove(call->host, ret, true, &ignored);
    return r;
}

/* The environment with its packages; the answer tells what was installed, also where that failed.
 */
static int make_with(struct tool_call *call, const struct create_args *args,
                     struct dependencies *dependencies, struct environment_spec *spec,
                     struct box_spec *box, struct environment *ret, struct gb_err *err)
{
    struct gb_err ignored = { 0 };
    int r = dependencies_open(call, dependencies, box, err);

    run_packages_json(dependencies->told, call->answer);
    if (r < 0) {
        if (!dependencies->told || !dependencies->told->failure)
            (void)tell_absent(r, box->image, err);
        tool_put_error(call->answer, err);
        return 1;
    }
    r = make(call, spec, args->use_image_cmd, ret, err);
    if (r < 0)
        return r;
    r = dependencies_give(call, dependencies, ret->kept.id, err);
    if (r < 0)
        (void)environment_remove(call->host, ret, true, &ignored);
    return r;
}

static int create(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct create_args *args = bound;
    struct box_spec box = *call->host->box;
    struct environment_spec spec = { .box = &box, .variables = args->env_vars };
    cleanup_free struct port_bindings *ports = NULL;
    cleanup_with(dependencies_clear) struct dependencies dependencies;
    cleanup_environment struct environment made = { 0 };
    int r;

    dependencies_init(&dependencies);
    spec.ttl_ms = (args->ttl_sec ? args->ttl_sec : TTL_S) * 1000;
    box.ttl_ms = spec.ttl_ms;
    box.shows_groups = true;
    r = check(args, &box, &ports, &dependencies, err);
    if (r == 0)
        r = check_denied(call->host, args, &box, err);
    if (r == 0)
        choose_network(args, ports, &box, &spec);
    if (r == 0)
        r = limits_of(args, &call->host->box->limits, &box.limits, err);
    if (r == 0)
        r = make_with(call, args, &dependencies, &spec, &box, &made, err);
    if (r != 0)
        return r;
    json_put_str(call->answer, "container_id", made.kept.id);
    json_put_str(call->answer, "workspace", made.workspace);
    return 0;
}

const struct tool tool_create_runtime_env = {
    .name = "create_runtime_env",
    .help = "Make an isolated environment that lives on, with a workspace directory on the host.",
    .makes_boxes = true,
    .size = sizeof(struct create_args),
    .bind = &create_bind,
    .undo = "cleanup_env",
    .run = create,
};

/* ---- cleanup_env ---------------------------------------------------------------------------- */

struct cleanup_args {
    char *container_id;
    bool delete_workspace;
};

static const struct bind_field cleanup_fields[] = {
    { "container_id", BIND_STR, offsetof(struct cleanup_args, container_id),
      .help = "The environment." },
    { "delete_workspace", BIND_BOOL, offsetof(struct cleanup_args, delete_workspace),
      .help = "Delete its workspace directory too, with all files; default false." },
    { 0 },
};
static const struct bind cleanup_bind = TOOL_BIND(cleanup_fields);
static const struct tool_need cleanup_needs[] = {
    { "container_id", "container_id is required" },
    { 0 },
};

static int cleanup(struct tool_call *call, void *bound, struct gb_err *err)
{
    const struct cleanup_args *args = bound;
    cleanup_environment struct environment found = { 0 };
    int r = environment_find(call->host, args->container_id, &found, err);

    return r < 0 ? r : environment_remove(call->host, &found, args->delete_workspace, err);
}

const struct tool tool_cleanup_env = {
    .name = "cleanup_env",
    .help = "End an environment and everything that runs in it.",
    .shape = TOOL_OK,
    .size = sizeof(struct cleanup_args),
    .bind = &cleanup_bind,
    .needs = cleanup_needs,
    .run = cleanup,
};
