/* SPDX-License-Identifier: Apache-2.0 */
/* image/name.h - names of images: registry/repository:tag@digest.
 *
 * The grammar is docker's.  A name is kept the way an engine resolves it ("python" is
 * docker.io/library/python): two texts that mean one image become one value, so that what is
 * allowed is decided on the image that is meant and never on a spelling.  A plain value, nothing to
 * free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gb_err;

#define IMAGE_NAME_MAX   255 /* registry and repository together */
#define IMAGE_TAG_MAX    128
#define IMAGE_DIGEST_MAX 135 /* "sha512:" and 128 digits */
#define IMAGE_TEXT_SIZE  (2 * (IMAGE_NAME_MAX + 1) + IMAGE_TAG_MAX + 1 + IMAGE_DIGEST_MAX + 1)

struct image_name {
    char registry[IMAGE_NAME_MAX + 1];   /* "docker.io", "localhost:5000" */
    char repository[IMAGE_NAME_MAX + 1]; /* "library/python" */
    char tag[IMAGE_TAG_MAX + 1];         /* "" when none was named */
    char digest[IMAGE_DIGEST_MAX + 1];   /* "sha256:…", or "" */
};

/* *ret is written on success only; -EINVAL says what is wrong with the text. */
int image_name_parse(const char *text, struct image_name *ret, struct gb_err *err);

/* "latest" where neither tag nor digest was named: pulling without a tag would pull every one. */
void image_name_complete(struct image_name *name);

/* The whole name, the registry too. */
const char *image_name_text(const struct image_name *name, char text[static IMAGE_TEXT_SIZE]);

/* The name as people write it: without what docker adds by itself. */
const char *image_name_short(const struct image_name *name, char text[static IMAGE_TEXT_SIZE]);

/* Is the image meant by one row of a list of allowed images?  A row is a name (any tag and digest
 * of it when it has none), or "registry/path/" + "*": everything below. */
bool image_name_is_in(const struct image_name *name, const char *row);

/* The repository of the images that tools build. */
#define IMAGE_AGENT "agent-env"

/* The tag of a build, as a caller gives it: blanks at the ends go, "agent-env:" is put before it
 * where it lacks, and nothing becomes "agent-env:build-<unix_time>". */
int image_name_for_build(const char *tag, uint64_t unix_time, struct image_name *ret,
                         struct gb_err *err);
