/* SPDX-License-Identifier: Apache-2.0 */
/* package/manifest.c - what a layer holds. */
#include "package/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/value.h"
#include "json/writer.h"

#define SCHEMA    1
#define WORD_MAX  256
#define LOCK_ROOT "node_modules/"

void manifest_clear(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->n_done; i++) {
        free(manifest->done[i].name);
        free(manifest->done[i].version);
        free(manifest->done[i].hash);
    }
    free(manifest->done);
    free(manifest->basis);
    *manifest = (struct manifest){ 0 };
}

int manifest_add(struct manifest *manifest, const char *name, const char *version, const char *hash)
{
    struct package_done done = { .name = strdup(name),
                                 .version = strdup(version),
                                 .hash = hash ? strdup(hash) : NULL };
    struct package_done *grown = NULL;

    if (manifest->n_done < MANIFEST_DONE_MAX)
        grown = reallocarray(manifest->done, manifest->n_done + 1, sizeof(*grown));
    if (grown)
        manifest->done = grown;
    if (!grown || !done.name || !done.version || (hash && !done.hash)) {
        free(done.name);
        free(done.version);
        free(done.hash);
        return manifest->n_done < MANIFEST_DONE_MAX ? -ENOMEM : -E2BIG;
    }
    grown[manifest->n_done++] = done;
    return 0;
}

int manifest_write(const struct manifest *manifest, struct buf *ret)
{
    struct json_writer w;

    json_writer_init(&w, ret, true);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "schema", SCHEMA);
    json_put_str(&w, "key", manifest->key);
    json_put_str(&w, "kind", package_kind_name(manifest->kind));
    json_put_str(&w, "basis", manifest->basis);
    json_put_u64(&w, "created", manifest->created_s);
    json_put_u64(&w, "install_ms", manifest->install_ms);
    json_put_u64(&w, "files", manifest->files);
    json_put_u64(&w, "bytes", manifest->bytes);
    json_array_begin(&w, "packages");
    for (size_t i = 0; i < manifest->n_done; i++) {
        json_object_begin(&w, NULL);
        json_put_str(&w, "name", manifest->done[i].name);
        json_put_str(&w, "version", manifest->done[i].version);
        json_put_str(&w, "hash", manifest->done[i].hash);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    return json_writer_end(&w);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int damaged(const char *what, struct gb_err *err)
{
    return gb_fail(err, -EBADMSG, GB_BLAME_HOST, "its manifest is damaged: %s", what);
}

static bool take_kind(const struct json_value *root, enum package_kind *ret)
{
    const char *text = json_str(json_get(root, "kind"), NULL);

    for (enum package_kind kind = 0; text && kind < N_PACKAGE_KINDS; kind++) {
        if (strcmp(text, package_kind_name(kind)) == 0) {
            *ret = kind;
            return true;
        }
    }
    return false;
}

/* A word of somebody else's: short, and nothing in it that a terminal would obey. */
static const char *word_of(const struct json_value *value)
{
    size_t len = 0;
    const char *text = json_str(value, &len);

    if (!text || len == 0 || len > WORD_MAX || strlen(text) != len)
        return NULL;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] >= 127)
            return NULL;
    return text;
}

static int take_list(const struct json_value *list, struct manifest *ret, struct gb_err *err)
{
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json_value *entry = json_at(list, i);
        const char *name = word_of(json_get(entry, "name"));
        const char *version = word_of(json_get(entry, "version"));
        const char *hash = word_of(json_get(entry, "hash"));

        if (!name || !version || manifest_add(ret, name, version, hash) < 0)
            return damaged("packages", err);
    }
    return 0;
}

