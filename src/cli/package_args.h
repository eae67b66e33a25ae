/* SPDX-License-Identifier: Apache-2.0 */
/* cli/package_args.h - packages on a command line: names and files, before anything is started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/option.h"

struct gb_err;
struct package_wishes;

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

/* What was said becomes wishes.  Errors blame the caller, in one line. */
int package_args_take(const struct package_args *args, struct package_wishes *ret,
                      struct gb_err *err);
