/* SPDX-License-Identifier: Apache-2.0 */
/* run/packages.c - what was done about the packages that a run wanted. */
#include "run/packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"

#define SHA256 "sha256:"

static void package_clear(struct run_package *package)
{
    free(package->name);
    free(package->version);
    free(package->hash);
}

int run_packages_add(struct run_packages *packages, const char *kind, const char *name,
                     const char *version, const char *hash)
{
    struct run_package package = {
        .name = strdup(name),
        .version = strdup(version),
        .hash = hash ? strdup(hash) : NULL,
        .kind = kind,
    };
    struct run_package *grown =
        reallocarray(packages->items, packages->n + 1, sizeof(*packages->items));

    if (grown)
        packages->items = grown;
    if (!grown || !package.name || !package.version || (hash && !package.hash)) {
        package_clear(&package);
        return -ENOMEM;
    }
    grown[packages->n++] = package;
    return 0;
}

void run_packages_free(struct run_packages *packages)
{
    if (!packages)
        return;
    for (size_t i = 0; i < packages->n; i++)
        package_clear(&packages->items[i]);
    free(packages->items);
    free(packages->log);
    free(packages);
}

/* pip's archives are known by their SHA-256, npm's by the registry's own "integrity". */
static void put_package(const struct run_package *package, struct json_writer *w)
{
    bool is_sha256 = package->hash && strncmp(package->hash, SHA256, strlen(SHA256)) == 0;

    json_object_begin(w, NULL);
    json_put_str(w, "name", package->name);
    json_put_str(w, "version", package->version);
    json_put_str(w, "kind", package->kind);
    json_put_str(w, "sha256", is_sha256 ? package->hash + strlen(SHA256) : NULL);
    if (package->hash && !is_sha256)
        json_put_str(w, "integrity", package->hash);
    json_object_end(w);
}

void run_packages_json(const struct run_packages *packages, struct json_writer *w)
{
    if (!packages)
        return;
    json_array_begin(w, "packages");
    for (size_t i = 0; i < packages->n; i++)
        put_package(&packages->items[i], w);
    json_array_end(w);
    json_object_begin(w, "install");
    json_put_bool(w, "cached", packages->is_cached);
    json_put_u64(w, "ms", packages->install_ms);
    json_put_str(w, "failure", packages->failure);
    if (packages->log)
        json_put_str(w, "log", packages->log);
    json_object_end(w);
}
