/* SPDX-License-Identifier: Apache-2.0 */
/* package/npm_name.h - a package of npm's as people and models name it: NAME or NAME@RANGE.
 *
 *    left-pad    lodash@^4.17    @types/node@20    chalk@">=4 <6"
 *
 * Strict and pure, as package/requirement.h: no address, no alias, no path, no byte of a shell.
 */
#pragma once

#include <stddef.h>

struct gb_err;

#define NPM_NAME_MAX  214
#define NPM_RANGE_MAX 200

struct npm_name {
    char name[NPM_NAME_MAX + 1];
    char range[NPM_RANGE_MAX + 1]; /* "*" when none was given */
};

int npm_name_parse(const char *text, size_t len, struct npm_name *ret, struct gb_err *err);

/* The two parts of an entry of package.json's "dependencies". */
int npm_name_of(const char *name, size_t name_len, const char *range, size_t range_len,
                struct npm_name *ret, struct gb_err *err);
