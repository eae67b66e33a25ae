/* SPDX-License-Identifier: Apache-2.0 */
/* image/dockerfile_check.h - what a Dockerfile of anybody's may not ask of the engine.
 *
 * Works on the parsed instructions, after dockerfile_resolve(); what is built is what
 * dockerfile_write() makes of the same instructions.  An instruction behind ONBUILD is held to the
 * same rules.  The triggers that a *base image* carries run too, without being in the text: the
 * caller parses each of them as a Dockerfile of its own and checks it with is_trigger set.
 *
 * Rules are rows of a table (dockerfile_check.c); an unknown flag, mount or frontend is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dockerfile;

/* What the tools answer when there is a finding. */
#define DOCKERFILE_FORBIDDEN                                                                  \
    "Dockerfile contains forbidden pattern (e.g. docker.sock mount or privileged): security " \
    "check failed"

struct dockerfile_policy {
    const char *const *bases; /* rows for image_name_is_in(), NULL at the end; NULL: any image */
    bool is_trigger;          /* not a whole file: an ONBUILD of a base image, without that word */
};

struct dockerfile_finding {
    unsigned line;
    const char *rule; /* "base_image": static, as the remedy */
    const char *remedy;
    char message[160];
};

#define DOCKERFILE_FINDINGS_MAX 32

struct dockerfile_findings {
    struct dockerfile_finding items[DOCKERFILE_FINDINGS_MAX];
    size_t n;      /* how many there are in items */
    size_t n_more; /* found besides */
};

/* Whether nothing was found; *ret is written in any case, in the order of the lines. */
bool dockerfile_check(const struct dockerfile *dockerfile, const struct dockerfile_policy *policy,
                      struct dockerfile_findings *ret);
