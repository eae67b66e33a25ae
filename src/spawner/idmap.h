/* SPDX-License-Identifier: Apache-2.0 */
/* spawner/idmap.h - who the ids of a box are on the host. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "spawner/plan.h"

#define IDMAP_MAX 8

struct idmap {
    size_t n;
    struct {
        uint32_t inside;
        uint32_t offset;
    } ids[IDMAP_MAX];
};

/* Reads the ID steps of a plan. */
int idmap_read(const struct plan *plan, struct idmap *ret);

/* The host's user id of the first id of the box. */
uint32_t idmap_first_uid(const struct plan *plan, uint32_t slot);
uint32_t idmap_first_gid(const struct plan *plan, uint32_t slot);

/* Maps users and groups of the stopped child, itself or through newuidmap and newgidmap. */
int idmap_apply(const struct plan *plan, const struct idmap *map, uint32_t slot, pid_t pid);