static int take_fields(const struct json_value *root, struct manifest *ret, struct gb_err *err)
{
    const struct {
        const char *name;
        uint64_t *ret;
    } numbers[] = { { "created", &ret->created_s },
                    { "install_ms", &ret->install_ms },
                    { "files", &ret->files },
                    { "bytes", &ret->bytes } };
    const char *key = word_of(json_get(root, "key"));
    const char *basis = json_str(json_get(root, "basis"), NULL);
    uint64_t schema = 0;

    if (!json_u64(json_get(root, "schema"), &schema) || schema != SCHEMA)
        return damaged("schema", err);
    if (!key || strlen(key) != MANIFEST_KEY_SIZE - 1 || !take_kind(root, &ret->kind) || !basis)
        return damaged("key", err);
    for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
        if (!json_u64(json_get(root, numbers[i].name), numbers[i].ret))
            return damaged(numbers[i].name, err);
    (void)snprintf(ret->key, sizeof(ret->key), "%s", key);
    ret->basis = strdup(basis);
    return ret->basis ? take_list(json_get(root, "packages"), ret, err) : damaged("memory", err);
}

int manifest_read(const char *text, size_t len, struct manifest *ret, struct gb_err *err)
{
    cleanup_json struct json_value *root = NULL;
    struct manifest read = { 0 };
    int r = json_value_parse(text, len, MANIFEST_TEXT_MAX, &root, err);

    if (r < 0)
        return damaged("it is no JSON", err);
    r = take_fields(root, &read, err);
    if (r < 0)
        manifest_clear(&read);
    else
        *ret = read;
    return r;
}

/* ---- reports of installers ------------------------------------------------------------------ */

static int unusable(struct gb_err *err)
{
    return gb_fail(err, -EPROTO, GB_BLAME_PEER, "the installer's report makes no sense");
}

/* pip's own form is "sha256=…" in one place and an object in another. */
static const char *pip_hash(const struct json_value *info, char ret[static WORD_MAX])
{
    const char *hash = word_of(json_path(info, "archive_info/hashes/sha256"));
    const char *old = word_of(json_path(info, "archive_info/hash"));

    if (!hash && old && strncmp(old, "sha256=", 7) == 0)
        hash = old + 7;
    if (!hash || strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64)
        return NULL;
    (void)snprintf(ret, WORD_MAX, "sha256:%s", hash);
    return ret;
}

static int take_pip(const struct json_value *root, struct manifest *ret, struct gb_err *err)
{
    const struct json_value *list = json_get(root, "install");

    if (json_kind(list) != JSON_ARRAY)
        return unusable(err);
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json_value *entry = json_at(list, i);
        const char *name = word_of(json_path(entry, "metadata/name"));
        const char *version = word_of(json_path(entry, "metadata/version"));
        char hash[WORD_MAX];

        if (!name || !version)
            return unusable(err);
        if (manifest_add(ret, name, version, pip_hash(json_get(entry, "download_info"), hash)) < 0)
            return unusable(err);
    }
    return 0;
}

/* "node_modules/a/node_modules/@scope/b": the last package on the way. */
static const char *npm_name(const char *path)
{
    const char *name = NULL;

    for (const char *at = strstr(path, LOCK_ROOT); at; at = strstr(at + 1, LOCK_ROOT))
        name = at + strlen(LOCK_ROOT);
    return name && *name ? name : NULL;
}

static int take_npm(const struct json_value *root, struct manifest *ret, struct gb_err *err)
{
    const struct json_value *list = json_get(root, "packages");

    if (json_kind(list) != JSON_OBJECT)
        return unusable(err);
    for (size_t i = 0; i < json_count(list); i++) {
        const char *path = NULL;
        const struct json_value *entry = json_member(list, i, &path);
        const char *name = npm_name(path);
        const char *version = word_of(json_get(entry, "version"));

        if (!name)
            continue;
        if (!version || strlen(name) > WORD_MAX ||
            manifest_add(ret, name, version, word_of(json_get(entry, "integrity"))) < 0)
            return unusable(err);
    }
    return 0;
}

int manifest_take_report(enum package_kind kind, const char *text, size_t len, struct manifest *ret,
                         struct gb_err *err)
{
    cleanup_json struct json_value *root = NULL;
    int r = json_value_parse(text, len, (size_t)MANIFEST_TEXT_MAX * 4, &root, err);

    if (r < 0)
        return unusable(err);
    return kind == PACKAGE_PYTHON ? take_pip(root, ret, err) : take_npm(root, ret, err);
}
