/* SPDX-License-Identifier: Apache-2.0 */
/* package/layer_tree.h - the files of a layer on the host: taken out of a box, checked, removed. */
#pragma once

#include <stdint.h>

struct box;
struct gb_err;
struct package_index;

#define LAYER_FILES_MAX 200000

/* Takes everything below dir of the box into the empty directory tree_fd: regular files, whatever
 * a box says, none beyond the limits, none with a secret of the index in it. */
struct layer_tree_take {
    struct box *box;
    const char *dir;
    int tree_fd;
    uint64_t max_bytes;
    const struct package_index *index;
};
int layer_tree_take(const struct layer_tree_take *take, struct gb_err *err);

/* Walks a tree of ours: nothing but directories and plain files of this user in it.  Others may
 * then read them, and nobody write; told is how much it is. */
int layer_tree_seal(const char *path, uint64_t *ret_files, uint64_t *ret_bytes, struct gb_err *err);

/* Removes it with all that is in it; what is not there is fine. */
int layer_tree_remove(const char *path, struct gb_err *err);
