/* SPDX-License-Identifier: Apache-2.0 */
/* agent/supply.h - packages in the boxes of a task: wanted, installed once, mounted in all of them.
 *
 *    the operator's --package …                      installed first; what fails is the operator's
 *    + the contract's packages + the code's imports   installed before the code is judged; what
 *                                                     fails is told to the model, and the code
 *                                                     is judged with what there is
 *
 * A set is an effect, "packages-N": what was installed, or why not.  Its layers come out of the
 * cache whenever a box is made in this life of the task (package/provide.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "box/box.h"
#include "package/provide.h"
#include "package/wish.h"

struct agent_files;
struct buf;
struct gb_err;
struct task;

struct supply {
    bool installs;                /* what contract and code want too: a fact of the task */
    unsigned n;                   /* sets so far */
    char *asked;                  /* the last one, as text; NULL */
    struct package_wishes wishes; /* that boxes have from now on */
    bool is_open;                 /* their layers: */
    struct packages packages;
    struct box_spec box; /* the task's, with them */
    char *failed;        /* what could not be installed and why, for models; NULL */
};

/* What the operator wants, before anything else. */
int supply_begin(struct task *task, struct gb_err *err);

/* What the present contract wants, and these solutions; n may be 0. */
int supply_take(struct task *task, const struct agent_files *codes, size_t n, struct gb_err *err);

/* Has the layers, for whatever makes boxes next.  For use inside of effects. */
int supply_open(struct task *task, struct gb_err *err);

/* The box of the task with what was opened. */
const struct box_spec *supply_box(const struct task *task);

void supply_clear(struct supply *supply);
