/* SPDX-License-Identifier: Apache-2.0 */
/* run/packages.h - what was done about the packages that a run wanted, for its result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer;

/* A package that was installed for the run, or found in the cache. */
struct run_package {
    char *name; /* owned, as all texts but kind */
    char *version;
    char *hash;       /* "sha256:…", "sha512-…"; NULL: not known */
    const char *kind; /* "python", "node" */
};

struct run_packages {
    struct run_package *items;
    size_t n;
    bool is_cached; /* nothing had to be installed */
    uint64_t install_ms;
    const char *failure; /* "no_such_package", …; borrowed; NULL */
    char *log;           /* the end of the installer's output, where it failed; NULL */
};

/* Adds one with copies of its texts; -ENOMEM. */
int run_packages_add(struct run_packages *packages, const char *kind, const char *name,
                     const char *version, const char *hash);

/* Frees it with all it owns; NULL is fine. */
void run_packages_free(struct run_packages *packages);

/* The members "packages" and "install" of a result; nothing for NULL. */
void run_packages_json(const struct run_packages *packages, struct json_writer *w);
