/* SPDX-License-Identifier: Apache-2.0 */
/* agent/pycall.h - Python calls and definitions in a text that is only looked at.
 *
 * Pieces of the text itself; nothing is kept.  The text is hostile, and everything in it may be
 * unfinished: what does not look right is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PYCALL_ARGS_MAX 256 /* bytes of a call's arguments, with their parentheses */

struct pycall {
    const char *name; /* an identifier */
    size_t name_len;
    const char
        *args; /* "(text, sep=',')"; of a definition also what it returns; empty for a class */
    size_t args_len;
    bool has_params; /* the arguments are names, or none: a signature */
    bool is_plain;   /* the arguments are values that are written out */
};

/* The next call of a function by its name, f(…), and *at behind it; false at the end.  Methods,
 * x.f(…), and functions that Python itself has do not count. */
bool pycall_next(const char **at, struct pycall *ret);

/* The next public function or class at the beginning of a line. */
bool pydef_next(const char **at, struct pycall *ret);

/* What the text behind a call with plain values says that it gives: the value as it is written, or
 * "raises ValueError".  0: nothing, or nothing certain. */
size_t pycall_value(const struct pycall *call, const char **ret);
