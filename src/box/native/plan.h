/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan.h - a native box as a flat list of steps for the spawner.
 *
 * Compiling is pure: what depends on this machine comes in struct plan_facts, so the same facts
 * give the same plan, which a test can read and `glovebox doctor --plan` prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"
#include "box/native/hierarchy.h"

struct buf;
struct gb_err;

/* Names in a directory of the host, or what a symbolic link there says. */
struct plan_entry {
    char *path;
    char *link; /* NULL: not a link */
};

struct plan_facts {
    bool is_root;
    struct hierarchies groups;
    uint32_t uid_base;
    uint32_t gid_base;
    uint32_t stride;
    uint32_t n_slots;
    const char *uid_tool; /* NULL: the spawner writes the maps itself */
    const char *gid_tool;
    char tag[24];               /* part of the groups' names */
    struct plan_entry *entries; /* of the host's root and /etc that image `host` shows */
    size_t n_entries;
};

/* Everything but groups and ids, which the caller fills. */
int plan_facts_gather(struct plan_facts *facts, struct gb_err *err);
void plan_facts_clear(struct plan_facts *facts);

/* Appends the frames of the plan, GO included, to *ret.  walls: what the plan builds. */
int plan_compile(const struct plan_facts *facts, const struct box_spec *spec, wall_set walls,
                 const char *box_id, struct buf *ret, struct gb_err *err);

/* The steps of a compiled plan as lines for people. */
int plan_print(const struct buf *plan, struct buf *ret);
