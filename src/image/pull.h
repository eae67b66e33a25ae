/* SPDX-License-Identifier: Apache-2.0 */
/* image/pull.h - an image from its registry to the engine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/images.h"
#include "image/name.h"

struct gb_err;
struct stream_sink;

/* NULL: not set. */
struct image_pull {
    const char *name;       /* as people write it */
    const char *config_dir; /* docker's, for credentials */
    const char *platform;   /* "linux/arm64"; the engine's */
    uint64_t total_ms;      /* 0: an hour */
};

struct image_pulled {
    char name[IMAGE_TEXT_SIZE]; /* as people write it, with its tag */
    char id[IMAGES_ID_SIZE];
    char digest[IMAGE_DIGEST_MAX + 1]; /* of the manifest; "" when the engine has none */
    uint64_t bytes;
    bool is_new; /* another image than before, or the first */
};

/* What is left until then as a total_ms: never 0, which has a meaning of its own. */
uint64_t image_left_ms(uint64_t deadline_ns);

/* Errors are those of engine/engine.h, with what helps for this image; -EINVAL: that is no name. */
int image_pull(struct engine *engine, const struct image_pull *pull, const struct stream_sink *sink,
               struct image_pulled *ret, struct gb_err *err);
