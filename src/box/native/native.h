/* SPDX-License-Identifier: Apache-2.0 */
/* box/native/native.h - what `doctor` asks the native backend besides the vtable. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "box/box.h"
#include "box/walls.h"

struct buf;

/* Why a wall cannot be built here. */
struct native_survey {
    wall_set missing;
    char reasons[N_WALLS][480];
    const char *layout;    /* of groups */
    bool groups_runs;      /* runs have groups of their own */
    unsigned landlock;     /* ABI */
    struct gb_err trouble; /* why no box could be tried, when that is no wall's fault; or code 0 */
};

/* What mends a wall for the present user. */
const char *native_remedy(enum wall wall, char text[static WALL_REMEDY_MAX]);

/* Looks, and in the end tries: a box is built, as far as it goes, and removed again. */
void native_survey(const struct box_spec *spec, struct native_survey *ret);

/* The plan that a box of this spec would be built by, as lines. */
int native_plan_text(const struct box_spec *spec, struct buf *ret, struct gb_err *err);
