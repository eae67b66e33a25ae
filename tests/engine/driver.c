/* SPDX-License-Identifier: Apache-2.0 */
/* engine/driver.c - the engine client from a command line, for tests/engine.
 *
 * usage: engine_driver [KEY=VALUE]... VERB [ARGUMENT]...
 *
 * Keys are struct endpoint_hints' fields, besides api, call_ms and total_ms.  What a verb finds is
 * one line of JSON on stdout; an error is one too, with its code's name, and exit status 1. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "engine/archive.h"
#include "engine/attach.h"
#include "engine/container.h"
#include "engine/endpoint.h"
#include "engine/engine.h"
#include "engine/images.h"
#include "engine/info.h"
#include "engine/stream.h"
#include "engine/volume.h"
#include "json/writer.h"

struct driver {
    struct endpoint_hints hints;
    const char *api;
    uint64_t call_ms;
    uint64_t total_ms;
    struct engine *engine;
    char **args;          /* of the verb; NULL-terminated */
    struct json_writer w; /* inside of an object */
    struct gb_err *err;
};

static const char *arg(const struct driver *d, int n)
{
    for (int i = 0; i <= n; i++)
        if (!d->args[i]) {
            (void)fprintf(stderr, "driver: an argument is missing\n");
            exit(2);
        }
    return d->args[n];
}

/* ---- files in and out ---- */

static ssize_t from_stdin(void *user, void *bytes, size_t size)
{
    ssize_t n = read(STDIN_FILENO, bytes, size);

    (void)user;
    return n < 0 ? -errno : n;
}

static int to_stdout(void *user, const char *bytes, size_t len)
{
    (void)user;
    return fd_write_full(STDOUT_FILENO, bytes, len);
}

/* ---- verbs ---- */

static int do_endpoint(struct driver *d)
{
    struct endpoint endpoint;
    int r = endpoint_find(&d->hints, &endpoint, d->err);

    if (r < 0)
        return r;
    json_put_str(&d->w, "socket", endpoint.socket);
    json_put_str(&d->w, "url", endpoint.url);
    json_put_str(&d->w, "ca_file", endpoint.ca_file);
    json_put_str(&d->w, "cert_file", endpoint.cert_file);
    json_put_str(&d->w, "key_file", endpoint.key_file);
    json_put_bool(&d->w, "is_unverified", endpoint.is_unverified);
    json_put_str(&d->w, "shown", endpoint.shown);
    return 0;
}

static int do_ping(struct driver *d)
{
    json_put_u64(&d->w, "api", engine_api(d->engine));
    json_put_bool(&d->w, "is_podman", engine_is_podman(d->engine));
    return 0;
}

static int do_create(struct driver *d)
{
    static const char *const labels[] = { "io.glovebox.test", "yes", "other", "a \"b\"", NULL };
    static const struct container_ulimit ulimits[] = { { "nofile", 512, 512 },
                                                       { "nproc", 512, 512 },
                                                       { 0 } };
    static const char *const all[] = { "ALL", NULL };
    static const char *const tmpfs[] = { "/scratch", "rw,nosuid,nodev,size=1m", NULL };
    const char *volume = getenv("DRIVER_VOLUME");
    const struct container_mount mounts[] = {
        { "volume", volume, "/volume", .is_no_copy = true },
        { 0 },
    };
    const struct container_spec spec = {
        .name = strcmp(arg(d, 0), "-") == 0 ? NULL : arg(d, 0),
        .image = arg(d, 1),
        .cmd = (const char *const *)d->args + 2,
        .labels = labels,
        .has_stdin = true,
        .is_tty = getenv("DRIVER_TTY"),
        .network_mode = "none",
        .log_driver = getenv("DRIVER_LOG"),
        .memory_bytes = 64 << 20,
        .memory_swap_bytes = 64 << 20,
        .pids = 32,
        .cap_drop = all,
        .tmpfs = tmpfs,
        .ulimits = ulimits,
        .mounts = volume ? mounts : NULL,
    };
    char id[CONTAINER_ID_SIZE];
    int r = container_create(d->engine, &spec, id, NULL, d->err);

    if (r == 0)
        json_put_str(&d->w, "id", id);
    return r;
}

static int do_start(struct driver *d)
{
    return container_start(d->engine, arg(d, 0), d->err);
}

static int do_kill(struct driver *d)
{
    return container_kill(d->engine, arg(d, 0), arg(d, 1), d->err);
}

