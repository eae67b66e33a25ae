/* SPDX-License-Identifier: Apache-2.0 */
/* package/set.h - packages that a run wants, of one kind, sorted, none twice.
 *
 * Everything in a set has been understood (package/requirement.h, package/npm_name.h): it may be
 * given to an installer.  The owner starts it as `= { .kind = … }` and owes a package_set_clear().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct gb_err;

enum package_kind {
    PACKAGE_PYTHON,
    PACKAGE_NODE,
    N_PACKAGE_KINDS,
};

#define PACKAGES_MAX      500
#define PACKAGES_FILE_MAX (1u << 20)

struct package_wish {
    char *name;
    char *text; /* python: a line of a requirements file; node: the range */
};

struct package_set {
    enum package_kind kind;
    struct package_wish *items;
    size_t n;
};

void package_set_clear(struct package_set *set);

/* "python", "node". */
const char *package_kind_name(enum package_kind kind);

/* One as on a command line: NAME with versions.  Errors blame the caller, in one line. */
int package_set_add(struct package_set *set, const char *text, size_t len, struct gb_err *err);

/* What is wanted there and has no wish of its name here. */
int package_set_add_others(struct package_set *set, const struct package_set *others,
                           struct gb_err *err);

/* A file's text: of python a requirements file (comments, lines that go on, hashes; no options), of
 * node a package.json, of which `dependencies` count.  name is what errors call it. */
int package_set_read(struct package_set *set, const char *name, const char *text, size_t len,
                     struct gb_err *err);

/* "numpy, pandas", for people. */
void package_set_put_names(const struct package_set *set, struct buf *ret);

/* What an installer reads: a requirements file, or a package.json. */
int package_set_write(const struct package_set *set, struct buf *ret);
