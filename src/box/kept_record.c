/* SPDX-License-Identifier: Apache-2.0 */
/* box/kept_record.c - what is written down of a kept box. */
#include "box/kept_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "box/kept.h"
#include "box/walls.h"
#include "json/bind.h"
#include "json/writer.h"

/* As in the file. */
struct record {
    char *id;
    char *user;
    char *image;
    char *workdir;
    char *backend;
    char *walls;
    char *net;
    char *seccomp;
    char *groups;
    char *accounting;
    char *path;
    char *python_path;
    char *variables;
    char *net_rules;
    char *net_denied;
    char *ports;
    uint64_t net_connections;
    uint64_t net_bytes;
    uint64_t net_names;
    uint64_t created_ms;
    uint64_t ttl_ms;
    uint64_t landlock;
    struct limits limits;
};

#define AT(field)    offsetof(struct record, field)
#define LIMIT(field) offsetof(struct record, limits.field), BIND_REQUIRED
static const struct bind_field fields[] = {
    { "id", BIND_STR, AT(id), BIND_REQUIRED },
    { "user", BIND_STR, AT(user) },
    { "image", BIND_STR, AT(image), BIND_REQUIRED },
    { "workdir", BIND_STR, AT(workdir), BIND_REQUIRED },
    { "backend", BIND_STR, AT(backend), BIND_REQUIRED },
    { "walls", BIND_STR, AT(walls), BIND_REQUIRED },
    { "net", BIND_STR, AT(net), BIND_REQUIRED },
    { "seccomp", BIND_STR, AT(seccomp), BIND_REQUIRED },
    { "groups", BIND_STR, AT(groups) },
    { "accounting", BIND_STR, AT(accounting), BIND_REQUIRED },
    { "path", BIND_STR, AT(path), BIND_REQUIRED },
    { "python_path", BIND_STR, AT(python_path) },
    { "variables", BIND_STR, AT(variables) },
    { "net_rules", BIND_STR, AT(net_rules) },
    { "net_denied", BIND_STR, AT(net_denied) },
    { "ports", BIND_STR, AT(ports) },
    { "net_connections", BIND_U64, AT(net_connections) },
    { "net_bytes", BIND_U64, AT(net_bytes) },
    { "net_names", BIND_U64, AT(net_names) },
    { "created_ms", BIND_U64, AT(created_ms), BIND_REQUIRED },
    { "ttl_ms", BIND_U64, AT(ttl_ms), BIND_REQUIRED },
    { "landlock", BIND_U64, AT(landlock), BIND_REQUIRED },
    { "wall_ms", BIND_U64, LIMIT(wall_ms) },
    { "cpu_ms", BIND_U64, LIMIT(cpu_ms) },
    { "memory_bytes", BIND_U64, LIMIT(memory_bytes) },
    { "cpu_milli", BIND_U64, LIMIT(cpu_milli) },
    { "pids", BIND_U64, LIMIT(pids) },
    { "disk_bytes", BIND_U64, LIMIT(disk_bytes) },
    { "inodes", BIND_U64, LIMIT(inodes) },
    { "output_keep", BIND_U64, LIMIT(output_keep) },
    { "output_max", BIND_U64, LIMIT(output_max) },
    { 0 },
};
static const struct bind bind = { .fields = fields, .text_max = KEPT_RECORD_MAX };

static struct record record_of(const struct kept *kept, char *id, char *walls)
{
    const struct receipt *receipt = &kept->box.receipt;

    return (struct record){
        .id = id,
        .user = kept->user,
        .image = kept->image,
        .workdir = kept->workdir,
        .walls = walls,
        .net_rules = kept->net_rules,
        .net_denied = kept->net_denied,
        .ports = kept->ports,
        .net_connections = kept->net_caps.connections,
        .net_bytes = kept->net_caps.bytes,
        .net_names = kept->net_caps.names,
        .created_ms = kept->created_ms,
        .ttl_ms = kept->ttl_ms,
        .landlock = receipt->landlock,
        .limits = receipt->limits,
    };
}

