/* SPDX-License-Identifier: Apache-2.0 */
/* package/diagnosis.h - why an installer failed, told by its own words (diagnosis.def).
 *
 * Pure: text in, one row out.  The rows stand in the order in which they are tried; the first whose
 * words occur is the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "package/set.h"

struct package_diagnosis {
    int code;           /* negative errno */
    const char *name;   /* "no_such_package", for programs */
    const char *text;   /* for people */
    const char *remedy; /* likely */
};

/* Never NULL: the last row of each kind fits always. */
const struct package_diagnosis *diagnosis_of(enum package_kind kind, const char *output,
                                             size_t len);

/* The one of that name; NULL. */
const struct package_diagnosis *diagnosis_named(const char *name);

/* Is it about what was wanted, so that less may do?  An index that cannot be reached is not, nor
 * is a failure without a name (NULL). */
bool diagnosis_is_about_set(const char *name);
