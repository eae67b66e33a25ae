/* SPDX-License-Identifier: Apache-2.0 */
/* tool/build_check.c - the Dockerfile of a build: read and checked. */
#include "tool/build_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "engine/images.h"
#include "image/context.h"
#include "image/dockerfile.h"
#include "image/dockerfile_args.h"
#include "image/dockerfile_check.h"
#include "tool/engine.h"

/* The engine fetches nothing by itself but base images; RUN has the network of builds. */
static const struct dockerfile_policy policy = { 0 };
static const struct dockerfile_policy trigger_policy = { .is_trigger = true };

static int forbidden(struct gb_err *err)
{
    return gb_fail(err, -EACCES, GB_BLAME_CALLER, DOCKERFILE_FORBIDDEN);
}

static int resolve(struct dockerfile *dockerfile, char *const *build_args, struct gb_err *err)
{
    cleanup_free struct dockerfile_arg *given = NULL;
    size_t n = 0;

    while (build_args && build_args[2 * n])
        n++;
    given = calloc(n + 1, sizeof(*given));
    if (!given)
        return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "out of memory");
    for (size_t i = 0; i < n; i++)
        given[i] = (struct dockerfile_arg){ build_args[2 * i], build_args[2 * i + 1] };
    return dockerfile_resolve(dockerfile, given, n, err);
}

int build_check_file(int dir_fd, char *const *build_args, struct dockerfile *ret,
                     struct dockerfile_findings *findings, struct gb_err *err)
{
    cleanup_buf struct buf text = BUF_INIT(DOCKERFILE_MAX + 1);
    int r = context_read_dockerfile(dir_fd, "Dockerfile", &text, err);

    if (r == 0)
        r = dockerfile_parse(text.data ? text.data : "", text.len, ret, err);
    if (r == 0)
        r = resolve(ret, build_args, err);
    if (r < 0)
        return r;
    return dockerfile_check(ret, &policy, findings) ? 0 : forbidden(err);
}

/* ---- base images ---------------------------------------------------------------------------- */

static bool is_stage(const struct dockerfile *dockerfile, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const struct dockerfile_item *item = &dockerfile->items[i];
        char **words = item->words;

        if (item->op == DOCKERFILE_FROM && words[0] && words[1] && words[2] &&
            strcasecmp(words[2], name) == 0)
            return true;
    }
    return false;
}

static int check_triggers(char *const *triggers, struct dockerfile_findings *findings,
                          struct gb_err *err)
{
    for (; *triggers; triggers++) {
        cleanup_dockerfile struct dockerfile dockerfile = { 0 };
        int r = dockerfile_parse(*triggers, strlen(*triggers), &dockerfile, err);

        if (r < 0)
            return r;
        if (!dockerfile_check(&dockerfile, &trigger_policy, findings))
            return forbidden(err);
    }
    return 0;
}

static int check_base(struct engine *engine, const char *name, struct dockerfile_findings *findings,
                      struct gb_err *err)
{
    cleanup_images_config struct images_config config = { 0 };
    int r = images_inspect(engine, name, &config, err);

    if (r == -ENOENT) {
        r = tool_pull(engine, name, err);
        if (r == 0)
            r = images_inspect(engine, name, &config, err);
    }
    if (r == 0)
        r = check_triggers(config.triggers, findings, err);
    return r < 0 && r != -EACCES ? gb_wrap(err, r, "base image '%.100s'", name) : r;
}

int build_check_bases(struct engine *engine, const struct dockerfile *dockerfile,
                      struct dockerfile_findings *findings, struct gb_err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < dockerfile->n; i++) {
        const struct dockerfile_item *item = &dockerfile->items[i];
        const char *name = item->words[0];

        if (item->op == DOCKERFILE_FROM && strcmp(name, "scratch") != 0 &&
            !is_stage(dockerfile, i, name))
            r = check_base(engine, name, findings, err);
    }
    return r;
}
