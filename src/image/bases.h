/* SPDX-License-Identifier: Apache-2.0 */
/* image/bases.h - the images that a Dockerfile uses, looked at before the build.
 *
 * An image may carry triggers (ONBUILD), instructions that run in whatever is built on it without
 * being in its Dockerfile.  So every base is on the engine before the build begins, pulled with the
 * credentials of its own registry, and its triggers are held to the rules of the Dockerfile.  What
 * COPY takes files from (--from=IMAGE) is there before, too: the engine would pull it without a
 * log-in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dockerfile;
struct dockerfile_findings;
struct dockerfile_policy;
struct engine;
struct gb_err;
struct stream_sink;

struct bases_order {
    const struct dockerfile_policy *policy;
    const char *config_dir; /* docker's, for credentials; NULL: none */
    const char *platform;   /* of images that the Dockerfile says none for; NULL: the engine's */
    bool is_pull;           /* look for newer ones */
    uint64_t deadline_ns;   /* of all pulls together */
    const struct stream_sink *sink;
};

/* The Dockerfile has been resolved and checked.  -EPERM: a trigger is not allowed, *ret says which;
 * else image_pull()'s errors. */
int bases_prepare(struct engine *engine, const struct dockerfile *dockerfile,
                  const struct bases_order *order, struct dockerfile_findings *ret,
                  struct gb_err *err);
