/* SPDX-License-Identifier: Apache-2.0 */
/* conf/box_spec.h - the box that the settings ask for. */
#pragma once

#include <stdbool.h>

#include "box/box.h"

struct language;
struct settings;

/* Its strings are the settings'. */
struct box_spec settings_box_spec(const struct settings *settings);

/* What a language's runtime needs to start.  Its number of threads is given only where nobody has
 * said a number, neither in the settings nor, is_pids_said, besides. */
void settings_suit_language(const struct settings *settings, const struct language *language,
                            bool is_pids_said, struct box_spec *spec);
