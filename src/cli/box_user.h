/* SPDX-License-Identifier: Apache-2.0 */
/* cli/box_user.h - the box that a command means: by its id, or by whose it is. */
#pragma once

#include <stdbool.h>

#include "conf/kept_box.h"

struct exec_lines;
struct gb_err;
struct kept;
struct package_wishes;
struct settings;

/* What stands behind --user. */
int box_check_user(const char *name, struct gb_err *err);

/* box_packages_open(); what an installer says is told as lines, or, when that is NULL, shown on
 * stderr. */
int box_packages_show(const struct settings *settings, const struct package_wishes *wishes,
                      bool has_network, struct exec_lines *lines, struct box_packages *ret,
                      struct gb_err *err);

/* The box with that id, or, when id is NULL, the user's, which is made when there is none. */
int box_find(const struct settings *settings, const char *id, const char *user, struct kept *ret,
             struct gb_err *err);
