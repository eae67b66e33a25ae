/* SPDX-License-Identifier: Apache-2.0 */
/* cli/image_call.h - what every `glovebox image …` begins and ends with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/option.h"
#include "conf/settings.h"

struct buf;
struct engine;
struct gb_err;

struct image_args {
    const char *tag;
    const char *file;
    const char *platform;
    const char *older_than;
    struct text_list build_args;
    bool is_json;
    bool is_quiet;
    bool is_all;
    bool is_any;
    bool is_forced;
    bool is_pull;
    bool is_without_cache;
    bool is_without_network;
};

/* The exit code of a call that a signal has ended. */
#define IMAGE_CANCELLED 130

struct image_call {
    struct image_args args;
    struct parsed parsed;
    struct settings settings;
    struct engine *engine; /* opened by image_call_engine() */
    int signals;           /* readable: give up */
    enum color_mode *color;
    char *const *env;
};

#define IMAGE_CALL_INIT \
    {                   \
        .signals = -1,  \
    }

/* 1 when help was wanted.  The caller owes an image_call_clear() in any case. */
int image_call_open(const struct call *call, struct image_call *ret, struct gb_err *err);
void image_call_clear(struct image_call *call);

#define cleanup_image_call cleanup_with(image_call_clear)

/* From here on signals cancel what the engine is asked. */
int image_call_engine(struct image_call *call, struct gb_err *err);

/* What a command ends with that has failed: with --json a document {schema, error, remedy} on
 * stdout, besides what is said on stderr, so that whoever reads stdout always finds one.  Returns
 * the exit code, or r.  Help (r > 0) is no failure. */
int image_call_end(const struct image_call *call, int r, struct gb_err *err);

/* "12.3 MB" */
void image_put_size(uint64_t bytes, struct buf *ret);
