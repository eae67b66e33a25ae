/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_args.h - the base images of a Dockerfile, after substitution.
 *
 * Whether a base image is allowed can be told only of the image that is really meant.  So the
 * variables in FROM are replaced here, by the ARGs before the first FROM and what the caller of the
 * build gives for them, and the result is what dockerfile_write() writes: no builder substitutes
 * there again.
 */
#pragma once

#include <stddef.h>

struct dockerfile;
struct gb_err;

struct dockerfile_arg {
    const char *name;
    const char *value;
};

/* -EINVAL names the line whose variables have no value, or a form that builders read in different
 * ways; FROMs before it are replaced then. */
int dockerfile_resolve(struct dockerfile *dockerfile, const struct dockerfile_arg *given,
                       size_t n_given, struct gb_err *err);
