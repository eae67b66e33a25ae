/* SPDX-License-Identifier: Apache-2.0 */
/* engine/archive.c - files of a container as tar, in and out. */
#include "engine/archive.h"

#include <stdbool.h>

#include "base/buf.h"
#include "engine/engine.h"

static const char *const tar_headers[] = { "Content-Type: application/x-tar", NULL };

int archive_put(struct engine *engine, const char *container, const char *directory,
                ssize_t (*source)(void *user, void *bytes, size_t size), void *user,
                uint64_t total_ms, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    const struct engine_call call = {
        .method = "PUT",
        .target = &target,
        .headers = tar_headers,
        .total_ms = total_ms,
        .source = source,
        .user = user,
    };
    int r = target_of_id(&target, "/containers/", container, "/archive", err);

    if (r < 0)
        return r;
    target_add(&target, "path", directory);
    target_add_flag(&target, "noOverwriteDirNonDir", true);
    return engine_call(engine, &call, NULL, err);
}

int archive_get(struct engine *engine, const char *container, const char *path, size_t max,
                int (*data)(void *user, const char *bytes, size_t len), void *user,
                uint64_t total_ms, struct gb_err *err)
{
    cleanup_target struct target target = { 0 };
    const struct engine_call call = {
        .method = "GET",
        .target = &target,
        .total_ms = total_ms,
        .answer_max = max,
        .data = data,
        .user = user,
    };
    int r = target_of_id(&target, "/containers/", container, "/archive", err);

    if (r < 0)
        return r;
    target_add(&target, "path", path);
    return engine_call(engine, &call, NULL, err);
}
