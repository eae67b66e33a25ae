/* SPDX-License-Identifier: Apache-2.0 */
/* package/install.h - packages installed in a box of its own, which reaches their index only.
 *
 *    open the box → the wishes in → installer → what makes it quick to use → files out → close
 *
 * Nothing of a package is executed on the host.  The box is new, sees nothing of the caller's, and
 * is gone before anything of the caller's runs.
 */
#pragma once

#include <stdint.h>

#include "box/limits.h"
#include "package/manifest.h"

struct box_spec;
struct package_diagnosis;
struct gb_err;
struct package_index;
struct package_set;

/* Where a layer is, in the box that makes it and in those that use it. */
#define INSTALL_PYTHON_DIR "/opt/packages/python"
#define INSTALL_NODE_DIR   "/opt/packages/node"

const char *install_dir(enum package_kind kind);

struct install_spec {
    const struct box_spec *box; /* backend, walls, toolchains, places; its limits do not count */
    struct limits limits;
    const struct package_set *set;
    const struct package_index *index;
    const char *hosts;  /* what else it may reach, as rules; NULL */
    const char *denied; /* and what not, whatever these and the index say; NULL */
    int tree_fd;        /* an empty directory, which the files go to */
    int cancel_fd;
    void (*line)(void *user, const char *line); /* the installer's, as they come; may be NULL */
    void *user;
};

struct install_end {
    const struct package_diagnosis *why; /* of a failure that the installer told; NULL */
    char *log; /* of a failure: the end of its output, without secrets; owned */
};

/* Fills `done` of the manifest.  *ret is zeroed before; its log is the caller's to free. */
int install_run(const struct install_spec *spec, struct manifest *manifest, struct install_end *ret,
                struct gb_err *err);
