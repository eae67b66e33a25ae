/* SPDX-License-Identifier: Apache-2.0 */
/* engine/container_body.c - the JSON that asks for a container. */
#include "engine/container_body.h"

#include "engine/container.h"
#include "json/writer.h"

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_put_str(w, key, text);
}

static void put_number(struct json_writer *w, const char *key, uint64_t value)
{
    if (value > 0)
        json_put_u64(w, key, value);
}

static void put_texts(struct json_writer *w, const char *key, const char *const *texts)
{
    if (!texts)
        return;
    json_array_begin(w, key);
    for (; *texts; texts++)
        json_put_str(w, NULL, *texts);
    json_array_end(w);
}

static void put_pairs(struct json_writer *w, const char *key, const char *const *pairs)
{
    if (!pairs)
        return;
    json_object_begin(w, key);
    for (; pairs[0] && pairs[1]; pairs += 2)
        json_put_str(w, pairs[0], pairs[1]);
    json_object_end(w);
}

static void put_mounts(struct json_writer *w, const struct container_mount *mount)
{
    if (!mount)
        return;
    json_array_begin(w, "Mounts");
    for (; mount->type; mount++) {
        json_object_begin(w, NULL);
        json_put_str(w, "Type", mount->type);
        put_text(w, "Source", mount->source);
        put_text(w, "Target", mount->target);
        json_put_bool(w, "ReadOnly", mount->is_read_only);
        if (mount->is_no_copy || mount->part) {
            json_object_begin(w, "VolumeOptions");
            json_put_bool(w, "NoCopy", mount->is_no_copy);
            put_text(w, "Subpath", mount->part);
            json_object_end(w);
        }
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_ulimits(struct json_writer *w, const struct container_ulimit *limit)
{
    if (!limit)
        return;
    json_array_begin(w, "Ulimits");
    for (; limit->name; limit++) {
        json_object_begin(w, NULL);
        json_put_str(w, "Name", limit->name);
        json_put_u64(w, "Soft", limit->soft);
        json_put_u64(w, "Hard", limit->hard);
        json_object_end(w);
    }
    json_array_end(w);
}

static void put_ports(struct json_writer *w, const struct container_port *port)
{
    if (!port)
        return;
    json_object_begin(w, "PortBindings");
    for (; port->port; port++) {
        json_array_begin(w, port->port);
        json_object_begin(w, NULL);
        put_text(w, "HostIp", port->host_ip);
        put_text(w, "HostPort", port->host_port);
        json_object_end(w);
        json_array_end(w);
    }
    json_object_end(w);
}

static void put_exposed(struct json_writer *w, const struct container_port *port)
{
    if (!port)
        return;
    json_object_begin(w, "ExposedPorts");
    for (; port->port; port++) {
        json_object_begin(w, port->port);
        json_object_end(w);
    }
    json_object_end(w);
}

static void put_unchecked(struct json_writer *w)
{
    static const char *const none[] = { "NONE", NULL };

    json_object_begin(w, "Healthcheck");
    put_texts(w, "Test", none);
    json_object_end(w);
}

static void put_wrapped(struct json_writer *w, const char *key, const char *inner, const char *text)
{
    if (!text)
        return;
    json_object_begin(w, key);
    json_put_str(w, inner, text);
    json_object_end(w);
}

static void put_host(struct json_writer *w, const struct container_spec *spec)
{
    json_object_begin(w, "HostConfig");
    put_text(w, "NetworkMode", spec->network_mode);
    put_texts(w, "Dns", spec->name_servers);
    put_texts(w, "DnsSearch", spec->name_search);
    put_text(w, "Runtime", spec->runtime);
    put_text(w, "IpcMode", spec->ipc_mode);
    put_text(w, "CgroupnsMode", spec->cgroupns_mode);
    put_wrapped(w, "LogConfig", "Type", spec->log_driver);
    put_number(w, "Memory", spec->memory_bytes);
    put_number(w, "MemorySwap", spec->memory_swap_bytes);
    put_number(w, "NanoCpus", spec->nano_cpus);
    put_number(w, "PidsLimit", spec->pids);
    put_number(w, "ShmSize", spec->shm_bytes);
    if (spec->oom_score_adj != 0)
        json_put_i64(w, "OomScoreAdj", spec->oom_score_adj);
    if (spec->is_first)
        json_put_bool(w, "Init", false);
    json_put_bool(w, "ReadonlyRootfs", spec->is_read_only);
    json_put_bool(w, "AutoRemove", spec->is_auto_removed);
    put_texts(w, "CapDrop", spec->cap_drop);
    put_texts(w, "CapAdd", spec->cap_add);
    put_texts(w, "SecurityOpt", spec->security_opts);
    put_texts(w, "MaskedPaths", spec->masked);
    put_pairs(w, "Tmpfs", spec->tmpfs);
    put_mounts(w, spec->mounts);
    put_ulimits(w, spec->ulimits);
    put_ports(w, spec->ports);
    json_object_end(w);
}

int container_body(const struct container_spec *spec, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, false);
    json_object_begin(&w, NULL);
    put_text(&w, "Image", spec->image);
    put_texts(&w, "Entrypoint", spec->entrypoint);
    put_texts(&w, "Cmd", spec->cmd);
    put_texts(&w, "Env", spec->env);
    put_pairs(&w, "Labels", spec->labels);
    put_text(&w, "WorkingDir", spec->workdir);
    put_text(&w, "User", spec->user);
    put_text(&w, "Hostname", spec->hostname);
    json_put_bool(&w, "Tty", spec->is_tty);
    json_put_bool(&w, "OpenStdin", spec->has_stdin);
    json_put_bool(&w, "StdinOnce", spec->has_stdin);
    json_put_bool(&w, "AttachStdin", spec->has_stdin);
    json_put_bool(&w, "AttachStdout", true);
    json_put_bool(&w, "AttachStderr", true);
    if (spec->is_offline)
        json_put_bool(&w, "NetworkDisabled", true);
    if (spec->is_unchecked)
        put_unchecked(&w);
    put_exposed(&w, spec->ports);
    put_host(&w, spec);
    json_object_end(&w);
    return json_writer_end(&w);
}
