/* SPDX-License-Identifier: Apache-2.0 */
/* tool/dependencies.h - packages of an environment: installed before it is made, or there is none.
 *
 *    names are read → installed in a box of their own, or found in the cache (package/provide.h)
 *                   → the environment is made with them → it holds them as long as it lives
 */
#pragma once

#include "package/provide.h"

struct box_ops;
struct gb_err;
struct run_packages;
struct tool_call;

/* The owner begins with dependencies_init() and owes a dependencies_clear(). */
struct dependencies {
    struct package_wishes wishes;
    struct packages packages;
    struct run_packages *told; /* what was installed, or why not; NULL: nothing was wanted */
};

void dependencies_init(struct dependencies *dependencies);
void dependencies_clear(struct dependencies *dependencies);

/* Reads names, NULL-terminated or NULL; touches nothing. */
int dependencies_read(char *const *names, const struct box_ops *ops, struct dependencies *ret,
                      struct gb_err *err);

/* Has them, and gives the box their layers. */
int dependencies_open(const struct tool_call *call, struct dependencies *dependencies,
                      struct box_spec *box, struct gb_err *err);

/* The environment of that id has been made with them. */
int dependencies_give(const struct tool_call *call, const struct dependencies *dependencies,
                      const char *id, struct gb_err *err);
