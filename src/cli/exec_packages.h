/* SPDX-License-Identifier: Apache-2.0 */
/* cli/exec_packages.h - packages of a program that `exec` runs: what it wants, what it gets, what
 * it went without. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "package/provide.h"

struct box_spec;
struct exec_args;
struct exec_lines;
struct gb_err;
struct run_result;
struct settings;

/* The owner begins with exec_packages_init() and owes an exec_packages_clear(). */
struct exec_packages {
    struct package_wishes wishes;  /* what options name, then what the program wants besides */
    struct package_wishes refused; /* what it would have pip install, and nobody permitted */
    struct buf plain;              /* code with lines of a notebook, as Python */
};

void exec_packages_init(struct exec_packages *packages);
void exec_packages_clear(struct exec_packages *packages);

/* Once code and options are known: sets wishes, refused and perhaps code of args. */
int exec_packages_settle(struct exec_packages *packages, const struct settings *settings,
                         bool is_auto, struct exec_args *args, struct gb_err *err);

/* Has what args want, as layers of the spec; the result tells what they hold.  lines are told of an
 * installation; NULL: people are, unless a document is wanted. */
int exec_packages_open(const struct exec_args *args, const struct settings *settings, int cancel_fd,
                       struct exec_lines *lines, struct packages *packages, struct box_spec *spec,
                       struct run_result *result, struct gb_err *err);

/* What the program would have had pip install, where nobody permitted it and it failed. */
void exec_packages_note(const struct exec_args *args, struct run_result *result);
