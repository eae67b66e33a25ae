/* SPDX-License-Identifier: Apache-2.0 */
/* engine/target.h - the path and query of a request to the engine.
 *
 * Names are put into paths: what could lead to another path is refused, everything else that is
 * not plain is encoded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct gb_err;

struct target {
    struct buf text; /* "/containers/json?all=1" */
    bool has_query;
};

/* BEFORE NAME AFTER: "/containers/", id, "/start".  NULL name: the path is before alone.  An id is
 * letters, digits, '_', '.', '-'; -EINVAL blames the caller. */
int target_of_id(struct target *target, const char *before, const char *id, const char *after,
                 struct gb_err *err);

/* The same for the name of an image, which may have '/', ':', '@' and '+' besides, but no empty
 * part, "." or "..". */
int target_of_image(struct target *target, const char *before, const char *name, const char *after,
                    struct gb_err *err);

/* ?KEY=VALUE; NULL values are left out.  Failures stay in the text's buf. */
void target_add(struct target *target, const char *key, const char *value);
void target_add_u64(struct target *target, const char *key, uint64_t value);
void target_add_flag(struct target *target, const char *key, bool value); /* KEY=1 or nothing */

/* &filters={"NAME":[VALUE, …]} as the engine wants it; NULL or no values: nothing is added. */
struct target_filter {
    const char *name;
    const char *const *values; /* NULL-terminated */
};
void target_add_filters(struct target *target, const struct target_filter *filters, size_t n);

void target_clear(struct target *target);

#define cleanup_target cleanup_with(target_clear)
