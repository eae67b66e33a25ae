/* SPDX-License-Identifier: Apache-2.0 */
/* package/requirement.h - a Python package as people and models name it: PEP 508 without URLs.
 *
 *    numpy>=1.26    requests[socks] (>=2,<3)    tomli>=1; python_version < "3.11"
 *
 * Strict and pure.  What comes out is written anew from what was understood, so that nothing else
 * reaches an installer: no option, address, path or byte of a shell.
 */
#pragma once

#include <stddef.h>

struct gb_err;

#define REQUIREMENT_NAME_MAX 100
#define REQUIREMENT_TEXT_MAX 1000

struct requirement {
    char name[REQUIREMENT_NAME_MAX + 1]; /* small letters, '-' for runs of '-', '_' and '.' */
    char text[REQUIREMENT_TEXT_MAX + 1]; /* "name[extra]>=1,<2; marker" */
};

/* Reads the first len bytes, all of them.  Blames the caller, in one line. */
int requirement_parse(const char *text, size_t len, struct requirement *ret, struct gb_err *err);