static int do_remove(struct driver *d)
{
    return container_remove(d->engine, arg(d, 0), d->err);
}

static int do_inspect(struct driver *d)
{
    struct container_state state;
    int r = container_inspect(d->engine, arg(d, 0), &state, d->err);

    if (r < 0)
        return r;
    json_put_str(&d->w, "id", state.id);
    json_put_str(&d->w, "status", state.status);
    json_put_bool(&d->w, "is_running", state.is_running);
    json_put_bool(&d->w, "is_oom_killed", state.is_oom_killed);
    json_put_i64(&d->w, "exit_code", state.exit_code);
    json_put_i64(&d->w, "pid", state.pid);
    return 0;
}

static int do_list(struct driver *d)
{
    cleanup_container_list struct container_list list;
    int r = container_list(d->engine, (const char *const *)d->args, &list, d->err);

    if (r < 0)
        return r;
    json_array_begin(&d->w, "containers");
    for (size_t i = 0; i < list.n; i++) {
        json_object_begin(&d->w, NULL);
        json_put_str(&d->w, "id", list.items[i].id);
        json_put_str(&d->w, "state", list.items[i].state);
        json_put_str(&d->w, "image", list.items[i].image);
        json_put_str(&d->w, "other", container_label(&list.items[i], "other"));
        json_object_end(&d->w);
    }
    json_array_end(&d->w);
    return 0;
}

static int do_put(struct driver *d)
{
    return archive_put(d->engine, arg(d, 0), arg(d, 1), from_stdin, NULL, d->total_ms, d->err);
}

static int do_get(struct driver *d)
{
    return archive_get(d->engine, arg(d, 0), arg(d, 1), 256 << 20, to_stdout, NULL, d->total_ms,
                       d->err);
}

static int do_volume_create(struct driver *d)
{
    return volume_create(d->engine, arg(d, 0), (const char *const *)d->args + 1, d->err);
}

static int do_volume_labels(struct driver *d)
{
    cleanup_with(volume_labels_free) char **labels = NULL;
    int r = volume_labels(d->engine, arg(d, 0), &labels, d->err);

    for (char **pair = labels; r == 0 && pair[0]; pair += 2)
        json_put_str(&d->w, pair[0], pair[1]);
    return r;
}

static int do_volume_remove(struct driver *d)
{
    return volume_remove(d->engine, arg(d, 0), d->err);
}

static int do_info(struct driver *d)
{
    cleanup_engine_info struct engine_info info;
    int r = engine_info_get(d->engine, &info, d->err);

    if (r < 0)
        return r;
    json_put_str(&d->w, "version", info.version);
    json_put_str(&d->w, "os", info.os);
    json_put_str(&d->w, "cgroup_version", info.cgroup_version);
    json_put_bool(&d->w, "has_runc", engine_info_has_runtime(&info, "runc"));
    json_put_bool(&d->w, "has_nonesuch", engine_info_has_runtime(&info, "nonesuch"));
    return 0;
}

/* ---- images ---- */

static void put_texts(struct driver *d, const char *key, char **texts)
{
    json_array_begin(&d->w, key);
    for (; *texts; texts++)
        json_put_str(&d->w, NULL, *texts);
    json_array_end(&d->w);
}

static int do_images(struct driver *d)
{
    cleanup_images_list struct images_list list;
    int r = images_list(d->engine, (const char *const *)d->args, NULL, &list, d->err);

    if (r < 0)
        return r;
    json_array_begin(&d->w, "images");
    for (size_t i = 0; i < list.n; i++) {
        json_object_begin(&d->w, NULL);
        json_put_str(&d->w, "id", list.items[i].id);
        put_texts(d, "tags", list.items[i].tags);
        put_texts(d, "labels", list.items[i].labels);
        json_put_u64(&d->w, "bytes", list.items[i].bytes);
        json_object_end(&d->w);
    }
    json_array_end(&d->w);
    return 0;
}

static int do_image(struct driver *d)
{
    cleanup_images_config struct images_config config;
    int r = images_inspect(d->engine, arg(d, 0), &config, d->err);

    if (r < 0)
        return r;
    json_put_str(&d->w, "id", config.id);
    json_put_str(&d->w, "os", config.os);
    json_put_str(&d->w, "user", config.user);
    json_put_str(&d->w, "workdir", config.workdir);
    put_texts(d, "env", config.env);
    put_texts(d, "cmd", config.cmd);
    put_texts(d, "labels", config.labels);
    return 0;
}

