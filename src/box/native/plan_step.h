/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan_step.h - what the parts of plan_compile() share: where steps go, and each kind.
 *
 * A step that does not fit or cannot be encoded is remembered as the compiler's first failure;
 * those after it are dropped, so that no caller has to ask in between.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "box/native/plan.h"
#include "wire/msg.h"

#define HOST_TREE (MOUNT_FLAG_RO | MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV)
#define OWN_TREE  (MOUNT_FLAG_NOSUID | MOUNT_FLAG_NODEV)

struct plan_compiler {
    const struct plan_facts *facts;
    const struct box_spec *spec;
    wall_set walls;
    struct buf *out;
    int r; /* first failure */
};

void plan_step(struct plan_compiler *c, uint8_t type, const void *msg);

/* Does the plan build this wall? */
bool plan_has(const struct plan_compiler *c, enum wall wall);

void plan_put_dir(struct plan_compiler *c, const char *target, unsigned mode, unsigned owner);
void plan_put_link(struct plan_compiler *c, const char *target, const char *content);
void plan_put_file(struct plan_compiler *c, const char *target, const char *text);
void plan_put_bind(struct plan_compiler *c, const char *source, const char *target, uint32_t flags);
void plan_put_tmpfs(struct plan_compiler *c, const char *target, enum wall wall, uint64_t bytes,
                    uint64_t inodes, unsigned mode);

/* options: NULL at the end; NULL for none. */
void plan_put_mount(struct plan_compiler *c, enum wall wall, const char *type, const char *target,
                    uint32_t flags, const char *const *options);

/* Covers what is there, if anything is. */
void plan_put_mask(struct plan_compiler *c, const char *target);
