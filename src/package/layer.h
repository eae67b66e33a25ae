/* SPDX-License-Identifier: Apache-2.0 */
/* package/layer.h - packages for a box: found in the cache, or installed once and kept there.
 *
 *    key → lock, shared → found: used
 *                       → not found: lock, alone → installed, kept → lock, shared → used
 *
 * Whoever wants the same set at the same time waits for the one that installs and uses what it
 * made. The lock is held as long as the struct: nothing removes a layer that is in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/box.h"
#include "box/limits.h"
#include "package/manifest.h"

struct package_diagnosis;
struct gb_err;
struct package_index;
struct package_set;

struct layer_order {
    const char *cache_dir;
    uint64_t cache_max;         /* bytes of all layers together, once this one is made */
    const struct box_spec *box; /* as for the run: its backend, image and toolchains count */
    struct limits limits;       /* of the installation */
    const struct package_set *set;
    const struct package_index *index;
    const char *hosts;  /* what installers may reach besides; NULL */
    const char *denied; /* and what not, in any case; NULL */
    int cancel_fd;
    void (*wait)(void *user);                   /* another is at it; may be NULL */
    void (*begin)(void *user);                  /* it has to be installed; may be NULL */
    void (*line)(void *user, const char *line); /* of the installer; may be NULL */
    void *user;
};

#define LAYER_BINDS_MAX 3

/* The owner starts it as LAYER_INIT and owes a layer_close(), also after a failure. */
struct layer {
    int lock_fd;
    struct manifest manifest;
    bool is_cached;
    uint64_t install_ms;
    const struct package_diagnosis *why; /* of a failure that the installer told; NULL */
    char *log; /* the end of the installer's output, where it failed; NULL */
    char *tree;
    char *modules;                 /* node: what lies in it for `require` and `import`; NULL */
    char image[BOX_IMAGE_ID_SIZE]; /* that it is for; "" for this machine's own */
    char *etc; /* NULL: the interpreter looks nowhere that could be shown to it */
    char etc_target[64];
    bool is_told; /* python: the interpreter has to be told where it is */
};

#define LAYER_INIT    \
    {                 \
        .lock_fd = -1 \
    }

int layer_open(const struct layer_order *asked, struct layer *ret, struct gb_err *err);
void layer_close(struct layer *layer);

/* A box that lives on has it: nothing removes the layer before that box has ended. */
int layer_give(const struct layer *layer, const char *cache_dir, const char *box,
               const char *state_dir, struct gb_err *err);

/* What a box must be shown, added behind the n that are there; the new number.  Texts are the
 * layer's. */
size_t layer_binds(const struct layer *layer, struct box_layer *binds, size_t n);
