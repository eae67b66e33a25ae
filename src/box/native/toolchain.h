/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/toolchain.h - trees of the host that the operator shows in boxes besides /usr. */
#pragma once

struct gb_err;

/* Each must be an absolute clean path of a directory, outside what is the box's own, and readable
 * by others: it is shown as it is, and nobody in a box is its owner.  Looked at are the tree, the
 * directories in it, and the programs in its bin.  NULL-terminated or NULL. */
int toolchains_check(const char *const *trees, struct gb_err *err);

/* The PATH of a box: bin of each tree (or the tree itself), then the usual places.  The caller
 * frees it; NULL without memory. */
char *toolchains_path(const char *const *trees);
