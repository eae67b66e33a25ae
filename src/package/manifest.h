/* SPDX-License-Identifier: Apache-2.0 */
/* package/manifest.h - what a layer holds: written beside it when it is made, read when it is used.
 *
 * The owner starts it as `= { 0 }` and owes a manifest_clear().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "package/set.h"

struct buf;
struct gb_err;

#define MANIFEST_KEY_SIZE 65 /* a SHA-256 in hex, NUL */
#define MANIFEST_TEXT_MAX (4u << 20)

struct package_done {
    char *name;
    char *version;
    char *hash; /* of the archive it came in: "sha256:…" or "sha512-…"; NULL: not known */
};

struct manifest {
    char key[MANIFEST_KEY_SIZE];
    enum package_kind kind;
    char *basis;         /* the text whose digest the key is */
    uint64_t created_s;  /* seconds since 1970 */
    uint64_t install_ms; /* how long that took */
    uint64_t files;
    uint64_t bytes;
    struct package_done *done; /* what was fetched, dependencies too */
    size_t n_done;
};

void manifest_clear(struct manifest *manifest);

/* Adds a copy; -ENOMEM, or -E2BIG. */
#define MANIFEST_DONE_MAX 5000
int manifest_add(struct manifest *manifest, const char *name, const char *version,
                 const char *hash);

int manifest_write(const struct manifest *manifest, struct buf *ret);

/* Fails on anything that manifest_write() does not write. */
int manifest_read(const char *text, size_t len, struct manifest *ret, struct gb_err *err);

/* What an installer reported it has installed, into `ret`: pip's --report, or npm's
 * package-lock.json.  From a box: hostile. */
int manifest_take_report(enum package_kind kind, const char *text, size_t len, struct manifest *ret,
                         struct gb_err *err);