static int do_image_remove(struct driver *d)
{
    cleanup_images_removed struct images_removed removed = { 0 };
    int r = images_remove(d->engine, arg(d, 0), d->args[1], &removed, d->err);

    if (r == 0) {
        json_put_u64(&d->w, "untagged", removed.untagged);
        json_put_u64(&d->w, "deleted", removed.deleted);
    }
    return r;
}

static int do_prune(struct driver *d)
{
    uint64_t reclaimed = 0;
    int r = images_prune_builds(d->engine, true, d->args[0], 0, &reclaimed, d->err);

    if (r == 0)
        json_put_u64(&d->w, "reclaimed", reclaimed);
    return r;
}

/* Into the array "events" of the answer. */
static int on_event(void *user, const struct stream_event *event)
{
    struct driver *d = user;

    json_object_begin(&d->w, NULL);
    json_put_str(&d->w, "status", event->status);
    json_put_str(&d->w, "id", event->id);
    json_put_bytes(&d->w, "text", event->text ? event->text : "", event->text_len);
    json_put_u64(&d->w, "current", event->current);
    json_object_end(&d->w);
    return getenv("DRIVER_CANCEL") ? -ECANCELED : 0;
}

static int do_pull(struct driver *d)
{
    const struct images_auth auth = { .username = getenv("DRIVER_USER"),
                                      .password = getenv("DRIVER_PASSWORD"),
                                      .server = getenv("DRIVER_SERVER") };
    const struct images_pull pull = {
        .name = arg(d, 0),
        .tag = arg(d, 1),
        .auth = auth.username ? &auth : NULL,
        .total_ms = d->total_ms,
    };
    const struct stream_sink sink = { on_event, d };
    int r;

    json_array_begin(&d->w, "events");
    r = images_pull(d->engine, &pull, &sink, d->err);
    json_array_end(&d->w);
    return r;
}

/* build TAG [DOCKERFILE]: the context is on stdin. */
static int do_build(struct driver *d)
{
    static const char *const build_args[] = { "WHO", "a \"b\" &c", NULL };
    const char *const tags[] = { arg(d, 0), NULL };
    const struct images_build build = {
        .tags = tags,
        .dockerfile = d->args[1],
        .build_args = build_args,
        .network_mode = "none",
        .total_ms = d->total_ms,
        .source = from_stdin,
    };
    const struct stream_sink sink = { on_event, d };
    char id[IMAGES_ID_SIZE];
    int r;

    json_array_begin(&d->w, "events");
    r = images_build(d->engine, &build, &sink, id, d->err);
    json_array_end(&d->w);
    json_put_str(&d->w, "image", id);
    return r;
}

/* ---- attach: stdin and stdout are the container's ---- */

struct feeding {
    int fd;
    int stop_fd; /* readable: enough */
};

static void *feed(void *user)
{
    const struct feeding *feeding = user;
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = feeding->stop_fd, .events = POLLIN } };
    char bytes[65536];
    ssize_t n = 1;

    while (n > 0 && poll(fds, N_ELEMENTS(fds), -1) > 0 && !fds[1].revents) {
        n = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (n > 0 && fd_write_full(feeding->fd, bytes, (size_t)n) < 0)
            break;
    }
    (void)shutdown(feeding->fd, SHUT_WR);
    return NULL;
}

/* attach ID: attaches, starts, joins. */
static int do_attach(struct driver *d)
{
    struct attach *attach = NULL;
    cleanup_close int fd = -1;
    char said[ATTACH_SAID_MAX];
    char bytes[65536];
    struct feeding feeding;
    pthread_t feeder;
    ssize_t n;
    int r = attach_open(d->engine, arg(d, 0), getenv("DRIVER_TTY"), NULL, &attach, &fd, d->err);

    if (r == 0)
        r = container_start(d->engine, arg(d, 0), d->err);
    if (r < 0) {
        attach_close(&attach);
        return r;
    }
    feeding = (struct feeding){ fd, eventfd(0, EFD_CLOEXEC) };
    (void)signal(SIGPIPE, SIG_IGN);
    if (pthread_create(&feeder, NULL, feed, &feeding) != 0)
        abort();
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        if (fd_write_full(STDOUT_FILENO, bytes, (size_t)n) < 0)
            break;
    (void)attach_said(attach, said, sizeof(said));
    r = attach_fault(attach);
    (void)fprintf(stderr, "said: %s\nfault: %d\n", said, r);
    (void)eventfd_write(feeding.stop_fd, 1);
    (void)pthread_join(feeder, NULL);
    attach_close(&attach);
    return r < 0 ? gb_fail(d->err, r, GB_BLAME_PEER, "the stream broke") : 0;
}

