/* SPDX-License-Identifier: Apache-2.0 */
/* image/provide.h - an image by its name, wherever it comes from.
 *
 * One name is no registry's: TEMPLATE_UV_IMAGE, Python with uv, is built here when the engine does
 * not have it.  All others are pulled.
 */
#pragma once

#include <stdint.h>

#include "image/pull.h"

struct engine;
struct gb_err;
struct stream_sink;

/* NULL: not set. */
struct image_provide {
    struct image_pull pull;
    const char *const *bases; /* of the image that is built: allowed ones, NULL: any */
    const char *log_dir;      /* where the log of a build is kept */
    uint64_t unix_time;       /* for its name */
};

/* As image_pull(); a build that fails says where its log is. */
int image_provide(struct engine *engine, const struct image_provide *order,
                  const struct stream_sink *sink, struct image_pulled *ret, struct gb_err *err);
