/* SPDX-License-Identifier: Apache-2.0 */
/* package/provide.h - packages for one box: wishes in, layers out.
 *
 *    packages_init → packages_open → a box with .binds as its spec's layers, and .image_id
 *                  → packages_give, iff that box lives on → packages_close
 *
 * For commands, tools and tasks alike: all that is configured comes in as a struct
 * (conf/package_host.h fills it), all that there is to show goes out through callbacks, and what
 * was done is told in a struct run_packages: packages with versions and hashes, or the name of the
 * failure (package/diagnosis.h) with the installer's last lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "box/box.h"
#include "package/index.h"
#include "package/layer.h"
#include "package/wish.h"

struct run_packages;

/* What the operator has set up, the same for all boxes.  The owner owes a package_host_clear(). */
struct package_host {
    const char *cache_dir; /* borrowed, as hosts; NULL: there is no place */
    uint64_t cache_max;    /* bytes that are kept; what was not used for longest goes first */
    const char *hosts;     /* what installers may reach besides their index, as rules; NULL */
    const char *denied;    /* borrowed: what not, be it their index; NULL */
    struct limits limits;  /* of an installation */
    struct package_index indexes[N_PACKAGE_KINDS];
    struct gb_err unread[N_PACKAGE_KINDS]; /* code: why there is no index, told when it is needed */
};

void package_host_clear(struct package_host *host);

/* Layers for one box.  The owner begins with packages_init() and owes a packages_close(), not
 * before the box is gone. */
struct packages {
    const char *image_id; /* for the spec of the box, too; NULL: it needs none */
    struct layer layers[N_PACKAGE_KINDS];
    struct box_layer binds[N_PACKAGE_KINDS * LAYER_BINDS_MAX + 1];
};

void packages_init(struct packages *packages);
void packages_close(struct packages *packages);

/* Who wants to see an installation; any function may be NULL.  The set lives during the call. */
struct packages_watch {
    void (*wait)(void *user, const struct package_set *set);  /* another installs it */
    void (*begin)(void *user, const struct package_set *set); /* it has to be installed */
    void (*line)(void *user, const char *line);               /* of the installer, masked */
    void (*end)(void *user);                                  /* behind wait and begin */
    void *user;
};

struct packages_order {
    const struct package_wishes *wishes;
    const struct package_host *host;
    const struct box_spec *box; /* as for the run: its backend, image and toolchains count */
    int cancel_fd;              /* -1: none */
    const struct packages_watch *watch; /* NULL: nobody */
};

/* From the cache, or by installing them.  *ret_told is filled also on failure; the caller owes a
 * run_packages_free(). */
int packages_open(const struct packages_order *order, struct packages *ret,
                  struct run_packages **ret_told, struct gb_err *err);

/* A box that lives on has them: nothing removes the layers before that box has ended. */
int packages_give(const struct packages *packages, const struct package_host *host, const char *box,
                  const char *state_dir, struct gb_err *err);
