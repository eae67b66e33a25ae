/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/plan_group.h - the groups of a box: their limits, and what of them it sees. */
#pragma once

struct hierarchy;
struct plan_compiler;

/* The box's group in one tree, with every limit; nothing when its wall is not built. */
void plan_group(struct plan_compiler *c, const struct hierarchy *h);

/* /sys/fs/cgroup, read-only, for runtimes that size their heaps and pools by what they read there;
 * nothing unless the spec asks for it. */
void plan_groups_view(struct plan_compiler *c);
