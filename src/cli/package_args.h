/* SPDX-License-Identifier: Apache-2.0 */
/* cli/package_args.h - packages on a command line: what was said, what is wanted, what is there.
 *
 *    package_args_take()   reads names and files, before anything is started
 *    packages_open()       has the layers: from the cache, or by installing them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "box/box.h"
#include "cli/option.h"
#include "package/layer.h"
#include "package/set.h"

struct gb_err;
struct language;
struct run_packages;
struct settings;

/* As on the command line; lists are the caller's to free. */
struct package_args {
    struct text_list packages;
    struct text_list requirements;
    struct text_list npm;
    struct text_list package_json;
    bool is_auto;
};

/* Rows for a table of options. */
/* clang-format off */
#define PACKAGE_NAME_OPTIONS(type, field)                                                      \
    { OPT_LIST, "package", 0, offsetof(type, field.packages), "NAME",                          \
      "install a Python package first: 'numpy>=1.26'" },                                       \
    { OPT_LIST, "requirements", 0, offsetof(type, field.requirements), "FILE",                 \
      "install what a requirements file names" },                                              \
    { OPT_LIST, "npm", 0, offsetof(type, field.npm), "NAME[@RANGE]",                           \
      "install a package of npm's first" },                                                    \
    { OPT_LIST, "package-json", 0, offsetof(type, field.package_json), "FILE",                 \
      "install the dependencies of a package.json" }
#define PACKAGE_OPTIONS(type, field)                                                           \
    PACKAGE_NAME_OPTIONS(type, field),                                                         \
    { OPT_FLAG, "auto-packages", 0, offsetof(type, field.is_auto), NULL,                       \
      "install what the code imports and this machine lacks" }
/* clang-format on */

void package_args_free(struct package_args *args);

/* By kind; empty ones want nothing. */
struct package_wishes {
    struct package_set sets[N_PACKAGE_KINDS];
};

void package_wishes_init(struct package_wishes *wishes);
void package_wishes_clear(struct package_wishes *wishes);
bool package_wishes_are_empty(const struct package_wishes *wishes);

/* Errors blame the caller, in one line. */
int package_args_take(const struct package_args *args, struct package_wishes *ret,
                      struct gb_err *err);

/* --auto-packages: what the code wants besides. */
int package_wishes_add_code(struct package_wishes *wishes, const struct language *language,
                            const char *code, size_t len, struct gb_err *err);

/* Layers for one box.  The owner starts it as `= { 0 }` by packages_init() and owes a
 * packages_close(), not before the box is gone. */
struct packages {
    struct layer layers[N_PACKAGE_KINDS];
    struct box_layer binds[N_PACKAGE_KINDS * LAYER_BINDS_MAX + 1];
    char *env[N_PACKAGE_KINDS + 1]; /* variables that programs need besides; NULL-terminated */
    size_t n_env;
};

void packages_init(struct packages *packages);
void packages_close(struct packages *packages);

struct packages_order {
    const struct package_wishes *wishes;
    const struct settings *settings;
    const struct box_spec *box;
    const char *workdir;
    int cancel_fd;
    bool is_quiet; /* no progress */
};

/* *ret_told is filled also on failure; the caller owes a run_packages_free(). */
int packages_open(const struct packages_order *order, struct packages *ret,
                  struct run_packages **ret_told, struct gb_err *err);

/* A box that lives on has them. */
int packages_give(const struct packages *packages, const struct settings *settings, const char *box,
                  struct gb_err *err);

/* The last lines of an installer that failed, on stderr. */
void packages_print_log(const struct run_packages *told);
