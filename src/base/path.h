/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.h - paths as text.  Nothing here touches a file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A relative path that stays below its directory by its text alone: not empty, not absolute, no
 * empty, "." or ".." component, shorter than PATH_MAX, no component over 255 bytes. */
bool path_is_below(const char *path);

/* The last component; the whole text when there is no slash. */
const char *path_base(const char *path);

/* The ending without its dot, or "" ("x.tar.gz": "gz"; ".env": ""). */
const char *path_ending(const char *path);

/* Absolute, without "//", "/./", "/../" or a slash at the end. */
bool path_is_clean_absolute(const char *path);

/* Does path equal dir or lie below it?  Both clean and absolute. */
bool path_is_in(const char *path, const char *dir);