/* The table once more, the other way. */
static void put_fields(struct json_writer *w, const struct record *record)
{
    for (const struct bind_field *field = fields; field->name; field++) {
        const char *at = (const char *)record + field->offset;

        if (field->type == BIND_U64)
            json_put_u64(w, field->name, *(const uint64_t *)(const void *)at);
        else if (*(char *const *)(const void *)at)
            json_put_str(w, field->name, *(char *const *)(const void *)at);
    }
}

int kept_record_write(const struct kept *kept, struct buf *ret)
{
    const struct receipt *receipt = &kept->box.receipt;
    char walls[WALLS_TEXT_MAX];
    char id[ID_SIZE];
    struct record record;
    struct json_writer w;

    memcpy(id, kept->id, ID_SIZE);
    (void)walls_text(receipt->walls, walls);
    record = record_of(kept, id, walls);
    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    put_fields(&w, &record);
    json_put_str(&w, "backend", receipt->backend);
    json_put_str(&w, "net", receipt->net);
    json_put_str(&w, "seccomp", receipt->seccomp);
    if (receipt->groups)
        json_put_str(&w, "groups", receipt->groups);
    json_put_str(&w, "accounting", receipt->accounting);
    json_put_str(&w, "path", kept->box.path);
    if (kept->box.python_path)
        json_put_str(&w, "python_path", kept->box.python_path);
    if (kept->box.variables)
        json_put_str(&w, "variables", kept->box.variables);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* The words of receipts, which outlive every record. */
static const char *word_of(const char *text)
{
    static const char *const words[] = { "none",    "bridge", "host", "transparent", "proxy",
                                         "default", "v1",     "v2",   "run",         "box" };

    for (size_t i = 0; i < N_ELEMENTS(words); i++)
        if (strcmp(words[i], text) == 0)
            return words[i];
    return NULL;
}

static int read_receipt(const struct record *record, struct receipt *ret, struct gb_err *err)
{
    const struct box_ops *ops = box_backend(record->backend, err);
    int r = ops ? walls_parse(record->walls, &ret->walls, err) : -EINVAL;

    if (r == 0)
        r = limits_check(&record->limits, err);
    if (r < 0)
        return r;
    ret->backend = ops->name;
    ret->net = word_of(record->net);
    ret->seccomp = word_of(record->seccomp);
    ret->groups = record->groups ? word_of(record->groups) : NULL;
    ret->accounting = word_of(record->accounting);
    ret->landlock = (unsigned)record->landlock;
    ret->limits = record->limits;
    if (!ret->net || !ret->seccomp || !ret->accounting || (record->groups && !ret->groups))
        return gb_fail(err, -EINVAL, GB_BLAME_HOST, "a word that no receipt has");
    return 0;
}

int kept_record_read(const char *text, size_t len, struct kept *ret, struct gb_err *err)
{
    struct record record = { 0 };
    struct receipt receipt = { 0 };
    int r = bind_text(&bind, text, len, &record, err);

    if (r == 0)
        r = read_receipt(&record, &receipt, err);
    if (r == 0) {
        *ret = (struct kept){
            .user = take_ptr(record.user),
            .image = take_ptr(record.image),
            .workdir = take_ptr(record.workdir),
            .path = take_ptr(record.path),
            .python_path = take_ptr(record.python_path),
            .variables = take_ptr(record.variables),
            .net_rules = take_ptr(record.net_rules),
            .net_denied = take_ptr(record.net_denied),
            .net_caps = { record.net_connections, record.net_bytes, record.net_names, NULL },
            .ports = take_ptr(record.ports),
            .created_ms = record.created_ms,
            .ttl_ms = record.ttl_ms,
            .box.receipt = receipt,
        };
        ret->net_caps.denied = ret->net_denied;
        ret->box.path = ret->path;
        ret->box.python_path = ret->python_path;
        ret->box.variables = ret->variables;
    }
    bind_clear(&bind, &record);
    return r < 0 ? gb_wrap(err, r, "what was written down of a box") : 0;
}

void kept_clear(struct kept *kept)
{
    free(kept->user);
    free(kept->image);
    free(kept->workdir);
    free(kept->path);
    free(kept->python_path);
    free(kept->variables);
    free(kept->net_rules);
    free(kept->net_denied);
    free(kept->ports);
    *kept = (struct kept){ 0 };
}
