/* SPDX-License-Identifier: Apache-2.0 */
/* image/build.h - an image built by the engine from a directory of anybody's.
 *
 *    context ─► Dockerfile, or a template ─► parse, resolve, check ─► bases ─► the engine's steps
 *
 * What the engine gets is the text that was checked (docs/internals/image.md), with a label of ours
 * in every stage: what a build leaves, also one that fails, can be told from other people's images.
 * A build that is cancelled or fails leaves no container and no name.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/images.h"
#include "image/build_log.h"
#include "image/context.h"
#include "image/dockerfile_args.h"
#include "image/dockerfile_check.h"
#include "image/name.h"
#include "image/template.h"

struct gb_err;
struct json_writer;
struct stream_event;

/* On every image that is built here. */
#define IMAGE_LABEL "io.glovebox.image"

/* Where the logs of builds are, below the directory of what glovebox remembers (NULL: there is
 * none, *ret is NULL). */
int image_log_dir(const char *state_dir, char **ret, struct gb_err *err);

/* NULL, 0 and false: not set. */
struct image_build {
    const char *path;      /* the context's directory; NULL: only the text below */
    const char *text;      /* a Dockerfile instead of the directory's */
    const char *file;      /* the Dockerfile's path in the context; "Dockerfile" */
    bool is_never_made_up; /* a directory without a Dockerfile is an error: no template */
    const char *tag;       /* as image_name_for_build() takes it */
    const char *name;      /* the whole name instead of a tag: TEMPLATE_UV_IMAGE */
    const struct dockerfile_arg *args;
    size_t n_args;
    const char *const *bases; /* allowed base images, as in dockerfile_policy; NULL: any */
    const char *platform;     /* "linux/arm64"; the engine's */
    bool is_without_network;  /* of its steps */
    bool is_without_cache;
    bool is_pull;           /* look for newer base images */
    uint64_t total_ms;      /* of pulls of base images and the engine's steps together; an hour */
    const char *config_dir; /* docker's, for credentials */
    const char *log_dir;    /* where the log is kept as a file */
    uint64_t unix_time;     /* for the names of image and log */

    /* What the engine tells, and the step it is at (NULL before the first).  Negative cancels. */
    int (*event)(void *user, const struct stream_event *event, const char *layer);
    void *user;
};

/* How far it came. */
enum image_build_part {
    IMAGE_BUILD_ORDER,      /* tag, arguments */
    IMAGE_BUILD_DIRECTORY,  /* opened */
    IMAGE_BUILD_CONTEXT,    /* what lies in it */
    IMAGE_BUILD_DOCKERFILE, /* found and read */
    IMAGE_BUILD_CHECK,
    IMAGE_BUILD_BASES,
    IMAGE_BUILD_STEPS, /* the engine's */
    IMAGE_BUILD_DONE,
};

struct image_built {
    enum image_build_part part;
    char tag[IMAGE_TEXT_SIZE]; /* as people write it */
    char id[IMAGES_ID_SIZE];
    uint64_t bytes;
    enum template made_up;               /* the Dockerfile is ours */
    struct context_report context;       /* what was sent */
    struct dockerfile_findings findings; /* why it was refused */
    char summary[BUILD_LOG_SUMMARY];
    char failed_layer[BUILD_LOG_LINE + 1]; /* "" when none did */
    char log_path[PATH_MAX];               /* "" when there is none */
    bool is_log_cut; /* the file is not whole: too long, or could not be written */
};

/* *ret is written in any case.  -EPERM: the check has findings; -EREMOTEIO in IMAGE_BUILD_STEPS: a
 * step failed, which is the Dockerfile's fault; else engine/engine.h's errors and those of
 * context.h. */
int image_build(struct engine *engine, const struct image_build *order, struct image_built *ret,
                struct gb_err *err);

/* All that needs no engine, with the same errors; ret->part is IMAGE_BUILD_CHECK when all is well.
 */
int image_build_check(const struct image_build *order, struct image_built *ret, struct gb_err *err);

/* [{line, rule, message, remedy}] */
void image_build_put_findings(struct json_writer *w, const char *key,
                              const struct dockerfile_findings *findings);
