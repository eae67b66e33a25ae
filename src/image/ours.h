/* SPDX-License-Identifier: Apache-2.0 */
/* image/ours.h - the images that were built here: listed, removed, swept.
 *
 * An image is ours when its name is agent-env:… or it carries the label of image/build.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/images.h"

struct gb_err;

/* filter: "" and NULL: all of ours; "agent-env" too; "web": agent-env:web; "web*": names that begin
 * so, as a shell reads it.  is_any: other people's as well, and the filter is not looked at.  Names
 * are as people write them; images without a name are left out unless is_any.  The newest first. */
int image_ours_list(struct engine *engine, const char *filter, bool is_any, struct images_list *ret,
                    struct gb_err *err);

/* name: a name or an id.  -EPERM: it is not ours, and is_any is not set; -ENOENT; -EBUSY. */
int image_ours_remove(struct engine *engine, const char *name, bool is_any, bool is_forced,
                      struct images_removed *ret, struct gb_err *err);

struct image_prune {
    bool is_all;           /* images with a name too, when no container has them */
    uint64_t older_than_s; /* 0: of any age */
};

struct image_pruned {
    struct images_removed removed;
    uint64_t reclaimed; /* bytes, those of the cache too */
};

/* Images of ours without a name (what a newer build has replaced, what a failed one left), and the
 * engine's cache of builds where it has one.  The caller owes an images_removed_clear(). */
int image_ours_prune(struct engine *engine, const struct image_prune *prune,
                     struct image_pruned *ret, struct gb_err *err);