/* ---- the table ---- */

static const struct verb {
    const char *name;
    int (*run)(struct driver *d);
    bool is_silent; /* stdout is not for JSON */
    bool needs_no_engine;
} verbs[] = {
    { "endpoint", do_endpoint, .needs_no_engine = true },
    { "ping", do_ping },
    { "create", do_create },
    { "start", do_start },
    { "kill", do_kill },
    { "rm", do_remove },
    { "inspect", do_inspect },
    { "list", do_list },
    { "put", do_put },
    { "get", do_get, .is_silent = true },
    { "volume-create", do_volume_create },
    { "volume-labels", do_volume_labels },
    { "volume-rm", do_volume_remove },
    { "info", do_info },
    { "images", do_images },
    { "image", do_image },
    { "image-rm", do_image_remove },
    { "prune", do_prune },
    { "pull", do_pull },
    { "build", do_build },
    { "attach", do_attach, .is_silent = true },
    { 0 },
};

static const struct key {
    const char *name;
    size_t offset;
} keys[] = {
    { "host", offsetof(struct driver, hints.host) },
    { "docker_host", offsetof(struct driver, hints.docker_host) },
    { "context", offsetof(struct driver, hints.context) },
    { "config_dir", offsetof(struct driver, hints.config_dir) },
    { "tls_verify", offsetof(struct driver, hints.tls_verify) },
    { "cert_path", offsetof(struct driver, hints.cert_path) },
    { "home", offsetof(struct driver, hints.home) },
    { "runtime_dir", offsetof(struct driver, hints.runtime_dir) },
    { "run_dir", offsetof(struct driver, hints.run_dir) },
    { "api", offsetof(struct driver, api) },
    { 0 },
};

static bool take_key(struct driver *d, char *text)
{
    char *equals = strchr(text, '=');

    if (!equals)
        return false;
    if (strncmp(text, "call_ms=", 8) == 0)
        d->call_ms = strtoull(equals + 1, NULL, 10);
    if (strncmp(text, "total_ms=", 9) == 0)
        d->total_ms = strtoull(equals + 1, NULL, 10);
    for (const struct key *key = keys; key->name; key++)
        if (strlen(key->name) == (size_t)(equals - text) &&
            strncmp(text, key->name, (size_t)(equals - text)) == 0)
            *(const char **)((char *)d + key->offset) = equals + 1;
    return true;
}

static int open_engine(struct driver *d)
{
    struct endpoint endpoint;
    int r = endpoint_find(&d->hints, &endpoint, d->err);
    const struct engine_options options = {
        .endpoint = &endpoint, .api_version = d->api, .call_ms = d->call_ms, .cancel_fd = -1
    };

    return r < 0 ? r : engine_open(&options, &d->engine, d->err);
}

static int run(struct driver *d, const struct verb *verb)
{
    int r = verb->needs_no_engine ? 0 : open_engine(d);

    return r < 0 ? r : verb->run(d);
}

int main(int argc, char **argv)
{
    struct gb_err err = { 0 };
    struct driver d = { .err = &err };
    cleanup_buf struct buf text = BUF_INIT(64 << 20);
    const struct verb *verb = verbs;
    int i = 1;
    int r;

    while (i < argc && take_key(&d, argv[i]))
        i++;
    while (verb->name && (i == argc || strcmp(verb->name, argv[i]) != 0))
        verb++;
    if (!verb->name)
        return 2;
    d.args = argv + i + 1;
    json_writer_init(&d.w, &text, false);
    json_object_begin(&d.w, NULL);
    r = run(&d, verb);
    engine_free(&d.engine);
    if (r < 0) {
        json_put_str(&d.w, "error", strerrorname_np(-r));
        json_put_bool(&d.w, "is_consistent", err.code == r);
        json_put_u64(&d.w, "blame", err.blame);
        json_put_bytes(&d.w, "msg", err.msg, gb_err_len(&err));
        json_put_str(&d.w, "remedy", gb_err_remedy(&err));
    }
    json_object_end(&d.w);
    if (json_writer_end(&d.w) < 0)
        return 3;
    (void)fprintf(verb->is_silent ? stderr : stdout, "%s\n", text.data);
    return r < 0;
}
