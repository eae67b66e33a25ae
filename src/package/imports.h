/* SPDX-License-Identifier: Apache-2.0 */
/* package/imports.h - which packages a program's own text asks for.
 *
 *    python       import NAME, from NAME import …      the packages that bring such names
 *                 pip install NAME …                   in calls of subprocess and os.system, and in
 *                                                      lines that begin with "!pip" or "%pip"
 *    javascript   require('NAME'), import … from 'NAME', import('NAME')
 *
 * A reading of the text, not of the language: what stands in a comment is passed over, a name that
 * is put together at run time is not seen.  What Python brings itself, what the machine has, and
 * what lies beside the program (relative imports) is left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "package/set.h"

struct buf;

/* Told is a name as package_set_add() takes it, perhaps none and perhaps twice.  Negative: stop,
 * and it is returned. */
typedef int imports_found(void *user, const char *text, size_t len);

/* Is a module there already: one of Python, or a package's name of JavaScript? */
typedef bool imports_has(void *user, const char *module);

/* has may be NULL: nothing is. */
int imports_find(enum package_kind kind, const char *code, size_t len, imports_has *has,
                 imports_found *found, void *user);

/* Of Python the commands alone: pip install. */
int imports_find_commands(const char *code, size_t len, imports_found *found, void *user);

/* Python that a notebook would run, as Python: lines that begin with "!pip", "%pip" or the like
 * become calls that do the same, each on its line.  1: *ret is the program; 0: there is no such
 * line, and *ret is left alone. */
int imports_plain_python(const char *code, size_t len, struct buf *ret);

/* The package that brings a module: "pillow" for "PIL"; else the name itself. */
const char *imports_package_of(const char *module);

/* Does Python bring it? */
bool imports_is_standard(const char *module);
