/* SPDX-License-Identifier: Apache-2.0 */
/* tool/build.c - build_image_from_context and build_image_from_path.
 *
 * image/build.h does it.  The Dockerfile is looked at once before there is an engine, so that what
 * is refused is refused everywhere alike; what is built is checked again.
 */
#include "image/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "box/box.h"
#include "engine/engine.h"
#include "json/writer.h"
#include "tool/engine.h"
#include "tool/tool.h"

#define MB (1024.0 * 1024.0)

struct build_args {
    char *path; /* of the context; context_id in one tool, path in the other */
    char *tag;
    char **build_args;
};

#define AT(field) offsetof(struct build_args, field)
#define COMMON_FIELDS                                                                             \
    { "tag", BIND_STR, AT(tag),                                                                   \
      .help = "Name of the image; agent-env: is put before it; default agent-env:build-TIME." },  \
        { "build_args", BIND_PAIRS, AT(build_args), .help = "Values of the Dockerfile's ARGs." }, \
        { 0 },

static const struct bind_field context_fields[] = {
    { "context_id", BIND_STR, AT(path), .help = "What prepare_build_context answered." },
    COMMON_FIELDS
};
static const struct bind context_bind = TOOL_BIND(context_fields);
static const struct tool_need context_needs[] = {
    { "context_id", "context_id is required" },
    { 0 },
};

static const struct bind_field path_fields[] = {
    { "path", BIND_STR, AT(path), .help = "Directory with a Dockerfile." }, COMMON_FIELDS
};
static const struct bind path_bind = TOOL_BIND(path_fields);
static const struct tool_need path_needs[] = {
    { "path", "path is required" },
    { 0 },
};

/* ---- the order ------------------------------------------------------------------------------ */

static int take_args(char *const *pairs, struct dockerfile_arg **ret, size_t *ret_n,
                     struct gb_err *err)
{
    struct dockerfile_arg *args;
    size_t n = 0;

    while (pairs && pairs[2 * n])
        n++;
    args = calloc(n + 1, sizeof(*args));
    if (!args)
        return gb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        args[i] = (struct dockerfile_arg){ pairs[2 * i], pairs[2 * i + 1] };
    *ret = args;
    *ret_n = n;
    return 0;
}

static int build_with(struct tool_call *call, struct image_build *order, struct image_built *ret,
                      struct gb_err *err)
{
    cleanup_engine struct engine *engine = NULL;
    cleanup_free char *log_dir = NULL;
    int r = image_build_check(order, ret, err);

    if (r == 0)
        r = tool_engine(call, &engine, err);
    if (r == 0)
        r = image_log_dir(call->host->state_dir, &log_dir, err);
    if (r < 0)
        return r;
    order->log_dir = log_dir;
    return image_build(engine, order, ret, err);
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* In the words that callers of these tools look for. */
static void say_part(const struct image_built *built, const char *param, int code,
                     struct gb_err *err)
{
    bool is_dockerfile = built->part == IMAGE_BUILD_DOCKERFILE ||
                         (built->part == IMAGE_BUILD_CHECK && code != -EPERM);

    if (built->findings.n > 0)
        (void)gb_fail(err, code, GB_BLAME_CALLER, DOCKERFILE_FORBIDDEN);
    else if (built->part == IMAGE_BUILD_DIRECTORY)
        (void)gb_wrap(err, code, "%s is not a valid directory", param);
    else if (is_dockerfile)
        (void)gb_wrap(err, code, "Dockerfile not found or unreadable in %s", param);
    else if (built->part == IMAGE_BUILD_CONTEXT)
        (void)gb_wrap(err, code, "failed to create build context");
    else if (built->part == IMAGE_BUILD_STEPS)
        (void)gb_wrap(err, code, "build failed");
}

static void put_texts(struct json_writer *w, const struct image_built *built)
{
    if (built->summary[0])
        json_put_str(w, "build_log_summary", built->summary);
    if (built->failed_layer[0])
        json_put_str(w, "failed_layer", built->failed_layer);
    if (built->log_path[0])
        json_put_str(w, "build_log", built->log_path);
    if (built->findings.n > 0)
        image_build_put_findings(w, "findings", &built->findings);
}

static int build_from(struct tool_call *call, const struct build_args *args, const char *param,
                      struct gb_err *err)
{
    cleanup_free struct image_built *built = calloc(1, sizeof(*built));
    cleanup_free struct dockerfile_arg *given = NULL;
    struct image_build order = {
        .path = args->path,
        .is_never_made_up = true,
        .tag = args->tag,
        .total_ms = call->host->image_max_ms,
        .bases = call->host->image_bases,
        .platform = call->host->box->engine->platform,
        .config_dir = call->host->box->engine->hints.config_dir,
        .unix_time = (uint64_t)time(NULL),
    };
    int r;

    if (!built)
        return gb_no_memory(err);
    r = take_args(args->build_args, &given, &order.n_args, err);
    if (r < 0)
        return r;
    order.args = given;
    r = build_with(call, &order, built, err);
    if (r < 0 && call->is_refused)
        return r;
    if (r < 0) {
        say_part(built, param, r, err);
        tool_put_error(call->answer, err);
    } else {
        json_put_str(call->answer, "image_id", built->id);
        json_put_str(call->answer, "tag", built->tag);
        json_put_double(call->answer, "size_mb", (double)built->bytes / MB, 2);
    }
    put_texts(call->answer, built);
    return r < 0 ? 1 : 0;
}

static int build_context(struct tool_call *call, void *bound, struct gb_err *err)
{
    return build_from(call, bound, "context_id", err);
}

static int build_path(struct tool_call *call, void *bound, struct gb_err *err)
{
    return build_from(call, bound, "path", err);
}

const struct tool tool_build_image_from_context = {
    .name = "build_image_from_context",
    .help = "Build an image from a context that prepare_build_context made.",
    .shape = TOOL_STATUS,
    .size = sizeof(struct build_args),
    .bind = &context_bind,
    .needs = context_needs,
    .run = build_context,
};

const struct tool tool_build_image_from_path = {
    .name = "build_image_from_path",
    .help = "Build an image from a directory of the host.",
    .shape = TOOL_STATUS,
    .size = sizeof(struct build_args),
    .bind = &path_bind,
    .needs = path_needs,
    .run = build_path,
};
